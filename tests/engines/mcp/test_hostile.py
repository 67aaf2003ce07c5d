"""Servers that die, hang, babble and lie: each costs its own query, and nothing is left running."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from assay.engines.base import EngineCrash
from assay.engines.calls import query_session
from assay.engines.mcp import McpSettings
from assay.engines.normalize import Normalizer
from assay.errors import EngineError, EngineTimeoutError
from assay.processes.running import ANSWER_BYTES
from assay.types import Corpus, Status
from tests.engines.mcp.conftest import engine_of, opened
from tests.processes import HANG, pids_in, time_out, wait_until_gone
from tests.waiting import WATCHDOG, wait_until


def test_mcp_server_that_dies_costs_one_query_and_is_started_and_indexed_again(corpus: Corpus, pids: Any) -> None:
    index = {"tool": "index", "arguments": {"root": "{root}"}}
    with opened(corpus, tool="behave", index=index) as session:
        crash = query_session(session, "crash", 3, WATCHDOG)
        assert crash.status is Status.CRASH
        assert "the server was killed by SIGKILL: out of luck" in str(crash.error)
        after = query_session(session, "fine", 3, WATCHDOG)
        assert (after.status, [hit.path for hit in after.hits]) == (Status.OK, ["README.md"])
        assert "the server was restarted before this query" in after.notes[0]
        assert query_session(session, "fine", 3, WATCHDOG).notes == ()
    assert all(map(wait_until_gone, pids()))
    assert len(pids()) == 2


def test_mcp_server_that_hangs_is_ended_and_restarts_are_bounded(corpus: Corpus, pids: Any) -> None:
    with opened(corpus, tool="behave", restarts=1) as session:
        with pytest.raises(EngineTimeoutError, match=r"no answer after 0\.1 s"):
            session.search_within("hang", 3, 0.1)
        assert wait_until_gone(pids()[0])
        with pytest.raises(EngineCrash, match="closed its output"):
            session.search_within("close", 3, WATCHDOG)
        with pytest.raises(EngineError, match="failed 2 times in a row and is not restarted") as caught:
            session.search_within("fine", 3, WATCHDOG)
        assert "restarts" in str(caught.value.hint)
    assert len(pids()) == 2
    assert all(map(wait_until_gone, pids()))


def test_mcp_server_that_prints_without_end_is_stopped(corpus: Corpus, pids: Any) -> None:
    too_much = pytest.raises(EngineError, match=r"printed more than 32,000,000 bytes on one line")
    with opened(corpus, tool="behave") as session, too_much:
        session.search_within("flood", 3, WATCHDOG)
    assert all(map(wait_until_gone, pids()))


@pytest.mark.soak
def test_mcp_flood_is_not_held(corpus: Corpus) -> None:
    with opened(corpus, tool="behave") as session:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(EngineError, match="printed more than"):
            session.search_within("flood", 3, WATCHDOG)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1024 if sys.platform == "linux" else 1)
    assert grown / ANSWER_BYTES < 6


def test_mcp_server_that_babbles_fails_and_lies_is_heard_through(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_TEST_KEPT", "s3cr3t-value")
    with opened(corpus, tool="behave", env={"TOY_TOKEN": "{env:TOY_TEST_KEPT}"}) as session:
        junk = session.search_within("junk", 3, WATCHDOG)
        assert [hit.path for hit in junk.hits] == ["README.md"]
        assert junk.notes == ("ignored 3 lines on stdout that are not MCP messages, e.g. 'loading'",)
        assert session.search_within("fine", 3, WATCHDOG).notes == ()
        with pytest.raises(EngineError, match="'behave' failed: .*the index is gone"):
            session.search_within("fail", 3, WATCHDOG)
        with pytest.raises(EngineError, match=r"refused \*\*\*"):
            session.search_within("token", 3, WATCHDOG)
        many = session.search_within("many", 3, WATCHDOG)
        assert len(many.hits) == 10_000
        assert "expected at most 3 results, got 10000" in " ".join(Normalizer(corpus)(many.hits, 3).notes)
        outside = Normalizer(corpus)(session.search_within("outside", 3, WATCHDOG).hits, 3)
        assert [hit.path for hit in outside.hits] == ["/etc/passwd", "../../secret.py"]
        assert "2 of 2 paths not in the corpus" in outside.notes[0]


@pytest.mark.parametrize(
    ("script", "limit", "problem", "message"),
    [
        ("echo no licence >&2; exit 3", WATCHDOG, EngineCrash, "ended with exit code 3: no licence"),
        (f"sleep {HANG}", 0.0, EngineTimeoutError, "no answer after"),
        pytest.param("yes", 0.0, EngineTimeoutError, "no answer after", marks=pytest.mark.nightly),
    ],
)
def test_mcp_program_that_is_no_server_is_told_and_ended(
    corpus: Corpus, tmp_path: Path, script: str, limit: float, problem: type[Exception], message: str
) -> None:
    pid = tmp_path / "pid"
    command = ["sh", "-c", f"echo $$ > {pid}; {script}"]
    threads = threading.active_count()

    def attempt(seconds: float) -> Any:
        with pytest.raises(problem, match=message) as caught:
            engine_of(command=command, startup_timeout=limit or seconds).open_within(corpus, WATCHDOG)
        return caught.value

    assert time_out(attempt, lambda _: pids_in(pid, 1)).hint
    assert wait_until_gone(*pids_in(pid, 1))
    assert threading.active_count() == threads


def test_mcp_program_that_is_missing_is_told(corpus: Corpus) -> None:
    with pytest.raises(EngineError, match="program no-such-server-anywhere") as caught:
        engine_of(command=["no-such-server-anywhere"]).open_within(corpus, WATCHDOG)
    assert caught.value.hint


def test_mcp_interrupt_ends_the_server(corpus: Corpus, pids: Any, hangs: Path) -> None:
    def interrupt() -> None:
        wait_until(hangs.exists, "a server that hangs")
        os.kill(os.getpid(), signal.SIGINT)

    with opened(corpus, tool="behave") as session:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.search_within("hang", 3, WATCHDOG)
        thread.join()
        assert wait_until_gone(pids()[0])


def test_mcp_settings_record_no_secret() -> None:
    engine = engine_of(env={"KEY": "s3cr3t-value"}, index={"tool": "index", "arguments": {"root": "{root}"}})
    recorded = json.dumps(engine.config)
    assert "s3cr3t" not in recorded
    assert "s3cr3t-value" in engine.secrets
    assert engine.config["index"] == [{"tool": "index", "arguments": {"root": "{root}"}}]
    assert not {"startup_timeout", "restarts", "index_timeout"} & set(engine.config)
    assert "s3cr3t" not in repr(engine.settings)
    assert McpSettings(tool="x").restarts == 5


def test_mcp_without_the_package_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None; from assay.engines import make_engine\n"
        "make_engine({'kind': 'mcp', 'command': 'x', 'tool': 'search'})"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "SetupError: engine mcp: the mcp package is not installed" in finished.stderr
    assert "pip install '.[mcp]'" in finished.stderr
