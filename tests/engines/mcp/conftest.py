from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.engines.base import Context
from assay.engines.mcp.engine import McpEngine, make
from assay.types import Corpus
from tests.engines.conftest import CorpusOf

SCRIPT = Path(__file__).with_name("server.py")
STDIO = [sys.executable, str(SCRIPT), "stdio"]
FILES = {
    "json/encoder.py": "class Encoder:\n    def encode(self):\n        return 'float'\n",
    "README.md": "# Reads and writes JSON\n",
}


def engine_of(**settings: object) -> McpEngine:
    """Make an engine over stdio, or by url."""
    server: dict[str, object] = {} if "url" in settings else {"command": STDIO}
    return make({"tool": "search", "startup_timeout": 20, **server, **settings}, Context())


@contextmanager
def opened(corpus: Corpus, **settings: object) -> Iterator[Any]:
    """Open an engine for a block."""
    session = engine_of(**settings).open_within(corpus, 30)
    try:
        yield session
    finally:
        session.close()


@pytest.fixture(scope="module")
def corpus(corpus_of: CorpusOf) -> Corpus:
    """Two small files, for all tests of a module."""
    return corpus_of(FILES)


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """Run the server over HTTP and give its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(SCRIPT), "http", str(port), *arguments])
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int) -> None:
    """Wait until somebody listens."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("the server did not come up")
