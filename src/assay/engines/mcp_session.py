from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    TextContent,
    TextResourceContents,
    Tool,
)

from assay.clock import Deadline, format_duration
from assay.engines.base import RAISE_TIMEOUT, EngineCrash, EngineReply, SearchFilter, SearchReply, SessionUsage
from assay.engines.mcp_transport import HttpTransport, McpConnection, StdioTransport
from assay.engines.output import OutputLayout, parse_document, parse_output
from assay.engines.templates import fill, fill_json, fill_url, merge
from assay.engines.text_output import find_failure
from assay.engines.tool import RestartCost, Restarts, ToolSession, repro_command
from assay.engines.workspace import IndexWorkspace
from assay.errors import EngineError, EngineTimeoutError, closest_match
from assay.http import read_token
from assay.patterns import UserPattern
from assay.processes.child import OutputLimitExceeded
from assay.types import Corpus

if TYPE_CHECKING:
    from mcp.client.client import ConnectMode

    from assay.engines.mcp import Content, McpEngine, ToolCall


_CHECK_SERVER = "check that the server is running, and read its log"


class McpSession(ToolSession["McpEngine"]):
    """A session with an MCP server, for one thread at a time."""

    def __init__(self, engine: McpEngine, index: IndexWorkspace, *, indexed: bool = False) -> None:
        super().__init__(engine, index)
        self._settings = settings = engine.settings
        self._templates = templates = engine.templates
        self._indexed = indexed  # whether the index exists
        # with a shared index, another server made the `index` calls
        self._index = () if indexed and engine.indexing.builder != "command" else self._fill_calls(templates.index)
        tables = (settings.arguments, settings.path_filter, settings.language_filter)
        search = replace(templates.search, arguments={name: None for table in tables for name in table})
        self._checked = (*self._index, search, *self._fill_calls(templates.update))
        self._restarts = Restarts(settings.restarts, "the server")
        self._transport: StdioTransport | HttpTransport | None = None
        self._connection: McpConnection | None = None
        self._noted_junk = 0
        self._startup_seconds: float | None = None  # seconds of the first start
        self._version = ""

    def start(self, seconds: float | None, *, serve: bool = True) -> None:
        """Run `index_command` unless the index exists; with `serve`, start the server."""
        deadline = Deadline(seconds)
        with self.closed_on_failure():
            self.check_programs()
            if not self._indexed:
                self._run_index_command(deadline, "indexing")
            if serve:
                self._start_server(deadline.remaining())

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> SearchReply:
        with self.redactor.cleaning():
            values = {**self.placeholders, "query": query, "k": k}
            arguments = merge(fill_json(self._settings.arguments, values), self.filtering.table(wanted, values))
            call = replace(self._templates.search, arguments=cast("Mapping[str, object]", arguments))
            restart = self._restore()
            with restart.excluded():
                result = self._call(call, Deadline(seconds, self._settings.timeout), RAISE_TIMEOUT)
                self._restarts.losses = 0
                reply = parse_result(result, self._settings.content, self.engine.layout, self.known)
        notes = (*restart.notes, *reply.notes, *self._junk_notes())
        return EngineReply(reply.hits, reply.cost, tuple(map(self.redactor.text, notes)), restart.seconds)

    def usage(self) -> SessionUsage:
        self._measure()
        return replace(super().usage(), startup_seconds=self._startup_seconds)

    def version(self) -> str:
        return self._version

    def close(self) -> None:
        try:
            self._end()
        finally:
            super().close()

    def _run_index_command(self, deadline: Deadline, action: str) -> None:
        if self._templates.index_command:
            limit = deadline.within(self._settings.index_timeout).remaining()
            self.run_index_command(self._templates.index_command, limit, action)

    def _start_server(self, seconds: float | None) -> None:
        begin, deadline = time.monotonic(), Deadline(seconds)
        connection = self._connect(deadline.within(self._settings.startup_timeout))
        self._connection, self._noted_junk = connection, 0
        self._version = connection.version
        if self._startup_seconds is None:
            self._startup_seconds = time.monotonic() - begin
        try:
            for call in self._checked:
                check_call(connection.tools, call.tool, call.arguments)
            self._call_indexing(self._index, deadline.within(self._settings.index_timeout))
        except EngineError:
            if self._connection is not None:  # a running server is useless without its index
                self._drop()
            raise
        if self._restarts.first_start is None:
            self._restarts.first_start = time.monotonic() - begin

    def _restore(self) -> RestartCost:
        return RestartCost() if self._connection is not None else self._restarts.restart(self._start_server)

    def _call(self, call: ToolCall, deadline: Deadline, hint: str) -> CallToolResult:
        if self._connection is None:
            raise EngineError("the server is not running", hint="reopen the engine")
        try:
            result = self._connection.call(call.tool, call.arguments, deadline.at)
        except Exception as problem:
            explained = self._explain(problem, deadline, hint)
            if isinstance(problem, TimeoutError | OSError) or self._is_broken(problem):
                self._drop()
            raise explained from problem
        except BaseException:
            self._end(politely=False)
            raise
        check_result(call.tool, result)
        return result

    def _call_indexing(self, calls: Sequence[ToolCall], deadline: Deadline) -> None:
        for call in calls:
            check_output(self._call(call, deadline, "raise `index_timeout`"), self.engine.layout.text.failed)

    def _fill_calls(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        return tuple(
            replace(call, arguments=cast("Mapping[str, object]", fill_json(call.arguments, self.placeholders)))
            for call in calls
        )

    def _junk_notes(self) -> tuple[str, ...]:
        if not isinstance(self._transport, StdioTransport) or self._transport.junk == self._noted_junk:
            return ()
        count, self._noted_junk = self._transport.junk - self._noted_junk, self._transport.junk
        lines = "line" if count == 1 else "lines"
        return (f"ignored {count} {lines} on stdout that are not MCP messages, e.g. {self._transport.first_junk!r}",)

    def _measure(self) -> None:
        if isinstance(self._transport, StdioTransport):
            self.tracker.record_peak(self._transport.child.peak_bytes())
            self.tracker.record_stderr(self._transport.child.stderr)

    def _end(self, *, politely: bool = True) -> None:
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                connection.end(politely=politely)
            elif self._transport is not None:
                self._transport.end()
        finally:
            self._measure()
            self._transport = None

    def _connect(self, deadline: Deadline) -> McpConnection:
        modes: tuple[ConnectMode, ...] = ("legacy", "auto")
        for mode in modes:
            self._transport = self._open_transport()
            try:
                return McpConnection(self._transport, self.workspace.root, mode, deadline.at)
            except Exception as problem:
                explained = self._explain(problem, deadline, "raise `startup_timeout`")
                self._drop()
                if mode == modes[-1] or not isinstance(problem, MCPError) or problem.code == CONNECTION_CLOSED:
                    raise explained from problem
            except BaseException:
                self._end()
                raise
        raise AssertionError("unreachable: the last mode returns or raises")

    def _open_transport(self) -> StdioTransport | HttpTransport:
        settings = self._settings
        if not settings.url:
            return StdioTransport(self.fill(self._templates.command))
        token = read_token(settings.token_env)
        headers = {name: fill(value, self.placeholders) for name, value in settings.headers.items()}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        return HttpTransport(fill_url(settings.url, self.placeholders), headers)

    def _drop(self) -> None:
        self._restarts.losses += 1
        transport = self._transport
        self._end(politely=False)
        if isinstance(transport, StdioTransport):
            self.tracker.record_failure(transport.child.stderr)

    def _is_broken(self, problem: Exception) -> bool:
        closed = isinstance(problem, MCPError) and problem.code == CONNECTION_CLOSED
        return closed or (isinstance(self._transport, StdioTransport) and self._transport.problem is not None)

    def _explain(self, problem: Exception, deadline: Deadline, hint: str) -> EngineError:
        text = " ".join(str(problem).split())[:SHOWN_ERROR]
        pipes = self._transport if isinstance(self._transport, StdioTransport) else None
        stderr = f": {pipes.child.last_error_line}" if pipes and pipes.child.last_error_line else ""
        if isinstance(problem, TimeoutError):
            message = f"no answer after {format_duration(deadline.limit)}{stderr}"
            return EngineTimeoutError(message, hint=hint)
        if pipes and isinstance(pipes.problem, OutputLimitExceeded):
            hint = "limit the size of the result, for example with {k}"
            return EngineError(f"the server printed {pipes.problem} on one line", hint=hint)
        if self._is_broken(problem):
            how = f"{pipes.child.describe_end()}{stderr}" if pipes else f"closed the connection: {text}"
            hint = repro_command(self.fill(self._templates.command)) if self._templates.command else _CHECK_SERVER
            return EngineCrash(f"the server {how}", hint=hint)
        code = self._transport.error_status if isinstance(self._transport, HttpTransport) else None
        status = f" (HTTP {code})" if code else ""
        if isinstance(problem, MCPError):
            hint = "correct the tool and its arguments, or read the log of the server"
            if self._connection is None:
                hint = "check that `command` or `url` names an MCP server, and check its credentials"
            return EngineError(f"the server returned an error: {text}{status}", hint=hint)
        return EngineError(f"{type(problem).__name__}: {text}{status}", hint=_CHECK_SERVER)


class UpdatableMcpSession(McpSession):
    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        deadline = Deadline(seconds, self._settings.index_timeout)
        self.use_corpus(corpus)
        with self.redactor.cleaning():
            if isinstance(self._settings.update, str):
                self._end()
                if self._settings.update == "index":
                    self._run_index_command(deadline, "updating")
                self._start_server(deadline.remaining())
            else:
                self._restore()
                self._call_indexing(self._fill_calls(self._templates.update), deadline)


SHOWN_ERROR = 300  # characters of a server error that a message quotes


def parse_result(result: CallToolResult, content: Content, layout: OutputLayout, known: frozenset[str]) -> EngineReply:
    """Parse the result of a tool into hits; text that a server library wraps as `{"result": ...}` is parsed as text."""
    structured = result.structured_content
    wrapped = isinstance(structured, dict) and list(structured) == ["result"] and isinstance(structured["result"], str)
    if content == "structured" and structured is None:
        raise EngineError("the result has no structured content", hint='set content = "text"')
    is_document = structured is not None and not wrapped
    if content != "text" and is_document and not layout.text.pattern and layout.format in ("auto", "json"):
        return parse_document(structured, layout)
    ignored = Counter(item.type for item in result.content if _text(item) is None)
    notes = tuple(f"ignored content of type {name} in the result ({n})" for name, n in sorted(ignored.items()))
    text = "\n".join(_texts(result.content))
    if not text.strip():
        return EngineReply((), None, notes)
    reply = parse_output(text, layout, known)
    return replace(reply, notes=(*reply.notes, *notes))


def check_call(tools: Mapping[str, Tool], tool: str, arguments: Iterable[str]) -> None:
    if tool not in tools:
        near = closest_match(tool, tools)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise EngineError(
            f"the server has no tool {tool!r}", hint=f"{meant}tools: {', '.join(sorted(tools)) or 'none'}"
        )
    schema: Mapping[str, Any] = tools[tool].input_schema
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    given, required = set(arguments), set(schema.get("required") or ())
    names = sorted(properties, key=lambda name: name not in required)  # required arguments first
    hint = f"arguments: {', '.join(names) or 'none'}"
    hint += f"; required: {', '.join(name for name in names if name in required)}" if required else ""
    unknown = sorted(given - set(properties))
    if unknown and not schema.get("additionalProperties"):  # most servers silently ignore unknown arguments
        raise EngineError(f"the tool {tool!r} has no argument {', '.join(unknown)}", hint=hint)
    missing = sorted(required - given)
    if missing:
        raise EngineError(f"missing arguments of the tool {tool!r}: {', '.join(missing)}", hint=hint)


def check_result(tool: str, result: CallToolResult) -> None:
    if result.is_error:
        text = " ".join(" ".join(_texts(result.content)).split())[:SHOWN_ERROR]
        raise EngineError(
            f"the tool {tool!r} failed: {text or 'no error message'}", hint="correct the arguments, or fix the server"
        )


def check_output(result: CallToolResult, failed: UserPattern | None) -> None:
    problem = find_failure("\n".join(_texts(result.content)), failed)
    if problem is not None:
        raise problem


def _texts(content: Sequence[ContentBlock]) -> list[str]:
    return [text for text in map(_text, content) if text is not None]


def _text(item: ContentBlock) -> str | None:
    if isinstance(item, TextContent):
        return item.text
    if isinstance(item, EmbeddedResource) and isinstance(item.resource, TextResourceContents):
        return item.resource.text
    return None
