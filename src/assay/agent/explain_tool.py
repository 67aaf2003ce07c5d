"""The MCP tool `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from assay.agent.context import ServerContext, ToolResponse, answered, join
from assay.agent.search_tool import check_query
from assay.errors import ConfigError, closest_match

if TYPE_CHECKING:
    from assay.agent.context import RootedPath
    from assay.search import Index
    from assay.search.trace import LostFile, Trace


ABOUT = """\
Say why a file ranks where it does for a query of `search`, or why it is missing. Use it when `search` gave a result
that surprises you, or did not give the file you expected, before you ask again with other words.

Comes back: the file's rank, at which stage it was lost if it was, what each stage did to its score and rank, which
words of the query were looked up, which of them no file has, and the files that came first.

Example: {"query": "where are retries limited?", "file": "src/http/client.py"}"""

#: A score that changed by less did not change.
_LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class StageStep:
    """What one stage did to the file; rank 0 is: no match yet."""

    stage: str
    score: float
    change: float
    rank: int
    before: int


@dataclass(frozen=True, slots=True)
class Leader:
    """A file that came first."""

    rank: int
    path: str
    score: float | None


@dataclass(frozen=True)  # no slots: the package takes them for defaults of its schema
class ExplainAnswer:
    """What became of a file; `lost_at` is the stage that took it out of the first k, none when it is among them."""

    root: str
    file: str
    rank: int | None
    lost_at: str | None
    reason: str
    query_kind: str
    terms: tuple[str, ...]
    unknown_terms: tuple[str, ...]
    stages: tuple[StageStep, ...]
    leaders: tuple[Leader, ...]


_Query = Annotated[str, Field(description="the query, as it was searched", max_length=10_000)]
_File = Annotated[str, Field(description="the file in question, as `search` names it or absolute")]
_Path = Annotated[str | None, Field(description="the served folder, where there are several")]
_Most = Annotated[int, Field(description="a file below this rank counts as lost", ge=1, le=200)]


def add_explain(server: MCPServer, house: ServerContext) -> None:
    """Give the server the tool."""

    @server.tool(
        structured_output=True,
        description=ABOUT,
        annotations=ToolAnnotations(title="Explain a ranking", read_only_hint=True),
    )
    async def explain(
        query: _Query, file: _File, path: _Path = None, k: _Most = 10
    ) -> Annotated[CallToolResult, ExplainAnswer]:
        return await answered(partial(explain_file, house, query, file, path, k))


def explain_file(house: ServerContext, query: str, file: str, path: str | None, k: int) -> ToolResponse:
    """Follow a file through the stages."""
    check_query(query)
    place = house.roots.find(join(path, file))
    index = house.shelf.index(place.root)
    _check_there(index, place)
    trace = index.explain(query, k=k, expect=place.path)
    data = _answer(index, trace, index.lost(query, place.path, k=k), place)
    return ToolResponse(_text(data, query), data)


def _check_there(index: Index, place: RootedPath) -> None:
    if place.path not in index.table.files.paths and not place.real.is_file():
        near = closest_match(place.path, index.table.files.paths)
        hint = f"did you mean {near[0]}?" if near else f"paths are relative to {place.root}"
        raise ConfigError(f"there is no file {place.path}", hint=hint)


def _answer(index: Index, trace: Trace, lost: LostFile, place: RootedPath) -> ExplainAnswer:
    question = trace.query
    own = [candidate for candidate in trace.candidates() if candidate.path == place.path]
    steps = [StageStep(s.stage, s.score, s.change, s.rank, s.before) for one in own[:1] for s in one.steps]
    skipped = [
        one for one in index.skipped if place.path == one.path or place.path.startswith(f"{one.path.rstrip('/')}/")
    ]
    why = "".join(f" ({one.path}: {one.reason}{', ' + one.detail if one.detail else ''})" for one in skipped[:1])
    return ExplainAnswer(
        root=str(index.root),
        file=place.path,
        rank=lost.final or None,
        lost_at=lost.stage,
        reason=lost.reason + (why if lost.stage == "corpus" else ""),
        query_kind=question.kind,
        terms=question.terms,
        unknown_terms=tuple(term for term in question.terms if index.view.term(term) < 0),
        stages=tuple(steps),
        leaders=tuple(Leader(rank, hit.path, hit.score) for rank, hit in enumerate(trace.hits, start=1)),
    )


def _text(data: ExplainAnswer, query: str) -> str:
    verdict = data.reason if data.lost_at is None else f"lost at {data.lost_at}: {data.reason}"
    parts = [f"{data.file}: {verdict}", f"query: {query.strip()} ({data.query_kind})"]
    parts.append(f"looked up: {', '.join(data.terms) or 'nothing'}")
    if data.unknown_terms:
        parts.append(f"in no file: {', '.join(data.unknown_terms)}")
    moved = [step for step in data.stages if abs(step.change) > _LEAST or step.rank != step.before]
    if moved:
        rows = [f"{s.stage} | {s.score:.3f} | {s.change:+.3f} | {s.before or '–'} → {s.rank or '–'}" for s in moved]
        parts.append("\n".join(["", "stage | score | change | rank", *rows]))
    parts.append("\n".join(["", "came first:", *(f"{one.rank}. {one.path}" for one in data.leaders)]))
    return "\n".join(parts)
