from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from assay.errors import ConfigError, SetupError
from assay.search.embedders import EmbedderConfig, TextRole, make_embedder, read_tensors, wrap_fastembed
from tests.search.dense.models import WORDS, table, write_model2vec, write_onnx, write_safetensors

TEXTS = ["def retry ( backoff )", "", "unknownword", "close the socket", "the the file"]
ROLES: tuple[TextRole, ...] = ("query", "code", "docs")


def mean_of(text: str) -> np.ndarray:
    """What a text's vector must be, the slow way."""
    rows = [table()[WORDS.index(word)] for word in text.split() if word in WORDS]
    total = np.sum(np.array(rows).reshape(-1, 16), axis=0, dtype=np.float64)
    return np.asarray(total / (np.linalg.norm(total) or 1))


def check_contract(embedder) -> None:
    """What every embedder promises: shape, type, length of rows, order, and no effect of one text on another."""
    rows = embedder.embed(TEXTS, "code")
    lengths = np.linalg.norm(rows, axis=1)
    assert (rows.dtype, rows.shape) == (np.float32, (len(TEXTS), embedder.dimension))
    assert all(abs(length - 1) < 1e-5 or length == 0 for length in lengths)
    assert (embedder.embed(TEXTS[::-1], "code") == rows[::-1]).all()
    assert (np.concatenate([embedder.embed([text], "code") for text in TEXTS]) == rows).all()
    assert embedder.embed([], "query").shape == (0, embedder.dimension)


def test_model2vec_averages_its_tokens(tmp_path):
    embedder = make_embedder(f"model2vec:{write_model2vec(tmp_path)}")
    check_contract(embedder)
    assert np.allclose(embedder.embed(TEXTS, "docs"), [mean_of(text) for text in TEXTS], atol=1e-6)
    assert not embedder.embed(["", "unknownword"], "query").any()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("quantised", [False, True])
def test_model2vec_agrees_with_the_package(tmp_path, dtype, quantised):
    model2vec = pytest.importorskip("model2vec", reason="the model2vec package is not installed")
    rng = np.random.default_rng(3)
    vectors = table() if dtype != "int8" else np.rint(table() * 30)
    tensors = {"embeddings": vectors.astype(dtype)}
    if quantised:
        tensors["embeddings"] = vectors[:7].astype(dtype)
        tensors |= {"mapping": rng.integers(0, 7, len(WORDS)), "weights": rng.random(len(WORDS))}
    write_model2vec(tmp_path, tensors, {"max_length": 6})
    texts = [*TEXTS, " ".join(WORDS * 3), "def " * 40]
    theirs = model2vec.StaticModel.from_pretrained(tmp_path).encode(texts)
    ours = make_embedder(f"model2vec:{tmp_path}").embed(texts, "code")
    assert np.allclose(ours, theirs, atol=2e-3 if dtype == "float16" else 1e-5)


def test_model2vec_reads_bfloat16_and_the_layout_of_sentence_transformers(tmp_path):
    write_model2vec(tmp_path / "plain")
    nested = tmp_path / "nested" / "0_StaticEmbedding"
    nested.mkdir(parents=True)
    (nested / "tokenizer.json").write_bytes((tmp_path / "plain" / "tokenizer.json").read_bytes())
    halves = (table().view(np.uint32) >> 16).astype(np.uint16)
    write_safetensors(nested / "model.safetensors", {"embedding.weight": halves}, types={"embedding.weight": "BF16"})
    rows = make_embedder(f"model2vec:{tmp_path / 'nested'}").embed(TEXTS, "code")
    assert np.allclose(rows, [mean_of(text) for text in TEXTS], atol=1e-2)


def test_model2vec_cuts_texts_at_the_lower_limit(tmp_path):
    write_model2vec(tmp_path, config={"max_length": 4})
    embedders = [make_embedder(f"model2vec:{tmp_path}", EmbedderConfig(max_tokens=most)) for most in (2, 4, 512)]
    rows = [embedder.embed(["a of a of file"], "code")[0] for embedder in embedders]
    assert np.allclose(rows[0], mean_of("a of"), atol=1e-6)
    assert np.allclose(rows[1], mean_of("a of a of"), atol=1e-6)
    assert (rows[1] == rows[2]).all()
    assert embedders[0].identity != embedders[1].identity == embedders[2].identity


def test_identity_follows_the_content_of_a_folder_and_not_its_name(tmp_path):
    first, copy = write_model2vec(tmp_path / "a"), write_model2vec(tmp_path / "b")
    other = write_model2vec(tmp_path / "c", {"embeddings": table(seed=1)})
    identities = [make_embedder(f"model2vec:{folder}").identity for folder in (first, copy, other)]
    assert identities[0] == identities[1] != identities[2]


@pytest.mark.parametrize(
    "tensors",
    [
        {"embeddings": table()[:5]},
        {"embeddings": table()[0]},
        {"words": table()},
        {"embeddings": table()[:3], "mapping": np.full(len(WORDS), 3)},
        {"embeddings": table(), "weights": np.ones(3, dtype=np.float32)},
    ],
    ids=["few rows", "no table", "another name", "wrong mapping", "few weights"],
)
def test_model2vec_refuses_what_does_not_fit(tmp_path, tensors):
    with pytest.raises(ConfigError, match="embedding"):
        make_embedder(f"model2vec:{write_model2vec(tmp_path, tensors)}")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", b""),
        ("model.safetensors", b"\xff" * 40),
        ("model.safetensors", b"\x02\0\0\0\0\0\0\0[]"),
        ("model.safetensors", None),
        ("tokenizer.json", b"{}"),
        ("tokenizer.json", None),
        ("config.json", b"[1]"),
        ("config.json", b"{"),
    ],
)
def test_model2vec_names_the_file_that_is_broken(tmp_path, name, content):
    write_model2vec(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        make_embedder(f"model2vec:{tmp_path}")
    assert name in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_safetensors_reads_what_the_package_writes(tmp_path):
    numpy_format = pytest.importorskip("safetensors.numpy", reason="the safetensors package is not installed")
    tensors = {name: (np.arange(12).reshape(3, 4) - 5).astype(name) for name in ("float32", "float16", "int8", "int64")}
    numpy_format.save_file(tensors, str(tmp_path / "x.safetensors"))
    read = read_tensors(tmp_path / "x.safetensors")
    assert {name: (array.dtype.name, array.tolist()) for name, array in read.items()} == {
        name: (name, tensor.tolist()) for name, tensor in tensors.items()
    }


@pytest.mark.parametrize("offsets", [[0, 10_000], [-8, 8], [40, 8], [0, 4]])
def test_safetensors_refuses_tensors_outside_the_file(tmp_path, offsets):
    header = json.dumps({"x": {"dtype": "F32", "shape": [4], "data_offsets": offsets}}).encode()
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(64))
    with pytest.raises(ConfigError, match="safetensors"):
        read_tensors(tmp_path / "x.safetensors")


@pytest.fixture
def onnx_folder(tmp_path) -> Path:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: the ONNX embedder is not tested")
    return write_onnx(tmp_path / "onnx")


@pytest.mark.parametrize("batch", [1, 3])
def test_onnx_averages_over_the_mask(onnx_folder, batch):
    embedder = make_embedder(f"onnx:{onnx_folder}", EmbedderConfig(batch=batch))
    check_contract(embedder)
    known = ["def retry ( backoff )", "close the socket", "the the file", "a"]
    assert np.allclose(embedder.embed(known, "query"), [mean_of(text) for text in known], atol=1e-6)


def test_onnx_cuts_texts_at_the_limit(onnx_folder):
    embedder = make_embedder(f"onnx:{onnx_folder}", EmbedderConfig(max_tokens=2))
    assert np.allclose(embedder.embed(["def retry the socket"], "code")[0], mean_of("def retry"), atol=1e-6)


def test_onnx_pools_as_the_folder_says(onnx_folder):
    plain = make_embedder(f"onnx:{onnx_folder}")
    (onnx_folder / "1_Pooling").mkdir()
    pooling = onnx_folder / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps({"word_embedding_dimension": 16, "pooling_mode_cls_token": True}))
    first = make_embedder(f"onnx:{onnx_folder}")
    assert np.allclose(first.embed(["def retry"], "code")[0], mean_of("def"), atol=1e-6)
    assert first.identity != plain.identity
    pooling.write_text(json.dumps({"pooling_mode_lasttoken": True}))
    with pytest.raises(ConfigError, match="lasttoken"):
        make_embedder(f"onnx:{onnx_folder}")


def test_onnx_takes_a_ready_sentence_vector(tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: the ONNX embedder is not tested")
    embedder = make_embedder(f"onnx:{write_onnx(tmp_path, pooled=True)}")
    assert np.allclose(embedder.embed(["retry the file"], "code")[0], mean_of("retry"), atol=1e-6)


def test_onnx_refuses_networks_that_read_no_text(tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: the ONNX embedder is not tested")
    with pytest.raises(ConfigError, match="pixel_values"):
        make_embedder(f"onnx:{write_onnx(tmp_path, strange=True)}")


def test_onnx_names_a_broken_network(onnx_folder):
    (onnx_folder / "model.onnx").write_bytes(b"not a network")
    with pytest.raises(ConfigError, match=r"model\.onnx"):
        make_embedder(f"onnx:{onnx_folder}")


@pytest.mark.filterwarnings("ignore")  # fastembed's dependencies warn of each other
def test_fastembed_runs_a_model_of_our_own(onnx_folder):
    fastembed = pytest.importorskip("fastembed", reason="fastembed is not installed: its embedder is not tested")
    describe = importlib.import_module("fastembed.common.model_description")
    for name, content in (
        ("config.json", {"pad_token_id": 1}),
        ("tokenizer_config.json", {"model_max_length": 64, "pad_token": "[PAD]"}),
        ("special_tokens_map.json", {"pad_token": "[PAD]", "unk_token": "[UNK]"}),
    ):
        (onnx_folder / name).write_text(json.dumps(content))
    fastembed.TextEmbedding.add_custom_model(
        "assay/tiny",
        describe.PoolingType.MEAN,
        False,
        describe.ModelSource(hf="assay/tiny"),
        16,
        model_file="model.onnx",
    )
    model = fastembed.TextEmbedding("assay/tiny", specific_model_path=str(onnx_folder))
    embedder = wrap_fastembed("assay/tiny", model, EmbedderConfig())
    check_contract(embedder)
    known = ["def retry ( backoff )", "close the socket"]
    for role in ROLES:
        assert np.allclose(embedder.embed(known, role), [mean_of(text) for text in known], atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_fastembed_lists_its_models_when_it_has_no_such(tmp_path):
    pytest.importorskip("fastembed", reason="fastembed is not installed: its embedder is not tested")
    with pytest.raises(ConfigError, match="BAAI/bge-small-en"):
        make_embedder("fastembed:nobody/nothing")


@pytest.mark.filterwarnings("ignore")  # torch and transformers warn of each other
def test_sentence_transformers_runs_a_folder_of_our_own(tmp_path):
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed: not tested")
    folder = write_model2vec(tmp_path / "st")
    modules = [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    embedder = make_embedder(f"sentence-transformers:{folder}")
    check_contract(embedder)
    known = ["def retry ( backoff )", "close the socket"]
    for role in ROLES:
        assert np.allclose(embedder.embed(known, role), [mean_of(text) for text in known], atol=1e-5)


@pytest.mark.parametrize(
    ("spec", "package", "extra"),
    [
        ("model2vec:{folder}", "tokenizers", "model2vec"),
        ("onnx:{folder}", "onnxruntime", "onnx"),
        ("fastembed:x/y", "fastembed", "fastembed"),
        ("sentence-transformers:x/y", "sentence_transformers", "sentence-transformers"),
    ],
)
def test_missing_extra_says_how_to_get_it(tmp_path, monkeypatch, spec, package, extra):
    write_model2vec(tmp_path)
    (tmp_path / "model.onnx").touch()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SetupError) as caught:
        make_embedder(spec.format(folder=tmp_path))
    assert caught.value.hint == f"pip install '.[{extra}]' in your checkout of Assay"


def test_prefixes_are_put_before_texts_by_role(tmp_path):
    write_model2vec(tmp_path)
    config = EmbedderConfig(query_prefix="open ", code_prefix="def ")
    plain, prefixed = make_embedder(f"model2vec:{tmp_path}"), make_embedder(f"model2vec:{tmp_path}", config)
    for role, prefix in zip(ROLES, ("open ", "def ", ""), strict=True):
        assert (prefixed.embed(["file"], role) == plain.embed([f"{prefix}file"], role)).all()
    assert prefixed.dimension == plain.dimension
    assert prefixed.identity != plain.identity


@pytest.mark.parametrize("spec", ["", "word2vec:x", "model2vec", "model2vec:", "openai:", "openai:http://h", "onnnx:x"])
def test_specs_that_name_nothing_are_refused(spec):
    with pytest.raises(ConfigError) as caught:
        make_embedder(spec)
    assert caught.value.hint


def test_unknown_kinds_list_the_known():
    with pytest.raises(ConfigError, match="fastembed, model2vec, onnx, openai, sentence-transformers"):
        make_embedder("bert:x")


def test_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match="nowhere"):
        make_embedder(f"model2vec:{tmp_path / 'nowhere'}")
