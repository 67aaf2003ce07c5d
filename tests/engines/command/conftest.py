from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.engines.base import TimedSession
from assay.engines.calls import close_session, open_session
from assay.types import Corpus
from tests.waiting import WATCHDOG

Opener = Callable[..., TimedSession]


@pytest.fixture
def server(tmp_path: Path) -> Callable[[str], list[str]]:
    """Write a Python program that stays and give the argv that starts it."""

    def write(source: str) -> list[str]:
        path = tmp_path / "server.py"
        path.write_text("import os, sys, time, signal, json, subprocess\n" + source)
        return [sys.executable, "-IS", str(path)]

    return write


@pytest.fixture
def opened(corpus: Corpus) -> Iterator[Opener]:
    """Open command engines, and close them in the end."""
    sessions: list[TimedSession] = []

    def open_engine(argv: object, on: Corpus | None = None, **settings: object) -> TimedSession:
        engine = make_engine({"kind": "command", "argv": argv, **settings})
        session = open_session(engine, on or corpus, WATCHDOG).session
        assert isinstance(session, TimedSession)
        sessions.append(session)
        return session

    yield open_engine
    for session in sessions:
        assert close_session(session) is None
