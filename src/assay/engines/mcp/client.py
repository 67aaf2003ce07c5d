"""One live connection to an MCP server: an event loop in a thread of its own, and every wait with an end.

The client of the mcp package is entered and left in one task of that loop; calls are handed over from outside. Whoever
waits for a call that does not come back in time ends the connection, and with it the server that was started for it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import mcp_types as types
from mcp import Client

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


class Line(Protocol):
    """How messages get to a server and back."""

    def streams(self) -> AbstractAsyncContextManager[TransportStreams]:
        """Connect a client in the running event loop."""

    def end(self) -> None:
        """End what was started for it; safe from any thread."""


@dataclass(frozen=True, slots=True)
class Server:
    """What a server says of itself."""

    version: str
    tools: Mapping[str, types.Tool]


class Connection:
    """A client that has shaken hands with a server. One thread at a time uses it."""

    def __init__(self, line: Line, root: Path, mode: ConnectMode, deadline: float | None) -> None:
        """Connect; whatever goes wrong is raised as it comes, TimeoutError included, with nothing left running."""
        self._line = line
        self._root = root
        self._mode = mode
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        self._ready: concurrent.futures.Future[Server] = concurrent.futures.Future()
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
        """Cut short what does not end by itself."""
        if self._task is not None:
            self._task.cancel()

    def _run(self) -> None:
        """Run the event loop to its end, and close it."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner, suppress(asyncio.CancelledError):
            runner.run(self._serve())

    async def _serve(self) -> None:
        """Be connected until told to stop; what goes wrong before that is for whoever waits for the connection."""
        self._task = cast("asyncio.Task[None]", asyncio.current_task())
        if self._ended:  # nobody waits any more
            return
        try:
            transport = self._line.streams()
            async with Client(transport, mode=self._mode, list_roots_callback=self._list_roots) as client:
                server = Server(_version(client), await _list_tools(client))
                self._client = client
                self._ready.set_result(server)
                await self._stop.wait()
        except BaseException as problem:
            if not self._ready.done():
                self._ready.set_exception(innermost(problem))
        finally:
            self._client = None

    async def _list_roots(self, context: Any) -> types.ListRootsResult:  # noqa: ANN401, ARG002 - as the package calls it
        """Name the corpus to servers that ask where the work is."""
        return types.ListRootsResult(roots=[types.Root(uri=cast(Any, self._root.as_uri()))])


def _result(future: concurrent.futures.Future[T], deadline: float | None) -> T:
    """Wait for a result until the deadline."""
    return future.result(None if deadline is None else max(0.0, deadline - time.monotonic()))


def innermost(problem: BaseException) -> BaseException:
    """Give the exception that a group was raised for: the first that is no mere cancellation."""
    while isinstance(problem, BaseExceptionGroup):
        real = [one for one in problem.exceptions if not isinstance(one, asyncio.CancelledError)]
        problem = (real or list(problem.exceptions))[0]
    return ConnectionError("it was cut short") if isinstance(problem, asyncio.CancelledError) else problem


def _version(client: Client) -> str:
    """Give name and version of a server, as far as it says them."""
    info = client.server_info
    return "" if info is None else f"{info.name} {info.version}".strip()


async def _list_tools(client: Client) -> dict[str, types.Tool]:
    """List the tools of a server, page by page."""
    tools: dict[str, types.Tool] = {}
    cursor: str | None = None
    for _ in range(CLIENT_LIMITS.pages):
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: tool for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools
