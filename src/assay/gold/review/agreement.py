"""How far the reviewers of one queue agree, kind by kind of item."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal, get_args

from assay.errors import ConfigError
from assay.gold.review.items import KINDS, Item, ItemKind
from assay.gold.review.votes import UNSURE, Adjudication, Vote, values_for

if TYPE_CHECKING:
    import numpy as np


#: What was said of one item, by reviewer; who did not vote is not in it.
Votes = Mapping[str, str]

Metric = Literal["nominal", "ordinal", "interval"]
METRICS: tuple[Metric, ...] = get_args(Metric)
Weights = Literal["none", "linear", "quadratic"]


@dataclass(frozen=True, slots=True)
class Ratings:
    """Items that were voted on alike, and how many there are of each: there are few ways to vote, and many items."""

    patterns: tuple[Votes, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, items: Iterable[Votes]) -> Ratings:
        """Count the ways to vote; an item with a single vote says nothing about agreement."""
        tally = Counter(tuple(sorted(votes.items())) for votes in items if len(votes) > 1)
        ways = sorted(tally)
        return cls(tuple(dict(way) for way in ways), tuple(tally[way] for way in ways))

    @property
    def items(self) -> int:
        """How many items at least two reviewers voted on."""
        return sum(self.counts)

    def __iter__(self) -> Iterator[tuple[Votes, int]]:
        return iter(zip(self.patterns, self.counts, strict=True))

    def drawn(self, rng: np.random.Generator) -> Ratings:
        """Draw as many items anew, with replacement."""
        counts = rng.multinomial(self.items, [count / self.items for count in self.counts])
        return Ratings(self.patterns, tuple(counts.tolist()))


@dataclass(frozen=True, slots=True)
class Resampling:
    """How the interval of a coefficient is found: items are drawn anew, since they are what the set has few of."""

    draws: int = 2000  # the ends of a 95 % interval then stand on 50 draws each
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Coefficient:
    """Agreement beyond chance; none where everybody always said the same, since chance would have done as well."""

    value: float | None
    items: int
    low: float | None = None
    high: float | None = None


def percent_agreement(ratings: Ratings) -> float | None:
    """Give the share of pairs of votes on one item that say the same; none without a pair."""
    pairs = same = 0
    for votes, times in ratings:
        pairs += times * len(votes) * (len(votes) - 1)
        same += times * sum(count * (count - 1) for count in Counter(votes.values()).values())
    return same / pairs if pairs else None


def cohen_kappa(
    ratings: Ratings, first: str, second: str, values: Sequence[str], weights: Weights = "none"
) -> float | None:
    """Give Cohen's κ of two reviewers over the items both voted on.

    κ = 1 − Σ w·o / Σ w·e with o the observed shares, e the product of the margins, and w the disagreement of two
    values: 0 or 1 (Cohen 1960), or their distance or its square in the order of `values` (Cohen 1968).
    """
    table = confusion(ratings, first, second, values)
    places = range(len(values))
    rows = [sum(row) for row in table]
    columns = [sum(row[b] for row in table) for b in places]
    weigh = _WEIGHTS[weights]
    observed = sum(table[a][b] * weigh(a, b) for a in places for b in places) * sum(rows)
    expected = sum(rows[a] * columns[b] * weigh(a, b) for a in places for b in places)
    return 1 - observed / expected if expected else None


_WEIGHTS: Mapping[Weights, Callable[[int, int], int]] = {
    "none": lambda one, other: int(one != other),
    "linear": lambda one, other: abs(one - other),
    "quadratic": lambda one, other: (one - other) ** 2,
}


def krippendorff_alpha(ratings: Ratings, values: Sequence[str], metric: Metric = "nominal") -> float | None:
    """Give Krippendorff's α = 1 − D_o / D_e over all items that at least two voted on.

    With o the coincidences of values inside items, n their margins and δ² the metric:
    α = 1 − (n − 1) · Σ o·δ² / Σ n_c·n_k·δ² (Krippendorff 2011, "Computing Krippendorff's alpha-reliability").
    The values are taken in their order; for `interval` they must be numbers.
    """
    places = range(len(values))
    met = _coincidences(ratings, values)
    margins = [math.fsum(row) for row in met]
    distance = _distances(values, margins, metric)
    observed = math.fsum(met[a][b] * distance[a][b] for a in places for b in places)
    expected = math.fsum(margins[a] * margins[b] * distance[a][b] for a in places for b in places)
    return 1 - (math.fsum(margins) - 1) * observed / expected if expected > 0 else None


def _coincidences(ratings: Ratings, values: Sequence[str]) -> list[list[float]]:
    met = [[0.0] * len(values) for _ in values]
    for votes, times in ratings:
        _check_values(votes.values(), values)
        counts = Counter(votes.values())
        for a, one in enumerate(values):
            for b, other in enumerate(values):
                met[a][b] += times * counts[one] * (counts[other] - (a == b)) / (len(votes) - 1)
    return met


def _distances(values: Sequence[str], margins: Sequence[float], metric: Metric) -> list[list[float]]:
    """Give δ² of every two values; the ordinal one counts the votes that lie between them."""
    places = range(len(values))
    if metric == "nominal":
        return [[float(a != b) for b in places] for a in places]
    if metric == "interval":
        numbers = [_number(value) for value in values]
        return [[(one - other) ** 2 for other in numbers] for one in numbers]
    return [[0.0 if a == b else _between(margins, min(a, b), max(a, b)) for b in places] for a in places]


def _between(margins: Sequence[float], low: int, high: int) -> float:
    return (math.fsum(margins[low : high + 1]) - (margins[low] + margins[high]) / 2) ** 2


def with_interval(
    statistic: Callable[[Ratings], float | None], ratings: Ratings, resampling: Resampling | None = None
) -> Coefficient:
    """Give a coefficient with its percentile bootstrap interval over items; draws that say nothing are left out."""
    import numpy as np

    config = resampling or Resampling()
    value = statistic(ratings)
    if value is None:
        return Coefficient(None, ratings.items)
    rng = np.random.default_rng(config.seed)
    drawn = [statistic(ratings.drawn(rng)) for _ in range(config.draws)]
    known = sorted(one for one in drawn if one is not None)
    tail = (1 - config.level) / 2
    low, high = (known[_rank(share, len(known))] if known else None for share in (tail, 1 - tail))
    return Coefficient(value, ratings.items, low, high)


def _rank(share: float, count: int) -> int:
    return min(count - 1, max(0, math.ceil(share * count) - 1))


def confusion(ratings: Ratings, first: str, second: str, values: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Count what two reviewers said of the same items: a row for each value of the first, a column of the second."""
    pairs: Counter[tuple[str, str]] = Counter()
    for votes, times in ratings:
        if first in votes and second in votes:
            pairs[votes[first], votes[second]] += times
    _check_values({value for pair in pairs for value in pair}, values)
    return tuple(tuple(pairs[one, other] for other in values) for one in values)


def _check_values(found: Collection[str], values: Sequence[str]) -> None:
    strange = sorted(set(found) - set(values))
    if strange:
        raise ConfigError(f"'{strange[0]}' is none of the values {', '.join(values)}", hint="name every value")


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise ConfigError(f"'{value}' is no number", hint="use the nominal or the ordinal metric") from error


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two reviewers: what they said of the same items, and κ."""

    first: str
    second: str
    items: int
    table: tuple[tuple[int, ...], ...]  # rows: what the first said
    kappa: Coefficient
    weighted: Coefficient | None = None  # squared weights, for grades


@dataclass(frozen=True, slots=True)
class KindAgreement:
    """All reviewers on the items of one kind."""

    kind: ItemKind
    values: tuple[str, ...]
    reviewers: tuple[str, ...]
    items: int  # with at least two votes
    votes: int
    unsure: int
    changed: int  # votes that were cast anew after a look at those of others; the ones from before are taken
    percent: float | None
    alpha: dict[str, Coefficient]  # by metric
    pairs: tuple[PairAgreement, ...]


def agreement(
    items: Sequence[Item],
    votes: Iterable[Vote],
    decisions: Iterable[Adjudication],
    resampling: Resampling | None = None,
    taken: Mapping[str, str] | None = None,
) -> tuple[KindAgreement, ...]:
    """Compute the agreement for each kind; `taken` is when the set took an item up or turned it down.

    After a decision, or once the set shows what holds, nobody is blind: later votes are left out. So are those of a
    reviewer who had been shown what others said of the item.
    """
    first = dict(taken or {})
    for decision in decisions:
        first[decision.item] = min(first.get(decision.item, decision.on), decision.on)
    blind: dict[str, dict[str, Vote]] = {}
    looked: dict[str, set[str]] = {}
    for vote in votes:
        if vote.item in first and vote.on > first[vote.item]:
            continue
        if vote.after:
            looked.setdefault(vote.item, set()).add(vote.reviewer)
        else:
            blind.setdefault(vote.item, {})[vote.reviewer] = vote
    found = []
    for kind in KINDS:
        ids = [item.id for item in items if item.kind == kind]
        of_kind = [blind[item] for item in ids if item in blind]
        if of_kind:
            found.append(_kind(kind, of_kind, sum(len(looked.get(item, ())) for item in ids), resampling))
    return tuple(found)


def _kind(
    kind: ItemKind, items: Sequence[dict[str, Vote]], changed: int, resampling: Resampling | None
) -> KindAgreement:
    values = tuple(sorted(value for value in values_for(kind) if value != UNSURE))
    sure = [{who: vote.value for who, vote in votes.items() if vote.value != UNSURE} for votes in items]
    ratings = Ratings.of(sure)
    names = sorted({who for votes in items for who in votes})
    metrics = METRICS if kind == "target" else METRICS[:1]
    return KindAgreement(
        kind=kind,
        values=values,
        reviewers=tuple(names),
        items=ratings.items,
        votes=sum(len(votes) for votes in sure),
        unsure=sum(len(votes) for votes in items) - sum(len(votes) for votes in sure),
        changed=changed,
        percent=percent_agreement(ratings),
        alpha={
            metric: with_interval(lambda some, m=metric: krippendorff_alpha(some, values, m), ratings, resampling)  # type: ignore[misc]
            for metric in metrics
        },
        pairs=tuple(_pair(ratings, a, b, kind, values, resampling) for a, b in combinations(names, 2)),
    )


def _pair(
    ratings: Ratings, first: str, second: str, kind: ItemKind, values: tuple[str, ...], resampling: Resampling | None
) -> PairAgreement:
    table = confusion(ratings, first, second, values)
    both = Ratings.of(
        {first: votes[first], second: votes[second]}
        for votes, times in ratings
        if first in votes and second in votes
        for _ in range(times)
    )

    def kappa(weights: Weights) -> Coefficient:
        return with_interval(lambda some: cohen_kappa(some, first, second, values, weights), both, resampling)

    weighted = kappa("quadratic") if kind == "target" else None
    return PairAgreement(first, second, both.items, table, kappa("none"), weighted)
