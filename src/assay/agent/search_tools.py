"""The MCP tools `search`, `related` and `explain`."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field

from assay.agent.context import LIMITS, RootedPath, Roots, ToolResponse
from assay.agent.patterns import check_pattern
from assay.errors import ConfigError, closest_match
from assay.toml import read_toml

if TYPE_CHECKING:
    from assay.corpus import StatCache
    from assay.search import Index, SearchConfig
    from assay.search.related import Relation
    from assay.search.trace import LostFile, Trace
    from assay.types import Hit

SEARCH = """\
Find code by meaning and by name. Use it first when you do not know where something is implemented: ask a question
("where are retries limited?"), or give keywords ("retry backoff limit") or the name of a function, class or file
("parse_config"). It searches every text file that Git does not ignore, in any language, including edits made a moment
ago. To list every occurrence of an exact text, use a plain text search, or `regex` here.

Returns the best results in order, each as `path:start-end` with its most relevant lines. Paths are relative to `root`.
Higher scores are better, within one response only. Read the file at those lines for more.

Example: {"query": "where are retries limited?", "k": 5, "paths": ["src/**"]}"""

RELATED = """\
List the code that is related to a line: code that it uses, code that uses it, and code with similar content. Use it
before you change a function (who calls it?), or to find its tests or similar code.

Returns the function or section at that line, then results of each kind as `path:start-end`, closest first, with their
definitions and the shared names or words, and the most related files.

Example: {"place": "src/http/client.py:120"}"""

EXPLAIN = """\
Explain the rank of a file for a query of `search`, or why the file is missing. Use it before you rephrase a query, when
`search` returned an unexpected result or did not return the file you expected.

Returns the rank of the file, the stage that removed it if it was removed, the effect of each stage on its score and
rank, the terms of the query, the terms that no file contains, and the best files.

Example: {"query": "where are retries limited?", "file": "src/http/client.py"}"""

_SHARED: Final = 6  # names or words per line of text: enough to show the relation; the data has them all
_NAMES: Final = 2  # names that a related chunk defines: the function, or the class and its first method
_SMALLEST_CHANGE: Final = 1e-9  # of a score


@dataclass(frozen=True, slots=True)
class Result:
    """A search result; lines are 1-based and inclusive, null for an empty file."""

    rank: int
    path: str
    start: int | None
    end: int | None
    score: float | None
    snippet: str | None
    snippet_start: int | None


@dataclass(frozen=True)  # no slots: mcp would take them for defaults of the schema
class SearchAnswer:
    """The results, best first."""

    root: str
    files: int
    results: tuple[Result, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a file."""

    path: str
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class RelatedCode(LineRange):
    """A related chunk: its score (1 is the closest of its kind), the shared names or words, and what it defines."""

    score: float | None
    shared: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RelatedFile:
    """A related file; its score is the sum over all kinds of relation."""

    path: str
    score: float | None


@dataclass(frozen=True)  # no slots: mcp would take them for defaults of the schema
class RelatedAnswer:
    """The chunk at the line, what it defines, and related code by kind."""

    root: str
    unit: LineRange
    names: tuple[str, ...]
    uses: tuple[RelatedCode, ...]
    used_by: tuple[RelatedCode, ...]
    alike: tuple[RelatedCode, ...]
    files: tuple[RelatedFile, ...]


@dataclass(frozen=True, slots=True)
class StageStep:
    """The effect of one stage on the file; rank 0: no match so far."""

    stage: str
    score: float
    change: float
    rank: int
    before: int


@dataclass(frozen=True, slots=True)
class Leader:
    """One of the best files."""

    rank: int
    path: str
    score: float | None


@dataclass(frozen=True)  # no slots: mcp would take them for defaults of the schema
class ExplainAnswer:
    """The trace of a file; `lost_at` is the stage that removed it from the first k, null if it is among them."""

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


class SearchTools:
    """The tools of some directories, which do not wait for each other."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._caches = {directory: IndexCache(directory) for directory in roots.directories}

    def search(
        self,
        query: Annotated[str, Field(description="a question, keywords, or a name", max_length=10_000)],
        path: Annotated[
            str | None, Field(description="search only this directory or file; also selects the root")
        ] = None,
        k: Annotated[int, Field(description="number of results", ge=1, le=200)] = 10,
        per: Annotated[
            Literal["file", "span"], Field(description="results are whole files, or spans of lines")
        ] = "file",
        paths: Annotated[
            list[str] | None, Field(description='only paths that match one of these globs, such as ["src/**", "*.md"]')
        ] = None,
        languages: Annotated[
            list[str] | None, Field(description='only these languages, such as ["python", "go"]')
        ] = None,
        kinds: Annotated[
            list[str] | None,
            Field(description="only these kinds: code, docs, config, other, function, method, class, ..."),
        ] = None,
        regex: Annotated[str | None, Field(description="must match in the file or span; Python syntax")] = None,
        lines: Annotated[int, Field(description="lines of code per result; 0: none", ge=0, le=200)] = 8,
    ) -> ToolResponse:
        from assay.corpus.file_types import language_name
        from assay.search.results import ResultFilter

        _check_query(query)
        location = self._roots.find_existing(path, "directory or file")
        if regex is not None:
            check_pattern(regex)
        names = tuple(map(language_name, languages or ()))
        wanted = ResultFilter(tuple(paths or ()), names, tuple(kinds or ()), regex)
        index = self._caches[location.root].index()
        matches = (hit for hit in index.matches(query, per=per, wanted=wanted) if location.contains(hit.path))
        results = tuple(_results(index, query, lines, islice(matches, k)))
        bare = sum(lines > 0 and row.snippet is None and row.start is not None for row in results)
        omitted = [f"{bare} results have no code here: request fewer results or lines"] if bare else []
        data = SearchAnswer(str(index.root), len(index.table.files), results, (*index.notes, *omitted))
        return ToolResponse(_search_text(index, data), data)

    def related(
        self,
        place: Annotated[str, Field(description="FILE:LINE, or FILE:START-END as `search` writes it")],
        path: Annotated[str | None, Field(description="the served directory, if there are several")] = None,
        k: Annotated[int, Field(description="number of results per kind", ge=1, le=100)] = 5,
    ) -> ToolResponse:
        parsed = re.fullmatch(r"(.+?):(\d{1,9})(?:-\d+)?", place)
        if parsed is None or int(parsed[2]) < 1:
            raise ConfigError(f"{place[:200]!r} is not FILE:LINE", hint="write FILE:LINE, such as src/http.py:120")
        location = self._roots.find(_join(path, parsed[1]))
        index = self._caches[location.root].index()
        found = index.related(location.path, int(parsed[2]), k)
        data = RelatedAnswer(
            str(index.root),
            LineRange(found.chunk.path, found.chunk.start, found.chunk.end),
            found.names,
            tuple(map(_related_code, found.uses)),
            tuple(map(_related_code, found.used_by)),
            tuple(map(_related_code, found.alike)),
            tuple(RelatedFile(hit.path, hit.score) for hit in found.files),
        )
        return ToolResponse(_related_text(data, found.chunk), data)

    def explain(
        self,
        query: Annotated[str, Field(description="the query that was searched", max_length=10_000)],
        file: Annotated[str, Field(description="the file, as returned by `search` or absolute")],
        path: Annotated[str | None, Field(description="the served directory, if there are several")] = None,
        k: Annotated[int, Field(description="files below this rank count as missing", ge=1, le=200)] = 10,
    ) -> ToolResponse:
        _check_query(query)
        location = self._roots.find(_join(path, file))
        index = self._caches[location.root].index()
        if location.path not in index.table.files.paths and not location.real.is_file():
            near = closest_match(location.path, index.table.files.paths)
            hint = f"did you mean {near[0]}?" if near else f"paths are relative to {location.root}"
            raise ConfigError(f"there is no file {location.path}", hint=hint)
        trace = index.explain(query, k=k, expect=location.path)
        data = _explain_answer(index, trace, index.lost(query, location.path, k=k), location)
        return ToolResponse(_explain_text(data, query), data)


class IndexCache:
    """The open index of a directory, reopened when a file changes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._digest = ""  # of the indexed files
        self._stats: StatCache | None = None
        file = directory / "assay.toml"
        configured = file.is_file() and "search" in read_toml(file).data
        self._config = self._load_config() if configured else None  # else loaded on first use: it imports the engine

    def index(self) -> Index:
        from assay.corpus import StatCache, open_corpus, parse_spec
        from assay.corpus.opening import corpus_digest
        from assay.search import Index

        with self._lock:
            self._stats = self._stats or StatCache()
            if self._index is not None:
                corpus = open_corpus(parse_spec(str(self._directory)), memory=self._stats)
                if corpus.digest == self._digest:
                    return self._index
            self._config = self._config or self._load_config()
            self._index = Index.open(self._directory, self._config)
            files = self._index.table.files
            self._digest = corpus_digest(dict(zip(files.paths, files.hashes, strict=True)))
            return self._index

    def _load_config(self) -> SearchConfig:
        from assay.search.config import find_config, load_search_config

        return load_search_config((), find_config(self._directory), os.environ)


def _check_query(text: str) -> None:
    if not text.strip():
        raise ConfigError("the query is empty", hint='describe the code, such as "where are retries limited?"')


def _results(index: Index, query: str, lines: int, hits: Iterator[Hit]) -> Iterator[Result]:
    from assay.search.query import parse_query
    from assay.search.trace import choose_lines, term_weights

    weights = term_weights(parse_query(query), index.view)
    left = LIMITS.text
    for rank, hit in enumerate(hits, start=1):
        snippet = start = None
        if lines and hit.snippet and hit.start is not None and left > 0:
            excerpt = choose_lines(hit.snippet, hit.start, weights, lines)
            cut = (line if len(line) <= LIMITS.columns else line[: LIMITS.columns - 1] + "…" for line in excerpt.lines)
            snippet, start = "\n".join(cut), excerpt.start
            left -= len(snippet)
        yield Result(rank, hit.path, hit.start, hit.end, hit.score, snippet, start)


def _search_text(index: Index, data: SearchAnswer) -> str:
    if not data.results:
        return f"No match in {data.files:,} files of {data.root}. Rephrase the query or remove filters."
    languages = dict(zip(index.table.files.paths, index.table.files.languages, strict=True))
    parts = [f"{len(data.results)} results in {data.root}, the best first"]
    for row in data.results:
        location = row.path if row.start is None else f"{row.path}:{row.start}-{row.end}"
        if row.snippet:
            longest = max((len(ticks) for ticks in re.findall("`+", row.snippet)), default=0)
            fence = "`" * max(3, longest + 1)  # longer than any fence in the code
            location += f"\n{fence}{languages[row.path]}\n{row.snippet}\n{fence}"
        parts.append(location)
    return "\n\n".join([*parts, *data.notes])


def _join(directory: str | None, file: str) -> str:
    return f"{directory}/{file}" if directory and not file.startswith("/") else file


def _related_code(relation: Relation) -> RelatedCode:
    hit = relation.hit
    return RelatedCode(hit.path, hit.start, hit.end, hit.score, relation.shared, relation.names)


def _related_text(data: RelatedAnswer, chunk: Hit) -> str:
    names = f" defines {', '.join(data.names)}" if data.names else ""
    parts = [f"{chunk.span}{names}"]
    kinds = (
        ("it uses", "defines", data.uses),
        ("used by", "uses", data.used_by),
        ("similar", "also has", data.alike),
    )
    for title, verb, rows in kinds:
        lines = [f"{title}:"]
        for row in rows:
            defined = () if verb == "defines" else row.names[:_NAMES]  # there, the shared names are the defined ones
            name = f" {', '.join(defined)}" if defined else ""
            lines.append(f"{row.path}:{row.start}-{row.end}{name} {verb} {', '.join(row.shared[:_SHARED])}")
        parts += ["\n".join(lines)] if rows else []
    if data.files:
        parts.append("\n".join(["files:", *(file.path for file in data.files)]))
    return "\n\n".join(parts) if len(parts) > 1 else f"{parts[0]}\n\nNo related code."


def _explain_answer(index: Index, trace: Trace, lost: LostFile, location: RootedPath) -> ExplainAnswer:
    path, query = location.path, trace.query
    own = [candidate for candidate in trace.candidates() if candidate.path == path]
    reason = lost.reason
    if lost.stage == "corpus":
        skipped = (one for one in index.skipped if path == one.path or path.startswith(f"{one.path.rstrip('/')}/"))
        for file in islice(skipped, 1):
            reason += f" ({file.path}: {file.reason}{', ' + file.detail if file.detail else ''})"
    return ExplainAnswer(
        root=str(index.root),
        file=path,
        rank=lost.final or None,
        lost_at=lost.stage,
        reason=reason,
        query_kind=query.kind,
        terms=query.terms,
        unknown_terms=tuple(term for term in query.terms if index.view.term(term) < 0),
        stages=tuple(StageStep(s.stage, s.score, s.change, s.rank, s.before) for one in own[:1] for s in one.steps),
        leaders=tuple(Leader(rank, hit.path, hit.score) for rank, hit in enumerate(trace.hits, start=1)),
    )


def _explain_text(data: ExplainAnswer, query: str) -> str:
    outcome = data.reason if data.lost_at is None else f"lost at {data.lost_at}: {data.reason}"
    parts = [f"{data.file}: {outcome}", f"query: {query.strip()} ({data.query_kind})"]
    parts.append(f"terms: {', '.join(data.terms) or 'nothing'}")
    if data.unknown_terms:
        parts.append(f"not in any file: {', '.join(data.unknown_terms)}")
    moved = [step for step in data.stages if abs(step.change) > _SMALLEST_CHANGE or step.rank != step.before]
    if moved:
        rows = [f"{s.stage} | {s.score:.3f} | {s.change:+.3f} | {s.before or '–'} → {s.rank or '–'}" for s in moved]
        parts += ["", "stage | score | change | rank", *rows]
    parts += ["", "best files:", *(f"{leader.rank}. {leader.path}" for leader in data.leaders)]
    return "\n".join(parts)
