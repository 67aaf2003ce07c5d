"""How far a review has come: items by state and kind, votes and what is left by reviewer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from assay.gold.review.items import ItemKind
from assay.gold.review.saying import has_voted
from assay.gold.review.standing import STATES, Standing, State


@dataclass(frozen=True, slots=True)
class ReviewerTally:
    """What one reviewer has done, and what is left to do."""

    name: str
    readers: str  # human, model
    votes: int
    open: int  # not voted on by the reviewer, and not settled


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of one review."""

    items: int
    states: Mapping[State, int]  # every state
    kinds: Mapping[ItemKind, Mapping[State, int]]  # the kinds there are, the states they are in
    reviewers: tuple[ReviewerTally, ...]


def tally(found: Sequence[Standing], closed: Collection[str]) -> Tally:
    """Count where items stand; `closed` are those that need no more votes."""
    states = Counter(standing.state for standing in found)
    kinds = sorted({standing.item.kind for standing in found})
    by_kind = {kind: Counter(s.state for s in found if s.item.kind == kind) for kind in kinds}
    names = sorted({vote.reviewer for standing in found for vote in standing.votes})
    return Tally(
        items=len(found),
        states={state: states[state] for state in STATES},
        kinds={kind: dict(sorted(counts.items())) for kind, counts in by_kind.items()},
        reviewers=tuple(_reviewer(found, closed, name) for name in names),
    )


def _reviewer(found: Sequence[Standing], closed: Collection[str], name: str) -> ReviewerTally:
    """Count for one reviewer."""
    votes = [vote for standing in found for vote in standing.votes if vote.reviewer == name]
    left = sum(standing.item.id not in closed and not has_voted(standing, name) for standing in found)
    return ReviewerTally(name, ", ".join(sorted({vote.reader for vote in votes})), len(votes), left)
