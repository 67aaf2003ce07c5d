"""A session of an MCP server: its index command, its updates, and what it says it took."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from assay.engines.base import UpdatingSession
from assay.engines.calls import close_session, open_session, query_session, session_usage, update_session
from assay.errors import EngineError, EngineTimeoutError
from assay.types import Corpus, Status
from tests.engines.mcp.conftest import BARE, engine_of, opened
from tests.processes import HANG
from tests.waiting import WATCHDOG

#: Counts in the store how often it was run, and takes some time.
COUNT = (
    "import sys, time; time.sleep(0.1); path = sys.argv[1] + '/runs'; print('indexed', file=sys.stderr); "
    "open(path, 'a').write('x')"
)
INDEX = [sys.executable, "-ISc", COUNT, "{store}"]


def test_mcp_session_without_an_update_or_an_index_claims_none(corpus: Corpus) -> None:
    with opened(corpus) as session:
        assert not isinstance(session, UpdatingSession)
        assert update_session(session, corpus, WATCHDOG) is None


def test_mcp_index_command_is_run_before_the_server_and_is_no_part_of_its_start(corpus: Corpus) -> None:
    started = open_session(engine_of(index_command=INDEX), corpus, WATCHDOG)
    usage = session_usage(started.session)
    assert close_session(started.session) is None
    assert usage.store_bytes == 1
    assert usage.stderr.startswith("[index]\nindexed")
    assert usage.startup_seconds is not None
    assert started.seconds - usage.startup_seconds >= 0.1
    assert not isinstance(started.session, UpdatingSession)  # an index that nothing renews is as old as the start


@pytest.mark.parametrize(("update", "runs"), [("restart", 1), ("index", 2)])
def test_mcp_update_starts_the_server_anew(corpus: Corpus, pids: Any, update: str, runs: int) -> None:
    with opened(corpus, index_command=INDEX, update=update) as session:
        answer = update_session(session, corpus, WATCHDOG)
        assert answer is not None
        assert (answer.status, answer.error) == (Status.OK, None)
        assert session.usage().store_bytes == runs
        after = query_session(session, "q", 2, WATCHDOG)
    assert (after.status, after.notes) == (Status.OK, ())
    assert len(pids()) == 2


def test_mcp_index_command_that_fails_is_told_in_its_words(corpus: Corpus, pids: Any, tmp_path: Path) -> None:
    failing = [sys.executable, "-c", "import sys; sys.exit('no disk')"]
    with pytest.raises(EngineError, match="indexing failed: .* ended with exit code 1: no disk"):
        engine_of(index_command=failing).open_within(corpus, WATCHDOG)
    with pytest.raises(EngineTimeoutError, match=r"no answer after 0\.1 s"):
        engine_of(index_command=["sleep", str(HANG)], index_timeout=0.1).open_within(corpus, WATCHDOG)
    with pytest.raises(EngineError, match="program no-such-tool"):
        engine_of(index_command=["no-such-tool"]).open_within(corpus, WATCHDOG)
    assert pids() == []


def test_mcp_update_that_fails_is_told_and_the_next_query_is_answered(corpus: Corpus) -> None:
    once = "import os, sys; path = sys.argv[1] + '/x'; sys.exit('locked') if os.path.exists(path) else open(path, 'w')"
    with opened(corpus, index_command=[sys.executable, "-c", once, "{store}"], update="index") as session:
        answer = update_session(session, corpus, WATCHDOG)
        assert answer is not None
        assert "updating failed" in str(answer.error)
        assert "locked" in str(answer.error)
        assert query_session(session, "q", 2, WATCHDOG).status == Status.OK


def test_mcp_program_is_looked_for_from_the_users_folder(corpus: Corpus, tmp_path: Path) -> None:
    from assay.engines.base import EngineContext
    from assay.engines.mcp import make

    (tmp_path / "serve").write_text(f"#!/bin/sh\nexec {' '.join(BARE)}\n")
    (tmp_path / "serve").chmod(0o755)
    engine = make({"tool": "search", "command": "./serve"}, EngineContext(directory=tmp_path))
    session = engine.open_within(corpus, WATCHDOG)
    assert query_session(session, "q", 2, WATCHDOG).status == Status.OK
    session.close()


def test_server_whose_index_call_says_that_it_failed_is_not_opened(corpus: Corpus) -> None:
    index = {"tool": "behave", "arguments": {"query": "outside"}}
    with pytest.raises(EngineError, match="the tool failed: /etc/passwd"):
        engine_of(index=index, failed="^/etc").open_within(corpus, WATCHDOG)
