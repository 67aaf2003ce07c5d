"""An MCP server being asked about one corpus."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult

from assay.clock import Deadline, format_duration
from assay.engines.base import Answered, EngineCrash, EngineReply, SearchFilter, SessionUsage
from assay.engines.filters import merge
from assay.engines.index_keys import index_config, index_env
from assay.engines.mcp.engine import (
    AGAIN,
    ANSWER_LIMITS,
    McpEngine,
    ToolCall,
    check_answer,
    check_call,
    check_words,
    read_answer,
)
from assay.engines.mcp.transport import HttpTransport, McpConnection, StdioTransport, Transport
from assay.engines.shared_index import IndexWorkspace
from assay.engines.templates import fill, fill_json, fill_url
from assay.engines.tool import (
    EngineWorkspace,
    ExternalSession,
    OrphanTracker,
    RestartCost,
    Restarts,
    UsageTracker,
    check_program,
    make_task,
    prepare,
    repro_command,
)
from assay.errors import EngineError, EngineTimeoutError
from assay.http import read_token
from assay.processes import OutputLimitExceeded, ProgramSpec
from assay.redaction import make_redactor
from assay.types import Corpus

if TYPE_CHECKING:
    from mcp.client.client import ConnectMode


@dataclass(frozen=True, slots=True)
class ToolInvocation:
    """A call to make: the tool and its arguments, filled in."""

    tool: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StartupPlan:
    """How a server is brought up on a corpus."""

    dial: Callable[[], Transport]  # starts it, or knows its address
    root: Path
    used: Sequence[ToolInvocation]  # every call that will be made, to be checked against its tools
    index: Sequence[ToolInvocation]
    startup_timeout: float
    index_timeout: float
    restarts: int
    failed: re.Pattern[str] | None = None  # what a tool says that failed
    by_hand: Callable[[], str] = str  # says how to see for oneself what the server does


class ServerProcess:
    """The server of one session."""

    def __init__(self, plan: StartupPlan, witness: UsageTracker) -> None:
        self._plan = plan
        self._witness = witness
        self._restarts = Restarts(plan.restarts, "the server")
        self._line: Transport | None = None
        self._connection: McpConnection | None = None
        self._told_junk = 0
        self.startup_seconds: float | None = None  # of the first start
        self.version = ""

    def start(self, seconds: float | None) -> None:
        """Bring the server up and let it index; the shortest of the time limits holds."""
        begin, clock = time.monotonic(), Deadline(seconds)
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
        self._restarts.note_start(time.monotonic() - begin)

    def _get_ready(self, connection: McpConnection, clock: Deadline) -> None:
        for asking in (*self._plan.index, *self._plan.used):
            check_call(connection.server.tools, asking.tool, asking.arguments)
        self.prepare(self._plan.index, clock)

    def restore(self) -> RestartCost:
        """Start a server that was lost again, and let it index, within the limits of that."""
        return RestartCost() if self._connection is not None else self._restarts.restart(self.start)

    def call(self, askings: Sequence[ToolInvocation], clock: Deadline, limit: str) -> tuple[CallToolResult, ...]:
        """Call tools one after the other; `limit` is the setting that a timeout is about."""
        return tuple(self._call(asking, clock, limit) for asking in askings)

    def prepare(self, askings: Sequence[ToolInvocation], clock: Deadline) -> None:
        """Call tools that make or mend an index; one that says that it failed did."""
        for asking in askings:
            check_words(self._call(asking, clock, "index_timeout"), self._plan.failed)

    def answered(self) -> None:
        """Know that the server works."""
        self._restarts.note_answer()

    def notes(self) -> tuple[str, ...]:
        """Tell what came on stdout since the last time that was no message."""
        if not isinstance(self._line, StdioTransport) or self._line.junk == self._told_junk:
            return ()
        count, self._told_junk = self._line.junk - self._told_junk, self._line.junk
        lines = "line" if count == 1 else "lines"
        return (f"{count} {lines} on stdout left out that were no MCP messages, e.g. {self._line.first_junk!r}",)

    def measure(self) -> None:
        """Look at the memory of the program and at what it said."""
        if isinstance(self._line, StdioTransport):
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

    def _connect(self, clock: Deadline) -> McpConnection:
        modes: tuple[ConnectMode, ...] = ("legacy", "auto")
        for mode in modes:
            self._line = self._plan.dial()
            try:
                return McpConnection(self._line, self._plan.root, mode, clock.deadline)
            except Exception as problem:
                wrong = self._explain(problem, clock, "startup_timeout")
                self._drop()
                if mode == modes[-1] or not isinstance(problem, MCPError) or problem.code == CONNECTION_CLOSED:
                    raise wrong from problem
            except BaseException:
                self.end()
                raise
        raise AssertionError("one of the ways ends in a connection or an error")

    def _call(self, asking: ToolInvocation, clock: Deadline, limit: str) -> CallToolResult:
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
        self._restarts.note_loss()
        line = self._line
        self.end(politely=False)
        if isinstance(line, StdioTransport):
            self._witness.note_failure(line.child.stderr)

    def _is_broken(self, problem: Exception) -> bool:
        closed = isinstance(problem, MCPError) and problem.code == CONNECTION_CLOSED
        return closed or (isinstance(self._line, StdioTransport) and self._line.problem is not None)

    def _explain(self, problem: Exception, clock: Deadline, limit: str) -> EngineError:
        pipes = self._line if isinstance(self._line, StdioTransport) else None
        said = f": {pipes.child.last_words}" if pipes and pipes.child.last_words else ""
        if isinstance(problem, TimeoutError):
            return EngineTimeoutError(f"no answer after {format_duration(clock.limit)}{said}", hint=f"raise {limit}")
        if pipes and isinstance(pipes.problem, OutputLimitExceeded):
            return EngineError(f"the server printed {pipes.problem} in one line", hint="ask it for less, as with {k}")
        if self._is_broken(problem):
            how = f"{pipes.child.describe_end()}{said}" if pipes else f"broke off: {_one_line(problem)}"
            return EngineCrash(f"the server {how}", hint=self._plan.by_hand() or None)
        status = f" (HTTP {self._line.refusal})" if isinstance(self._line, HttpTransport) and self._line.refusal else ""
        if isinstance(problem, MCPError):
            hint = (
                "correct the tool and its arguments" if self._connection else "see that it is an MCP server's address"
            )
            return EngineError(f"the server refuses: {_one_line(problem)}{status}", hint=hint)
        return EngineError(f"{type(problem).__name__}: {_one_line(problem)}{status}", hint="see that the server is up")


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())[: ANSWER_LIMITS.words]


class McpSession(ExternalSession):
    """A server on one corpus. One thread at a time asks it."""

    def __init__(self, engine: McpEngine, spot: IndexWorkspace, *, indexed: bool = False) -> None:
        corpus = spot.corpus
        self.filtering = engine.templates.filters
        self._settings = engine.settings
        self._templates = engine.templates
        self._layout = engine.layout
        self._redactor = make_redactor(engine.secrets)
        self._known = frozenset(file.path for file in corpus.files)
        self._indexed = indexed  # whether the index is there
        self._shares_calls = engine.indexing.maker != "program"  # whether the calls of index have made it
        self._index_env = index_env(engine.settings.env, engine.indexing.named)
        for_index = index_config(engine.template, engine.indexing.named)
        self._folders = EngineWorkspace(
            engine.places,
            corpus.root,
            engine.texts,
            store=spot.store,
            config=engine.template,
            index_config=for_index,
        )
        self.places = self._folders.places
        self._witness = UsageTracker()
        self._leftovers = OrphanTracker()
        self._keeper = ServerProcess(self._plan(), self._witness)

    def start(self, seconds: float | None) -> None:
        """Make the index that the server wants to find, start the server, and let it index."""
        clock = Deadline(seconds)
        with self._redactor.cleaning():
            self._check_programs()
            if not self._indexed:
                self._prepare(clock, "indexing")
            self._keeper.start(clock.rest())

    def make_index(self, seconds: float | None, *, serve: bool) -> None:
        """Make the index and nothing else; `serve` lets the server do its part in it."""
        clock = Deadline(seconds)
        with self._redactor.cleaning():
            self._check_programs()
            self._prepare(clock, "indexing")
            if serve:
                self._keeper.start(clock.rest())
                self._keeper.measure()

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Ask for a part of the corpus; a server that was lost is started again first, in a time of its own."""
        with self._redactor.cleaning():
            asking = self._asking(query, k, wanted)
            again = self._keeper.restore()
            with again.excluded():
                (result,) = self._keeper.call((asking,), Deadline(seconds, self._settings.timeout), "timeout")
                self._keeper.answered()
                reply = read_answer(result, self._settings.content, self._layout, self._known)
        notes = (*again.notes, *reply.notes, *self._keeper.notes())
        return EngineReply(reply.hits, reply.cost, tuple(map(self._redactor.text, notes)), again.seconds)

    def usage(self) -> SessionUsage:
        """Tell what the server took and said."""
        self._keeper.measure()
        return SessionUsage(
            startup_seconds=self._keeper.startup_seconds,
            store_bytes=self._folders.store_bytes(),
            peak_bytes=self._witness.peak_bytes,
            version=self._keeper.version,
            stderr=self.said(),
        )

    def said(self) -> str:
        """Give the end of what the server said on stderr."""
        return self._redactor.text(self._witness.stderr())

    def close(self) -> None:
        """End the server and what it left running, and remove its store."""
        try:
            self._keeper.end()
            self._leftovers.end()
        finally:
            self._folders.close()

    def remarks(self) -> tuple[str, ...]:
        """Tell what the server left running."""
        return self._leftovers.remarks()

    def _prepare(self, clock: Deadline, what: str) -> None:
        if self._templates.index_command:
            limit = clock.within(self._settings.index_timeout).rest()
            places, command = self._folders.index_places, self._templates.index_command
            task = make_task(command, places, self._index_env, self._leftovers.marker)
            prepare(task, limit, what, self._witness.see_index)

    def _check_programs(self) -> None:
        for template in self._templates.commands():
            check_program(self._task(template))

    def _task(self, template: tuple[str, ...]) -> ProgramSpec:
        return make_task(template, self._folders.places, self._settings.env, self._leftovers.marker)

    def _plan(self) -> StartupPlan:
        settings, templates = self._settings, self._templates
        tables = (settings.arguments, settings.path_filter, settings.language_filter)
        names = {name: None for table in tables for name in table}
        return StartupPlan(
            dial=self._dial,
            root=self._folders.root,
            used=(ToolInvocation(settings.tool, names), *self._filled(templates.update)),
            index=() if self._indexed and self._shares_calls else self._filled(templates.index),
            startup_timeout=settings.startup_timeout,
            index_timeout=settings.index_timeout,
            restarts=settings.restarts,
            failed=self._layout.text.failed,
            by_hand=self._by_hand,
        )

    def _by_hand(self) -> str:
        return (
            repro_command(self._task(self._templates.command))
            if self._templates.command
            else "see that the server is up"
        )

    def _dial(self) -> Transport:
        settings, places = self._settings, self._folders.places
        if not settings.url:
            return StdioTransport(self._task(self._templates.command))
        token = read_token(settings.token_env)
        headers = {name: fill(value, places) for name, value in settings.headers.items()}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        return HttpTransport(fill_url(settings.url, places), headers)

    def _asking(self, query: str, k: int, wanted: SearchFilter) -> ToolInvocation:
        places = {**self._folders.places, "query": query, "k": k}
        arguments = fill_json(self._settings.arguments, places)
        added = self.filtering.table(wanted, places)
        return ToolInvocation(self._settings.tool, cast("Mapping[str, object]", merge(arguments, added)))

    def _filled(self, calls: tuple[ToolCall, ...]) -> tuple[ToolInvocation, ...]:
        filled = ((call.tool, fill_json(call.arguments, self._folders.places)) for call in calls)
        return tuple(ToolInvocation(tool, cast("Mapping[str, object]", arguments)) for tool, arguments in filled)


class UpdatableMcpSession(McpSession):
    """A server that can follow its files: it has a tool for that, or is started anew."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Call the tools of the update, or start the server anew; the shorter of the two time limits holds."""
        clock = Deadline(seconds, self._settings.index_timeout)
        self._known = frozenset(file.path for file in corpus.files)
        with self._redactor.cleaning():
            if isinstance(self._settings.update, str):
                self._renew(clock)
            else:
                self._keeper.restore()
                self._keeper.prepare(self._filled(self._templates.update), clock)

    def _renew(self, clock: Deadline) -> None:
        self._keeper.end()
        if self._settings.update == AGAIN:
            self._prepare(clock, "updating")
        self._keeper.start(clock.rest())
