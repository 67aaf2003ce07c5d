"""Sessions of an MCP server on one corpus."""

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
from assay.engines.mcp.engine import (
    AGAIN,
    SHOWN_ERROR,
    McpEngine,
    ToolCall,
    check_answer,
    check_call,
    check_words,
    read_answer,
)
from assay.engines.mcp.transport import HttpTransport, McpConnection, StdioTransport, Transport
from assay.engines.shared_index import IndexWorkspace, index_config, index_env
from assay.engines.templates import fill, fill_json, fill_url, merge
from assay.engines.tool import (
    EngineWorkspace,
    ExternalSession,
    OrphanTracker,
    RestartCost,
    Restarts,
    UsageTracker,
    check_program,
    fill_command,
    repro_command,
    run_index_command,
)
from assay.errors import EngineError, EngineTimeoutError
from assay.http import read_token
from assay.processes import OutputLimitExceeded, ProgramSpec
from assay.redaction import make_redactor
from assay.types import Corpus

if TYPE_CHECKING:
    from mcp.client.client import ConnectMode


@dataclass(frozen=True, slots=True)
class StartupPlan:
    """How a server is started on a corpus."""

    dial: Callable[[], Transport]  # starts it, or knows its address
    root: Path
    used: Sequence[ToolCall]  # every call that will be made, to be checked against its tools
    index: Sequence[ToolCall]
    startup_timeout: float
    index_timeout: float
    restarts: int
    failed: re.Pattern[str] | None  # matches the output of a tool that failed
    repro: Callable[[], str]  # a hint to reproduce a crash


class ServerProcess:
    """The server of one session."""

    def __init__(self, plan: StartupPlan, tracker: UsageTracker) -> None:
        self._plan = plan
        self._tracker = tracker
        self._restarts = Restarts(plan.restarts, "the server")
        self._line: Transport | None = None
        self._connection: McpConnection | None = None
        self._noted_junk = 0
        self.startup_seconds: float | None = None  # of the first start
        self.version = ""

    def start(self, seconds: float | None) -> None:
        """Start the server and make the calls of `index`; the shortest of the time limits holds."""
        begin, clock = time.monotonic(), Deadline(seconds)
        connection = self._connect(clock.within(self._plan.startup_timeout))
        self._connection, self._noted_junk = connection, 0
        self.version = connection.server.version
        if self.startup_seconds is None:
            self.startup_seconds = time.monotonic() - begin
        try:
            for call in (*self._plan.index, *self._plan.used):
                check_call(connection.server.tools, call.tool, call.arguments)
            self.prepare(self._plan.index, clock.within(self._plan.index_timeout))
        except EngineError:
            if self._connection is not None:  # it runs, but is useless without its index
                self._drop()
            raise
        self._restarts.note_start(time.monotonic() - begin)

    def restore(self) -> RestartCost:
        """Restart a server that was lost, with a time limit of its own."""
        return RestartCost() if self._connection is not None else self._restarts.restart(self.start)

    def call(self, call: ToolCall, clock: Deadline, limit: str) -> CallToolResult:
        """Call a tool; `limit` is the setting to name in a timeout."""
        if self._connection is None:
            raise EngineError("the server is not running", hint="open the engine again")
        try:
            result = self._connection.call(call.tool, call.arguments, clock.deadline)
        except Exception as problem:
            wrong = self._explain(problem, clock, limit)
            if isinstance(problem, TimeoutError | OSError) or self._is_broken(problem):
                self._drop()
            raise wrong from problem
        except BaseException:
            self.end(politely=False)
            raise
        return check_answer(call.tool, result)

    def prepare(self, calls: Sequence[ToolCall], clock: Deadline) -> None:
        """Call tools that make or update an index; raise EngineError if the output matches `failed`."""
        for call in calls:
            check_words(self.call(call, clock, "index_timeout"), self._plan.failed)

    def note_answer(self) -> None:
        """Reset the count of restarts."""
        self._restarts.note_answer()

    def notes(self) -> tuple[str, ...]:
        """Return a note on new lines on stdout that are not MCP messages."""
        if not isinstance(self._line, StdioTransport) or self._line.junk == self._noted_junk:
            return ()
        count, self._noted_junk = self._line.junk - self._noted_junk, self._line.junk
        lines = "line" if count == 1 else "lines"
        return (f"{count} {lines} on stdout left out that were no MCP messages, e.g. {self._line.first_junk!r}",)

    def measure(self) -> None:
        """Record memory and stderr of the program."""
        if isinstance(self._line, StdioTransport):
            self._tracker.record_peak(self._line.child.peak_bytes())
            self._tracker.record_stderr(self._line.child.stderr)

    def end(self, *, politely: bool = True) -> None:
        """End the server; the second call does nothing."""
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
        raise AssertionError("unreachable: the last mode returns or raises")

    def _drop(self) -> None:
        self._restarts.note_loss()
        line = self._line
        self.end(politely=False)
        if isinstance(line, StdioTransport):
            self._tracker.record_failure(line.child.stderr)

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
            return EngineCrash(f"the server {how}", hint=self._plan.repro() or None)
        status = f" (HTTP {self._line.refusal})" if isinstance(self._line, HttpTransport) and self._line.refusal else ""
        if isinstance(problem, MCPError):
            hint = (
                "correct the tool and its arguments" if self._connection else "see that it is an MCP server's address"
            )
            return EngineError(f"the server refuses: {_one_line(problem)}{status}", hint=hint)
        return EngineError(f"{type(problem).__name__}: {_one_line(problem)}{status}", hint="see that the server is up")


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())[:SHOWN_ERROR]


class McpSession(ExternalSession):
    """A server on one corpus, used by one thread at a time."""

    def __init__(self, engine: McpEngine, spot: IndexWorkspace, *, indexed: bool = False) -> None:
        corpus = spot.corpus
        self.filtering = engine.templates.filters
        self._settings = engine.settings
        self._templates = engine.templates
        self._layout = engine.layout
        self._redactor = make_redactor(engine.secrets)
        self._known = frozenset(file.path for file in corpus.files)
        self._indexed = indexed  # whether the index exists
        self._shares_calls = engine.indexing.builder != "command"  # whether the calls of `index` made it
        self._index_env = index_env(engine.settings.env, engine.indexing.named)
        for_index = index_config(engine.template, engine.indexing.named)
        self._folders = EngineWorkspace(
            engine.placeholders,
            corpus.root,
            engine.texts,
            store=spot.store,
            config=engine.template,
            index_config=for_index,
        )
        self.placeholders = self._folders.placeholders
        self._tracker = UsageTracker()
        self._orphans = OrphanTracker()
        self._server = ServerProcess(self._plan(), self._tracker)

    def start(self, seconds: float | None) -> None:
        """Run `index_command`, start the server, and make the calls of `index`."""
        clock = Deadline(seconds)
        with self._redactor.cleaning():
            self._check_programs()
            if not self._indexed:
                self._prepare(clock, "indexing")
            self._server.start(clock.rest())

    def make_index(self, seconds: float | None, *, serve: bool) -> None:
        """Make the index only; `serve` starts the server for its part of it."""
        clock = Deadline(seconds)
        with self._redactor.cleaning():
            self._check_programs()
            self._prepare(clock, "indexing")
            if serve:
                self._server.start(clock.rest())
                self._server.measure()

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Call the search tool; restart a lost server first."""
        with self._redactor.cleaning():
            call = self._search_call(query, k, wanted)
            again = self._server.restore()
            with again.excluded():
                result = self._server.call(call, Deadline(seconds, self._settings.timeout), "timeout")
                self._server.note_answer()
                reply = read_answer(result, self._settings.content, self._layout, self._known)
        notes = (*again.notes, *reply.notes, *self._server.notes())
        return EngineReply(reply.hits, reply.cost, tuple(map(self._redactor.text, notes)), again.seconds)

    def usage(self) -> SessionUsage:
        """Return what the server used."""
        self._server.measure()
        return SessionUsage(
            startup_seconds=self._server.startup_seconds,
            store_bytes=self._folders.store_bytes(),
            peak_bytes=self._tracker.peak_bytes,
            version=self._server.version,
            stderr=self.stderr(),
        )

    def stderr(self) -> str:
        """Return the end of the server's stderr, redacted."""
        return self._redactor.text(self._tracker.stderr())

    def close(self) -> None:
        """End the server and its orphans, and remove its directories."""
        try:
            self._server.end()
            self._orphans.end()
        finally:
            self._folders.close()

    def remarks(self) -> tuple[str, ...]:
        """Return a note on orphans."""
        return self._orphans.remarks()

    def _prepare(self, clock: Deadline, what: str) -> None:
        if self._templates.index_command:
            limit = clock.within(self._settings.index_timeout).rest()
            placeholders, command = self._folders.index_placeholders, self._templates.index_command
            task = fill_command(command, placeholders, self._index_env, self._orphans.marker)
            run_index_command(task, limit, what, self._tracker.record_index_run)

    def _check_programs(self) -> None:
        for template in self._templates.commands():
            check_program(self._task(template))

    def _task(self, template: tuple[str, ...]) -> ProgramSpec:
        return fill_command(template, self._folders.placeholders, self._settings.env, self._orphans.marker)

    def _plan(self) -> StartupPlan:
        settings, templates = self._settings, self._templates
        tables = (settings.arguments, settings.path_filter, settings.language_filter)
        names = {name: None for table in tables for name in table}
        return StartupPlan(
            dial=self._dial,
            root=self._folders.root,
            used=(ToolCall(settings.tool, names), *self._filled(templates.update)),
            index=() if self._indexed and self._shares_calls else self._filled(templates.index),
            startup_timeout=settings.startup_timeout,
            index_timeout=settings.index_timeout,
            restarts=settings.restarts,
            failed=self._layout.text.failed,
            repro=self._repro,
        )

    def _repro(self) -> str:
        return (
            repro_command(self._task(self._templates.command))
            if self._templates.command
            else "see that the server is up"
        )

    def _dial(self) -> Transport:
        settings, placeholders = self._settings, self._folders.placeholders
        if not settings.url:
            return StdioTransport(self._task(self._templates.command))
        token = read_token(settings.token_env)
        headers = {name: fill(value, placeholders) for name, value in settings.headers.items()}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        return HttpTransport(fill_url(settings.url, placeholders), headers)

    def _search_call(self, query: str, k: int, wanted: SearchFilter) -> ToolCall:
        placeholders = {**self._folders.placeholders, "query": query, "k": k}
        arguments = fill_json(self._settings.arguments, placeholders)
        added = self.filtering.table(wanted, placeholders)
        return ToolCall(self._settings.tool, cast("Mapping[str, object]", merge(arguments, added)))

    def _filled(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        filled = ((call.tool, fill_json(call.arguments, self._folders.placeholders)) for call in calls)
        return tuple(ToolCall(tool, cast("Mapping[str, object]", arguments)) for tool, arguments in filled)


class UpdatableMcpSession(McpSession):
    """A server that follows changed files: by tool calls, or by a restart."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Call the tools of `update`, or restart the server; the shorter of the two time limits holds."""
        clock = Deadline(seconds, self._settings.index_timeout)
        self._known = frozenset(file.path for file in corpus.files)
        with self._redactor.cleaning():
            if isinstance(self._settings.update, str):
                self._server.end()
                if self._settings.update == AGAIN:
                    self._prepare(clock, "updating")
                self._server.start(clock.rest())
            else:
                self._server.restore()
                self._server.prepare(self._filled(self._templates.update), clock)
