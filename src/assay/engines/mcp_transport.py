"""Connections to an MCP server: an event loop in a thread, and calls with deadlines from other threads.

One task of the event loop enters and exits the client of the mcp package; other threads submit calls to the loop. A
caller whose call times out closes the connection, which stops a server program that Assay started.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import queue
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import anyio
import httpx2
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from assay.engines.json_output import strip_ansi
from assay.processes.child import Child, ChildError, ChildTimeout
from assay.processes.running import ANSWER_BYTES, ProgramSpec

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.client.client import ConnectMode


T = TypeVar("T")

# Assay raises errors for the package's log messages; without a handler, Python would print them to stderr.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class TransportLimits:
    pages: int = 100  # maximum pages of the tool list
    shutdown: float = 2.0  # for an orderly shutdown, and again after a cancellation
    awaiting: float = 0.02  # maximum delay of a reply to a request from the server
    idle: float = 0.1  # between polls of a server without a pending request
    poll: float = 0.001  # duration of one poll
    shown: int = 60  # characters of a non-message line that a note quotes


LIMITS = TransportLimits()


class McpConnection:
    """An initialized MCP client, for one thread at a time."""

    def __init__(
        self, transport: StdioTransport | HttpTransport, root: Path, mode: ConnectMode, deadline: float | None
    ) -> None:
        self.version = ""  # of the server
        self.tools: dict[str, types.Tool] = {}
        self._transport = transport
        self._root = root
        self._mode = mode
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        self._ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._stop = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="assay-mcp", daemon=True)
        try:
            self._thread.start()
            _result(self._ready, deadline)
        except BaseException:
            self.end(politely=False)
            raise

    def call(self, tool: str, arguments: Mapping[str, object], deadline: float | None) -> types.CallToolResult:
        """Call a tool; after a timeout or a lost connection, the caller must close the connection."""
        if self._client is None or self._loop.is_closed():
            raise ConnectionError("the connection is closed")
        # Not `Client.call_tool`, whose schema check of the answer would be timed.
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=dict(arguments)))
        result = self._client.session.send_request(request, types.CallToolResult)
        return _result(asyncio.run_coroutine_threadsafe(result, self._loop), deadline)

    def end(self, *, politely: bool = True) -> None:
        """Close the transport, then the client; without `politely`, cancel the client at once."""
        self._ended = True
        self._transport.end()
        for stop in (self._stop.set, self._cancel) if politely else (self._cancel,):
            if self._thread.is_alive():
                with suppress(RuntimeError):  # the loop is already closed
                    self._loop.call_soon_threadsafe(stop)
                self._thread.join(LIMITS.shutdown)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner, suppress(asyncio.CancelledError):
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._task = cast("asyncio.Task[None]", asyncio.current_task())
        if self._ended:
            return
        try:
            async with Client(
                self._transport.streams(), mode=self._mode, list_roots_callback=self._list_roots
            ) as client:
                if client.server_info is not None:
                    self.version = f"{client.server_info.name} {client.server_info.version}".strip()
                cursor: str | None = None
                for _ in range(LIMITS.pages):
                    page = await client.list_tools(cursor=cursor)
                    self.tools |= {tool.name: tool for tool in page.tools}
                    cursor = page.next_cursor
                    if cursor is None:
                        break
                self._client = client
                self._ready.set_result(None)
                await self._stop.wait()
        except BaseException as problem:
            if not self._ready.done():
                self._ready.set_exception(_innermost(problem))
        finally:
            self._client = None

    async def _list_roots(self, context: Any) -> types.ListRootsResult:  # noqa: ANN401, ARG002 - as the package calls it
        return types.ListRootsResult(roots=[types.Root(uri=cast(Any, self._root.as_uri()))])


def _result(future: concurrent.futures.Future[T], deadline: float | None) -> T:
    return future.result(None if deadline is None else max(0.0, deadline - time.monotonic()))


def _innermost(problem: BaseException) -> BaseException:
    while isinstance(problem, BaseExceptionGroup):
        real = [error for error in problem.exceptions if not isinstance(error, asyncio.CancelledError)]
        problem = (real or list(problem.exceptions))[0]
    return ConnectionError("connection cancelled") if isinstance(problem, asyncio.CancelledError) else problem


Incoming = MemoryObjectSendStream[SessionMessage | Exception]
_Queue = queue.SimpleQueue[SessionMessage | None]


class StdioTransport:
    def __init__(self, task: ProgramSpec) -> None:
        self.child = Child(task)
        self.problem: ChildError | None = None  # why the thread ended
        self.junk = 0  # lines on stdout that are not messages
        self.first_junk = ""
        self._outgoing: _Queue = queue.SimpleQueue()
        self._awaited: set[object] = set()
        self._closing = threading.Event()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[TransportStreams]:
        incoming, receiving = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        loop = asyncio.get_running_loop()
        thread = threading.Thread(target=self._exchange, args=(loop, incoming), name="assay-mcp-pipes", daemon=True)
        thread.start()
        try:
            yield receiving, _Outbox(self._outgoing)
        finally:
            self._stop_thread()
            receiving.close()
            with anyio.CancelScope(shield=True):
                await asyncio.to_thread(thread.join)
            incoming.close()

    def end(self) -> None:
        self._stop_thread()
        self.child.end()

    def _stop_thread(self) -> None:
        self._closing.set()
        self._outgoing.put(None)

    def _exchange(self, loop: asyncio.AbstractEventLoop, incoming: Incoming) -> None:
        try:
            while not self._closing.is_set():
                self._send()
                message = self._receive()
                if message is not None:
                    self._deliver(SessionMessage(message), loop, incoming)
        except ChildError as problem:
            self.problem = problem
        except (RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._closing.set()  # the event loop or the client is gone
        finally:  # wake the waiting client
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(incoming.close)

    def _send(self) -> None:
        try:
            message = self._outgoing.get(not self._awaited, LIMITS.idle)
        except queue.Empty:
            return
        if message is None:
            return
        if isinstance(message.message, JSONRPCRequest):
            self._awaited.add(message.message.id)
        data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        self.child.write(data + b"\n", None)  # no deadline: the waiting caller ends a server that reads no input

    def _receive(self) -> JSONRPCMessage | None:
        try:
            line = self.child.read_line(time.monotonic() + (LIMITS.awaiting if self._awaited else LIMITS.poll))
        except ChildTimeout:
            return None
        text = line.decode("utf-8", "replace").strip()
        for form in dict.fromkeys((text, strip_ansi(text).strip().rpartition("\r")[2])):
            with suppress(ValueError):
                message = jsonrpc_message_adapter.validate_json(form, by_name=False)
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    self._awaited.discard(message.id)
                return message
        if text:
            self.junk += 1
            self.first_junk = self.first_junk or strip_ansi(text)[: LIMITS.shown]
        return None

    def _deliver(self, message: SessionMessage, loop: asyncio.AbstractEventLoop, incoming: Incoming) -> None:
        handed = asyncio.run_coroutine_threadsafe(incoming.send(message), loop)
        while not self._closing.is_set():
            with suppress(concurrent.futures.TimeoutError):
                return handed.result(LIMITS.idle)
        handed.cancel()
        return None


class _Outbox:
    def __init__(self, outgoing: _Queue) -> None:
        self._outgoing = outgoing

    async def send(self, item: SessionMessage, /) -> None:
        self._outgoing.put(item)

    async def aclose(self) -> None:
        """Do nothing, because the transport stops the program."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class HttpTransport:
    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = headers
        self.error_status: int | None = None  # status of the last response, if it is an error

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[TransportStreams]:
        headers = {**self._headers, "accept-encoding": "identity"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=None, event_hooks={"response": [self._check]}) as client,
            streamable_http_client(self._url, http_client=client, max_sse_event_size=ANSWER_BYTES) as streams,
        ):
            yield streams

    async def _check(self, response: httpx2.Response) -> None:
        self.error_status = response.status_code if response.is_error else None
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("the server sent a compressed response", request=response.request)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream)

    def end(self) -> None:
        """Do nothing, because Assay did not start the server."""


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        async for piece in self._inner:
            total += len(piece)
            if total > ANSWER_BYTES:
                raise httpx2.StreamError(f"the server sent more than {ANSWER_BYTES:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
