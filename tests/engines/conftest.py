from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from assay.types import Corpus, CorpusSpec, SourceFile
from tests.http.conftest import naps as naps

CorpusOf = Callable[..., Corpus]


@pytest.fixture(scope="session")
def corpus_of(tmp_path_factory: pytest.TempPathFactory) -> CorpusOf:
    """Write files into a fresh folder and give them as a corpus."""

    def write(files: Mapping[str, str | bytes], spec: CorpusSpec | None = None) -> Corpus:
        root = tmp_path_factory.mktemp("corpus")
        for path, content in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
        sources = tuple(SourceFile(path, (root / path).stat().st_size, "code", None) for path in sorted(files))
        digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
        return Corpus(root, spec or CorpusSpec("path", str(root)), sources, digest)

    return write


@pytest.fixture
def corpus(corpus_of: CorpusOf) -> Corpus:
    """Three small files."""
    return corpus_of(
        {
            "json/encoder.py": "class Encoder:\n    def encode(self):\n        return 'float'\n",
            "json/decoder.py": "class Decoder:\n    def decode(self):\n        pass\n",
            "README.md": "# Reads and writes JSON\n",
        }
    )


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], list[str]]:
    """Write a Python program and give the argv that runs it with a query."""

    def write(source: str) -> list[str]:
        path = tmp_path / "program.py"
        path.write_text("import os, sys, time, signal, json, subprocess\n" + source)
        return [sys.executable, "-IS", str(path), "--", "{query}", "{k}"]

    return write
