"""An index of our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.corpus import open_corpus, parse_spec
from assay.types import Corpus
from tests.corpus.serving import Site, serve


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Serve an empty index, and point pip at it alone."""
    with serve() as served:
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", f"{served.url}/simple")
        monkeypatch.setenv("PIP_RETRIES", "0")
        monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
        monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield served


def open_package(tmp_path: Path, text: str) -> Corpus:
    """Open a package with a cache of the test's own."""
    return open_corpus(parse_spec(text), cache=tmp_path / "cache")
