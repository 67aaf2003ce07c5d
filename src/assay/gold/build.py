"""Checks, hashes and helpers that the gold formats share."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from assay.digests import text_digest
from assay.errors import GoldError, closest_match
from assay.files import read_utf8
from assay.types import PRIMARY, Adversary, CorpusSpec, GoldSet, LabelProvenance, Query, Rationale, Target


@dataclass(frozen=True, slots=True)
class GoldLocation:
    """A gold file and optionally one of its lines, for error messages."""

    file: str
    line: int | None = None

    def error(self, message: str, hint: str | None = None) -> GoldError:
        return GoldError(message, file=self.file, line=self.line, hint=hint)

    def text(self, value: str, subject: str) -> str:
        """Return `value`; raise if it is blank or cannot be encoded as UTF-8."""
        if not value.strip():
            raise self.error(f"{subject} is empty", "add a value, or remove the key if it is optional")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise self.error(f"{subject} contains an unpaired surrogate", "remove the character")
        return value

    def name(self, value: str, subject: str) -> str:
        """Return `value`; raise if it is blank or contains whitespace or '/', as TREC ids and file names must not."""
        self.text(value, subject)
        if "/" in value or any(character.isspace() for character in value):
            raise self.error(f"{subject} '{value}' contains whitespace or '/'", "use '-' instead")
        return value


#: Bytes; about 50,000 five-layer queries.
LARGEST_SOURCE = 32_000_000


@dataclass(frozen=True, slots=True)
class GoldSource:
    path: Path
    text: str

    def at(self, line: int | None = None) -> GoldLocation:
        return GoldLocation(str(self.path), line)


def read_source(path: Path, most: int = LARGEST_SOURCE) -> GoldSource:
    """Read a UTF-8 file without its byte order mark; raise if it has more than `most` bytes."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0  # read_utf8 raises the error
    if size > most:
        hint = "split the file into smaller ones"
        raise GoldError(f"file too large: {size} bytes, the limit is {most}", file=path, hint=hint)
    return GoldSource(path, read_utf8(path, GoldError))


def build_query(
    query_id: str,
    forms: Mapping[str, str],
    targets: Iterable[Target],
    location: GoldLocation,
    *,
    adversaries: Sequence[Adversary] = (),
    rationale: Rationale | None = None,
    measures: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
    labels: Sequence[LabelProvenance] = (),
    least: int = PRIMARY,
) -> Query:
    """Return a checked query; targets are sorted by grade, highest first, and those of grade 0 go to `irrelevant`.

    Raise unless at least one target has the grade `least` or higher; formats with arbitrary grades pass 1.
    """
    every = sorted(targets, key=lambda target: -target.grade)
    relevant = tuple(target for target in every if target.grade > 0)
    if not any(target.grade >= least for target in every):
        if least < PRIMARY:
            raise location.error(f"query '{query_id}' has no relevant target", "add a target of grade 1 or higher")
        raise location.error(f"query '{query_id}' has no primary target", "add a primary target (grade 2)")
    if again := first_repeat(target.anchor for target in every):
        raise location.error(f"duplicate target {again} in query '{query_id}'", "remove one")
    wrong = [adversary.target for adversary in adversaries]
    _check_adversaries(query_id, wrong, relevant, location)
    _check_labels(query_id, labels, {target.anchor for target in (*relevant, *wrong)}, location)
    return Query(
        query_id,
        dict(forms),
        relevant,
        tuple(adversaries),
        rationale,
        tuple(measures),
        dict(tags or {}),
        location.line,
        tuple(labels),
        tuple(target for target in every if target.grade == 0),
    )


def _check_adversaries(
    query_id: str, adversaries: Sequence[Target], targets: Sequence[Target], location: GoldLocation
) -> None:
    if again := first_repeat(adversary.anchor for adversary in adversaries):
        raise location.error(f"duplicate adversary {again} in query '{query_id}'", "remove one")
    for adversary, target in product(adversaries, targets):
        whole = is_whole_file(adversary) or is_whole_file(target)
        if adversary.anchor == target.anchor or (whole and adversary.span.path == target.span.path):
            message = f"adversary {adversary.anchor} overlaps target {target.anchor} of query '{query_id}'"
            raise location.error(message, "use symbols or line ranges that do not overlap, or remove one")


def _check_labels(query_id: str, labels: Sequence[LabelProvenance], anchors: Set[str], location: GoldLocation) -> None:
    for label in labels:
        if label.target not in anchors:
            message = f"'labels' of query '{query_id}' names {label.target}, which is not a target or adversary"
            raise location.error(message, "copy the target from 'retrieval' or 'interference', or remove the entry")
    if again := first_repeat(label.target for label in labels):
        raise location.error(f"duplicate entry for {again} in 'labels' of query '{query_id}'", "remove one")


def first_repeat(words: Iterable[str]) -> str | None:
    earlier: set[str] = set()
    for word in words:
        if word in earlier:
            return word
        earlier.add(word)
    return None


def build_gold(
    name: str,
    corpus: CorpusSpec,
    queries: Sequence[Query],
    location: GoldLocation,
    provenance: Mapping[str, str] | None = None,
) -> GoldSet:
    if not queries:
        raise location.error("the gold set is empty", "add at least one query")
    first: dict[str, Query] = {}
    for query in queries:
        if query.id in first:
            message = f"duplicate query id '{query.id}', first used on line {first[query.id].line}"
            raise GoldLocation(location.file, query.line).error(message, "use a unique id")
        first[query.id] = query
    return GoldSet(name, corpus, tuple(queries), dict(provenance or {}), location.file)


def is_whole_file(target: Target) -> bool:
    return target.symbol is None and target.span.start is None


def row_id(number: int) -> str:
    return f"row-{number:03d}"


def query_hash(query: Query, corpus: CorpusSpec) -> str:
    """Hash the id, phrasings, targets, irrelevant locations, adversaries and corpus of a query, and nothing else."""
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
    """Return a hash of the queries and corpus of a gold set, which does not depend on the order of the queries."""
    return _digest(sorted(query_hash(query, gold.corpus) for query in gold.queries))


def _digest(value: object) -> str:
    return text_digest(json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":")))


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known word most similar to `word`, or with all known words if none is similar."""
    words = list(known)
    similar = closest_match(word, words)
    return f"did you mean '{similar[0]}'?" if similar else f"use one of {', '.join(words)}"


_UNSAFE = re.compile(r"[\s/]+")
_LISTED = 20  # renamed ids that are listed


def safe_ids(originals: Iterable[str]) -> dict[str, str]:
    """Map each id to a unique id without whitespace and slashes."""
    distinct = list(dict.fromkeys(originals))
    ids = {original: original for original in distinct if not _UNSAFE.search(original)}
    taken = set(ids)
    for original in distinct:
        if original not in ids:
            wanted = free = _UNSAFE.sub("-", original).strip("-") or "id"
            number = 1
            while free in taken:
                number += 1
                free = f"{wanted}-{number}"
            ids[original] = free
            taken.add(free)
    return ids


def describe_renames(ids: Mapping[str, str]) -> dict[str, str]:
    changed = [f"'{old}' → {new}" for old, new in ids.items() if old != new]
    if not changed:
        return {}
    more = f" and {len(changed) - _LISTED} more" if len(changed) > _LISTED else ""
    return {"ids": f"whitespace and slashes replaced by '-': {', '.join(changed[:_LISTED])}{more}"}


NO_CORPUS = "this gold format does not name a corpus"
_EXAMPLES = 5  # omitted items that are named


def require_corpus(source: GoldSource, corpus: CorpusSpec | None) -> CorpusSpec:
    if corpus is None:
        raise source.at(1).error(NO_CORPUS, corpus_hint(source.path))
    return corpus


def corpus_hint(path: Path, *, several: bool = False) -> str:
    stem = path.parent / (path.stem or path.resolve().stem)
    where = "DIR" if several else "PATH"
    names = shlex.join([str(path), f"{stem}-native/" if several else f"{stem}.yaml"])
    return (
        f"run `assay gold convert {names} --to native --corpus {where}`, or "
        f"pass --corpus {where} (run, gold lint, gold review) or corpus=... (Python)"
    )


def describe_omissions(omitted: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return a provenance entry that counts omitted items by kind and names a few; empty if nothing is omitted."""
    counts = [
        f"{kind}: {len(names)} ({', '.join(names[:_EXAMPLES])}{', ...' if len(names) > _EXAMPLES else ''})"
        for kind, names in omitted.items()
        if names
    ]
    return {"left out": "; ".join(counts)} if counts else {}
