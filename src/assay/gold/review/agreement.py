"""How far the reviewers of one queue agree, kind by kind of item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from assay.gold.review.coefficients import (
    METRICS,
    Coefficient,
    Ratings,
    Resampling,
    Weights,
    cohen_kappa,
    confusion,
    krippendorff_alpha,
    percent_agreement,
    with_interval,
)
from assay.gold.review.decisions import Decision
from assay.gold.review.items import KINDS, Item, ItemKind
from assay.gold.review.votes import UNSURE, Vote, values_for


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
    decisions: Iterable[Decision],
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
    """Compute the agreement on the items of one kind."""
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
    """Compute the agreement of two reviewers."""
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
