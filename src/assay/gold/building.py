"""Sources, targets, queries and gold sets: the checks that all formats share, and the hashes of a set."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.digests import text_digest
from assay.errors import GoldError
from assay.files import read_utf8
from assay.gold.anchors import DIGEST_LENGTH
from assay.types import PRIMARY, Adversary, CorpusSpec, GoldSet, LabelProvenance, Query, Rationale, Span, Target


@dataclass(frozen=True, slots=True)
class GoldLocation:
    """A line of a gold file, for errors."""

    file: str
    line: int | None = None

    def error(self, message: str, hint: str | None = None) -> GoldError:
        """Return an error at this line."""
        return GoldError(message, file=self.file, line=self.line, hint=hint)

    def text(self, value: str, what: str) -> str:
        """Return a text that is not blank and can be encoded again."""
        if not value.strip():
            raise self.error(f"{what} is empty", "write it, or leave the key out where it is optional")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise self.error(
                f"{what} holds half a surrogate pair, which is not a character", "write the whole character"
            )
        return value

    def name(self, value: str, what: str) -> str:
        """Return a text that can be part of a key, a file name and a TREC line."""
        self.text(value, what)
        if "/" in value or any(character.isspace() for character in value):
            raise self.error(f"{what} '{value}' has a blank or a slash in it", "use words joined by '-'")
        return value


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """The largest gold file that is read."""

    bytes: int = 32_000_000  # some 50,000 five-layer queries; a larger file was not written by hand


@dataclass(frozen=True, slots=True)
class GoldSource:
    """A gold file and its text."""

    path: Path
    text: str

    def at(self, line: int | None = None) -> GoldLocation:
        """Return the location of a line."""
        return GoldLocation(str(self.path), line)


def read_source(path: Path, limits: SourceLimits | None = None) -> GoldSource:
    """Read a UTF-8 file without its byte order mark."""
    most = (limits or SourceLimits()).bytes
    try:
        size = path.stat().st_size
    except OSError:
        size = 0  # reading it raises
    if size > most:
        raise GoldError(f"the file has {size} bytes; a gold file has at most {most}", file=path, hint="split the set")
    return GoldSource(path, read_utf8(path, GoldError))


_SYNTAX = "a target is written path, path:10-42 or path::Scope.symbol"
_RANGE = re.compile(r"(?P<path>.*):(?P<start>[0-9]{1,9})-(?P<end>[0-9]{1,9})(?:#(?P<digest>.*))?", re.DOTALL)
_DIGEST = re.compile(rf"[0-9a-f]{{{DIGEST_LENGTH}}}")
_REPEAT = re.compile(r"~([0-9]+)$")


def parse_target(text: str, place: GoldLocation, *, grade: int = PRIMARY) -> Target:
    """Parse a target; a symbol anchor has no lines yet."""
    path, colons, symbol = text.partition("::")
    if colons:
        return Target(Span(check_path(path, place)), grade, _check_symbol(symbol, text, place))
    ranged = _RANGE.fullmatch(text)
    if ranged is None:
        return Target(Span(check_path(text, place)), grade)
    span, digest = ranged_span(ranged["path"], int(ranged["start"]), int(ranged["end"]), place), ranged["digest"]
    if digest is not None and not _DIGEST.fullmatch(digest):
        message = f"'{text}' has no content hash of {DIGEST_LENGTH} hex digits behind its '#'"
        raise place.error(message, "leave it out, and let `assay gold reanchor --digest` write it")
    return Target(span, grade, digest=digest)


def ranged_span(path: str, start: int, end: int, place: GoldLocation) -> Span:
    """Return the span of lines `start` to `end`, counted from 1, both included."""
    if start < 1:
        raise place.error(f"'{path}:{start}-{end}' begins before line 1", "lines are counted from 1")
    if start > end:
        raise place.error(f"'{path}:{start}-{end}' ends before it begins", f"write {path}:{end}-{start}?")
    return Span(check_path(path, place), start, end)


def check_path(path: str, place: GoldLocation) -> str:
    """Return a path that is POSIX, relative to the corpus root, and cannot leave it."""
    problem = path_problem(path)
    if problem:
        raise place.error(f"'{path}' {problem}", f"{_SYNTAX}; paths are relative to the corpus root, with '/'")
    return place.text(path, "the path of a target")


def path_problem(path: str) -> str | None:
    """Return what is wrong with a path, if anything."""
    checks = {
        "has no path": not path,
        "has a backslash in it": "\\" in path,
        "is an absolute path": path.startswith("/"),
        "has blanks around its path": path != path.strip(),
        "has a control character in its path": any(ord(character) < 32 or character == "\x7f" for character in path),
        "names a folder": path.endswith("/"),
        "has a ':' in its path": ":" in path,
        "climbs with '..'": ".." in path.split("/"),
        "has an empty or '.' step in its path": not {"", "."}.isdisjoint(path.split("/")),
    }
    return next((problem for problem, found in checks.items() if found), None)


def _check_symbol(symbol: str, text: str, place: GoldLocation) -> str:
    if ":" in symbol:
        raise place.error(f"'{text}' has a ':' in its symbol", f"scopes are joined by '.': {symbol.replace('::', '.')}")
    if not all(symbol.split(".")) or any(character.isspace() for character in symbol):
        raise place.error(f"'{text}' does not name a symbol", _SYNTAX)
    repeat = _REPEAT.search(symbol)
    if repeat and (repeat[1].startswith("0") or repeat[1] == "1"):
        raise place.error(f"'{text}' counts from ~2", "the first definition of a name has no number")
    return place.text(symbol, "the symbol of a target")


def build_query(
    query_id: str,
    forms: Mapping[str, str],
    targets: Iterable[Target],
    place: GoldLocation,
    *,
    adversaries: Sequence[Adversary] = (),
    rationale: Rationale | None = None,
    measures: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
    labels: Sequence[LabelProvenance] = (),
    least: int = PRIMARY,
) -> Query:
    """Return a checked query; targets are sorted by grade, then as written, and those of grade 0 are irrelevant.

    At least one target must have the grade `least`: 1 in formats with other grades than primary and secondary.
    """
    every = sorted(targets, key=lambda target: -target.grade)
    ordered = tuple(target for target in every if target.grade > 0)
    irrelevant = tuple(target for target in every if target.grade == 0)
    _check_targets(query_id, every, place, least)
    _check_adversaries(query_id, ordered, adversaries, place)
    _check_labels(query_id, [*ordered, *(adversary.target for adversary in adversaries)], labels, place)
    return Query(
        query_id,
        dict(forms),
        ordered,
        tuple(adversaries),
        rationale,
        tuple(measures),
        dict(tags or {}),
        place.line,
        tuple(labels),
        irrelevant,
    )


def build_gold(
    name: str,
    corpus: CorpusSpec,
    queries: Sequence[Query],
    place: GoldLocation,
    provenance: Mapping[str, str] | None = None,
) -> GoldSet:
    """Return a gold set; raise if it is empty or has an id twice."""
    if not queries:
        raise place.error("the gold set is empty", "add at least one query")
    first: dict[str, Query] = {}
    for query in queries:
        if query.id in first:
            raise GoldLocation(place.file, query.line).error(
                f"the id '{query.id}' is used twice, first in line {first[query.id].line}", "give each query its own id"
            )
        first[query.id] = query
    return GoldSet(name, corpus, tuple(queries), dict(provenance or {}), place.file)


def row_id(number: int) -> str:
    """Return the id of row `number`, counted from 1, in a format without ids."""
    return f"row-{number:03d}"


def _check_targets(query_id: str, targets: Sequence[Target], place: GoldLocation, least: int) -> None:
    if not any(target.grade >= least for target in targets):
        if least < PRIMARY:
            raise place.error(f"query '{query_id}' has no relevant target", "give a target the grade 1 or a higher one")
        raise place.error(f"query '{query_id}' has no primary target", "name the code that answers it with grade 2")
    seen: set[str] = set()
    for target in targets:
        if target.anchor in seen:
            raise place.error(f"query '{query_id}' names the target {target.anchor} twice", "keep one, with one grade")
        seen.add(target.anchor)


def _check_adversaries(
    query_id: str, targets: Sequence[Target], adversaries: Sequence[Adversary], place: GoldLocation
) -> None:
    seen: set[str] = set()
    for adversary in adversaries:
        wrong = adversary.target
        if wrong.anchor in seen:
            raise place.error(f"query '{query_id}' names the adversary {wrong.anchor} twice", "keep one")
        seen.add(wrong.anchor)
        for target in targets:
            whole = any(one.symbol is None and one.span.start is None for one in (wrong, target))
            if wrong.anchor == target.anchor or (whole and wrong.span.path == target.span.path):
                raise place.error(
                    f"query '{query_id}' has {wrong.anchor} as an adversary and {target.anchor} as a target",
                    "a wrong answer cannot be right too: anchor both to symbols or line ranges, or drop one",
                )


def _check_labels(
    query_id: str, labelled: Sequence[Target], labels: Sequence[LabelProvenance], place: GoldLocation
) -> None:
    anchors = {target.anchor for target in labelled}
    seen: set[str] = set()
    for label in labels:
        if label.target not in anchors:
            raise place.error(
                f"query '{query_id}' says where the label {label.target} comes from, but has no such label",
                "write the target in 'labels' as it stands in 'retrieval' or 'interference', or remove the entry",
            )
        if label.target in seen:
            raise place.error(f"query '{query_id}' says twice where the label {label.target} comes from", "keep one")
        seen.add(label.target)


def query_hash(query: Query, corpus: CorpusSpec) -> str:
    """Hash the id, phrasings, labels as written, and the corpus; not lines, rationale, measures or tags."""
    return _digest(
        {
            "id": query.id,
            "forms": dict(query.forms),
            "targets": [[target.anchor, target.grade] for target in query.targets],
            "adversaries": [[a.target.anchor, a.relationship, a.strength, a.confusion] for a in query.adversaries],
            **({"irrelevant": [target.anchor for target in query.irrelevant]} if query.irrelevant else {}),
            "corpus": [corpus.kind, corpus.value, corpus.rev, corpus.root, list(corpus.include), list(corpus.exclude)],
        }
    )


def gold_hash(gold: GoldSet) -> str:
    """Hash the queries and the corpus, independent of order, name and source."""
    return _digest(sorted(query_hash(query, gold.corpus) for query in gold.queries))


def _digest(value: object) -> str:
    return text_digest(json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":")))
