"""Calls through a real client, in memory."""

from __future__ import annotations

import re
from typing import Any

import anyio
from mcp import Client
from mcp.types import CallToolResult

from assay.agent.context import Roots
from assay.agent.mcp_server import AgentServer, make_server

Call = tuple[str, dict[str, Any]]


def serve(*roots: object) -> AgentServer:
    return make_server(Roots.of(map(str, roots)))


def call(server: AgentServer, *calls: Call) -> list[CallToolResult]:
    """Make calls one after the other, in one session."""

    async def talk() -> list[CallToolResult]:
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(talk)


def ask(server: AgentServer, name: str, **arguments: Any) -> str:
    """Make one call that must be answered, and return its text."""
    (result,) = call(server, (name, arguments))
    assert not result.is_error, text(result)
    return text(result)


def refused(server: AgentServer, name: str, **arguments: Any) -> str:
    """Make one call that must be refused, and give the message."""
    (result,) = call(server, (name, arguments))
    assert result.is_error, text(result)
    assert "Traceback" not in text(result)
    return text(result)


def text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if block.type == "text")


def locations(answer: str) -> list[tuple[str, int | None, int | None]]:
    """Return the locations in the answer of `search`, in order; code is in fences."""
    outside = re.sub(r"^(`{3,}).*?^\1$", "", answer, flags=re.MULTILINE | re.DOTALL)
    found = re.findall(r"^(\S+?)(?::(\d+)-(\d+))?$", outside, flags=re.MULTILINE)
    return [(path, int(start) if start else None, int(end) if end else None) for path, start, end in found]
