from __future__ import annotations

import time

import pytest

from assay.engines.tool import RESTART_SECONDS, RestartCost, Restarts
from assay.errors import EngineError


def test_restart_gets_a_time_of_its_own_that_follows_the_first_start() -> None:
    limits: list[float] = []
    restarts = Restarts(5, "the tool")
    restarts.restart(limits.append)
    restarts.first_start = 100.0
    restarts.restart(limits.append)
    assert limits == [RESTART_SECONDS, 300.0]


def test_restart_tells_its_seconds(naps: list[float]) -> None:
    again = Restarts(5, "the tool").restart(lambda _: time.sleep(1000.0))
    assert again.seconds >= 1000
    (note,) = again.notes
    assert note == f"the tool was restarted before this query ({again.seconds:.1f} s, not counted)"


def test_restarts_are_bounded_in_a_row_and_an_answer_begins_a_new_row() -> None:
    restarts = Restarts(1, "the tool")
    restarts.losses += 1
    restarts.restart(lambda _: None)
    restarts.losses = 0
    restarts.losses += 1
    restarts.restart(lambda _: None)
    restarts.losses += 1
    with pytest.raises(EngineError, match="the tool failed 2 times in a row and is not restarted") as caught:
        restarts.restart(lambda _: pytest.fail("started once too often"))
    assert caught.value.hint == "fix the program, or raise `restarts`"


def test_seconds_of_a_restart_are_not_charged_when_it_or_the_answer_fails(naps: list[float]) -> None:
    def fail(_: float) -> None:
        time.sleep(1000.0)
        raise EngineError("no")

    with pytest.raises(EngineError) as unstarted:
        Restarts(1, "the tool").restart(fail)
    assert unstarted.value.waited >= 1000
    with pytest.raises(EngineError) as unanswered, RestartCost(2.5).excluded():
        raise EngineError("no")
    assert unanswered.value.waited == 2.5
