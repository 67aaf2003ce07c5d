from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from assay.engines.mcp.client import Connection, innermost
from assay.engines.mcp.stdio import Pipes
from assay.processes import Task
from tests.engines.mcp.conftest import STDIO
from tests.processes import wait_until_gone


def pipes(tmp_path: Path, *argv: str) -> Pipes:
    """Start a program to be connected to."""
    return Pipes(Task(argv, tmp_path, dict(os.environ)))


def test_innermost_is_the_first_that_is_no_mere_cancellation() -> None:
    real = ValueError("x")
    group = BaseExceptionGroup("a", [asyncio.CancelledError(), BaseExceptionGroup("b", [real])])
    assert innermost(group) is real
    assert innermost(real) is real
    assert isinstance(innermost(asyncio.CancelledError()), ConnectionError)


def test_connection_knows_the_server_and_ends_it(tmp_path: Path) -> None:
    line = pipes(tmp_path, *STDIO)
    connection = Connection(line, tmp_path, "legacy", time.monotonic() + 20)
    assert connection.server.version == "toy 1.2.3"
    assert {"index", "search", "text"} <= set(connection.server.tools)
    result = connection.call("index", {"root": "x"}, time.monotonic() + 10)
    assert not result.is_error
    with pytest.raises(TimeoutError):
        connection.call("behave", {"query": "hang"}, time.monotonic() + 0.1)
    connection.end(politely=False)
    connection.end()
    assert wait_until_gone(line.child.pid)
    with pytest.raises(ConnectionError):
        connection.call("index", {"root": "x"}, None)


def test_connection_that_is_never_made_leaves_nothing(tmp_path: Path) -> None:
    line = pipes(tmp_path, "sleep", "60")
    with pytest.raises(TimeoutError):
        Connection(line, tmp_path, "legacy", time.monotonic() + 0.2)
    assert wait_until_gone(line.child.pid)
