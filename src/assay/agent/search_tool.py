"""The MCP tool `search`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from assay.agent.context import LIMITS, ServerContext, ToolResponse, answered, cut, fenced
from assay.agent.patterns import check_pattern
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.agent.context import RootedPath
    from assay.search import Index
    from assay.search.results import ResultFilter
    from assay.types import Hit


ABOUT = """\
Find the code that answers a question, by meaning and by name. Use it first when you do not know where something is
done: ask in plain words ("where are retries limited?"), with keywords ("retry backoff limit") or with the name of a
function, class or file ("parse_config"). It reads every text file that git does not ignore, in any language, and knows
of edits made a moment ago. For every place of an exact text use a plain text search instead, or `regex` here.

Comes back: the best places in order, each as `path:start-end` with the lines that tell most. Paths are relative to
`root`. Higher scores are better; they compare within one answer only. Read the file at those lines for the rest.

Example: {"query": "where are retries limited?", "k": 5, "paths": ["src/**"]}"""


@dataclass(frozen=True, slots=True)
class Result:
    """A place that was found; lines are 1-based and inclusive, none for an empty file."""

    rank: int
    path: str
    start: int | None
    end: int | None
    score: float | None
    snippet: str | None
    snippet_start: int | None


@dataclass(frozen=True)  # no slots: the package takes them for defaults of its schema
class SearchAnswer:
    """The best places, in order; notes say what else is to be known."""

    root: str
    files: int
    results: tuple[Result, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What a call asks for."""

    query: str
    path: str | None
    k: int
    per: Literal["file", "span"]
    paths: tuple[str, ...]
    languages: tuple[str, ...]
    kinds: tuple[str, ...]
    regex: str | None
    lines: int


_Query = Annotated[str, Field(description="a question, keywords, or a name", max_length=10_000)]
_Path = Annotated[str | None, Field(description="only below this folder, or in this file; also chooses the root")]
_Most = Annotated[int, Field(description="how many results", ge=1, le=200)]
_Per = Annotated[Literal["file", "span"], Field(description="one result a file, or spans of lines of any files")]
_Globs = Annotated[list[str] | None, Field(description='only paths that match one, such as ["src/**", "*.md"]')]
_Languages = Annotated[list[str] | None, Field(description='such as ["python", "go"]')]
_Kinds = Annotated[list[str] | None, Field(description="code, docs, config, other, function, method, class, ...")]
_Regex = Annotated[str | None, Field(description="must be found in the file, or in the span; Python's syntax")]
_Lines = Annotated[int, Field(description="of code shown of each result; 0 for places only", ge=0, le=200)]


def add_search(server: MCPServer, house: ServerContext) -> None:
    """Give the server the tool."""

    @server.tool(
        structured_output=True, description=ABOUT, annotations=ToolAnnotations(title="Search code", read_only_hint=True)
    )
    async def search(
        query: _Query,
        path: _Path = None,
        k: _Most = 10,
        per: _Per = "file",
        paths: _Globs = None,
        languages: _Languages = None,
        kinds: _Kinds = None,
        regex: _Regex = None,
        lines: _Lines = 8,
    ) -> Annotated[CallToolResult, SearchAnswer]:
        listed = (tuple(paths or ()), tuple(languages or ()), tuple(kinds or ()))
        return await answered(partial(find, house, SearchRequest(query, path, k, per, *listed, regex, lines)))


def find(house: ServerContext, asked: SearchRequest) -> ToolResponse:
    """Search, and write down what was found."""
    check_query(asked.query)
    place = house.roots.existing(asked.path, "folder or file")
    wanted = _filter(asked)
    index = house.shelf.index(place.root)
    hits = islice(_within(index, asked, wanted, place), asked.k)
    shown = list(_results(index, asked, hits))
    notes = (*index.notes, *_left_out(shown, asked.lines))
    data = SearchAnswer(str(index.root), len(index.table.files), tuple(shown), notes)
    return ToolResponse(_text(index, data), data)


def check_query(text: str) -> None:
    """Refuse a query without a word in it."""
    if not text.strip():
        raise ConfigError("the query is empty", hint='say what you look for, such as "where are retries limited?"')


def _filter(asked: SearchRequest) -> ResultFilter:
    from assay.corpus.languages import language_name
    from assay.search.results import ResultFilter

    if asked.regex is not None:
        check_pattern(asked.regex)
    languages = tuple(language_name(name) for name in asked.languages)
    return ResultFilter(asked.paths, languages, asked.kinds, asked.regex)


def _within(index: Index, asked: SearchRequest, wanted: ResultFilter, place: RootedPath) -> Iterator[Hit]:
    return (hit for hit in index.matches(asked.query, per=asked.per, wanted=wanted) if place.holds(hit.path))


def _results(index: Index, asked: SearchRequest, hits: Iterator[Hit]) -> Iterator[Result]:
    from assay.search.query import parse_query
    from assay.search.trace import choose_lines, term_weights

    weights = term_weights(parse_query(asked.query), index.view)
    room = LIMITS.text
    for rank, hit in enumerate(hits, start=1):
        row = Result(rank, hit.path, hit.start, hit.end, hit.score, None, None)
        if asked.lines and hit.snippet and hit.start is not None and room > 0:
            excerpt = choose_lines(hit.snippet, hit.start, weights, asked.lines)
            snippet = "\n".join(map(cut, excerpt.lines))
            room -= len(snippet)
            row = Result(rank, hit.path, hit.start, hit.end, hit.score, snippet, excerpt.start)
        yield row


def _left_out(results: list[Result], lines: int) -> list[str]:
    bare = sum(lines > 0 and row.snippet is None and row.start is not None for row in results)
    return [f"{bare} results are shown without their code: ask for fewer results or lines"] if bare else []


def _text(index: Index, data: SearchAnswer) -> str:
    if not data.results:
        return f"No match in {data.files:,} files of {data.root}. Ask with other words, or with fewer filters."
    languages = dict(zip(index.table.files.paths, index.table.files.languages, strict=True))
    parts = [f"{len(data.results)} results in {data.root}, the best first"]
    for row in data.results:
        place = row.path if row.start is None else f"{row.path}:{row.start}-{row.end}"
        code = [fenced(tuple(row.snippet.split("\n")), languages[row.path])] if row.snippet else []
        parts.append("\n".join([place, *code]))
    return "\n\n".join([*parts, *data.notes])
