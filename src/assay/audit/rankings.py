"""What an engine answered, as the checks compare it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from assay.types import Hit, Status


@dataclass(frozen=True, slots=True)
class Place:
    """Where a result points, exactly as given; a path is written as the corpus writes it where that is certain."""

    path: str
    start: object
    end: object

    def __str__(self) -> str:
        return self.path if self.start is None else f"{self.path}:{self.start}-{self.end}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer: how it ended and what it held, in order."""

    status: Status
    hits: tuple[Hit, ...] = ()  # as the engine gave them
    places: tuple[Place, ...] = ()
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether the engine answered."""
        return self.status == Status.OK

    @property
    def scores(self) -> tuple[object, ...]:
        """The score of each result, where it has one."""
        return tuple(hit.score for hit in self.hits)

    @property
    def outcome(self) -> tuple[Status, tuple[Place, ...]]:
        """What must be the same when the same is asked; the words of an error may differ."""
        return self.status, self.places

    def show(self, most: int) -> str:
        """Write it on one line."""
        if not self.ok:
            return f"{self.status}: {self.error}"
        shown = ", ".join(map(str, self.places[:most])) or "no results"
        return shown + (f", … ({len(self.places)} results)" if len(self.places) > most else "")


def differ(one: Reading, other: Reading) -> bool:
    """Tell whether two answers differ in how they ended, in places or in scores."""
    return one.outcome != other.outcome or score_gap(one, other) > 0


def first_difference(one: Sequence[object], other: Sequence[object]) -> int:
    """Give the first rank, from 1, at which two rankings differ; 0 when they do not."""
    for rank, (a, b) in enumerate(zip_longest(one, other), start=1):
        if a != b:
            return rank
    return 0


def is_prefix(short: Sequence[object], long: Sequence[object]) -> bool:
    """Tell whether one ranking begins the other."""
    return len(short) <= len(long) and all(a == b for a, b in zip(short, long, strict=False))


def score_gap(one: Reading, other: Reading) -> float:
    """Give the largest difference between the scores of two answers with the same places; 0 without numbers."""
    pairs = zip(one.scores, other.scores, strict=False)
    gaps = [abs(a - b) for a, b in pairs if isinstance(a, int | float) and isinstance(b, int | float) and a != b]
    return max((gap for gap in gaps if gap == gap), default=0.0)  # NaN is for the check of scores
