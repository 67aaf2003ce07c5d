"""Rankings from a file: a TREC run, or JSON lines.

TREC: `qid Q0 docno rank score tag`, where docno is `path`, `path:start-end` or a document id. As in trec_eval, results
are sorted by score, then by docno, both descending, and the rank is ignored; unlike trec_eval, which rounds scores to
single precision, scores are compared in double precision. JSON lines: `{"query": id or text, "hits": [...]}`, or
"text" instead of "query", with hits in rank order, each `"path:10-20"` or `{"path", "start", "end", "score"}`. Pyckle:
the eval_results.json of its guide, `{"results": [{"query": text, "ranked": [path, ...]}]}`.

A query is identified by its text or by `gold/query/form`; `gold/query` and `query` mean its first phrasing only. The
ranking of one phrasing is not used for another.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import pairwise, starmap
from operator import gt
from typing import Literal, NamedTuple

from assay.digests import text_digest
from assay.engines.base import EngineContext, EngineDefaults, FunctionSession, Session, identity_of
from assay.engines.normalize import read_hit
from assay.engines.text_output import parse_location
from assay.errors import ConfigError, EngineError, InputError
from assay.files import read_utf8
from assay.settings import read_settings, setting
from assay.trec import TAG, find_document, from_column
from assay.types import Corpus, GoldSet, Hit, Query, Suite

_NAMING = "name each query GOLD/QUERY/PHRASING or by its text; GOLD/QUERY and QUERY name its first phrasing only"


@dataclass(frozen=True, slots=True)
class RunFileSettings:
    path: str = field(metadata={"about": "path of the run file, relative to the directory of assay.toml"})
    format: Literal["auto", "trec", "jsonl", "pyckle"] = setting(
        "auto", "auto: Pyckle for a JSON document with results, JSON lines if the file begins with {, else TREC"
    )


class Docno(NamedTuple):
    """A document name from another tool, to resolve in the corpus."""

    text: str
    score: float


#: The hits of each query, best first.
Rankings = Mapping[str, tuple[Hit | Docno, ...]]


@dataclass(frozen=True, slots=True)
class RunFileEngine(EngineDefaults):
    path: str
    digest: str
    suite: Suite
    rankings: Rankings
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Mapping[str, object]:
        return {"kind": "runfile", "sha256": self.digest}

    @property
    def identity(self) -> str | None:  # type: ignore[override]  # computed
        return identity_of(self.config, "engines/runfile.py")

    def open(self, corpus: Corpus) -> Session:
        """Open a session that finds rankings by name or text of the query, and raises EngineError for other queries."""
        names: dict[str, list[str]] = {}
        for gold in self.suite.golds:
            for query in gold.queries if gold.corpus == corpus.spec else ():
                for form, text in query.forms.items():
                    own, others = list(_names(gold, query, form)), names.setdefault(text, [])
                    first, second = ([self.rankings[n] for n in ns if n in self.rankings] for ns in (others, own))
                    if first and second and first[0] != second[0]:
                        raise EngineError(
                            f"{self.path} has two different rankings for {text!r:.80}: {others[0]} and {own[0]}",
                            hint="reword one of the two queries in the gold set",
                        )
                    others += own
        if names and not any(name in self.rankings for text, known in names.items() for name in (text, *known)):
            raise EngineError(f"{self.path} has no query of this gold set", hint=_NAMING)
        files = {file.path for file in corpus.files}

        def search(query: str, k: int) -> tuple[Hit, ...]:
            known = (*names.get(query, ()), query)
            for name in known:
                if name in self.rankings:
                    return tuple([_locate(hit, files) for hit in self.rankings[name][: max(k, 0)]])
            raise EngineError(f"{self.path} has no ranking for {known[0]}", hint=_NAMING)

        return FunctionSession(search)


def _locate(result: Hit | Docno, files: Set[str]) -> Hit:
    if isinstance(result, Hit):
        return result._replace(path=find_document(result.path, files) or result.path)
    hit = parse_location(result.text)
    if result.text in files or hit.path not in files:
        path = find_document(result.text, files)
        hit = hit if path is None else Hit(path)
    return hit._replace(score=result.score)


def _names(gold: GoldSet, query: Query, form: str) -> Iterator[str]:
    yield f"{gold.name}/{query.id}/{form}"
    if form == query.ordered_forms[0]:
        yield f"{gold.name}/{query.id}"
        yield query.id


def make(settings: Mapping[str, object], context: EngineContext) -> RunFileEngine:
    read = read_settings(RunFileSettings, settings, "engine runfile")
    if context.suite is None:
        raise ConfigError("engine runfile requires a gold set", hint="pass a gold set with --gold")
    path = context.directory / read.path
    text = read_utf8(path, hint="check the path of the run file")
    form = read.format if read.format != "auto" else _detect_format(text)
    rankings: Rankings
    notes: tuple[str, ...] = ()
    if form == "trec":
        rankings, notes = read_trec(text, str(path))
    else:
        rankings = _read_jsonl(text, str(path)) if form == "jsonl" else read_pyckle(text, str(path))
    if not rankings:
        raise InputError("the run file is empty", file=path, hint="write rankings as TREC lines or JSON lines")
    forms = [(gold, query, form) for gold in context.suite.golds for query in gold.queries for form in query.forms]
    known = {name for gold, query, form in forms for name in (query.forms[form], *_names(gold, query, form))}
    unknown = [name for name in rankings if name not in known]
    if unknown:
        count = f"{len(unknown)} query ids in the run file are" if len(unknown) > 1 else "1 query id in the run file is"
        notes = (f"{count} not in this gold set, e.g. {unknown[0]:.80}", *notes)
    return RunFileEngine(read.path, text_digest(text), context.suite, rankings, notes=notes)


def _detect_format(text: str) -> str:
    if not text.lstrip().startswith("{"):
        return "trec"
    try:
        return "pyckle" if "results" in json.loads(text) else "jsonl"
    except (ValueError, RecursionError):
        return "jsonl"


_COLUMNS = ("qid", "Q0", "docno", "rank", "score", "tag")


class TrecRanking(NamedTuple):
    docnos: tuple[str, ...]
    scores: tuple[float, ...]
    tags: tuple[str, ...]


def parse_trec(text: str, file: str) -> tuple[dict[str, TrecRanking], tuple[str, ...]]:
    """Parse a TREC run into rankings and notes; raise InputError for invalid lines and duplicate documents."""
    rows = [row for line in text.split("\n") if (row := line.split())]
    try:
        if not set(map(len, rows)) <= {len(_COLUMNS)}:
            raise ValueError
        queries, _, docnos, ranks, scores, tags = zip(*rows, strict=True) if rows else [()] * len(_COLUMNS)
        positions, values = [*map(int, ranks)], [*map(float, scores)]
        if not all(map(math.isfinite, values)):
            raise ValueError
    except ValueError as problem:
        raise _first_invalid_line(text, file) from problem
    lines: dict[str, list[int]] = {}
    for at, query in enumerate(queries):
        lines.setdefault(query, []).append(at)
    rankings: dict[str, TrecRanking] = {}
    ties = []
    for query, found in lines.items():
        if len({docnos[at] for at in found}) < len(found):
            raise _duplicate_result(text, file, query)
        own = [values[at] for at in found]
        if not all(map(gt, own, own[1:])):
            found.sort(key=docnos.__getitem__, reverse=True)
            found.sort(key=lambda at: -values[at])
            if any(values[a] == values[b] and positions[a] > positions[b] for a, b in pairwise(found)):
                ties.append(query)
        name = from_column(query) if tags[found[0]].startswith(TAG) else query
        names, marks = tuple([docnos[at] for at in found]), tuple([tags[at] for at in found])
        rankings[name] = TrecRanking(names, tuple([values[at] for at in found]), marks)
    if not ties:
        return rankings, ()
    note = (
        f"{len(ties)} of {len(rankings)} queries of the run file have results with equal scores, e.g. {ties[0]:.80}: "
        "these results are ordered by docno, descending, as in trec_eval, not by rank"
    )
    return rankings, (note,)


def _first_invalid_line(text: str, file: str) -> InputError:
    hint = "write qid Q0 docno rank score tag"
    for number, line in enumerate(text.split("\n"), 1):
        columns = line.split()
        if not columns:
            continue
        if len(columns) != len(_COLUMNS):
            hint += ", or use JSON lines for paths with spaces"
            return InputError(f"expected 6 columns, got {len(columns)}", file=file, line=number, hint=hint)
        rank, score = columns[3:5]
        try:
            int(rank)
            if not math.isfinite(float(score)):
                return InputError(
                    f"expected a finite score, got {score}", file=file, line=number, hint="write a number"
                )
        except ValueError:
            message = f"expected an integer rank and a numeric score, got {rank!r} and {score!r}"
            return InputError(message, file=file, line=number, hint=hint)
    raise AssertionError(f"{file}: every line is valid")


def _duplicate_result(text: str, file: str, query: str) -> InputError:
    first: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        columns = line.split()
        if columns and columns[0] == query:
            docno = columns[2]
            if first.setdefault(docno, number) != number:
                message = f"duplicate result {docno} for {query}, first on line {first[docno]}"
                return InputError(message, file=file, line=number, hint="remove one of the two lines")
    raise AssertionError(f"{file}: no duplicate result for {query}")


def read_trec(text: str, file: str) -> tuple[dict[str, tuple[Hit | Docno, ...]], tuple[str, ...]]:
    parsed, notes = parse_trec(text, file)
    rankings: dict[str, tuple[Hit | Docno, ...]] = {}
    for query, ranking in parsed.items():
        rankings[query] = tuple(starmap(_result, zip(*ranking, strict=True)))
    return rankings, notes


def _result(docno: str, score: float, tag: str) -> Hit | Docno:
    if not tag.startswith(TAG):
        return Docno(docno, score)
    hit = parse_location(docno)  # written by Assay, with escapes
    return hit._replace(path=from_column(hit.path), score=score)


def _read_jsonl(text: str, file: str) -> dict[str, tuple[Hit | Docno, ...]]:
    rankings: dict[str, tuple[Hit | Docno, ...]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
            name = document["query"] if "query" in document else document["text"]
            hits = tuple(map(read_hit, document["hits"]))
        except (ValueError, TypeError, KeyError, EngineError, RecursionError) as problem:
            hint = 'write {"query": "...", "hits": ["path:1-9"]}'
            reason = f"missing key {problem}" if isinstance(problem, KeyError) else problem
            raise InputError(f"invalid ranking: {reason}", file=file, line=number, hint=hint) from problem
        if not isinstance(name, str):
            raise InputError(f"expected a string as query, got {name!r}", file=file, line=number, hint=_NAMING)
        if name in rankings:
            raise InputError(f"duplicate query {name!r}", file=file, line=number, hint="write one line per query")
        rankings[name] = hits
    return rankings


def read_pyckle(text: str, file: str) -> dict[str, tuple[Hit, ...]]:
    """Parse the eval_results.json of Pyckle's guide into hits by query text."""
    rankings: dict[str, tuple[Hit, ...]] = {}
    try:
        for entry in json.loads(text)["results"]:
            name = entry["query"]
            if name in rankings:
                raise InputError(f"duplicate query {name!r}", file=file, hint="keep one result per query")
            rankings[name] = tuple(map(read_hit, entry["ranked"]))
    except (ValueError, TypeError, KeyError, EngineError, RecursionError) as problem:
        hint = 'write {"results": [{"query": "...", "ranked": ["path"]}]}'
        reason = f"missing key {problem}" if isinstance(problem, KeyError) else problem
        raise InputError(f"invalid Pyckle results: {reason}", file=file, hint=hint) from problem
    return rankings
