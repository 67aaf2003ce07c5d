"""Results and settings of re-anchoring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from assay.types import Span, Target

Confidence = Literal["unchanged", "exact", "sure", "low", "lost"]

#: From best to worst. Unchanged: same lines, same text. Exact: same text elsewhere. Sure: found by name, or by lines of
#: which most are left. Low: some evidence, needs review. Lost: not enough evidence.
CONFIDENCES: Final[Sequence[Confidence]] = ("unchanged", "exact", "sure", "low", "lost")


@dataclass(frozen=True, slots=True)
class OldRange:
    """A range of lines of the old commit."""

    path: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """The range as a span."""
        return Span(self.path, self.start, self.end)

    @property
    def length(self) -> int:
        """Number of lines."""
        return self.end - self.start + 1


@dataclass(frozen=True, slots=True)
class MoveSuggestion:
    """A place that a target may have moved to."""

    span: Span
    likeness: float
    reason: str


@dataclass(frozen=True, slots=True)
class Move:
    """The move of a target; a lost one has no new target, but candidates if there are any, best first."""

    old: Target
    new: Target | None
    confidence: Confidence
    likeness: float
    reason: str
    candidates: tuple[MoveSuggestion, ...] = ()


@dataclass(frozen=True, slots=True)
class Reanchoring:
    """Thresholds of evidence. Likeness is `sheets.similarity`, from 0 to 1."""

    #: Percent of a file that is left in a renamed or copied one. git's default of 50 misses files that were split;
    #: a low value is harmless, since the lines are compared afterwards.
    rename_percent: int = 30
    #: Files that may be compared as renames; git gives up silently beyond its default of 1,000.
    rename_limit: int = 5_000
    #: Likeness from which a place found by name, or by lines that stayed, is sure.
    #: Unrelated functions of one program reach 0.2 to 0.35.
    sure: float = 0.5
    #: Share of the old lines and words that such a place must contain; below it, only the name is left.
    named: float = 0.2
    #: Likeness that a definition of the same name in another scope or file needs: `new` and `run` are everywhere.
    moved: float = 0.35
    #: Bonus of a renamed definition: up to `title` for words that the names share, and `neighbor` for each adjacent
    #: definition with the same name.
    title: float = 0.3
    neighbor: float = 0.15
    #: Likeness that a renamed definition needs, without and with the bonus ...
    renamed: float = 0.4
    renamed_sum: float = 0.55
    #: ... and the same for a section of a document, whose text is rewritten more freely; without a common word in
    #: the title it needs `retitled`.
    section: float = 0.05
    section_sum: float = 0.45
    retitled: float = 0.25
    #: Likeness from which a renamed definition is sure.
    renamed_sure: float = 0.6
    #: Likeness that a place with only some of the lines needs for low confidence and for sure.
    scattered: float = 0.5
    scattered_sure: float = 0.75
    #: Bonus for names and lines that stayed when places are compared. It is limited because bodies move out of
    #: functions that stay as one-line wrappers.
    better: float = 0.25
    #: A section is placed on the lines that stayed, not on all of the new section, if that adds this much likeness ...
    closer: float = 0.15
    #: ... and contains at least this share: a heading was removed, so the section absorbed the next one's text.
    held: float = 0.9
    #: Share of the old text that an adjacent new definition must add to be included: bodies are split up.
    split_off: float = 0.05
    #: Characters that a text needs to be searched for: shorter texts are found everywhere.
    distinctive: int = 60
    #: Comments, blanks and closing brackets allowed between the edges of a range and a definition, in lines.
    slack: int = 3
    #: Share of its old length below which a range is no longer sure: two of three lines are elsewhere.
    shrunk: float = 0.34
    #: A new range longer than this many times the old, plus `grown_lines`, includes something else.
    grown: float = 3.0
    grown_lines: int = 30
    #: difflib ratio from which a line is an edited other line; one with a word of four renamed has about that.
    like_line: float = 0.7
    #: Most places of a line that counts as evidence; `return None` is everywhere.
    common: int = 8
    #: Candidates listed for a lost target.
    listed: int = 3
    #: Likeness from which a candidate is listed.
    candidate: float = 0.2
    #: Definitions of changed files that are compared by words; ten times that takes a minute and a gigabyte.
    indexed: int = 50_000
    #: Pairs of lines compared where no line is unique; long tables take minutes otherwise.
    compared: int = 4_000_000
    #: Largest file that is read, in bytes; longer ones are generated.
    file_bytes: int = 1_000_000


DEFAULT = Reanchoring()
