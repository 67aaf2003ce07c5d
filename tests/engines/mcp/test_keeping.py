"""A server that was lost is started again, in time that is nobody's."""

from __future__ import annotations

import re

from assay.engines.calling import ask
from assay.types import Corpus, Status
from tests.clocked import clocked
from tests.engines.mcp.conftest import opened


@clocked
def test_mcp_restart_is_not_cut_by_the_querys_limit_and_not_charged_to_it(corpus: Corpus) -> None:
    with opened(corpus, tool="behave") as session:
        first = session.usage().startup_seconds
        assert ask(session, "crash", 3, 20).status is Status.CRASH
        limit = min(0.2, first / 2)  # no start takes so little
        after = ask(session, "fine", 3, limit)
        assert (after.status, after.error) == (Status.OK, None)
        assert after.seconds < limit
        told = re.search(r"the (\d+\.\d) s are no part of its time", after.notes[0])
        assert told is not None
        assert float(told[1]) > limit
        assert ask(session, "crash", 3, 20).status is Status.CRASH
        hanging = ask(session, "hang", 3, 0.3)
        assert hanging.status is Status.TIMEOUT
        assert hanging.seconds < float(told[1]) + 0.3


def test_mcp_server_that_answers_between_its_failures_is_started_again_each_time(corpus: Corpus) -> None:
    with opened(corpus, tool="behave", restarts=1) as session:
        for _ in range(2):
            assert ask(session, "crash", 3, 20).status is Status.CRASH
            assert "out of luck" in session.usage().stderr
            assert ask(session, "fine", 3, 20).status is Status.OK
