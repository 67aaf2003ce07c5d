from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from assay.types import Corpus, CorpusSpec, SourceFile

CorpusOf = Callable[[Mapping[str, str]], Corpus]


@pytest.fixture(scope="session")
def corpus_of(tmp_path_factory: pytest.TempPathFactory) -> CorpusOf:
    """Write files into a fresh folder and give them as a corpus."""

    def write(files: Mapping[str, str]) -> Corpus:
        root = tmp_path_factory.mktemp("corpus")
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content.encode())
        sources = tuple(SourceFile(path, len(files[path]), "code") for path in sorted(files))
        return Corpus(root, CorpusSpec("path", str(root)), sources, "digest")

    return write
