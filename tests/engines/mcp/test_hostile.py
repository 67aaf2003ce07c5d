"""Servers that die, hang, babble and lie: each costs its own query, and nothing is left running."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from assay.engines.base import EngineCrash
from assay.engines.calling import ask
from assay.engines.mcp.settings import Settings
from assay.engines.normalise import normalise
from assay.errors import EngineError, EngineTimeout
from assay.types import Corpus, Status
from tests.clocked import clocked
from tests.engines.mcp.conftest import engine_of, opened
from tests.processes import wait_until_gone


@pytest.fixture
def pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The servers that were started, first to last."""
    file = tmp_path / "pids"
    monkeypatch.setenv("TOY_PIDS", str(file))
    return lambda: [int(line) for line in file.read_text().split()]


def test_mcp_server_that_dies_costs_one_query_and_is_started_and_indexed_again(corpus: Corpus, pids: Any) -> None:
    index = {"tool": "index", "arguments": {"root": "{root}"}}
    with opened(corpus, tool="behave", index=index) as session:
        crash = ask(session, "crash", 3, 20)
        assert crash.status is Status.CRASH
        assert "the server died by SIGKILL: out of luck" in str(crash.error)
        after = ask(session, "fine", 3, 20)
        assert (after.status, [hit.path for hit in after.hits]) == (Status.OK, ["README.md"])
        assert "the server was started again before this query" in after.notes[0]
        assert ask(session, "fine", 3, 20).notes == ()
        assert session.usage().peak_bytes > 10_000_000
    assert all(map(wait_until_gone, pids()))
    assert len(pids()) == 2


@clocked
def test_mcp_server_that_hangs_is_ended_and_restarts_are_bounded(corpus: Corpus, pids: Any) -> None:
    with opened(corpus, tool="behave", restarts=1) as session:
        begin = time.monotonic()
        with pytest.raises(EngineTimeout, match=r"no answer after 0\.3 s"):
            session.search_within("hang", 3, 0.3)
        assert time.monotonic() - begin < 3
        assert wait_until_gone(pids()[0])
        with pytest.raises(EngineCrash, match="closed its output"):
            session.search_within("close", 3, 20)
        with pytest.raises(EngineError, match="lost 2 times in a row and is not started again") as caught:
            session.search_within("fine", 3, 20)
        assert "restarts" in str(caught.value.hint)
    assert len(pids()) == 2
    assert all(map(wait_until_gone, pids()))


def test_mcp_server_that_prints_a_gigabyte_is_stopped_early(corpus: Corpus, pids: Any) -> None:
    with opened(corpus, tool="behave") as session:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(EngineError, match=r"printed more than 32,000,000 bytes in one line"):
            session.search_within("flood", 3, 20)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
    assert all(map(wait_until_gone, pids()))


def test_mcp_server_that_babbles_fails_and_lies_is_heard_through(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_TEST_KEPT", "s3cr3t-value")
    with opened(corpus, tool="behave", env={"TOY_TOKEN": "{env:TOY_TEST_KEPT}"}) as session:
        junk = session.search_within("junk", 3, 20)
        assert [hit.path for hit in junk.hits] == ["README.md"]
        assert junk.notes == ("3 lines on stdout left out that were no MCP messages, e.g. 'loading'",)
        assert session.search_within("fine", 3, 20).notes == ()
        with pytest.raises(EngineError, match="'behave' failed: .*the index is gone"):
            session.search_within("fail", 3, 20)
        with pytest.raises(EngineError, match=r"refused \*\*\*"):
            session.search_within("token", 3, 20)
        many = session.search_within("many", 3, 20)
        assert len(many.hits) == 10_000
        assert "10000 results where 3 were asked for" in " ".join(normalise(many.hits, corpus, 3).notes)
        outside = normalise(session.search_within("outside", 3, 20).hits, corpus, 3)
        assert [hit.path for hit in outside.hits] == ["/etc/passwd", "../../secret.py"]
        assert "2 of 2 paths not in the corpus" in outside.notes[0]


@pytest.mark.parametrize(
    ("command", "problem", "message"),
    [
        (["sh", "-c", "echo no licence >&2; exit 3"], EngineCrash, "ended with exit code 3: no licence"),
        (["sleep", "60"], EngineTimeout, "no answer after 0.3 s"),
        (["yes"], EngineTimeout, "no answer after 0.3 s"),
        (["no-such-server-anywhere"], EngineError, "no program no-such-server-anywhere"),
    ],
)
def test_mcp_program_that_is_no_server_is_told_and_ended(
    corpus: Corpus, command: list[str], problem: type[Exception], message: str
) -> None:
    threads = threading.active_count()
    with pytest.raises(problem, match=message) as caught:
        engine_of(command=command, startup_timeout=0.3).open_within(corpus, 30)
    assert getattr(caught.value, "hint", None)
    assert threading.active_count() == threads


def test_mcp_interrupt_ends_the_server(corpus: Corpus, pids: Any) -> None:
    with opened(corpus, tool="behave") as session:
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.search_within("hang", 3, 20)
        timer.join()
        assert wait_until_gone(pids()[0])


def test_mcp_settings_record_no_secret() -> None:
    engine = engine_of(env={"KEY": "s3cr3t-value"}, index={"tool": "index", "arguments": {"root": "{root}"}})
    recorded = json.dumps(engine.config)
    assert "s3cr3t" not in recorded
    assert "s3cr3t-value" in engine.secrets
    assert engine.config["index"] == [{"tool": "index", "arguments": {"root": "{root}"}}]
    assert not {"startup_timeout", "restarts", "index_timeout"} & set(engine.config)
    assert "s3cr3t" not in repr(engine.settings)
    assert Settings(tool="x").restarts == 5


def test_mcp_without_the_package_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None; from assay.engines import make_engine\n"
        "make_engine({'kind': 'mcp', 'command': 'x', 'tool': 'search'})"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "EnvironmentFailure: engine mcp: the mcp package is not installed" in finished.stderr
    assert "pip install '.[mcp]'" in finished.stderr
