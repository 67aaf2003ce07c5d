"""A server kept alive on one corpus: started, indexed, asked, and started again after it died or hung."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult

from assay.engines.base import EngineCrash
from assay.engines.mcp.answers import ANSWER_LIMITS, check_answer
from assay.engines.mcp.client import Connection, Line
from assay.engines.mcp.stdio import Pipes
from assay.engines.mcp.tools import check_call
from assay.engines.mcp.web import Address
from assay.errors import EngineError, EngineTimeout
from assay.processes import ChildFlood

if TYPE_CHECKING:
    from mcp.client.client import ConnectMode


@dataclass(frozen=True, slots=True)
class Asking:
    """A call to make: the tool and its arguments, filled in."""

    tool: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a server is brought up on a corpus."""

    dial: Callable[[], Line]  # starts it, or knows its address
    root: Path
    used: Sequence[Asking]  # every call that will be made, to be checked against its tools
    index: Sequence[Asking]
    startup_timeout: float
    index_timeout: float
    restarts: int


@dataclass(slots=True)
class Taken:
    """What the servers of a session took, those that are gone included."""

    startup_seconds: float | None = None  # of the first
    peak_bytes: int | None = None  # of the largest
    stderr: str = ""  # of the last that said something
    version: str = ""


class Keeper:
    """The server of one session."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._line: Line | None = None
        self._connection: Connection | None = None
        self._lost = 0
        self._told_junk = 0
        self.taken = Taken()

    def start(self, seconds: float | None) -> None:
        """Bring the server up and let it index; the shortest of the time limits holds."""
        begin = time.monotonic()
        deadline = None if seconds is None else begin + seconds
        connection = self._connect(_sooner(deadline, begin + self._plan.startup_timeout), begin)
        self._connection, self._told_junk = connection, 0
        self.taken.version = connection.server.version
        if self.taken.startup_seconds is None:
            self.taken.startup_seconds = time.monotonic() - begin
        for asking in (*self._plan.index, *self._plan.used):
            check_call(connection.server.tools, asking.tool, asking.arguments)
        self.call(self._plan.index, _sooner(deadline, time.monotonic() + self._plan.index_timeout), "index_timeout")

    def restore(self) -> tuple[str, ...]:
        """Start a server that was lost again, within the limits of a start; tell that it happened."""
        if self._connection is not None:
            return ()
        if self._lost > self._plan.restarts:
            raise EngineError(
                f"the server was lost {self._lost} times and is not started again", hint="correct it, or raise restarts"
            )
        begin = time.monotonic()
        try:
            self.start(None)
        except EngineError:
            if self._connection is not None:  # it is up, but has no index
                self._drop()
            raise
        seconds = time.monotonic() - begin
        return (f"the server was started again (restart {self._lost}); {seconds:.1f} s of this query's time",)

    def call(self, askings: Sequence[Asking], deadline: float | None, limit: str) -> tuple[CallToolResult, ...]:
        """Call tools one after the other; `limit` is the setting that a timeout is about."""
        return tuple(self._call(asking, deadline, limit) for asking in askings)

    def notes(self) -> tuple[str, ...]:
        """Tell what came on stdout since the last time that was no message."""
        if not isinstance(self._line, Pipes) or self._line.junk == self._told_junk:
            return ()
        count, self._told_junk = self._line.junk - self._told_junk, self._line.junk
        lines = "line" if count == 1 else "lines"
        return (f"{count} {lines} on stdout left out that were no MCP messages, e.g. {self._line.first_junk!r}",)

    def measure(self) -> None:
        """Look at the memory of the program and at what it said."""
        if isinstance(self._line, Pipes):
            child, taken = self._line.child, self.taken
            taken.peak_bytes = max(child.peak_bytes() or 0, taken.peak_bytes or 0) or None
            taken.stderr = child.stderr.decode("utf-8", "replace") or taken.stderr

    def end(self, *, politely: bool = True) -> None:
        """Let go of the server; the second time does nothing."""
        connection, self._connection = self._connection, None
        line = self._line
        try:
            if connection is not None:
                connection.end(politely=politely)
            elif line is not None:
                line.end()
        finally:
            self.measure()
            self._line = None

    def _connect(self, deadline: float, begin: float) -> Connection:
        """Shake hands as all servers do; one that refuses that is asked in the way of the newest."""
        modes: tuple[ConnectMode, ...] = ("legacy", "auto")
        for mode in modes:
            self._line = self._plan.dial()
            try:
                return Connection(self._line, self._plan.root, mode, deadline)
            except Exception as problem:
                wrong = self._explain(problem, deadline - begin, "startup_timeout")
                self._drop()
                if mode == modes[-1] or not isinstance(problem, MCPError) or problem.code == CONNECTION_CLOSED:
                    raise wrong from problem
            except BaseException:
                self.end()
                raise
        raise AssertionError("one of the ways ends in a connection or an error")

    def _call(self, asking: Asking, deadline: float | None, limit: str) -> CallToolResult:
        """Call a tool; a server that died or hung is let go of."""
        begin = time.monotonic()
        if self._connection is None:
            raise EngineError("the server is not running", hint="open the engine again")
        try:
            result = self._connection.call(asking.tool, asking.arguments, deadline)
        except Exception as problem:
            wrong = self._explain(problem, (deadline or begin) - begin, limit)
            if isinstance(problem, TimeoutError | OSError) or self._is_broken(problem):
                self._drop()
            raise wrong from problem
        except BaseException:
            self.end(politely=False)
            raise
        return check_answer(asking.tool, result)

    def _drop(self) -> None:
        """Let go of a server that is of no use any more."""
        self._lost += 1
        self.end(politely=False)

    def _is_broken(self, problem: Exception) -> bool:
        """Tell whether nothing more can come from a server."""
        closed = isinstance(problem, MCPError) and problem.code == CONNECTION_CLOSED
        return closed or (isinstance(self._line, Pipes) and self._line.problem is not None)

    def _explain(self, problem: Exception, seconds: float, limit: str) -> EngineError:
        """Say what became of a call, in the engines' own errors."""
        pipes = self._line if isinstance(self._line, Pipes) else None
        said = f": {pipes.child.last_words}" if pipes and pipes.child.last_words else ""
        if isinstance(problem, TimeoutError):
            return EngineTimeout(f"no answer after {seconds:.3g} s{said}", hint=f"raise {limit}")
        if pipes and isinstance(pipes.problem, ChildFlood):
            return EngineError(f"the server printed {pipes.problem} in one line", hint="ask it for less, as with {k}")
        if self._is_broken(problem):
            how = f"{pipes.child.describe_end()}{said}" if pipes else f"broke off: {_one_line(problem)}"
            return EngineCrash(f"the server {how}", hint="run the server by hand in the corpus")
        status = f" (HTTP {self._line.refusal})" if isinstance(self._line, Address) and self._line.refusal else ""
        if isinstance(problem, MCPError):
            hint = (
                "correct the tool and its arguments" if self._connection else "see that it is an MCP server's address"
            )
            return EngineError(f"the server refuses: {_one_line(problem)}{status}", hint=hint)
        return EngineError(f"{type(problem).__name__}: {_one_line(problem)}{status}", hint="see that the server is up")


def _one_line(problem: Exception) -> str:
    """Put what an exception says on one line of bounded length."""
    return " ".join(str(problem).split())[: ANSWER_LIMITS.words]


def _sooner(first: float | None, second: float) -> float:
    """Give the sooner of two deadlines, where None is none."""
    return second if first is None else min(first, second)
