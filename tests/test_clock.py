from __future__ import annotations

import threading

import pytest

from assay.clock import Deadline, call_within, format_duration, min_timeout, now, today
from tests.waiting import wait_until


def test_shortest_of_limits_where_none_is_no_limit() -> None:
    assert min_timeout() is min_timeout(None, None) is None
    assert min_timeout(3.0, None, 2.0) == 2.0


def test_clock_runs_out() -> None:
    deadline = Deadline(None, 1e-9)
    assert deadline.limit == 1e-9
    wait_until(lambda: deadline.remaining() == 0.0, "the end of a nanosecond")
    with pytest.raises(TimeoutError):
        deadline.remaining_or_raise()
    deadline.extend(3600.0)
    assert 0 < (deadline.remaining_or_raise() or 0) <= 3600.0


def test_clock_without_a_limit_never_runs_out() -> None:
    deadline = Deadline(None)
    assert deadline.remaining_or_raise() is deadline.remaining() is deadline.at is None
    assert deadline.allows(1e9)
    assert deadline.within(3.0).limit == 3.0


def test_clock_within_another_ends_with_it_at_the_latest() -> None:
    outer = Deadline(3600.0)
    assert outer.within(7200.0).at == outer.at
    inner = outer.within(0.1)
    assert (inner.limit, (inner.at or 0) < (outer.at or 0)) == (0.1, True)


@pytest.mark.parametrize(("seconds", "words"), [(0.399651, "0.4 s"), (3600.0, "3600 s"), (None, "0 s"), (2.0, "2 s")])
def test_seconds_are_told_as_people_would(seconds: float | None, words: str) -> None:
    assert format_duration(seconds) == words


def test_source_date_epoch_fixes_time_and_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86399")
    assert (now().isoformat(), today()) == ("1970-01-01T23:59:59+00:00", "1970-01-01")


@pytest.mark.parametrize("fixed", ["", "soon", "-1"])
def test_time_is_real_where_source_date_epoch_is_not_a_number(monkeypatch: pytest.MonkeyPatch, fixed: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", fixed)
    assert now().year >= 2024
    assert today() >= "2024"


def test_call_within_returns_the_value_or_raises_the_error() -> None:
    assert call_within(None, lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        call_within(60.0, lambda: 1 // 0)


def test_call_within_abandons_a_call_that_takes_too_long() -> None:
    end = threading.Event()
    with pytest.raises(TimeoutError):
        call_within(0.01, lambda: end.wait(60.0))
    end.set()
