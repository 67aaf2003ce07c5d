"""The server: its tools, what it says of itself, and what becomes of a call that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from assay._version import __version__
from assay.agent.answers import failure
from assay.agent.benchmarks import Benchmarks
from assay.agent.explaining import add_explain
from assay.agent.house import House
from assay.agent.relating import add_related
from assay.agent.reporting import add_benchmark, add_report
from assay.agent.roots import Roots
from assay.agent.searching import add_search
from assay.agent.shelf import Shelf
from assay.errors import meant

if TYPE_CHECKING:
    from assay.experiment.spec import Spec

INSTRUCTIONS = """\
Assay finds code, and measures how well code search finds it.
To find code: `search` with a question in plain words, keywords or a name; then read the files at the lines it gives.
From a place you have found: `related` shows its callers, what it uses and what is alike.
When a result surprises: `explain`.
To measure search engines on questions with known answers: `run_benchmark`, then `read_report`.
Served: {roots}. Paths are relative to that folder, or absolute inside it; everything else is refused.
The first search of a folder makes its index, which may take a while; later ones are quick and follow every edit."""


class AgentServer(MCPServer[Any]):
    """An MCP server that tells a caller what was wrong with its arguments in a sentence."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; a misspelt tool or argument is told, never left out in silence."""
        known = {tool.name: tool.parameters["properties"] for tool in self._tool_manager.list_tools()}
        wrong = _misspelt("tool", name, known) or _wrong_argument(name, arguments, known[name])
        if wrong is not None:
            return failure(wrong)
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                return failure(_refused(name, error.__cause__))
            raise


@dataclass(frozen=True, slots=True)
class Service:
    """A server, and what its tools share."""

    server: AgentServer
    house: House


def make_service(roots: Roots, spec: Spec | None = None) -> Service:
    """Make the server of some folders; nothing heavy is loaded before the first call."""
    house = House(roots, Shelf(roots.folders), Benchmarks(roots, spec))
    server = AgentServer(
        name="assay",
        title="Assay",
        version=__version__,
        instructions=INSTRUCTIONS.format(roots=roots),
        log_level="ERROR",  # stderr is for what the user must know; a refused call is between agent and server
    )
    for add in (add_search, add_explain, add_related, add_benchmark, add_report):
        add(server, house)
    return Service(server, house)


def _misspelt(what: str, name: str, known: Mapping[str, object]) -> str | None:
    """Say that a name is not known, and which is meant."""
    if name in known:
        return None
    hint = f"{meant(name, known)} there are {', '.join(known)}".lstrip()
    return f"unknown {what} {name[:80]!r}\n  → {hint}"


def _wrong_argument(tool: str, arguments: Mapping[str, object], known: Mapping[str, object]) -> str | None:
    """Say which argument the tool does not have: left out in silence it would look like a filter that found all."""
    for name in arguments:
        if (wrong := _misspelt("argument", name, known)) is not None:
            return f"{tool}: {wrong}"
    return None


def _refused(tool: str, error: ValidationError) -> str:
    """Say what is wrong with each argument."""
    lines = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    return f"{tool}: {'; '.join(lines)}\n  → correct that and call again"
