"""Rankings from a file: a TREC run, or JSON lines.

TREC: `qid Q0 docno rank score tag`, where docno is `path`, `path:start-end` or the id of a document. The order is
trec_eval's: by score, and documents with the same score by docno, descending; the rank is not used. Scores are compared
in double precision, trec_eval rounds them to single. JSON lines: `{"query": id or text, "hits": [...]}` (or "text"), a
hit being `"path:10-20"` or `{"path", "start", "end", "score"}`, in rank order.

A query is named by its text, by `gold/query/form`, or by `gold/query` or `query`, which stand for its headline phrasing
only: the ranking of one phrasing is not used for another.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple
from urllib.parse import unquote

from assay.corpus.spec import find_document
from assay.digests import text_digest
from assay.engines.base import EngineContext, InProcessDefaults, Session
from assay.engines.fingerprints import identity_of
from assay.engines.output import read_hit
from assay.engines.text_output import parse_location
from assay.errors import ConfigError, EngineError, InputError
from assay.files import read_utf8
from assay.settings import read_settings
from assay.types import Corpus, GoldSet, Hit, Query, Role, Suite

#: Prefix of the last column of a run that Assay wrote.
TAG = "assay:"
#: Characters to escape: they end a column or control a terminal, or start an escape.
_UNFIT = re.compile("[\\s%\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def to_column(text: str) -> str:
    """Escape a text for one column."""
    return _UNFIT.sub(_percent, text) or "%"


def to_docno(hit: Hit) -> str:
    """Return `path` or `path:start-end` of a hit."""
    path = path_column(hit.path)
    return path if hit.start is None else f"{path}:{hit.start}-{hit.end}"


@lru_cache(maxsize=10_000)  # the same files are in many rankings
def path_column(path: str) -> str:
    """Escape a path; a colon separates the lines."""
    return to_column(path).replace(":", "%3A")


def from_column(text: str) -> str:
    """Unescape a column."""
    return "" if text == "%" else unquote(text, errors="surrogatepass")


def from_docno(text: str) -> Hit:
    """Parse the location of a hit."""
    place = parse_location(text)
    return Hit(from_column(place.path), place.start, place.end)


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))


_COLUMNS = 6  # of a TREC run
_NAMING = (
    "name queries as gold/query/form; query or gold/query alone stands for its headline form: "
    "--forms human asks for nothing else"
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of `kind = "runfile"`."""

    path: str = field(metadata={"about": "the run file; a relative path starts from the folder of assay.toml"})
    format: Literal["auto", "trec", "jsonl"] = field(
        default="auto", metadata={"about": "auto: JSON lines begin with a brace, all else is TREC"}
    )


class Docno(NamedTuple):
    """A document name of another tool, to be resolved in the corpus."""

    text: str
    score: float


#: The hits of each query, best first.
Answers = Mapping[str, tuple[Hit | Docno, ...]]


@dataclass(frozen=True, slots=True)
class RunFileEngine(InProcessDefaults):
    """A parsed run file."""

    path: str
    digest: str
    suite: Suite
    answers: Answers
    oversample: int = 1
    role: Role = "contestant"
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Mapping[str, object]:
        """The digest of the file."""
        return {"kind": "runfile", "sha256": self.digest}

    @property
    def identity(self) -> str | None:  # type: ignore[override]  # computed
        """The digest of the file and of the code."""
        return identity_of(self.config, "engines/runfile.py")

    def open(self, corpus: Corpus) -> Session:
        """Map the queries on this corpus to their names in the file."""
        golds = [gold for gold in self.suite.golds if gold.corpus == corpus.spec]
        names: dict[str, list[str]] = {}
        for gold in golds:
            for query in gold.queries:
                for form, text in query.forms.items():
                    self._check_alike(text, names.get(text, ()), own := list(_names(gold, query, form)))
                    names.setdefault(text, []).extend(own)
        if names and not any(name in self.answers for text, known in names.items() for name in (text, *known)):
            raise EngineError(f"{self.path} answers no query of this gold set", hint=_NAMING)
        return RunFileSession(self.path, self.answers, names, {file.path for file in corpus.files})

    def _check_alike(self, text: str, others: Sequence[str], own: Sequence[str]) -> None:
        before, now = ([self.answers[n] for n in names if n in self.answers] for names in (others, own))
        if before and now and before[0] != now[0]:
            raise EngineError(
                f"{self.path} answers {text!r:.80} in two ways, as {others[0]} and as {own[0]}",
                hint="two queries of the gold set have the same words: make them differ",
            )


@dataclass(frozen=True, slots=True)
class RunFileSession:
    """A run file on one corpus."""

    path: str
    answers: Answers
    names: Mapping[str, Sequence[str]]
    files: Set[str]

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Return the ranking; raise EngineError for a query that is not in the file."""
        names = (*self.names.get(query, ()), query)
        for name in names:
            if name in self.answers:
                return tuple([self._locate(hit) for hit in self.answers[name][: max(k, 0)]])
        raise EngineError(f"{self.path} has no answer to {names[0]}", hint=_NAMING)

    def _locate(self, found: Hit | Docno) -> Hit:
        if isinstance(found, Hit):
            return found._replace(path=find_document(found.path, self.files) or found.path)
        place = parse_location(found.text)
        if found.text in self.files or place.path not in self.files:
            path = find_document(found.text, self.files)
            place = place if path is None else Hit(path)
        return place._replace(score=found.score)

    def close(self) -> None:
        """Do nothing."""


def _names(gold: GoldSet, query: Query, form: str) -> Iterator[str]:
    yield f"{gold.name}/{query.id}/{form}"
    if form == query.ordered_forms[0]:
        yield f"{gold.name}/{query.id}"
        yield query.id


def make(settings: Mapping[str, object], context: EngineContext) -> RunFileEngine:
    """Read the file, so that errors in it are raised before anything runs."""
    read = read_settings(Settings, settings, "engine runfile")
    if context.suite is None:
        raise ConfigError("a run file needs a gold set to know its queries", hint="give one with --gold")
    path = context.folder / read.path
    text = read_utf8(path, hint="check the path of the run file")
    form = read.format if read.format != "auto" else "jsonl" if text.lstrip().startswith("{") else "trec"
    answers, notes = (read_jsonl(text, str(path)), ()) if form == "jsonl" else read_trec(text, str(path))
    if not answers:
        raise InputError("the run file is empty", file=path, hint="write one line for each result")
    digest = text_digest(text)
    return RunFileEngine(
        read.path, digest, context.suite, answers, notes=(*_unknown_notes(answers, context.suite), *notes)
    )


def _unknown_notes(answers: Mapping[str, object], suite: Suite) -> tuple[str, ...]:
    known: set[str] = set()
    for gold in suite.golds:
        for query in gold.queries:
            for form, text in query.forms.items():
                known.update((text, *_names(gold, query, form)))
    strange = [name for name in answers if name not in known]
    if not strange:
        return ()
    count = f"{len(strange)} ids of the run file are" if len(strange) > 1 else "1 id of the run file is"
    return (f"{count} no query of this gold set, e.g. {strange[0]:.80}",)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of a TREC run."""

    query: str
    docno: str
    rank: int
    score: float
    line: int
    ours: bool = False  # written by Assay, with escapes


def read_trec(text: str, file: str) -> tuple[dict[str, tuple[Hit | Docno, ...]], tuple[str, ...]]:
    """Parse a TREC run, with each document once per query; also return notes."""
    entries: dict[str, dict[str, _Entry]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            entry = _read_entry(line, file, number)
            ranking = entries.setdefault(entry.query, {})
            if entry.docno in ranking:
                first = ranking[entry.docno].line
                raise InputError(
                    f"{entry.docno} stands twice for {entry.query}, first in line {first}",
                    file=file,
                    line=number,
                    hint="keep one line for each result of a query",
                )
            ranking[entry.docno] = entry
    ordered = {query: _order(ranking.values()) for query, ranking in entries.items()}
    return {query: tuple(map(_to_hit, ranking)) for query, ranking in ordered.items()}, _tie_notes(ordered)


def _order(entries: Iterable[_Entry]) -> list[_Entry]:
    by_docno = sorted(entries, key=lambda entry: entry.docno, reverse=True)
    return sorted(by_docno, key=lambda entry: -entry.score)


def _tie_notes(rankings: Mapping[str, Sequence[_Entry]]) -> tuple[str, ...]:
    crossed = [
        query
        for query, ranking in rankings.items()
        if any(one.score == other.score and one.rank > other.rank for one, other in pairwise(ranking))
    ]
    if not crossed:
        return ()
    return (
        f"{len(crossed)} of {len(rankings)} queries of the run file have results with equal scores, e.g. "
        f"{crossed[0]:.80}: they are ordered by document number, descending, as trec_eval does, not by rank",
    )


def _to_hit(entry: _Entry) -> Hit | Docno:
    if not entry.ours:
        return Docno(entry.docno, entry.score)
    place = from_docno(entry.docno)
    return Hit(place.path, place.start, place.end, entry.score)


def _read_entry(line: str, file: str, number: int) -> _Entry:
    columns = line.split()
    if len(columns) != _COLUMNS:
        raise InputError(
            f"{len(columns)} columns where a TREC run has {_COLUMNS}",
            file=file,
            line=number,
            hint="qid Q0 docno rank score tag; use JSON lines for paths with blanks",
        )
    try:
        ours = columns[5].startswith(TAG)
        query = from_column(columns[0]) if ours else columns[0]
        entry = _Entry(query, columns[2], int(columns[3]), float(columns[4]), number, ours)
    except ValueError as problem:
        raise InputError(
            f"rank {columns[3]!r} or score {columns[4]!r} is not a number",
            file=file,
            line=number,
            hint="qid Q0 docno rank score tag",
        ) from problem
    if not math.isfinite(entry.score):
        raise InputError(f"the score {columns[4]} cannot be ordered", file=file, line=number, hint="write a number")
    return entry


def read_jsonl(text: str, file: str) -> dict[str, tuple[Hit, ...]]:
    """Parse JSON lines, with each query once."""
    answers: dict[str, tuple[Hit, ...]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            name, hits = _read_line(line, file, number)
            if name in answers:
                raise InputError(f"a second answer to {name!r}", file=file, line=number, hint="keep one line a query")
            answers[name] = hits
    return answers


def _read_line(line: str, file: str, number: int) -> tuple[str, tuple[Hit, ...]]:
    try:
        document = json.loads(line)
        name = document["query"] if "query" in document else document["text"]
        hits = tuple(map(read_hit, document["hits"]))
    except (ValueError, TypeError, KeyError, EngineError, RecursionError) as problem:
        raise InputError(
            f"no answer on this line: {problem}", file=file, line=number, hint='{"query": "...", "hits": ["path:1-9"]}'
        ) from problem
    if not isinstance(name, str):
        raise InputError(f"the query {name!r} is not a text", file=file, line=number, hint=_NAMING)
    return name, hits
