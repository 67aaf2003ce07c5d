"""The reader of model2vec folders beside the model2vec package, on a trained model and in every form that it takes.

The model comes from PyPI. test_embedders.py compares the two on tiny models in `make test`.
"""

from __future__ import annotations

import importlib
import inspect
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.search.embedders import EmbedderConfig, make_embedder, read_tensors

model2vec = pytest.importorskip("model2vec", reason="NOT TESTED beside the model2vec package: it is not installed")

pytestmark = pytest.mark.nightly

CODE = textwrap.dedent(inspect.getsource(textwrap))
#: Code, prose, nothing, letters few models know, one token, and more than any limit takes.
TEXTS = [
    *CODE.split("\n\n"),
    "How is a paragraph wrapped?",
    "",
    " \n\t",
    "日本語 ꙮ 🙂 \x00",
    "a",
    CODE,
    "word " * 3000,
    "x" * 30_000,
    "🙂" * 2000,
]


def trained(folder: Path) -> NDArray[np.float32]:
    """Read the vectors that wordllama's authors trained."""
    (vectors,) = read_tensors(folder / "weights" / "l2_supercat_256.safetensors").values()
    return np.asarray(vectors, dtype=np.float32)


def tokenizer(path: Path) -> Any:
    return importlib.import_module("tokenizers").Tokenizer.from_file(str(path))


def shared(vectors: NDArray[np.float32], rows: int) -> dict[str, Any]:
    """Let tokens share rows, as the package's vocabulary quantisation does: a direction, and a length each."""
    lengths = np.linalg.norm(vectors, axis=1) + 1e-32
    centres = (vectors / lengths[:, None])[:: len(vectors) // rows][:rows]
    mapping = (vectors @ centres.T).argmax(axis=1)
    return {"vectors": centres, "token_mapping": mapping, "weights": lengths}


def widened(model: Any) -> Any:
    """The package's model with numbers of float32; in halves it also rounds its answers to halves."""
    if model.embedding.dtype != np.float16:
        return model
    return model2vec.StaticModel(
        model.embedding.astype(np.float32),
        model.tokenizer,
        normalize=True,
        weights=model.weights,
        token_mapping=model.token_mapping,
        max_length=model.max_length,
    )


@pytest.fixture(scope="module")
def bpe(wordllama: Path) -> Any:
    """A trained model, in float32, whose tokenizer falls back to bytes."""
    words = tokenizer(wordllama / "tokenizers" / "l2_supercat_tokenizer_config.json")
    return model2vec.StaticModel(trained(wordllama), words, normalize=True)


@pytest.fixture(scope="module")
def pieces(minilm: Path, wordllama: Path) -> Any:
    """A model whose tokenizer has a token for what it does not know, and one of its own for padding."""
    words = tokenizer(minilm / "tokenizer.json")
    return model2vec.StaticModel(trained(wordllama)[: words.get_vocab_size()], words, normalize=True)


Form = Callable[[Any], Any]
FORMS: dict[str, Form] = {
    "float32": lambda model: model,
    "float16": lambda model: model2vec.model.quantize_model(model, quantize_to="float16"),
    "int8": lambda model: model2vec.model.quantize_model(model, quantize_to="int8"),
    "half the numbers": lambda model: model2vec.model.quantize_model(model, dimensionality=128),
    "weights": lambda model: model2vec.StaticModel(
        model.embedding, model.tokenizer, weights=1 / np.arange(1.0, len(model.tokens) + 1), normalize=True
    ),
    "shared rows": lambda model: model2vec.StaticModel(
        tokenizer=model.tokenizer, normalize=True, **shared(model.embedding, 500)
    ),
    "a limit of 20 tokens": lambda model: model2vec.StaticModel(
        model.embedding, model.tokenizer, normalize=True, max_length=20
    ),
}


@pytest.mark.filterwarnings("ignore")  # its model card is written by packages that warn of each other
@pytest.mark.parametrize(
    ("kind", "form"),
    [*(("bpe", form) for form in FORMS), *(("pieces", form) for form in ("float32", "shared rows"))],
)
def test_model2vec_agrees_with_the_package_on_a_trained_model(kind, form, request, tmp_path):
    model = FORMS[form](request.getfixturevalue(kind))
    model.save_pretrained(tmp_path)
    theirs = widened(model2vec.StaticModel.from_pretrained(tmp_path)).encode(TEXTS)
    ours = make_embedder(f"model2vec:{tmp_path}").embed(TEXTS, "code")
    assert ours.shape == (len(TEXTS), model.dim)
    assert np.abs(ours - theirs).max() < 1e-6
    assert not ours[TEXTS.index("")].any()
    assert ours[0].any()


@pytest.mark.filterwarnings("ignore")
def test_model2vec_without_a_limit_reads_as_far_as_it_is_told(bpe, tmp_path):
    model = model2vec.StaticModel(bpe.embedding, bpe.tokenizer, normalize=True, max_length=None)
    model.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["max_length"] is None
    theirs = model2vec.StaticModel.from_pretrained(tmp_path).encode(TEXTS)
    ours = make_embedder(f"model2vec:{tmp_path}", EmbedderConfig(max_tokens=10**6)).embed(TEXTS, "code")
    assert np.abs(ours - theirs).max() < 1e-6


@pytest.mark.parametrize("below", [".", "0_StaticEmbedding"])
def test_model2vec_agrees_with_the_package_on_the_files_of_sentence_transformers(wordllama, tmp_path, below):
    (tmp_path / below).mkdir(exist_ok=True)
    for name, source in (
        ("model.safetensors", wordllama / "weights" / "l2_supercat_256.safetensors"),
        ("tokenizer.json", wordllama / "tokenizers" / "l2_supercat_tokenizer_config.json"),
    ):
        (tmp_path / below / name).symlink_to(source)
    (tmp_path / "config_sentence_transformers.json").write_text("{}")
    theirs = widened(model2vec.StaticModel.from_pretrained(tmp_path)).encode(TEXTS)
    assert np.abs(make_embedder(f"model2vec:{tmp_path}").embed(TEXTS, "docs") - theirs).max() < 1e-6


@pytest.mark.filterwarnings("ignore")
def test_trained_model_puts_texts_that_mean_the_same_together(bpe, tmp_path):
    bpe.save_pretrained(tmp_path)
    embedder = make_embedder(f"model2vec:{tmp_path}")
    for one, same, other in (
        ("The cat sleeps.", "A kitten is napping.", "Interest rates rose."),
        ("delete a file", "remove a document", "multiply two matrices"),
    ):
        rows = embedder.embed([one, same, other], "query")
        assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.1
