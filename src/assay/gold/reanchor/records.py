"""What re-anchoring says about a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from assay.types import Span, Target

Confidence = Literal["unchanged", "exact", "sure", "low", "lost"]

#: From best to worst. Unchanged: same lines, same text. Exact: same text elsewhere. Sure: found by name, or by lines of
#: which most survive. Low: some evidence, look at it. Lost: nothing that can be called the same.
CONFIDENCES: Final[Sequence[Confidence]] = ("unchanged", "exact", "sure", "low", "lost")


@dataclass(frozen=True, slots=True)
class Range:
    """Lines of a file of the old commit."""

    path: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """The same as a span."""
        return Span(self.path, self.start, self.end)

    @property
    def length(self) -> int:
        """Count its lines."""
        return self.end - self.start + 1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place something may have moved to."""

    span: Span
    likeness: float
    reason: str


@dataclass(frozen=True, slots=True)
class Move:
    """Where a target went. What is lost has no new place, and candidates where there are any, best first."""

    old: Target
    new: Target | None
    confidence: Confidence
    likeness: float
    reason: str
    candidates: tuple[Candidate, ...] = ()
