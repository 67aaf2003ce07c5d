"""Tuned on one part, claimed on another: dev, test and sealed queries, and who may see which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.errors import ConfigError, GoldError, nearest
from assay.types import Gold, Query, Suite

#: The tag that names a query's part.
TAG = "split"
DEV, TEST, SEALED = PARTS = ("dev", "test", "sealed")


@dataclass(frozen=True, slots=True)
class Selection:
    """The queries of the parts that were asked for, and how many were left out."""

    suite: Suite
    left_out: int = 0
    sealed: int = 0  # of those left out


def part_of(query: Query) -> str | None:
    """Name the part of a query, if the set was split; a misspelt one must not open what is sealed."""
    part = query.tags.get(TAG)
    meant = nearest(part, PARTS) if part is not None and part not in PARTS else ()
    if meant:
        raise GoldError(
            f"query '{query.id}' has split: {part}", line=query.line, hint=f"did you mean '{meant[0]}'? parts are exact"
        )
    return part


def sealed_queries(gold: Gold) -> tuple[Query, ...]:
    """Give the queries of a set that nobody should tune on."""
    return tuple(query for query in gold.queries if part_of(query) == SEALED)


def select(suite: Suite, parts: Sequence[str] = ()) -> Selection:
    """Keep the queries of some parts; asked for none, all but the sealed ones."""
    _check_parts(suite, parts)
    golds = tuple(replace(gold, queries=_kept(gold, parts)) for gold in suite.golds)
    full = tuple(new for new, old in zip(golds, suite.golds, strict=True) if new.queries or not old.queries)
    if suite.golds and not full:
        source = suite.golds[0].source
        raise GoldError(
            "all queries are sealed", file=source, hint=f"--split {SEALED} asks them, and the look is written down"
        )
    before = sum(len(gold.queries) for gold in suite.golds)
    kept = {(gold.name, query.id) for gold in full for query in gold.queries}
    sealed = sum((gold.name, query.id) not in kept for gold in suite.golds for query in sealed_queries(gold))
    return Selection(Suite(full), before - len(kept), sealed)


def _kept(gold: Gold, parts: Sequence[str]) -> tuple[Query, ...]:
    """Give the queries of the parts, in their order."""
    if parts:
        return tuple(query for query in gold.queries if part_of(query) in parts)
    return tuple(query for query in gold.queries if part_of(query) != SEALED)


def _check_parts(suite: Suite, parts: Iterable[str]) -> None:
    """Refuse a part that no query is in: a typing error must not shrink the set in silence."""
    known = sorted({part for gold in suite.golds for query in gold.queries if (part := part_of(query))})
    for part in parts:
        if part not in known:
            near = nearest(part, known)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
            hint = hint if known else "split the set first: assay gold split SET"
            raise ConfigError(f"split = {part!r}: no query is in that part", hint=hint)


def refuse_sealed(suite: Suite, what: str) -> None:
    """Keep sealed queries from a command that looks at single queries to change an engine or a set."""
    sealed: Mapping[str, int] = {gold.name: len(sealed_queries(gold)) for gold in suite.golds}
    total = sum(sealed.values())
    if total:
        first = next(gold for gold in suite.golds if sealed[gold.name])
        raise GoldError(
            f"{what} would look at {total} sealed {'query' if total == 1 else 'queries'}",
            file=first.source,
            hint=f"use a run without them: assay run --split {DEV}",
        )
