"""MCP's stdio transport on our own `Child`: a process group, bounded lines, stderr kept, junk on stdout left out.

One thread talks to the program: it writes what is to be sent, then listens. While no answer is awaited it listens only
now and then, so that a server that talks to itself costs nothing.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from assay.engines.reading.documents import strip_ansi
from assay.processes import Child, ChildProblem, ChildTimeout, Task

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


@dataclass(frozen=True, slots=True)
class PumpTimes:
    """How often the thread looks at both sides."""

    awaiting: float = 0.02  # seconds: how long a reply to a question of the server's may wait for the line to be free
    idle: float = 0.1  # seconds between looks at a server that was not asked anything
    glance: float = 0.001  # seconds of such a look
    shown: int = 60  # characters of junk that are kept


TIMES = PumpTimes()


Incoming = MemoryObjectSendStream[SessionMessage | Exception]


class Pipes:
    """A server's program and the thread that talks to it."""

    def __init__(self, task: Task) -> None:
        """Start the program; EnvironmentFailure when that fails."""
        self.child = Child(task)
        self.problem: ChildProblem | None = None  # why the talk ended
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
        """Let the thread come to its end."""
        self._closing.set()
        self._outgoing.put(None)

    def _talk(self, loop: asyncio.AbstractEventLoop, incoming: Incoming) -> None:
        """Send and listen in turn until the program is gone or the client is."""
        try:
            while not self._closing.is_set():
                self._send()
                self._listen(loop, incoming)
        except ChildProblem as problem:
            self.problem = problem
        except (RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._closing.set()  # the event loop or the client is gone
        finally:  # whoever waits must learn of it, whatever ended the talk
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(incoming.close)

    def _send(self) -> None:
        """Write a message that is there, or that comes within a moment while no answer is awaited."""
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
        """Take a line that comes within a moment."""
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
        """Read a message, also one behind progress that was to be overwritten; count what is none."""
        text = line.decode("utf-8", "replace").strip()
        for form in dict.fromkeys((text, strip_ansi(text).strip().rpartition("\r")[2])):
            with suppress(ValueError):
                return jsonrpc_message_adapter.validate_json(form, by_name=False)
        if text:
            self.junk += 1
            self.first_junk = self.first_junk or strip_ansi(text)[: TIMES.shown]
        return None

    def _deliver(self, message: SessionMessage, loop: asyncio.AbstractEventLoop, incoming: Incoming) -> None:
        """Hand a message over and wait until it is taken: a server that floods us is slowed down."""
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
        """Leave a message for the thread."""
        self._outgoing.put(item)

    async def aclose(self) -> None:
        """Have nothing to close: the program is ended by whoever started it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
