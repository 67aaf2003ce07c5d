from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat

import pytest

from assay.engines import as_engine
from assay.engines.base import EngineCrash, EngineReply, SearchFilter, SessionUsage
from assay.engines.calls import (
    ABANDONED,
    close_session,
    open_session,
    query_filtered,
    query_session,
    session_notes,
    session_usage,
    update_session,
)
from assay.errors import ConfigError, EngineError, EngineTimeoutError
from assay.types import Corpus, Cost, Hit, Status
from tests.waiting import WATCHDOG

LIST = "return a list of Hit objects, paths or strings such as 'path:10-20'"
RESULT = "return a Hit, a path, 'path:10-20' or a mapping with path, start, end, score"


class Scripted:
    """A session that does what it is told."""

    def __init__(self, act: object) -> None:
        self.act = act

    def open(self, corpus: Corpus) -> Scripted:
        return self

    def search(self, query: str, k: int) -> Sequence[Hit]:
        if isinstance(self.act, BaseException):
            raise self.act
        return self.act(query, k) if callable(self.act) else self.act  # type: ignore[return-value]

    def close(self) -> None:
        self.search("", 0)


@pytest.mark.parametrize(
    ("act", "status", "message"),
    [
        (ValueError("bad\nthing"), Status.ERROR, "ValueError: bad thing"),
        (SystemExit(3), Status.ERROR, "SystemExit: 3"),
        (KeyboardInterrupt(), Status.ERROR, "KeyboardInterrupt"),
        (RecursionError(), Status.ERROR, "RecursionError"),
        (EngineError("no index"), Status.ERROR, "no index"),
        (EngineCrash("died by SIGSEGV"), Status.CRASH, "died by SIGSEGV"),
        (EngineTimeoutError("too slow"), Status.TIMEOUT, "too slow"),
        (EngineError("no\nindex", hint="build\none"), Status.ERROR, "no index → build one"),
        (EngineError("x" * 900, hint="shorten"), Status.ERROR, "x" * 500 + " → shorten"),
        (None, Status.ERROR, f"expected a list of results, got NoneType → {LIST}"),
        ("a.py", Status.ERROR, f"expected a list of results, got str → {LIST}"),
        (Hit("a.py"), Status.ERROR, f"expected a list of results, got Hit → {LIST}"),
        ([3], Status.ERROR, f"cannot convert a result of type int: 3 → {RESULT}"),
    ],
)
def test_ask_turns_every_failure_into_a_status(act: object, status: Status, message: str) -> None:
    answer = query_session(Scripted(act), "q", 5, WATCHDOG)
    assert (answer.status, answer.hits, answer.error) == (status, (), message)


def test_ask_reads_lazy_answers_inside_the_time_limit() -> None:
    released = threading.Event()

    def slow(query: str, k: int) -> Iterator[Hit]:
        yield Hit("a")
        released.wait(WATCHDOG)

    answer = query_session(Scripted(slow), "q", 5, 0.1)
    released.set()
    assert (answer.status, answer.seconds) == (Status.TIMEOUT, 0.1)


def test_ask_ends_an_endless_answer() -> None:
    answer = query_session(Scripted(lambda q, k: repeat(Hit("a"))), "q", 5, WATCHDOG)
    assert (answer.status, len(answer.hits)) == (Status.OK, 100_000)


def test_ask_abandons_a_call_that_hangs_and_goes_on(corpus: Corpus) -> None:
    stuck = threading.Event()

    def search(query: str, k: int) -> list[str]:
        if query == "hang":
            stuck.wait(WATCHDOG)
        return ["README.md"]

    session = open_session(as_engine(search), corpus).session
    limits = {"x": WATCHDOG, "hang": 0.1}
    statuses = [query_session(session, query, 1, limits[query]).status for query in ("x", "hang", "x", "hang", "x")]
    assert statuses == [Status.OK, Status.TIMEOUT, Status.OK, Status.TIMEOUT, Status.OK]
    assert session_notes(session) == (ABANDONED,)
    stuck.set()
    assert close_session(session) is None
    assert session_notes(session) == (ABANDONED,)


def test_session_notes_tell_of_nothing_that_ended_by_itself(corpus: Corpus) -> None:
    def search(query: str, k: int) -> list[str]:
        raise EngineTimeoutError("too slow, and stopped")

    session = open_session(as_engine(search), corpus).session
    assert query_session(session, "x", 1, WATCHDOG).status == Status.TIMEOUT
    assert session_notes(session) == ()
    close_session(session)


class Timed:
    """An engine that keeps to its time."""

    config: Mapping[str, object] = {}
    seen: tuple[object, ...] = ()

    def open(self, corpus: Corpus) -> Scripted:
        raise AssertionError("asked to open without a limit")

    def open_within(self, corpus: Corpus, seconds: float | None) -> Scripted:
        self.seen = (seconds, threading.current_thread())
        return Scripted(["a.py"])


def test_open_session_hands_the_limit_to_an_engine_that_keeps_to_it(corpus: Corpus) -> None:
    engine = Timed()
    session = open_session(as_engine(engine), corpus, 7.0).session  # as_engine wraps it: it declares little
    assert engine.seen == (7.0, threading.current_thread())
    assert query_session(session, "q", 1, WATCHDOG).hits == (Hit("a.py"),)


def test_open_session_tells_what_a_timed_engine_raised(corpus: Corpus) -> None:
    class Late(Timed):
        def open_within(self, corpus: Corpus, seconds: float | None) -> Scripted:
            raise EngineTimeoutError("too long")

    with pytest.raises(EngineTimeoutError, match=r"cannot open the engine: too long\n"):
        open_session(as_engine(Late()), corpus, 7.0)


def test_ask_times_the_search_and_nothing_else(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    for clock in ("monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: now[0])

    def search(query: str, k: int) -> list[str]:
        now[0] += 3.5
        return []

    session = open_session(as_engine(search), corpus).session
    assert query_session(session, "q", 1, WATCHDOG).seconds == 3.5


def test_open_session_keeps_an_engine_on_one_thread(corpus: Corpus) -> None:
    class Database:
        config: dict[str, object] = {}

        def open(self, corpus: Corpus) -> Database:
            self.connection = sqlite3.connect(":memory:")  # refuses calls from any other thread
            return self

        def search(self, query: str, k: int) -> list[Hit]:
            return [Hit(self.connection.execute("select 'README.md'").fetchone()[0])]

        def close(self) -> None:
            self.connection.close()

    session = open_session(Database(), corpus, WATCHDOG).session
    assert [query_session(session, "q", 1, WATCHDOG).status for _ in range(3)] == [Status.OK] * 3
    assert close_session(session) is None


@pytest.mark.parametrize(
    ("problem", "raised"),
    [(ValueError("x"), EngineError), (ConfigError("x"), ConfigError), (SystemExit(1), EngineError)],
)
def test_open_session_raises_what_the_user_can_read(
    corpus: Corpus, problem: BaseException, raised: type[Exception]
) -> None:
    class Broken:
        config: dict[str, object] = {}

        def open(self, corpus: Corpus) -> Scripted:
            raise problem

    with pytest.raises(raised, match=r"x|cannot open the engine"):
        open_session(Broken(), corpus)


def test_open_session_does_not_wait_for_ever(corpus: Corpus) -> None:
    released = threading.Event()

    class Slow:
        config: dict[str, object] = {}

        def open(self, corpus: Corpus) -> Scripted:
            released.wait(WATCHDOG)
            return Scripted([])

    late = pytest.raises(EngineTimeoutError, match="no answer after 0.1 s; it may still be running")
    with late as caught:
        open_session(Slow(), corpus, 0.1)
    released.set()
    assert "index_timeout" in str(caught.value.hint)


def test_close_session_tells_problems(corpus: Corpus) -> None:
    session = open_session(Scripted(OSError("gone")), corpus).session  # type: ignore[arg-type]
    assert close_session(session) == "close failed: OSError: gone"


def test_abandoned_thread_does_not_hold_up_the_end_of_the_process() -> None:
    code = f"""
    import time
    from assay.engines.calls import query_session

    class Hangs:
        def search(self, query, k):
            time.sleep({2 * WATCHDOG})
        def close(self): ...

    print(query_session(Hangs(), "q", 1, 0.1).status)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WATCHDOG, check=True)
    assert done.stdout.strip() == "timeout"


class Capable:
    """A session with everything that a session may have."""

    filters = frozenset({"paths"})

    def __init__(self):
        self.threads = set()

    def search(self, query, k):
        return EngineReply((Hit("a.py"),), Cost(2, 30), ("a note",))

    def search_filtered(self, query, k, wanted, seconds):
        self.threads.add(threading.get_ident())
        return ["b.py"]

    def update_within(self, corpus, seconds):
        self.threads.add(threading.get_ident())
        raise EngineError("cannot follow")

    def usage(self):
        self.threads.add(threading.get_ident())
        return SessionUsage(version="3")

    def close(self):
        pass


class CapableEngine:
    config: Mapping[str, object] = {}

    def __init__(self):
        self.session = Capable()

    def open(self, corpus):
        self.session.threads.add(threading.get_ident())
        return self.session


def test_answer_carries_cost_and_notes(corpus):
    answer = query_session(open_session(CapableEngine(), corpus).session, "q", 3)
    assert (answer.cost, answer.notes) == (Cost(2, 30), ("a note",))


def test_everything_a_session_can_happens_in_its_own_thread(corpus):
    engine = CapableEngine()
    session = open_session(engine, corpus).session
    filtered, updated = query_filtered(session, "q", 3, SearchFilter(paths=("*.py",))), update_session(session, corpus)
    assert filtered is not None
    assert updated is not None
    assert filtered.hits == (Hit("b.py"),)
    assert updated.error == "cannot follow"
    assert session_usage(session).version == "3"
    assert len(engine.session.threads) == 1
    assert threading.get_ident() not in engine.session.threads


def test_session_without_a_filter_or_an_update_says_so(corpus):
    session = open_session(CapableEngine(), corpus).session
    assert query_filtered(session, "q", 3, SearchFilter(languages=("python",))) is None
    plain = open_session(as_engine(lambda q, k: []), corpus).session
    assert query_filtered(plain, "q", 3, SearchFilter(paths=("*",))) is None
    assert update_session(plain, corpus) is None
    assert session_usage(plain) == SessionUsage()


def test_seconds_that_were_waited_are_not_charged_to_the_query() -> None:
    session = Scripted(EngineReply((Hit("a.py"),), waited=1000.0))
    answer = query_session(session, "q", 1, WATCHDOG)
    assert (answer.status, answer.seconds) == (Status.OK, 0.0)
