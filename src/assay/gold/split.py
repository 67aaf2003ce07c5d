from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from assay.errors import ConfigError, GoldError, closest_match
from assay.gold.journal import ACCESS_LOG_SUFFIX
from assay.types import GoldSet, Query, Suite, Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The tag that names the split of a query.
TAG = "split"
DEV, TEST, SEALED = SPLITS = ("dev", "test", "sealed")


def split_of(query: Query) -> str | None:
    """Return the split of a query, if any; raise if it seems misspelled, since that would unseal a sealed query."""
    split = query.tags.get(TAG)
    similar = closest_match(split, SPLITS) if split is not None and split not in SPLITS else ()
    if similar:
        hint = f"did you mean '{similar[0]}'?"
        raise GoldError(f"query '{query.id}' has the unknown split '{split}'", line=query.line, hint=hint)
    return split


def access_log_path(gold_file: Path) -> Path:
    """Return the log of accesses to the sealed queries of a gold set."""
    return gold_file.with_name(gold_file.stem + ACCESS_LOG_SUFFIX)


def sealed_queries(gold: GoldSet) -> tuple[Query, ...]:
    return tuple(query for query in gold.queries if split_of(query) == SEALED)


@dataclass(frozen=True, slots=True)
class SplitSelection:
    suite: Suite
    left_out: int = 0
    sealed: int = 0  # sealed queries among the omitted ones


def select(suite: Suite, splits: Sequence[str] = ()) -> SplitSelection:
    """Select the queries of the given splits, or by default all that are not sealed; drop sets left without queries."""
    known = sorted({split for gold in suite.golds for query in gold.queries if (split := split_of(query))})
    for split in splits:
        if split not in known:
            similar = closest_match(split, known)
            hint = f"did you mean {similar[0]}?" if similar else f"use one of {', '.join(known)}"
            hint = hint if known else "run `assay gold split SET` first"
            raise ConfigError(f"no query in split {split!r}", hint=hint)

    def is_selected(query: Query) -> bool:
        return split_of(query) in splits if splits else split_of(query) != SEALED

    golds = [replace(gold, queries=tuple(filter(is_selected, gold.queries))) for gold in suite.golds]
    golds = [new for new, old in zip(golds, suite.golds, strict=True) if new.queries or not old.queries]
    if suite.golds and not golds:
        hint = f"use --split {SEALED} to include sealed queries; the access is logged"
        raise GoldError("all queries are sealed", file=suite.golds[0].source, hint=hint)
    omitted = [split_of(query) for gold in suite.golds for query in gold.queries if not is_selected(query)]
    return SplitSelection(Suite(tuple(golds)), len(omitted), omitted.count(SEALED))


def refuse_sealed(suite: Suite, command: str) -> None:
    sources = [gold.source for gold in suite.golds for _ in sealed_queries(gold)]
    if sources:
        message = f"{command} would access {len(sources)} sealed {'query' if len(sources) == 1 else 'queries'}"
        raise GoldError(message, file=sources[0], hint=f"use a run without sealed queries: assay run --split {DEV}")


SplitUnit = Literal["repository", "module", "file", "query"]
SPLIT_UNITS: tuple[SplitUnit, ...] = get_args(SplitUnit)


@dataclass(frozen=True, slots=True)
class SplitShares:
    dev: float = 0.5  # for tuning
    test: float = 0.25
    sealed: float = 0.25

    def __post_init__(self) -> None:
        if min(self.values()) < 0 or abs(sum(self.values()) - 1) > 1e-6:
            message = f"expected shares from 0 that sum to 1, got {self.dev:g}, {self.test:g} and {self.sealed:g}"
            raise ConfigError(message, hint="use --dev .5 --test .25 --sealed .25")

    @classmethod
    def of(cls, **given: float | None) -> SplitShares:
        """Return the given shares; the other splits divide the rest in proportion to their default shares."""
        fixed = {name: share for name, share in given.items() if share is not None}
        others = {name: share for name, share in zip(SPLITS, cls().values(), strict=True) if name not in fixed}
        rest = max(0.0, 1 - sum(fixed.values()))
        return cls(**fixed, **{name: rest * share / sum(others.values()) for name, share in others.items()})

    def values(self) -> tuple[float, float, float]:
        return (self.dev, self.test, self.sealed)


@dataclass(frozen=True, slots=True)
class SplitOptions:
    by: SplitUnit = "module"
    shares: SplitShares = SplitShares()
    seed: int = 0
    depth: int | None = None  # number of leading directories that identify a module; None: all
    strata: tuple[str, ...] = ("category", "difficulty")  # tags whose values are balanced over the splits
    starts: int = 16  # random restarts; each ends in a local optimum
    reassign: bool = False  # whether to reassign queries that have a split


@dataclass(frozen=True, slots=True)
class SplitSuite:
    suite: Suite
    groups: int
    sizes: Mapping[str, int]  # queries by split
    already_split: int  # queries that keep an earlier split
    strata: Mapping[str, Mapping[str, int]]  # "tag=value" -> queries by split


_Key = tuple[str, str]  # name of a set, id of a query


def assign_splits(suite: Suite, options: SplitOptions) -> SplitSuite:
    """Assign a split to every query; the same suite and options give the same result."""
    queries = {(gold.name, query.id): query for gold in suite.golds for query in gold.queries}
    strata = {key: [f"{tag}={q.tags[tag]}" for tag in options.strata if tag in q.tags] for key, q in queries.items()}
    splits, groups = _split_queries(suite, queries, strata, options)
    sizes = Counter(splits.values())
    for name, share in zip(SPLITS, options.shares.values(), strict=True):
        if share > 0 and not sizes[name]:
            message = f"split '{name}' would be empty"
            raise GoldError(message, file=suite.golds[0].source, hint=more_groups_hint(options.by))
    golds = [
        replace(gold, queries=tuple(replace(q, tags={**q.tags, TAG: splits[gold.name, q.id]}) for q in gold.queries))
        for gold in suite.golds
    ]
    by_stratum = Counter((name, splits[key]) for key, names in strata.items() for name in names)
    return SplitSuite(
        Suite(tuple(golds)),
        groups,
        {name: sizes[name] for name in SPLITS},
        0 if options.reassign else sum(split_of(query) is not None for query in queries.values()),
        {name: {split: by_stratum[name, split] for split in SPLITS} for name, _ in sorted(by_stratum)},
    )


def _split_queries(
    suite: Suite, queries: Mapping[_Key, Query], strata: Mapping[_Key, Sequence[str]], options: SplitOptions
) -> tuple[dict[_Key, str], int]:
    groups = _group_queries(suite, options)
    sources = {gold.name: gold.source for gold in suite.golds}
    fixed = [None if options.reassign else _fixed_split(group, queries, sources, options) for group in groups]
    wanted = sum(share > 0 for share in options.shares.values())
    if len(groups) < wanted:
        count = f"{len(groups)} {'group' if len(groups) == 1 else 'groups'}"
        message = f"{count} of queries cannot form {wanted} splits"
        raise GoldError(message, file=suite.golds[0].source, hint=more_groups_hint(options.by))
    counts = [Counter(name for key in group for name in ("", *strata[key])) for group in groups]
    assigned = zip(groups, _assign_groups(counts, fixed, options), strict=True)
    return {key: SPLITS[split] for group, split in assigned for key in group}, len(groups)


def _group_queries(suite: Suite, options: SplitOptions) -> list[tuple[_Key, ...]]:
    parents: dict[object, object] = {}  # a union-find forest of queries and units

    def root(node: object) -> object:
        while parents.setdefault(node, node) != node:
            node = parents[node]
        return node

    def union(node: object, other: object) -> None:
        parents[root(node)] = root(other)

    for gold in suite.golds:
        spec, repository = gold.corpus, gold.corpus.repository
        if spec.kind in ("path", "git") and "://" not in spec.value and gold.source:
            repository = str((Path(gold.source).parent / spec.value / (spec.root or "")).resolve())
        for query in gold.queries:
            for unit in _units(query, options):
                union((repository, "unit", unit), (gold.name, query.id))
        for first_query, other in _share_target(gold):
            union((gold.name, first_query.id), (gold.name, other.id))
    groups: dict[object, list[_Key]] = {}
    for gold in suite.golds:
        for query in gold.queries:
            groups.setdefault(root((gold.name, query.id)), []).append((gold.name, query.id))
    return [tuple(group) for group in groups.values()]


def _units(query: Query, options: SplitOptions) -> set[str]:
    paths = [target.span.path for target in query.primaries]
    if options.by == "module":
        return {"/".join(PurePosixPath(path).parent.parts[: options.depth]) for path in paths}
    return {"repository": {""}, "file": {*paths}, "query": set[str]()}[options.by]


def _share_target(gold: GoldSet) -> Iterator[tuple[Query, Query]]:
    by_path: dict[str, list[tuple[Target, Query]]] = {}
    for query in gold.queries:
        for target in query.targets:
            by_path.setdefault(target.span.path, []).append((target, query))
    for entries in by_path.values():
        for (target, query), (other_target, other) in combinations(entries, 2):
            if _overlap(target, other_target):
                yield query, other


def _overlap(target: Target, other: Target) -> bool:
    if target.symbol and other.symbol:
        return f"{target.symbol}.".startswith(f"{other.symbol}.") or f"{other.symbol}.".startswith(f"{target.symbol}.")
    return bool(target.symbol or other.symbol) or target.span.common_lines(other.span) > 0


def _fixed_split(
    group: Sequence[_Key], queries: Mapping[_Key, Query], sources: Mapping[str, str | None], options: SplitOptions
) -> int | None:
    splits = {key: split for key in group if (split := split_of(queries[key]))}
    for (gold, query), split in splits.items():
        if split not in SPLITS:
            hint = f"use one of {', '.join(SPLITS)}"
            raise GoldError(f"query '{query}' has the unknown split '{split}'", file=sources[gold], hint=hint)
    if len({*splits.values()}) > 1:
        pairs = [(a, b) for a, b in combinations(splits, 2) if splits[a] != splits[b]]
        reasons = {(a, b): _describe_tie(queries[a], queries[b], options) for a, b in pairs}
        a, b = next((pair for pair in pairs if reasons[pair]), pairs[0])
        reason = reasons[a, b] or "other queries connect the two"
        finer = f"use --by {_FINER[options.by]} for smaller groups" if options.by in _FINER else _BY_HAND
        pair = f"queries '{a[1]}' ({splits[a]}) and '{b[1]}' ({splits[b]})"
        message = f"{pair} must be in the same split: {reason}"
        hint = f"{finer}, or reassign all queries, including sealed ones, with --force"
        raise GoldError(message, file=sources[a[0]], hint=hint)
    return SPLITS.index(next(iter(splits.values()))) if splits else None


_FINER: Mapping[SplitUnit, SplitUnit] = {"repository": "module", "module": "file", "file": "query"}
_BY_HAND = "set the same `split` tag on both queries"


def more_groups_hint(by: SplitUnit) -> str:
    finer = f"use --by {_FINER[by]} for more groups" if by in _FINER else "add queries"
    return f"{finer}, or make fewer splits, for example with --sealed 0"


def _describe_tie(query: Query, other: Query, options: SplitOptions) -> str:
    for target in query.targets:
        if any(target.span.path == rival.span.path and _overlap(target, rival) for rival in other.targets):
            return f"target {target.anchor} of '{query.id}' overlaps a target of '{other.id}'"
    common = sorted(_units(query, options) & _units(other, options))
    if not common:
        return ""
    if options.by == "repository":
        return "both are in the same repository"
    return f"both have a target in {'the directory ' if options.by == 'module' else ''}{common[0] or '.'}"


def _assign_groups(counts: Sequence[Counter[str]], fixed: Sequence[int | None], options: SplitOptions) -> list[int]:
    """Return the split of each group, minimizing the squared error of the counts per split and stratum.

    The best of several starts is used. Each assigns the largest groups first, ties in random order, then moves groups
    to other splits until no move reduces the error.
    """
    import numpy as np

    names = sorted({name for group in counts for name in group})
    table = np.array([[group[name] for name in names] for group in counts], dtype=np.float64)
    wanted = np.outer(options.shares.values(), table.sum(axis=0))
    rng = np.random.default_rng(options.seed)
    best_splits, lowest = list[int](), float("inf")
    for _ in range(options.starts):
        order = sorted(rng.permutation(len(table)).tolist(), key=lambda group: -table[group, 0])
        splits, filled = _descend(table, wanted, fixed, [group for group in order if fixed[group] is None])
        cost = round(float(((filled - wanted) ** 2).sum()), 9)
        if cost < lowest:
            best_splits, lowest = splits, cost
    return best_splits


def _descend(
    table: NDArray[Any], wanted: NDArray[Any], fixed: Sequence[int | None], free: Sequence[int]
) -> tuple[list[int], NDArray[Any]]:
    splits = [-1 if split is None else split for split in fixed]
    filled = wanted * 0
    for group, split in enumerate(splits):
        if split >= 0:
            filled[split] += table[group]
    moved = True
    while moved:  # the first pass assigns every group
        moved = False
        for group in free:
            current = splits[group]
            if current >= 0:
                filled[current] -= table[group]
            changes = ((filled + table[group] - wanted) ** 2 - (filled - wanted) ** 2).sum(axis=1)
            changes[wanted[:, 0] <= 0] = float("inf")
            best = int(changes.argmin())
            if current < 0 or changes[current] > changes[best] + 1e-9:
                splits[group], moved = best, True
            filled[splits[group]] += table[group]
    return splits, filled


_PROVENANCE_KEY = "split"
_METHOD = re.compile(rf"by ({'|'.join(SPLIT_UNITS)})(?: of (\d+) folders?)?, seed (\d+)")


@dataclass(frozen=True, slots=True)
class SplitMethod:
    by: SplitUnit
    depth: int | None = None

    def __str__(self) -> str:
        suffix = f" of {self.depth} {'folder' if self.depth == 1 else 'folders'}" if self.depth else ""
        return f"by {self.by}{suffix}"


def read_split_method(suite: Suite) -> SplitMethod | None:
    """Return how the gold sets were split, or None if that is unknown or differs between sets."""
    matches = [_METHOD.match(gold.provenance.get(_PROVENANCE_KEY, "")) for gold in suite.golds]
    methods = {SplitMethod(cast(SplitUnit, m[1]), int(m[2]) if m[2] else None) if m else None for m in matches}
    return methods.pop() if len(methods) == 1 else None


def store_split_method(gold: GoldSet, options: SplitOptions) -> GoldSet:
    method = SplitMethod(options.by, options.depth)
    return replace(gold, provenance={**gold.provenance, _PROVENANCE_KEY: f"{method}, seed {options.seed}"})
