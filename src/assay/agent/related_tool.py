"""The MCP tool `related`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from assay.agent.context import ServerContext, ToolResponse, answered, join
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.search.related import Relation
    from assay.types import Hit


ABOUT = """\
Show what belongs to the code at a line: what it uses, what uses it, and what speaks of the same things. Use it when you
have found one place and want the rest: before changing a function (who calls it?), to find its tests, or code that does
something alike.

Comes back: the function or section at that line, then places of each kind as `path:start-end`, the closest first, with
what is defined there and the names or words that tie them, and the files that have most to do with it.

Example: {"place": "src/http/client.py:120"}"""


@dataclass(frozen=True, slots=True)
class RelatingConfig:
    """How much of a relation is written."""

    shared: int = 6  # names or words in the text: what ties two places is clear by then; the data has them all
    names: int = 2  # of what a relative defines: the function, or the class and its first method


CONFIG: Final = RelatingConfig()
_ALIKE = "about the same things"


@dataclass(frozen=True, slots=True)
class LineRange:
    """Some lines of a file."""

    path: str
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class RelatedCode:
    """A place, how closely it belongs (1 is the closest of its kind), by which names or words, and what it defines."""

    path: str
    start: int | None
    end: int | None
    score: float | None
    shared: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelatedFile:
    """A file and how much it has to do with the code, all kinds of relation added up."""

    path: str
    score: float | None


@dataclass(frozen=True)  # no slots: the package takes them for defaults of its schema
class RelatedAnswer:
    """The code at the line, what it defines, and its relatives by kind."""

    root: str
    unit: LineRange
    names: tuple[str, ...]
    uses: tuple[RelatedCode, ...]
    used_by: tuple[RelatedCode, ...]
    alike: tuple[RelatedCode, ...]
    files: tuple[RelatedFile, ...]


_Place = Annotated[str, Field(description="FILE:LINE, or FILE:START-END as `search` writes it")]
_Path = Annotated[str | None, Field(description="the served folder, where there are several")]
_Most = Annotated[int, Field(description="how many of each kind", ge=1, le=100)]


def add_related(server: MCPServer, house: ServerContext) -> None:
    """Give the server the tool."""

    @server.tool(
        structured_output=True,
        description=ABOUT,
        annotations=ToolAnnotations(title="Find related code", read_only_hint=True),
    )
    async def related(place: _Place, path: _Path = None, k: _Most = 5) -> Annotated[CallToolResult, RelatedAnswer]:
        return await answered(partial(find_related, house, place, path, k))


def find_related(house: ServerContext, text: str, path: str | None, k: int) -> ToolResponse:
    """Find the relatives of the code at a line."""
    file, line = _read(text)
    place = house.roots.find(join(path, file))
    index = house.shelf.index(place.root)
    found = index.related(place.path, line, k)
    data = RelatedAnswer(
        str(index.root),
        LineRange(found.chunk.path, found.chunk.start, found.chunk.end),
        found.names,
        tuple(map(_relative, found.uses)),
        tuple(map(_relative, found.used_by)),
        tuple(map(_relative, found.alike)),
        tuple(RelatedFile(hit.path, hit.score) for hit in found.files),
    )
    return ToolResponse(_text(data, found.chunk), data)


def _read(text: str) -> tuple[str, int]:
    found = re.fullmatch(r"(.+?):(\d{1,9})(?:-\d+)?", text)
    if found is None or int(found.group(2)) < 1:
        raise ConfigError(f"{text[:200]!r} is no line of a file", hint="write FILE:LINE, such as src/http.py:120")
    return found.group(1), int(found.group(2))


def _relative(relation: Relation) -> RelatedCode:
    hit = relation.hit
    return RelatedCode(hit.path, hit.start, hit.end, hit.score, relation.shared, relation.names)


def _line(row: RelatedCode, verb: str) -> str:
    names = () if verb == "defines" else row.names[: CONFIG.names]  # there the names that tie them say it
    who = f" {', '.join(names)}" if names else ""
    return f"{row.path}:{row.start}-{row.end}{who} {verb} {', '.join(row.shared[: CONFIG.shared])}"


def _text(data: RelatedAnswer, chunk: Hit) -> str:
    names = f" defines {', '.join(data.names)}" if data.names else ""
    parts = [f"{chunk.span}{names}"]
    kinds = (("it uses", "defines", data.uses), ("used by", "uses", data.used_by), (_ALIKE, "also has", data.alike))
    for title, verb, rows in kinds:
        if rows:
            parts.append("\n".join([f"{title}:", *(_line(row, verb) for row in rows)]))
    if data.files:
        parts.append("\n".join(["files:", *(file.path for file in data.files)]))
    return "\n\n".join(parts) if len(parts) > 1 else f"{parts[0]}\n\nNothing else belongs to it."
