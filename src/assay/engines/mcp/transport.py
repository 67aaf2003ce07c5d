"""One live connection to an MCP server: an event loop in a thread of its own, and every wait with an end.

The client of the mcp package is entered and left in one task of that loop; calls are handed over from outside. Whoever
waits for a call that does not come back in time ends the connection, and with it the server that was started for it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import queue
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

import anyio
import httpx2
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from assay.engines.json_answers import strip_ansi
from assay.processes import ANSWER_BYTES, Child, ChildError, ChildTimeout, ProgramSpec

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.client.client import ConnectMode


T = TypeVar("T")

# What the package has to say is said by our own errors; without a handler Python would print it to stderr.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """What is no part of any measure."""

    pages: int = 100  # of the list of tools: one that never ends is cut
    leave: float = 2.0  # seconds to say goodbye to a server, and again to let go of everything


CLIENT_LIMITS = ClientLimits()


class Transport(Protocol):
    """How messages get to a server and back."""

    def streams(self) -> AbstractAsyncContextManager[TransportStreams]:
        """Connect a client in the running event loop."""

    def end(self) -> None:
        """End what was started for it; safe from any thread."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server says of itself."""

    version: str
    tools: Mapping[str, types.Tool]


class McpConnection:
    """A client that has shaken hands with a server. One thread at a time uses it."""

    def __init__(self, line: Transport, root: Path, mode: ConnectMode, deadline: float | None) -> None:
        self._line = line
        self._root = root
        self._mode = mode
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        self._ready: concurrent.futures.Future[ServerInfo] = concurrent.futures.Future()
        self._stop = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="assay-mcp", daemon=True)
        try:
            self._thread.start()
            self.server = _result(self._ready, deadline)
        except BaseException:
            self.end(politely=False)
            raise

    def call(self, tool: str, arguments: Mapping[str, object], deadline: float | None) -> types.CallToolResult:
        """Call a tool; what goes wrong is raised as it comes, TimeoutError included: then the connection is to end."""
        if self._client is None or self._loop.is_closed():
            raise ConnectionError("the connection is closed")
        # Not `Client.call_tool`: it checks the answer against the tool's schema, in time that is not the engine's.
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=dict(arguments)))
        asked = self._client.session.send_request(request, types.CallToolResult)
        return _result(asyncio.run_coroutine_threadsafe(asked, self._loop), deadline)

    def end(self, *, politely: bool = True) -> None:
        """End what was started, then let go of the client; the second time does nothing."""
        self._ended = True
        self._line.end()
        for stop in (self._stop.set, self._cancel) if politely else (self._cancel,):
            if self._thread.is_alive():
                with suppress(RuntimeError):  # the loop has closed meanwhile
                    self._loop.call_soon_threadsafe(stop)
                self._thread.join(CLIENT_LIMITS.leave)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner, suppress(asyncio.CancelledError):
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._task = cast("asyncio.Task[None]", asyncio.current_task())
        if self._ended:  # nobody waits any more
            return
        try:
            transport = self._line.streams()
            async with Client(transport, mode=self._mode, list_roots_callback=self._list_roots) as client:
                server = ServerInfo(_version(client), await _list_tools(client))
                self._client = client
                self._ready.set_result(server)
                await self._stop.wait()
        except BaseException as problem:
            if not self._ready.done():
                self._ready.set_exception(innermost(problem))
        finally:
            self._client = None

    async def _list_roots(self, context: Any) -> types.ListRootsResult:  # noqa: ANN401, ARG002 - as the package calls it
        return types.ListRootsResult(roots=[types.Root(uri=cast(Any, self._root.as_uri()))])


def _result(future: concurrent.futures.Future[T], deadline: float | None) -> T:
    return future.result(None if deadline is None else max(0.0, deadline - time.monotonic()))


def innermost(problem: BaseException) -> BaseException:
    """Give the exception that a group was raised for: the first that is no mere cancellation."""
    while isinstance(problem, BaseExceptionGroup):
        real = [one for one in problem.exceptions if not isinstance(one, asyncio.CancelledError)]
        problem = (real or list(problem.exceptions))[0]
    return ConnectionError("it was cut short") if isinstance(problem, asyncio.CancelledError) else problem


def _version(client: Client) -> str:
    info = client.server_info
    return "" if info is None else f"{info.name} {info.version}".strip()


async def _list_tools(client: Client) -> dict[str, types.Tool]:
    tools: dict[str, types.Tool] = {}
    cursor: str | None = None
    for _ in range(CLIENT_LIMITS.pages):
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: tool for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


@dataclass(frozen=True, slots=True)
class PumpTimes:
    """How often the thread looks at both sides."""

    awaiting: float = 0.02  # seconds: how long a reply to a question of the server's may wait for the line to be free
    idle: float = 0.1  # seconds between looks at a server that was not asked anything
    glance: float = 0.001  # seconds of such a look
    shown: int = 60  # characters of junk that are kept


TIMES = PumpTimes()


Incoming = MemoryObjectSendStream[SessionMessage | Exception]


class StdioTransport:
    """A server's program and the thread that talks to it."""

    def __init__(self, task: ProgramSpec) -> None:
        self.child = Child(task)
        self.problem: ChildError | None = None  # why the talk ended
        self.junk = 0  # lines on stdout that were no message
        self.first_junk = ""
        self._outgoing: _Queue = queue.SimpleQueue()
        self._awaited: set[object] = set()
        self._closing = threading.Event()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[TransportStreams]:
        """Connect the program to a client in this event loop."""
        incoming, receiving = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        loop = asyncio.get_running_loop()
        thread = threading.Thread(target=self._talk, args=(loop, incoming), name="assay-mcp-pipes", daemon=True)
        thread.start()
        try:
            yield receiving, _Outbox(self._outgoing)
        finally:
            self._hang_up()
            receiving.close()
            with anyio.CancelScope(shield=True):
                await asyncio.to_thread(thread.join)
            incoming.close()

    def end(self) -> None:
        """End the program and the talk."""
        self._hang_up()
        self.child.end()

    def _hang_up(self) -> None:
        self._closing.set()
        self._outgoing.put(None)

    def _talk(self, loop: asyncio.AbstractEventLoop, incoming: Incoming) -> None:
        try:
            while not self._closing.is_set():
                self._send()
                self._listen(loop, incoming)
        except ChildError as problem:
            self.problem = problem
        except (RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._closing.set()  # the event loop or the client is gone
        finally:  # whoever waits must learn of it, whatever ended the talk
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(incoming.close)

    def _send(self) -> None:
        try:
            message = self._outgoing.get(not self._awaited, TIMES.idle)
        except queue.Empty:
            return
        if message is None:
            return
        if isinstance(message.message, JSONRPCRequest):
            self._awaited.add(message.message.id)
        data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        self.child.write(data + b"\n", None)  # a server that takes no input is ended by whoever waits for its answer

    def _listen(self, loop: asyncio.AbstractEventLoop, incoming: Incoming) -> None:
        patience = TIMES.awaiting if self._awaited else TIMES.glance
        try:
            line = self.child.read_line(time.monotonic() + patience)
        except ChildTimeout:
            return
        message = self._read(line)
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._awaited.discard(message.id)
        if message is not None:
            self._deliver(SessionMessage(message), loop, incoming)

    def _read(self, line: bytes) -> JSONRPCMessage | None:
        text = line.decode("utf-8", "replace").strip()
        for form in dict.fromkeys((text, strip_ansi(text).strip().rpartition("\r")[2])):
            with suppress(ValueError):
                return jsonrpc_message_adapter.validate_json(form, by_name=False)
        if text:
            self.junk += 1
            self.first_junk = self.first_junk or strip_ansi(text)[: TIMES.shown]
        return None

    def _deliver(self, message: SessionMessage, loop: asyncio.AbstractEventLoop, incoming: Incoming) -> None:
        handed = asyncio.run_coroutine_threadsafe(incoming.send(message), loop)
        while not self._closing.is_set():
            with suppress(concurrent.futures.TimeoutError):
                return handed.result(TIMES.idle)
        handed.cancel()
        return None


_Queue = queue.SimpleQueue[SessionMessage | None]


class _Outbox:
    """The end of the talk that a client writes to."""

    def __init__(self, outgoing: _Queue) -> None:
        self._outgoing = outgoing

    async def send(self, item: SessionMessage, /) -> None:
        self._outgoing.put(item)

    async def aclose(self) -> None:
        """Have nothing to close: the program is ended by whoever started it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


@dataclass(frozen=True, slots=True)
class WebLimits:
    """What one answer may cost."""

    body: int = ANSWER_BYTES


WEB_LIMITS = WebLimits()


class HttpTransport:
    """A server on the web, with what every request carries."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = headers
        self.refusal: int | None = None  # the status of the last answer, where that is one of failure

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[TransportStreams]:
        """Connect a client in this event loop; the time is kept by whoever waits for an answer."""
        headers = {**self._headers, "accept-encoding": "identity"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=None, event_hooks={"response": [self._look]}) as client,
            streamable_http_client(self._url, http_client=client, max_sse_event_size=WEB_LIMITS.body) as streams,
        ):
            yield streams

    async def _look(self, response: httpx2.Response) -> None:
        self.refusal = response.status_code if response.is_error else None
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("the server packs its answers, though asked not to", request=response.request)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream)

    def end(self) -> None:
        """Have nothing to end: the server is somebody else's."""


class _BoundedStream(httpx2.AsyncByteStream):
    """The body of an answer, up to the limit."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        async for piece in self._inner:
            total += len(piece)
            if total > WEB_LIMITS.body:
                raise httpx2.StreamError(f"the server sends more than {WEB_LIMITS.body:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
