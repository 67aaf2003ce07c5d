"""MCP's streamable HTTP transport with bounded answers; redirects stay within the address (the mcp package's rule)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2
from mcp.client.streamable_http import streamable_http_client

from assay.processes import ANSWER_BYTES

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


@dataclass(frozen=True, slots=True)
class WebLimits:
    """What one answer may cost."""

    body: int = ANSWER_BYTES


WEB_LIMITS = WebLimits()


class Address:
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
        """Keep a status of failure, refuse packed answers, whose size nobody knows, and bound the rest."""
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
        """Let go of the connection."""
        await self._inner.aclose()
