"""Tuned on one part, claimed on another: who may see which queries, and who looked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, cast, get_args

from assay.errors import ConfigError, GoldError, closest_match
from assay.types import GoldSet, Query, Suite, Target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]


#: The tag that names a query's part.
TAG = "split"
DEV, TEST, SEALED = PARTS = ("dev", "test", "sealed")


@dataclass(frozen=True, slots=True)
class SplitSelection:
    """The queries of the parts that were asked for, and how many were left out."""

    suite: Suite
    left_out: int = 0
    sealed: int = 0  # of those left out


def part_of(query: Query) -> str | None:
    """Name the part of a query, if the set was split; a misspelt one must not open what is sealed."""
    part = query.tags.get(TAG)
    meant = closest_match(part, PARTS) if part is not None and part not in PARTS else ()
    if meant:
        raise GoldError(
            f"query '{query.id}' has split: {part}", line=query.line, hint=f"did you mean '{meant[0]}'? parts are exact"
        )
    return part


def sealed_queries(gold: GoldSet) -> tuple[Query, ...]:
    """Give the queries of a set that nobody should tune on."""
    return tuple(query for query in gold.queries if part_of(query) == SEALED)


def select(suite: Suite, parts: Sequence[str] = ()) -> SplitSelection:
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
    return SplitSelection(Suite(full), before - len(kept), sealed)


def _kept(gold: GoldSet, parts: Sequence[str]) -> tuple[Query, ...]:
    if parts:
        return tuple(query for query in gold.queries if part_of(query) in parts)
    return tuple(query for query in gold.queries if part_of(query) != SEALED)


def _check_parts(suite: Suite, parts: Iterable[str]) -> None:
    """Refuse a part that no query is in: a typing error must not shrink the set in silence."""
    known = sorted({part for gold in suite.golds for query in gold.queries if (part := part_of(query))})
    for part in parts:
        if part not in known:
            near = closest_match(part, known)
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


By = Literal["repository", "module", "file", "query"]
WAYS: tuple[By, ...] = get_args(By)


@dataclass(frozen=True, slots=True)
class Shares:
    """How much of a set goes where."""

    dev: float = 0.5  # where every look is free
    test: float = 0.25
    sealed: float = 0.25

    def __post_init__(self) -> None:
        """Refuse shares that are no division of a whole."""
        if min(self.values()) < 0 or abs(sum(self.values()) - 1) > 1e-6:
            raise ConfigError(
                f"the shares {self.dev:g}, {self.test:g} and {self.sealed:g} do not make 1",
                hint="such as --dev .5 --test .25 --sealed .25",
            )

    @classmethod
    def of(cls, **given: float | None) -> Shares:
        """Take the shares that were given; the others divide the rest as they would by default."""
        usual = cls()
        fixed = {name: share for name, share in given.items() if share is not None}
        others = {name: share for name, share in zip(PARTS, usual.values(), strict=True) if name not in fixed}
        rest = max(0.0, 1 - sum(fixed.values()))
        return cls(**fixed, **{name: rest * share / sum(others.values()) for name, share in others.items()})

    def values(self) -> tuple[float, float, float]:
        """Give them in the order of the parts."""
        return (self.dev, self.test, self.sealed)


@dataclass(frozen=True, slots=True)
class SplitOptions:
    """How a set is divided."""

    by: By = "module"
    shares: Shares = Shares()
    seed: int = 0
    depth: int | None = None  # folders of a path that name its module; none: all of them
    strata: tuple[str, ...] = ("category", "difficulty")  # tags that the parts should have alike
    starts: int = 16  # orders that are tried; each ends in a division that no single move betters
    fresh: bool = False  # queries that have a part keep it unless this is set


@dataclass(frozen=True, slots=True)
class SplitSuite:
    """A suite whose queries carry their part, and what that came to."""

    suite: Suite
    groups: int
    sizes: Mapping[str, int]  # queries by part
    kept: int  # queries that had their part before
    strata: Mapping[str, Mapping[str, int]]  # "tag=value" -> queries by part


@dataclass(frozen=True, slots=True)
class _Key:
    """One query of a suite."""

    gold: str
    query: str


def assign_splits(suite: Suite, division: SplitOptions) -> SplitSuite:
    """Give every query its part; the same suite and seed give the same parts."""
    queries = {_Key(gold.name, query.id): query for gold in suite.golds for query in gold.queries}
    groups = _groups(suite, division)
    fixed = [_fixed(group, queries, suite, division) if not division.fresh else None for group in groups]
    _check_enough(groups, division, suite)
    places = _places([_weights(group, queries, division) for group in groups], fixed, division)
    part = {key: PARTS[place] for group, place in zip(groups, places, strict=True) for key in group}
    golds = tuple(replace(gold, queries=tuple(_tagged(gold, q, part) for q in gold.queries)) for gold in suite.golds)
    sizes = Counter(part.values())
    _check_parts_dividing(sizes, division, suite)
    kept = 0 if division.fresh else sum(part_of(query) is not None for query in queries.values())
    return SplitSuite(
        Suite(golds), len(groups), {name: sizes[name] for name in PARTS}, kept, _strata(queries, part, division)
    )


def _tagged(gold: GoldSet, query: Query, part: Mapping[_Key, str]) -> Query:
    return replace(query, tags={**query.tags, TAG: part[_Key(gold.name, query.id)]})


def _groups(suite: Suite, division: SplitOptions) -> list[tuple[_Key, ...]]:
    """Put together what must not be torn apart; in suite order, by the first query of each."""
    ties = _UnionFind()
    for gold in suite.golds:
        home = _repository(gold)
        for query in gold.queries:
            key = _Key(gold.name, query.id)
            ties.tie(key, key)
            for unit in _units(query, division):
                ties.tie((home, unit), key)
        for one, other in _shared(gold):
            ties.tie(_Key(gold.name, one.id), _Key(gold.name, other.id))
    grouped: dict[object, list[_Key]] = {}
    for gold in suite.golds:
        for query in gold.queries:
            key = _Key(gold.name, query.id)
            grouped.setdefault(ties.root(key), []).append(key)
    return [tuple(group) for group in grouped.values()]


class _UnionFind:
    """Things that are tied to each other, directly or through others."""

    def __init__(self) -> None:
        self._above: dict[object, object] = {}

    def root(self, thing: object) -> object:
        while self._above.setdefault(thing, thing) != thing:
            thing = self._above[thing]
        return thing

    def tie(self, one: object, other: object) -> None:
        self._above[self.root(one)] = self.root(other)


def _repository(gold: GoldSet) -> str:
    spec = gold.corpus
    if spec.kind in ("path", "git") and "://" not in spec.value and gold.source:
        return str((Path(gold.source).parent / spec.value / (spec.root or "")).resolve())
    return spec.repository


def _units(query: Query, division: SplitOptions) -> Iterator[str]:
    if division.by == "repository":
        yield ""
    elif division.by != "query":
        for path in (target.span.path for target in query.primaries):
            folders = PurePosixPath(path).parent.parts
            yield path if division.by == "file" else "/".join(folders[: division.depth])


def _shared(gold: GoldSet) -> Iterator[tuple[Query, Query]]:
    by_path: dict[str, list[tuple[Target, Query]]] = {}
    for query in gold.queries:
        for target in query.targets:
            by_path.setdefault(target.span.path, []).append((target, query))
    for entries in by_path.values():
        for at, (target, query) in enumerate(entries):
            yield from ((query, other) for rival, other in entries[at + 1 :] if _touch(target, rival))


def _touch(one: Target, other: Target) -> bool:
    if one.symbol and other.symbol:
        return f"{one.symbol}.".startswith(f"{other.symbol}.") or f"{other.symbol}.".startswith(f"{one.symbol}.")
    return bool(one.symbol or other.symbol) or one.span.common_lines(other.span) > 0


def _fixed(group: Sequence[_Key], queries: Mapping[_Key, Query], suite: Suite, division: SplitOptions) -> int | None:
    parts = {part: key for key in group if (part := part_of(queries[key]))}
    for part, key in parts.items():
        if part not in PARTS:
            raise GoldError(
                f"query '{key.query}' is in the part '{part}'", file=_source(suite, key), hint=f"use {', '.join(PARTS)}"
            )
    if len(parts) > 1:
        raise _torn(group, queries, suite, division)
    return PARTS.index(next(iter(parts))) if parts else None


def _torn(group: Sequence[_Key], queries: Mapping[_Key, Query], suite: Suite, division: SplitOptions) -> GoldError:
    parts = {key: part for key in group if (part := part_of(queries[key]))}
    pairs = [(a, b) for a, b in combinations(parts, 2) if parts[a] != parts[b]]
    a, b = next(((a, b) for a, b in pairs if _tie(queries[a], queries[b], division)), pairs[0])
    why = _tie(queries[a], queries[b], division) or "other queries tie them to each other"
    return GoldError(
        f"'{a.query}' is {parts[a]} and '{b.query}' is {parts[b]}, but they hang together: {why}",
        file=_source(suite, a),
        hint=f"{_FINER[division.by]}; --force divides all anew, sealed queries too",
    )


_FINER: Mapping[By, str] = {
    "repository": "--by module ties less",
    "module": "--by file ties less",
    "file": "--by query ties less",
    "query": "give them the same part by hand (tags: split)",
}


def _tie(one: Query, other: Query, division: SplitOptions) -> str:
    """Say what two queries have in common that must not be torn apart; nothing where only others tie them."""
    same = [(a, b) for a in one.targets for b in other.targets if a.span.path == b.span.path]
    for a, _ in (pair for pair in same if _touch(*pair)):
        return f"both have {a.anchor} for an answer"
    common = sorted({*_units(one, division)} & {*_units(other, division)})
    if not common:
        return ""
    return {
        "repository": "they are of one repository",
        "module": f"both have an answer in the folder {common[0] or '.'}",
        "file": f"both have an answer in {common[0]}",
    }[division.by]


def _source(suite: Suite, key: _Key) -> str | None:
    return next((gold.source for gold in suite.golds if gold.name == key.gold), None)


def _weights(group: Iterable[_Key], queries: Mapping[_Key, Query], division: SplitOptions) -> Counter[str]:
    counts: Counter[str] = Counter()
    for key in group:
        counts.update(["", *_strata_of(queries[key], division)])
    return counts


def _strata_of(query: Query, division: SplitOptions) -> list[str]:
    return [f"{tag}={query.tags[tag]}" for tag in division.strata if tag in query.tags]


def _places(weights: Sequence[Counter[str]], fixed: Sequence[int | None], division: SplitOptions) -> list[int]:
    import numpy as np

    names = sorted({name for one in weights for name in one})
    table = np.array([[one[name] for name in names] for one in weights], dtype=np.float64)
    wanted = np.outer(division.shares.values(), table.sum(axis=0))
    rng = np.random.default_rng(division.seed)
    held = {at: part for at, part in enumerate(fixed) if part is not None}
    found = [_one_division(table, wanted, held, rng.permutation(len(table))) for _ in range(division.starts)]
    return min(found, key=lambda places: (round(_cost(table, wanted, places), 9),))


def _one_division(table: FloatArray, wanted: FloatArray, held: Mapping[int, int], order: Iterable[int]) -> list[int]:
    order = sorted((int(at) for at in order if int(at) not in held), key=lambda at: -table[at, 0])
    filled = wanted * 0
    places = [held.get(at, -1) for at in range(len(table))]
    for at, part in held.items():
        filled[part] += table[at]
    for at in order:
        places[at] = _best(table[at], filled, wanted)
        filled[places[at]] += table[at]
    moved = True
    while moved:
        moved = False
        for at in order:
            filled[places[at]] -= table[at]
            part = _best(table[at], filled, wanted, now=places[at])
            moved |= part != places[at]
            places[at] = part
            filled[part] += table[at]
    return places


def _best(row: FloatArray, filled: FloatArray, wanted: FloatArray, now: int | None = None) -> int:
    open_ = [part for part in range(len(wanted)) if wanted[part, 0] > 0]
    gaps = {
        part: float((((filled[part] + row - wanted[part]) ** 2) - (filled[part] - wanted[part]) ** 2).sum())
        for part in open_
    }
    best = min(open_, key=lambda part: (gaps[part], part))
    return now if now in gaps and gaps[now] <= gaps[best] + 1e-9 else best


def _cost(table: FloatArray, wanted: FloatArray, places: Sequence[int]) -> float:
    filled = wanted * 0
    for at, part in enumerate(places):
        filled[part] += table[at]
    return float(((filled - wanted) ** 2).sum())


def _check_enough(groups: Sequence[object], division: SplitOptions, suite: Suite) -> None:
    parts = sum(share > 0 for share in division.shares.values())
    if len(groups) < parts:
        raise GoldError(
            f"the queries hang together in {len(groups)} {'group' if len(groups) == 1 else 'groups'}: "
            f"that makes no {parts} parts",
            file=suite.golds[0].source,
            hint=looser(division.by),
        )


def _check_parts_dividing(sizes: Mapping[str, int], division: SplitOptions, suite: Suite) -> None:
    for name, share in zip(PARTS, division.shares.values(), strict=True):
        if share > 0 and not sizes.get(name):
            raise GoldError(f"the part '{name}' stays empty", file=suite.golds[0].source, hint=looser(division.by))


def looser(by: By) -> str:
    """Say which way to divide would make more groups."""
    return {
        "repository": "--by module makes more groups, or name fewer parts: --sealed 0",
        "module": "--by file makes more groups, or name fewer parts: --sealed 0",
        "file": "--by query makes more groups, or name fewer parts: --sealed 0",
        "query": "add queries, or name fewer parts: --sealed 0",
    }[by]


def _strata(
    queries: Mapping[_Key, Query], part: Mapping[_Key, str], division: SplitOptions
) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for key, query in queries.items():
        for name in _strata_of(query, division):
            found.setdefault(name, Counter())[part[key]] += 1
    return {name: {one: found[name][one] for one in PARTS} for name in sorted(found)}


KEY = "split"
_SAID = re.compile(rf"by ({'|'.join(WAYS)})(?: of (\d+) folders?)?, seed (\d+)")


@dataclass(frozen=True, slots=True)
class SplitMethod:
    """What was not torn apart when a set was divided."""

    by: By
    depth: int | None = None

    def __str__(self) -> str:
        """Say it as the file does."""
        folders = f" of {self.depth} {'folder' if self.depth == 1 else 'folders'}" if self.depth else ""
        return f"by {self.by}{folders}"


def read_split_method(suite: Suite) -> SplitMethod | None:
    """Read how the sets were divided; none where no file says so, or two say different things."""
    found = {said[0] if (said := _SAID.match(gold.provenance.get(KEY, ""))) else "" for gold in suite.golds}
    said = _SAID.match(found.pop()) if len({text.partition(",")[0] for text in found}) == 1 else None
    return None if said is None else SplitMethod(cast(By, said[1]), int(said[2]) if said[2] else None)


def store_split_method(gold: GoldSet, division: SplitOptions) -> GoldSet:
    """Write into a set how it was divided."""
    way = SplitMethod(division.by, division.depth)
    return replace(gold, provenance={**gold.provenance, KEY: f"{way}, seed {division.seed}"})
