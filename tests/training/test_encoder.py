"""`assay train --encoder` on three tiny repositories and a tiny random encoder."""

import json
import struct

import numpy as np
import pytest

from assay.cli.main import main
from assay.search.embedders import read_tensors
from assay.store.array_file import read_store
from assay.training.encoder import EncoderTrainConfig, load_texts
from assay.training.pipeline import TrainRequest, mine_shards
from assay.training.selection import Exclusions
from tests.training.toy import THINGS, make_toy

RECIPE = """\
[mining]
texts = 300
[vocabulary]
repositories = 1
[held_out]
share = 0.3
queries = 20
[delta]
rank = 2
layers = 1
steps = {steps}
batch = 8
query_tokens = 8
code_tokens = 16
rate = 0.02
warmup = 2
checkpoint = {checkpoint}
report = 100
"""
WIDTH, LAYERS, WORDS = 16, 2, 400


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    make_toy(folder / "repositories")
    return folder


@pytest.fixture(scope="module")
def base(toy):
    """A BERT encoder of random numbers."""
    tokenizers = pytest.importorskip("tokenizers")
    folder, draw = toy / "base", np.random.default_rng(0)
    folder.mkdir()
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (WORDS, WIDTH),
        "embeddings.position_embeddings.weight": (32, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    norms = ["embeddings"]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes |= {f"{name}.{part}.weight": (WIDTH, WIDTH), f"{name}.{part}.bias": (WIDTH,)}
        shapes |= {f"{name}.intermediate.dense.weight": (32, WIDTH), f"{name}.intermediate.dense.bias": (32,)}
        shapes |= {f"{name}.output.dense.weight": (WIDTH, 32), f"{name}.output.dense.bias": (WIDTH,)}
        norms += [f"{name}.attention.output", f"{name}.output"]
    tensors = {name: draw.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    tensors |= {f"{name}.LayerNorm.weight": np.ones(WIDTH, np.float32) for name in norms}
    tensors |= {f"{name}.LayerNorm.bias": np.zeros(WIDTH, np.float32) for name in norms}
    header, data = {}, b""
    for name, array in tensors.items():
        header[name] = {
            "dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes],
        }  # fmt: skip
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "config.json").write_text('{"num_attention_heads": 2}')
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.WordLevelTrainer(vocab_size=WORDS, special_tokens=["[UNK]"])
    tokenizer.train_from_iterator([" ".join(things) for things in THINGS.values()] * 3, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def train(toy, base, out, steps=12, checkpoint=4):
    recipe = toy / f"recipe-{steps}-{checkpoint}.toml"
    recipe.write_text(RECIPE.format(steps=steps, checkpoint=checkpoint))
    words = ["train", str(toy / "repositories"), "--encoder", str(base), "--recipe", str(recipe), "--out", str(out)]
    return main([*words, "--quiet"])


def test_the_same_recipe_gives_the_same_delta_of_the_upper_layers(toy, base, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed: training an encoder is NOT tested")
    assert train(toy, base, tmp_path / "a") == train(toy, base, tmp_path / "b") == 0
    assert (tmp_path / "a/delta.assay").read_bytes() == (tmp_path / "b/delta.assay").read_bytes()
    delta = read_store(tmp_path / "a/delta.assay").arrays
    assert {name.split(".")[2] for name in delta} == {"1"}
    assert len(delta) == 12
    tensors = read_tensors(base / "model.safetensors")
    for name in {name.rpartition(".")[0] for name in delta}:
        change = delta[f"{name}.up"].astype(np.float32) @ delta[f"{name}.down"].astype(np.float32)
        assert change.shape == tensors[f"{name}.weight"].shape
        assert change.any()
    about = json.loads((tmp_path / "a/delta.json").read_text())
    assert [report["step"] for report in about["reports"]] == [0, 12]
    assert json.loads((tmp_path / "a/manifest.json").read_text())["pairs"]["doc"]


def test_an_interrupted_training_continues_from_its_checkpoint(toy, base, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed: training an encoder is NOT tested")
    from assay.training.encoder import Trainer

    assert train(toy, base, tmp_path / "whole") == 0
    plain, calls = Trainer._loss, []

    def fail_once(self, draw):
        calls.append(1)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return plain(self, draw)

    monkeypatch.setattr(Trainer, "_loss", fail_once)
    assert train(toy, base, tmp_path / "cut") != 0
    assert train(toy, base, tmp_path / "cut") == 0
    assert len(calls) == 7 + 8  # from step 4 of 12
    assert (tmp_path / "whole/delta.assay").read_bytes() == (tmp_path / "cut/delta.assay").read_bytes()


def test_texts_of_pairs_follow_their_words(toy, tmp_path):
    config = EncoderTrainConfig()
    request = TrainRequest(toy / "repositories", tmp_path, Exclusions(()), None, 1)
    shards, _ = mine_shards(request, config.mining, lambda _: None)
    data = load_texts(shards, EncoderTrainConfig(vocabulary=type(config.vocabulary)(repositories=1)))
    assert len(data.questions) == len(data.texts) == len(data.pairs) > 0
    for row in range(len(data.pairs)):
        bare = data.unshared(row, lambda: False)
        assert set(bare.split()) <= set(data.questions[row].split())
    documented = [row for row in range(len(data.pairs)) if data.pairs.kind[row] == 0]
    assert documented
    assert all(data.questions[row] not in data.texts[row] for row in documented)


def test_a_directory_without_weights_is_refused(toy, tmp_path, capsys):
    assert train(toy, tmp_path, tmp_path / "out") == 2
    assert "hint:" in capsys.readouterr().err
