"""A server that was lost is started again, in time that is nobody's."""

from __future__ import annotations

import re

import pytest

from assay.engines.calls import QueryOutcome, query_session
from assay.types import Corpus, Status
from tests.engines.mcp.conftest import BARE, opened
from tests.processes import time_out
from tests.waiting import WATCHDOG


@pytest.mark.nightly  # engines/command/test_interactive.py has the same of a program that is no server
def test_mcp_restart_is_not_cut_by_the_querys_limit_and_not_charged_to_it(corpus: Corpus) -> None:
    def attempt(limit: float) -> tuple[QueryOutcome, QueryOutcome]:
        slow = ["sh", "-c", f'sleep {1.5 * limit}; exec "$@"', "sh", *BARE]
        with opened(corpus, tool="behave", command=slow) as session:
            assert query_session(session, "crash", 3, WATCHDOG).status is Status.CRASH
            fine = query_session(session, "fine", 3, limit)
            assert query_session(session, "crash", 3, WATCHDOG).status is Status.CRASH
            failing = query_session(session, "fail", 3, limit)
        told = re.search(r"the (\d+\.\d) s are no part of its time", "".join(fine.notes))
        assert fine.status is not Status.OK or (told is not None and float(told[1]) >= round(1.5 * limit, 1))
        assert fine.status is not Status.OK or fine.seconds < WATCHDOG
        return fine, failing

    def is_in_time(answers: tuple[QueryOutcome, QueryOutcome]) -> bool:
        return [answer.status for answer in answers] == [Status.OK, Status.ERROR]

    # On a busy machine an answer itself may take longer than the limit: then everything is tried ten times slower.
    time_out(attempt, is_in_time)


def test_mcp_server_that_answers_between_its_failures_is_started_again_each_time(corpus: Corpus) -> None:
    with opened(corpus, tool="behave", restarts=1) as session:
        for _ in range(2):
            assert query_session(session, "crash", 3, WATCHDOG).status is Status.CRASH
            assert "out of luck" in session.usage().stderr
            assert query_session(session, "fine", 3, WATCHDOG).status is Status.OK
