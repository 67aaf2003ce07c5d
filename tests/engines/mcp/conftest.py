from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.engines.base import EngineContext
from assay.engines.mcp import McpEngine, make
from assay.types import Corpus
from tests.engines.conftest import CorpusOf
from tests.waiting import WATCHDOG

HERE = Path(__file__).parent
#: A server of the mcp package, and one that needs no package and starts at once.
PACKAGE = [sys.executable, str(HERE / "server.py"), "stdio"]
BARE = [sys.executable, "-S", str(HERE / "bare.py"), "stdio"]
FILES = {
    "json/encoder.py": "class Encoder:\n    def encode(self):\n        return 'float'\n",
    "README.md": "# Reads and writes JSON\n",
}


def engine_of(**settings: object) -> McpEngine:
    """Make an engine over stdio, or by url."""
    server: dict[str, object] = {} if "url" in settings else {"command": BARE}
    return make({"tool": "search", "startup_timeout": WATCHDOG, **server, **settings}, EngineContext())


@contextmanager
def opened(corpus: Corpus, **settings: object) -> Iterator[Any]:
    """Open an engine for a block."""
    session = engine_of(**settings).open_within(corpus, WATCHDOG)
    try:
        yield session
    finally:
        session.close()


@pytest.fixture(scope="module")
def corpus(corpus_of: CorpusOf) -> Corpus:
    """Two small files, for all tests of a module."""
    return corpus_of(FILES)


@pytest.fixture
def pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """The servers that were started, first to last."""
    file = tmp_path / "pids"
    monkeypatch.setenv("TOY_PIDS", str(file))
    return lambda: [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.fixture
def hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that a server writes once it hangs."""
    monkeypatch.setenv("TOY_HANGS", str(tmp_path / "hangs"))
    return tmp_path / "hangs"


@contextmanager
def served(script: str, *arguments: str) -> Iterator[str]:
    """Run a server over HTTP and give its address."""
    command = [sys.executable, str(HERE / script), "http", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.kill()
