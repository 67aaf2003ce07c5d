from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from assay.corpus import open_corpus, parse_spec
from assay.types import Corpus

CorpusOf = Callable[[Mapping[str, str | bytes]], Corpus]


def write_files(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)
    return root


@pytest.fixture(scope="session")
def corpus_of(tmp_path_factory: pytest.TempPathFactory) -> CorpusOf:
    """Write files into a fresh folder and give them as a corpus."""

    def write(files: Mapping[str, str | bytes]) -> Corpus:
        return open_corpus(parse_spec(str(write_files(tmp_path_factory.mktemp("corpus"), files))))

    return write


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every index of a test in a folder of its own."""
    monkeypatch.setenv("ASSAY_INDEX_DIR", str(tmp_path / "index"))
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
