from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field

from assay.agent.context import MaxTokens, Roots, count_tokens, fit_lines
from assay.errors import ConfigError, closest_match
from assay.toml import read_toml

if TYPE_CHECKING:
    from assay.corpus import StatCache
    from assay.search import Index, SearchConfig
    from assay.search.related import Related
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

_COLUMNS: Final = 240  # of a line of code; longer lines are minified
_SHARED: Final = 6  # names or words per related chunk: enough to show the relation
_NAMES: Final = 2  # names that a related chunk defines: the function, or the class and its first method
_SMALLEST_CHANGE: Final = 1e-9  # of a score
_CUT: Final = "raise max_tokens, or request less"
_NOTES: Final = 50  # tokens of the sentences on what was left out


class SearchTools:
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
        max_tokens: MaxTokens = 4_000,
    ) -> str:
        from assay.corpus.file_types import language_name
        from assay.search.results import ResultFilter

        _check_query(query)
        location = self._roots.find_existing(path, "directory or file")
        names = tuple(map(language_name, languages or ()))
        wanted = ResultFilter(tuple(paths or ()), names, tuple(kinds or ()), regex)
        index = self._caches[location.root].index()
        matches = (hit for hit in index.matches(query, per=per, wanted=wanted) if location.contains(hit.path))
        return _search_text(index, query, lines, list(islice(matches, k)), max_tokens)

    def related(
        self,
        place: Annotated[str, Field(description="FILE:LINE, or FILE:START-END as `search` writes it")],
        path: Annotated[str | None, Field(description="the served directory, if there are several")] = None,
        k: Annotated[int, Field(description="number of results per kind", ge=1, le=100)] = 5,
        max_tokens: MaxTokens = 2_000,
    ) -> str:
        parsed = re.fullmatch(r"(.+?):(\d{1,9})(?:-\d+)?", place)
        if parsed is None or int(parsed[2]) < 1:
            raise ConfigError(f"expected FILE:LINE, got {place[:200]!r}", hint="name a line as src/http.py:120")
        location = self._roots.find(_join(path, parsed[1]))
        index = self._caches[location.root].index()
        return fit_lines(_related_text(index.related(location.path, int(parsed[2]), k)), max_tokens, _CUT)

    def explain(
        self,
        query: Annotated[str, Field(description="the query that was searched", max_length=10_000)],
        file: Annotated[str, Field(description="the file, as returned by `search` or absolute")],
        path: Annotated[str | None, Field(description="the served directory, if there are several")] = None,
        k: Annotated[int, Field(description="files below this rank count as missing", ge=1, le=200)] = 10,
        max_tokens: MaxTokens = 2_000,
    ) -> str:
        _check_query(query)
        location = self._roots.find(_join(path, file))
        index = self._caches[location.root].index()
        if location.path not in index.table.files.paths and not location.real.is_file():
            near = closest_match(location.path, index.table.files.paths)
            hint = f"did you mean {near[0]}?" if near else f"paths are relative to {location.root}"
            raise ConfigError(f"no file {location.path}", hint=hint)
        trace = index.explain(query, k=k, expect=location.path)
        text = _explain_text(index, trace, index.lost(query, location.path, k=k), location.path)
        return fit_lines(text, max_tokens, _CUT)


class IndexCache:
    """Open index of a directory, reopened when a file changes."""

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


def _search_text(index: Index, query: str, lines: int, hits: Sequence[Hit], max_tokens: int) -> str:
    """List the hits within the budget: as many locations as fit, then the code of the best ones."""
    from assay.search.query import parse_query
    from assay.search.trace import term_weights

    if not hits:
        return f"No match in {len(index.table.files):,} files of {index.root}. Rephrase the query or remove filters."
    title = f"{len(hits)} results in {index.root}, the best first" if len(hits) > 1 else f"1 result in {index.root}"
    left = max_tokens - count_tokens("\n\n".join([title, *index.notes])) - _NOTES
    parts: list[str] = []
    for row in (str(hit.span) for hit in hits):
        left -= count_tokens(f"{row}\n\n")
        if left < 0:
            break
        parts.append(row)
    weights = term_weights(parse_query(query), index.view)
    languages = dict(zip(index.table.files.paths, index.table.files.languages, strict=True))
    coded = [number for number, hit in enumerate(hits[: len(parts)]) if lines and hit.snippet]
    notes = []
    for done, number in enumerate(coded):
        code = _snippet(hits[number], weights, lines, languages[hits[number].path])
        left -= count_tokens(f"\n{code}")
        if left < 0:
            notes.append(f"{len(coded) - done} results are without their code at max_tokens = {max_tokens}: {_CUT}")
            break
        parts[number] += f"\n{code}"
    if missing := len(hits) - len(parts):
        notes.insert(0, f"{missing} more results are left out at max_tokens = {max_tokens}: {_CUT}")
    return "\n\n".join([title, *parts, *notes, *index.notes])


def _snippet(hit: Hit, weights: Mapping[str, float], lines: int, language: str) -> str:
    from assay.search.trace import choose_lines

    excerpt = choose_lines(hit.snippet or "", hit.start or 1, weights, lines)
    code = "\n".join(line if len(line) <= _COLUMNS else line[: _COLUMNS - 1] + "…" for line in excerpt.lines)
    longest = max((len(ticks) for ticks in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)  # longer than any fence in the code
    return f"{fence}{language}\n{code}\n{fence}"


def _join(directory: str | None, file: str) -> str:
    return f"{directory}/{file}" if directory and not file.startswith("/") else file


def _related_text(related: Related) -> str:
    names = f" defines {', '.join(related.names)}" if related.names else ""
    parts = [f"{related.chunk.span}{names}"]
    kinds = (
        ("it uses", "defines", related.uses),
        ("used by", "uses", related.used_by),
        ("similar", "also has", related.alike),
    )
    for title, verb, relations in kinds:
        lines = [f"{title}:"]
        for relation in relations:
            # of code that is used, the shared names are the defined ones
            defined = () if verb == "defines" else relation.names[:_NAMES]
            name = f" {', '.join(defined)}" if defined else ""
            lines.append(f"{relation.hit.span}{name} {verb} {', '.join(relation.shared[:_SHARED])}")
        parts += ["\n".join(lines)] if relations else []
    if related.files:
        parts.append("\n".join(["files:", *(hit.path for hit in related.files)]))
    return "\n\n".join(parts) if len(parts) > 1 else f"{parts[0]}\n\nNo related code."


def _explain_text(index: Index, trace: Trace, lost: LostFile, path: str) -> str:
    query, reason = trace.query, lost.reason
    if lost.stage == "corpus":
        skipped = (one for one in index.skipped if path == one.path or path.startswith(f"{one.path.rstrip('/')}/"))
        for file in islice(skipped, 1):
            reason += f" ({file.path}: {file.reason}{', ' + file.detail if file.detail else ''})"
    parts = [f"{path}: {reason}" if lost.stage is None else f"{path}: lost at {lost.stage}: {reason}"]
    parts += [f"query: {query.text.strip()} ({query.kind})", f"terms: {', '.join(query.terms) or 'none'}"]
    if unknown := [term for term in query.terms if index.view.term(term) < 0]:
        parts.append(f"not in any file: {', '.join(unknown)}")
    steps = next((candidate.steps for candidate in trace.candidates() if candidate.path == path), ())
    if moved := [step for step in steps if abs(step.change) > _SMALLEST_CHANGE or step.rank != step.before]:
        rows = [f"{s.stage} | {s.score:.3f} | {s.change:+.3f} | {s.before or '–'} → {s.rank or '–'}" for s in moved]
        parts += ["", "stage | score | change | rank", *rows]
    parts += ["", "best files:", *(f"{rank}. {hit.path}" for rank, hit in enumerate(trace.hits, start=1))]
    return "\n".join(parts)
