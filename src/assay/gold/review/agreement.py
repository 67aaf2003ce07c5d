"""Agreement between reviewers: percent agreement, Cohen's κ and Krippendorff's α, by kind of item."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Literal, get_args

from assay.errors import ConfigError
from assay.gold.review.items import KINDS, ItemKind, ReviewItem
from assay.gold.review.votes import UNSURE, Adjudication, Vote, vote_values

if TYPE_CHECKING:
    import numpy as np

#: The votes on one item, by reviewer.
Votes = Mapping[str, str]

Metric = Literal["nominal", "ordinal", "interval"]
METRICS: tuple[Metric, ...] = get_args(Metric)
Weights = Literal["none", "linear", "quadratic"]


@dataclass(frozen=True, slots=True)
class Ratings:
    """The distinct combinations of votes, and the number of items with each combination."""

    patterns: tuple[Votes, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, items: Iterable[Votes]) -> Ratings:
        """Count the combinations of votes over the items with at least two votes."""
        tally = sorted(Counter(tuple(sorted(votes.items())) for votes in items if len(votes) > 1).items())
        return cls(tuple(dict(pattern) for pattern, _ in tally), tuple(count for _, count in tally))

    @property
    def items(self) -> int:
        return sum(self.counts)

    def __iter__(self) -> Iterator[tuple[Votes, int]]:
        return iter(zip(self.patterns, self.counts, strict=True))

    def resample(self, rng: np.random.Generator) -> Ratings:
        counts = rng.multinomial(self.items, [count / self.items for count in self.counts])
        return Ratings(self.patterns, tuple(counts.tolist()))


@dataclass(frozen=True, slots=True)
class Resampling:
    draws: int = 2000  # each end of a 95% interval then rests on 50 draws
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Coefficient:
    """An agreement coefficient, None if undefined, and the ends of its bootstrap interval."""

    value: float | None
    items: int
    low: float | None = None
    high: float | None = None


def percent_agreement(ratings: Ratings) -> float | None:
    """Return the share of pairs of votes on the same item that are equal, or None if there is no pair."""
    pairs = same = 0
    for votes, times in ratings:
        pairs += times * len(votes) * (len(votes) - 1)
        same += times * sum(count * (count - 1) for count in Counter(votes.values()).values())
    return same / pairs if pairs else None


def cohen_kappa(
    ratings: Ratings, first: str, second: str, values: Sequence[str], weights: Weights = "none"
) -> float | None:
    """Return Cohen's κ of two reviewers over the items that both voted on, or None if κ is undefined.

    κ = 1 − Σ w·o / Σ w·e with o the observed shares, e the products of the marginal shares, and w the disagreement of
    two values: 0 or 1 (Cohen 1960), or their distance or its square in the order of `values` (Cohen 1968).
    """
    table = confusion_matrix(ratings, first, second, values)
    places = range(len(values))
    rows = [sum(row) for row in table]
    columns = [sum(row[b] for row in table) for b in places]
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]

    def weigh(value: int, other: int) -> int:
        return int(abs(value - other) ** power) if value != other else 0

    observed = sum(table[a][b] * weigh(a, b) for a in places for b in places) * sum(rows)
    expected = sum(rows[a] * columns[b] * weigh(a, b) for a in places for b in places)
    return 1 - observed / expected if expected else None


def krippendorff_alpha(ratings: Ratings, values: Sequence[str], metric: Metric = "nominal") -> float | None:
    """Return Krippendorff's α = 1 − D_o / D_e, or None if D_e is 0.

    With o_ck the coincidences of the values c and k within items, n_c = Σ_k o_ck, N = Σ_c n_c and δ²_ck the squared
    distance: α = 1 − (N − 1) · Σ o_ck·δ²_ck / Σ n_c·n_k·δ²_ck (Krippendorff 2011, "Computing Krippendorff's
    alpha-reliability"). `values` are in order; for `interval` they must be numbers.
    """
    places = range(len(values))
    met = [[0.0] * len(values) for _ in values]
    for votes, times in ratings:
        _check_values(votes.values(), values)
        counts = Counter(votes.values())
        for a, value in enumerate(values):
            for b, other in enumerate(values):
                met[a][b] += times * counts[value] * (counts[other] - (a == b)) / (len(votes) - 1)
    margins = [math.fsum(row) for row in met]
    distance = _distances(values, margins, metric)
    observed = math.fsum(met[a][b] * distance[a][b] for a in places for b in places)
    expected = math.fsum(margins[a] * margins[b] * distance[a][b] for a in places for b in places)
    return 1 - (math.fsum(margins) - 1) * observed / expected if expected > 0 else None


def _distances(values: Sequence[str], margins: Sequence[float], metric: Metric) -> list[list[float]]:
    """Return the squared distance of each pair of values; ordinal distances count the votes between the values."""
    places = range(len(values))
    if metric == "nominal":
        return [[float(a != b) for b in places] for a in places]
    if metric == "interval":
        try:
            numbers = [float(value) for value in values]
        except ValueError as error:
            message = f"expected numbers as votes, got {', '.join(values)}"
            raise ConfigError(message, hint="use the nominal or the ordinal metric") from error
        return [[(number - other) ** 2 for other in numbers] for number in numbers]

    def between(low: int, high: int) -> float:
        return (math.fsum(margins[low : high + 1]) - (margins[low] + margins[high]) / 2) ** 2

    return [[0.0 if a == b else between(min(a, b), max(a, b)) for b in places] for a in places]


def bootstrap_interval(
    statistic: Callable[[Ratings], float | None], ratings: Ratings, resampling: Resampling | None = None
) -> Coefficient:
    """Return a statistic with its percentile bootstrap interval over items, ignoring draws where it is undefined."""
    import numpy as np

    config = resampling or Resampling()
    value, rng = statistic(ratings), np.random.default_rng(config.seed)
    drawn = (statistic(ratings.resample(rng)) for _ in range(config.draws) if value is not None)
    known = sorted(estimate for estimate in drawn if estimate is not None)
    if not known:
        return Coefficient(value, ratings.items)
    tail = (1 - config.level) / 2
    ranks = (min(len(known) - 1, max(0, math.ceil(share * len(known)) - 1)) for share in (tail, 1 - tail))
    low, high = (known[rank] for rank in ranks)
    return Coefficient(value, ratings.items, low, high)


def confusion_matrix(ratings: Ratings, first: str, second: str, values: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Count the items by the votes of two reviewers: rows are values of the first, columns of the second."""
    pairs: Counter[tuple[str, str]] = Counter()
    for votes, times in ratings:
        if first in votes and second in votes:
            pairs[votes[first], votes[second]] += times
    _check_values({value for pair in pairs for value in pair}, values)
    return tuple(tuple(pairs[value, other] for other in values) for value in values)


def _check_values(used: Collection[str], values: Sequence[str]) -> None:
    unknown = sorted(set(used) - set(values))
    if unknown:
        raise ConfigError(f"expected one of {', '.join(values)} as vote, got '{unknown[0]}'")


@dataclass(frozen=True, slots=True)
class PairAgreement:
    first: str
    second: str
    items: int
    table: tuple[tuple[int, ...], ...]  # rows: values of the first reviewer
    kappa: Coefficient
    weighted: Coefficient | None = None  # quadratic weights, for grades


@dataclass(frozen=True, slots=True)
class KindAgreement:
    kind: ItemKind
    values: tuple[str, ...]
    reviewers: tuple[str, ...]
    items: int  # with at least two votes
    votes: int
    unsure: int
    changed: int  # pairs of item and reviewer with a vote cast after seeing other votes; such votes do not count
    percent: float | None
    alpha: Mapping[str, Coefficient]  # by metric
    pairs: tuple[PairAgreement, ...]


def compute_agreement(
    items: Sequence[ReviewItem],
    votes: Iterable[Vote],
    decisions: Iterable[Adjudication],
    resampling: Resampling | None = None,
    taken: Mapping[str, str] | None = None,
) -> tuple[KindAgreement, ...]:
    """Return the agreement for each kind of item; `taken` maps item ids to the times when they were applied.

    Only blinded votes count: no votes cast after the item was decided or applied to the set, or after the reviewer
    had seen other votes on the item.
    """
    first = dict(taken or {})
    for decision in decisions:
        first[decision.item] = min(first.get(decision.item, decision.on), decision.on)
    blind: dict[str, dict[str, Vote]] = {}
    unblinded: dict[str, set[str]] = {}
    for vote in votes:
        if vote.item in first and vote.on > first[vote.item]:
            continue
        if vote.after:
            unblinded.setdefault(vote.item, set()).add(vote.reviewer)
        else:
            blind.setdefault(vote.item, {})[vote.reviewer] = vote
    results: list[KindAgreement] = []
    for kind in KINDS:
        ids = [item.id for item in items if item.kind == kind]
        if votes_of_kind := [blind[item] for item in ids if item in blind]:
            changed = sum(len(unblinded.get(item, ())) for item in ids)
            results.append(_kind_agreement(kind, votes_of_kind, changed, resampling))
    return tuple(results)


def _kind_agreement(
    kind: ItemKind, items: Sequence[Mapping[str, Vote]], changed: int, resampling: Resampling | None
) -> KindAgreement:
    values = tuple(sorted(value for value in vote_values(kind) if value != UNSURE))
    sure = [{name: vote.value for name, vote in votes.items() if vote.value != UNSURE} for votes in items]
    ratings = Ratings.of(sure)
    names = sorted({name for votes in items for name in votes})
    alpha: dict[str, Coefficient] = {}
    for metric in METRICS if kind == "target" else METRICS[:1]:
        statistic = partial(krippendorff_alpha, values=values, metric=metric)
        alpha[metric] = bootstrap_interval(statistic, ratings, resampling)
    return KindAgreement(
        kind=kind,
        values=values,
        reviewers=tuple(names),
        items=ratings.items,
        votes=sum(map(len, sure)),
        unsure=sum(map(len, items)) - sum(map(len, sure)),
        changed=changed,
        percent=percent_agreement(ratings),
        alpha=alpha,
        pairs=tuple(_pair(ratings, a, b, kind, values, resampling) for a, b in combinations(names, 2)),
    )


def _pair(
    ratings: Ratings, first: str, second: str, kind: ItemKind, values: tuple[str, ...], resampling: Resampling | None
) -> PairAgreement:
    table = confusion_matrix(ratings, first, second, values)
    both = Ratings.of(
        {first: votes[first], second: votes[second]}
        for votes, times in ratings
        if first in votes and second in votes
        for _ in range(times)
    )

    def kappa(weights: Weights) -> Coefficient:
        return bootstrap_interval(lambda some: cohen_kappa(some, first, second, values, weights), both, resampling)

    weighted = kappa("quadratic") if kind == "target" else None
    return PairAgreement(first, second, both.items, table, kappa("none"), weighted)
