"""Split gold sets into dev, test and sealed queries, and select the queries of a part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args

from assay.errors import ConfigError, GoldError, closest_match
from assay.types import GoldSet, Query, Suite, Target

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

#: The tag that names the part of a query.
TAG = "split"
DEV, TEST, SEALED = PARTS = ("dev", "test", "sealed")


def part_of(query: Query) -> str | None:
    """Return the part of a query, if any; raise if it is misspelt, since that would unseal it."""
    part = query.tags.get(TAG)
    meant = closest_match(part, PARTS) if part is not None and part not in PARTS else ()
    if meant:
        raise GoldError(
            f"query '{query.id}' has split: {part}", line=query.line, hint=f"did you mean '{meant[0]}'? parts are exact"
        )
    return part


def sealed_queries(gold: GoldSet) -> tuple[Query, ...]:
    """Return the queries of a set that are held out."""
    return tuple(query for query in gold.queries if part_of(query) == SEALED)


@dataclass(frozen=True, slots=True)
class SplitSelection:
    """The queries of the selected parts, and how many were left out."""

    suite: Suite
    left_out: int = 0
    sealed: int = 0  # of those left out


def select(suite: Suite, parts: Sequence[str] = ()) -> SplitSelection:
    """Select the queries of some parts; by default, all but the sealed ones."""
    known = sorted({part for gold in suite.golds for query in gold.queries if (part := part_of(query))})
    for part in parts:
        if part not in known:
            near = closest_match(part, known)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
            hint = hint if known else "split the set first: assay gold split SET"
            raise ConfigError(f"split = {part!r}: no query is in that part", hint=hint)
    golds = tuple(replace(gold, queries=_select_queries(gold, parts)) for gold in suite.golds)
    full = tuple(new for new, old in zip(golds, suite.golds, strict=True) if new.queries or not old.queries)
    if suite.golds and not full:
        source = suite.golds[0].source
        raise GoldError(
            "all queries are sealed", file=source, hint=f"--split {SEALED} includes them, and the access is logged"
        )
    before = sum(len(gold.queries) for gold in suite.golds)
    kept = {(gold.name, query.id) for gold in full for query in gold.queries}
    sealed = sum((gold.name, query.id) not in kept for gold in suite.golds for query in sealed_queries(gold))
    return SplitSelection(Suite(full), before - len(kept), sealed)


def _select_queries(gold: GoldSet, parts: Sequence[str]) -> tuple[Query, ...]:
    if parts:
        return tuple(query for query in gold.queries if part_of(query) in parts)
    return tuple(query for query in gold.queries if part_of(query) != SEALED)


def refuse_sealed(suite: Suite, what: str) -> None:
    """Raise if a command that shows single queries would show sealed ones."""
    sealed = [(gold, len(sealed_queries(gold))) for gold in suite.golds]
    total = sum(count for _, count in sealed)
    if total:
        first = next(gold for gold, count in sealed if count)
        raise GoldError(
            f"{what} would look at {total} sealed {'query' if total == 1 else 'queries'}",
            file=first.source,
            hint=f"use a run without them: assay run --split {DEV}",
        )


By = Literal["repository", "module", "file", "query"]
WAYS: tuple[By, ...] = get_args(By)


@dataclass(frozen=True, slots=True)
class Shares:
    """The share of each part."""

    dev: float = 0.5  # can be tuned on freely
    test: float = 0.25
    sealed: float = 0.25

    def __post_init__(self) -> None:
        """Raise on shares that are negative or do not sum to 1."""
        if min(self.values()) < 0 or abs(sum(self.values()) - 1) > 1e-6:
            raise ConfigError(
                f"the shares {self.dev:g}, {self.test:g} and {self.sealed:g} do not make 1",
                hint="such as --dev .5 --test .25 --sealed .25",
            )

    @classmethod
    def of(cls, **given: float | None) -> Shares:
        """Return the given shares; the others divide the rest in their default proportions."""
        fixed = {name: share for name, share in given.items() if share is not None}
        others = {name: share for name, share in zip(PARTS, cls().values(), strict=True) if name not in fixed}
        rest = max(0.0, 1 - sum(fixed.values()))
        return cls(**fixed, **{name: rest * share / sum(others.values()) for name, share in others.items()})

    def values(self) -> tuple[float, float, float]:
        """Return the shares in the order of the parts."""
        return (self.dev, self.test, self.sealed)


@dataclass(frozen=True, slots=True)
class SplitOptions:
    """Settings of a split."""

    by: By = "module"
    shares: Shares = Shares()
    seed: int = 0
    depth: int | None = None  # directories of a path that name its module; None: all of them
    strata: tuple[str, ...] = ("category", "difficulty")  # tags whose values are balanced over the parts
    starts: int = 16  # random orders; each ends in a split that no single move improves
    fresh: bool = False  # reassign queries that have a part


@dataclass(frozen=True, slots=True)
class SplitSuite:
    """A suite whose queries are tagged with their part, and its counts."""

    suite: Suite
    groups: int
    sizes: Mapping[str, int]  # queries by part
    kept: int  # queries that had their part before
    strata: Mapping[str, Mapping[str, int]]  # "tag=value" -> queries by part


class _Key(NamedTuple):
    gold: str
    query: str


_Queries = Mapping[_Key, Query]


def assign_splits(suite: Suite, division: SplitOptions) -> SplitSuite:
    """Assign a part to every query, deterministically for a suite and seed."""
    queries = {_Key(gold.name, query.id): query for gold in suite.golds for query in gold.queries}
    groups = _group_queries(suite, division)
    sources = {gold.name: gold.source for gold in suite.golds}
    fixed = [None if division.fresh else _fixed_part(group, queries, sources, division) for group in groups]
    wanted = sum(share > 0 for share in division.shares.values())
    if len(groups) < wanted:
        raise GoldError(
            f"the queries form {len(groups)} {'group' if len(groups) == 1 else 'groups'}, too few for {wanted} parts",
            file=suite.golds[0].source,
            hint=looser(division.by),
        )
    places = _assign_groups([_count_strata(group, queries, division) for group in groups], fixed, division)
    part = {key: PARTS[place] for group, place in zip(groups, places, strict=True) for key in group}
    sizes = Counter(part.values())
    for name, share in zip(PARTS, division.shares.values(), strict=True):
        if share > 0 and not sizes.get(name):
            raise GoldError(f"the part '{name}' stays empty", file=suite.golds[0].source, hint=looser(division.by))
    golds = tuple(
        replace(
            gold, queries=tuple(replace(q, tags={**q.tags, TAG: part[_Key(gold.name, q.id)]}) for q in gold.queries)
        )
        for gold in suite.golds
    )
    strata: dict[str, Counter[str]] = {}
    for key, query in queries.items():
        for name in _strata_of(query, division):
            strata.setdefault(name, Counter())[part[key]] += 1
    return SplitSuite(
        Suite(golds),
        len(groups),
        {name: sizes[name] for name in PARTS},
        0 if division.fresh else sum(part_of(query) is not None for query in queries.values()),
        {name: {one: strata[name][one] for one in PARTS} for name in sorted(strata)},
    )


def _group_queries(suite: Suite, division: SplitOptions) -> list[tuple[_Key, ...]]:
    """Group the queries that must be in the same part, in suite order by the first of each."""
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
        for (target, query), (rival, other) in combinations(entries, 2):
            if _touch(target, rival):
                yield query, other


def _touch(one: Target, other: Target) -> bool:
    if one.symbol and other.symbol:
        return f"{one.symbol}.".startswith(f"{other.symbol}.") or f"{other.symbol}.".startswith(f"{one.symbol}.")
    return bool(one.symbol or other.symbol) or one.span.common_lines(other.span) > 0


def _fixed_part(
    group: Sequence[_Key], queries: _Queries, sources: Mapping[str, str | None], division: SplitOptions
) -> int | None:
    parts = {key: part for key in group if (part := part_of(queries[key]))}
    for key, part in parts.items():
        if part not in PARTS:
            raise GoldError(
                f"query '{key.query}' is in the part '{part}'", file=sources[key.gold], hint=f"use {', '.join(PARTS)}"
            )
    if not parts:
        return None
    if len({*parts.values()}) > 1:
        pairs = [(a, b) for a, b in combinations(parts, 2) if parts[a] != parts[b]]
        a, b = next(((a, b) for a, b in pairs if _describe_tie(queries[a], queries[b], division)), pairs[0])
        why = _describe_tie(queries[a], queries[b], division) or "other queries tie them to each other"
        raise GoldError(
            f"'{a.query}' is {parts[a]} and '{b.query}' is {parts[b]}, but they belong together: {why}",
            file=sources[a.gold],
            hint=f"{_FINER[division.by]}; --force divides all anew, sealed queries too",
        )
    return PARTS.index(next(iter(parts.values())))


_FINER: Mapping[By, str] = {
    "repository": "--by module ties less",
    "module": "--by file ties less",
    "file": "--by query ties less",
    "query": "give them the same part by hand (tags: split)",
}


def looser(by: By) -> str:
    """Return a hint on how to get more groups."""
    return {
        "repository": "--by module makes more groups, or name fewer parts: --sealed 0",
        "module": "--by file makes more groups, or name fewer parts: --sealed 0",
        "file": "--by query makes more groups, or name fewer parts: --sealed 0",
        "query": "add queries, or name fewer parts: --sealed 0",
    }[by]


def _describe_tie(one: Query, other: Query, division: SplitOptions) -> str:
    """Describe why two queries must be in the same part; empty if only other queries tie them."""
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


def _count_strata(group: Iterable[_Key], queries: _Queries, division: SplitOptions) -> Counter[str]:
    counts: Counter[str] = Counter()
    for key in group:
        counts.update(["", *_strata_of(queries[key], division)])
    return counts


def _strata_of(query: Query, division: SplitOptions) -> list[str]:
    return [f"{tag}={query.tags[tag]}" for tag in division.strata if tag in query.tags]


def _assign_groups(counts: Sequence[Counter[str]], fixed: Sequence[int | None], division: SplitOptions) -> list[int]:
    """Return the part of each group that minimizes the squared distance of all strata to their shares."""
    import numpy as np

    names = sorted({name for one in counts for name in one})
    table = np.array([[one[name] for name in names] for one in counts], dtype=np.float64)
    wanted = np.outer(division.shares.values(), table.sum(axis=0))
    rng = np.random.default_rng(division.seed)
    held = {at: part for at, part in enumerate(fixed) if part is not None}
    found = [_descend(table, wanted, held, rng.permutation(len(table))) for _ in range(division.starts)]
    return min(found, key=lambda places: (round(_cost(table, wanted, places), 9),))


def _descend(table: FloatArray, wanted: FloatArray, held: Mapping[int, int], order: Iterable[int]) -> list[int]:
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
    gaps = {
        part: float((((filled[part] + row - wanted[part]) ** 2) - (filled[part] - wanted[part]) ** 2).sum())
        for part in range(len(wanted))
        if wanted[part, 0] > 0
    }
    best = min(gaps, key=lambda part: (gaps[part], part))
    return now if now in gaps and gaps[now] <= gaps[best] + 1e-9 else best


def _cost(table: FloatArray, wanted: FloatArray, places: Sequence[int]) -> float:
    filled = wanted * 0
    for at, part in enumerate(places):
        filled[part] += table[at]
    return float(((filled - wanted) ** 2).sum())


_PROVENANCE_KEY = "split"
_METHOD = re.compile(rf"by ({'|'.join(WAYS)})(?: of (\d+) folders?)?, seed (\d+)")


@dataclass(frozen=True, slots=True)
class SplitMethod:
    """The unit that a split kept together."""

    by: By
    depth: int | None = None

    def __str__(self) -> str:
        """Return the text in the provenance of a set."""
        folders = f" of {self.depth} {'folder' if self.depth == 1 else 'folders'}" if self.depth else ""
        return f"by {self.by}{folders}"


def read_split_method(suite: Suite) -> SplitMethod | None:
    """Return how the sets were split; None if no set has it, or two sets differ."""
    matches = [_METHOD.match(gold.provenance.get(_PROVENANCE_KEY, "")) for gold in suite.golds]
    texts = {match[0].partition(",")[0] if match else "" for match in matches}
    match = matches[0] if len(texts) == 1 else None
    return None if match is None else SplitMethod(cast(By, match[1]), int(match[2]) if match[2] else None)


def store_split_method(gold: GoldSet, division: SplitOptions) -> GoldSet:
    """Return a set with its split method in the provenance."""
    method = SplitMethod(division.by, division.depth)
    return replace(gold, provenance={**gold.provenance, _PROVENANCE_KEY: f"{method}, seed {division.seed}"})
