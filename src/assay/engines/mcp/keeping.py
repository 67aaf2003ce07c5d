"""A server kept alive on one corpus: started, indexed, asked, and started again after it died or hung."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult

from assay.clock import Clock, told
from assay.engines.base import EngineCrash
from assay.engines.mcp.answers import ANSWER_LIMITS, check_answer, check_words
from assay.engines.mcp.client import Connection, Line
from assay.engines.mcp.stdio import Pipes
from assay.engines.mcp.tools import check_call
from assay.engines.mcp.web import Address
from assay.engines.restarting import Restarted, Restarts
from assay.engines.witness import Witness
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
    failed: re.Pattern[str] | None = None  # what a tool says that failed
    by_hand: Callable[[], str] = str  # says how to see for oneself what the server does


class Keeper:
    """The server of one session."""

    def __init__(self, plan: Plan, witness: Witness) -> None:
        self._plan = plan
        self._witness = witness
        self._restarts = Restarts(plan.restarts, "the server")
        self._line: Line | None = None
        self._connection: Connection | None = None
        self._told_junk = 0
        self.startup_seconds: float | None = None  # of the first start
        self.version = ""

    def start(self, seconds: float | None) -> None:
        """Bring the server up and let it index; the shortest of the time limits holds."""
        begin, clock = time.monotonic(), Clock(seconds)
        connection = self._connect(clock.within(self._plan.startup_timeout))
        self._connection, self._told_junk = connection, 0
        self.version = connection.server.version
        if self.startup_seconds is None:
            self.startup_seconds = time.monotonic() - begin
        try:
            self._get_ready(connection, clock.within(self._plan.index_timeout))
        except EngineError:
            if self._connection is not None:  # it is up, but of no use without its index
                self._drop()
            raise
        self._restarts.started(time.monotonic() - begin)

    def _get_ready(self, connection: Connection, clock: Clock) -> None:
        """See that the server has all tools that will be called, and let it index."""
        for asking in (*self._plan.index, *self._plan.used):
            check_call(connection.server.tools, asking.tool, asking.arguments)
        self.prepare(self._plan.index, clock)

    def restore(self) -> Restarted:
        """Start a server that was lost again, and let it index, within the limits of that."""
        return Restarted() if self._connection is not None else self._restarts.again(self.start)

    def call(self, askings: Sequence[Asking], clock: Clock, limit: str) -> tuple[CallToolResult, ...]:
        """Call tools one after the other; `limit` is the setting that a timeout is about."""
        return tuple(self._call(asking, clock, limit) for asking in askings)

    def prepare(self, askings: Sequence[Asking], clock: Clock) -> None:
        """Call tools that make or mend an index; one that says that it failed did."""
        for asking in askings:
            check_words(self._call(asking, clock, "index_timeout"), self._plan.failed)

    def answered(self) -> None:
        """Know that the server works."""
        self._restarts.answered()

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
            self._witness.note_peak(self._line.child.peak_bytes())
            self._witness.note_words(self._line.child.stderr)

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

    def _connect(self, clock: Clock) -> Connection:
        """Shake hands as all servers do; one that refuses that is asked in the way of the newest."""
        modes: tuple[ConnectMode, ...] = ("legacy", "auto")
        for mode in modes:
            self._line = self._plan.dial()
            try:
                return Connection(self._line, self._plan.root, mode, clock.deadline)
            except Exception as problem:
                wrong = self._explain(problem, clock, "startup_timeout")
                self._drop()
                if mode == modes[-1] or not isinstance(problem, MCPError) or problem.code == CONNECTION_CLOSED:
                    raise wrong from problem
            except BaseException:
                self.end()
                raise
        raise AssertionError("one of the ways ends in a connection or an error")

    def _call(self, asking: Asking, clock: Clock, limit: str) -> CallToolResult:
        """Call a tool; a server that died or hung is let go of."""
        if self._connection is None:
            raise EngineError("the server is not running", hint="open the engine again")
        try:
            result = self._connection.call(asking.tool, asking.arguments, clock.deadline)
        except Exception as problem:
            wrong = self._explain(problem, clock, limit)
            if isinstance(problem, TimeoutError | OSError) or self._is_broken(problem):
                self._drop()
            raise wrong from problem
        except BaseException:
            self.end(politely=False)
            raise
        return check_answer(asking.tool, result)

    def _drop(self) -> None:
        """Let go of a server that is of no use any more."""
        self._restarts.lose()
        line = self._line
        self.end(politely=False)
        if isinstance(line, Pipes):
            self._witness.note_failure(line.child.stderr)

    def _is_broken(self, problem: Exception) -> bool:
        """Tell whether nothing more can come from a server."""
        closed = isinstance(problem, MCPError) and problem.code == CONNECTION_CLOSED
        return closed or (isinstance(self._line, Pipes) and self._line.problem is not None)

    def _explain(self, problem: Exception, clock: Clock, limit: str) -> EngineError:
        """Say what became of a call, in the engines' own errors."""
        pipes = self._line if isinstance(self._line, Pipes) else None
        said = f": {pipes.child.last_words}" if pipes and pipes.child.last_words else ""
        if isinstance(problem, TimeoutError):
            return EngineTimeout(f"no answer after {told(clock.limit)}{said}", hint=f"raise {limit}")
        if pipes and isinstance(pipes.problem, ChildFlood):
            return EngineError(f"the server printed {pipes.problem} in one line", hint="ask it for less, as with {k}")
        if self._is_broken(problem):
            how = f"{pipes.child.describe_end()}{said}" if pipes else f"broke off: {_one_line(problem)}"
            return EngineCrash(f"the server {how}", hint=self._plan.by_hand() or None)
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
