from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

import pytest

from assay.engines.base import EngineContext, TimedSession
from assay.engines.http import HttpEngine, HttpSession, make
from assay.types import Corpus

TOKEN = "sk-Zq81-very+secret/42"
FIELDS = {"path": "data.results[].file", "start": "span.from", "end": "span.to", "score": "score"}

Opening = Callable[..., AbstractContextManager[HttpSession]]


@pytest.fixture(autouse=True)
def environment(monkeypatch) -> None:
    """A token, and no proxy."""
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
    for name in ("http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def opened(corpus: Corpus) -> Opening:
    """Open an engine with these settings on three small files."""

    @contextmanager
    def opening(**settings: Any) -> Iterator[HttpSession]:
        session = cast(HttpSession, engine_of(**settings).open(corpus))
        assert isinstance(session, TimedSession)
        try:
            yield session
        finally:
            session.close()

    return opening


def engine_of(**settings: Any) -> HttpEngine:
    return make(settings, EngineContext())
