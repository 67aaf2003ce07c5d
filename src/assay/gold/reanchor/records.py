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
class OldRange:
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
class MoveSuggestion:
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
    candidates: tuple[MoveSuggestion, ...] = ()


@dataclass(frozen=True, slots=True)
class Reanchoring:
    """How much evidence a move needs. Likeness runs from 0 to 1; see `likeness`."""

    #: Percent of a file that survives in a renamed or copied one. git's own 50 misses files that were split up;
    #: what is too low costs nothing, since the lines themselves are looked at afterwards.
    rename_percent: int = 30
    #: Files that may be compared as renames; git gives up silently beyond its default of 1,000.
    rename_limit: int = 5_000
    #: Likeness from which a place found by its name, or by lines that stayed where they were, is told as sure.
    #: Unrelated functions of one program reach 0.2 to 0.35.
    sure: float = 0.5
    #: Share of the old lines and words that such a place must have kept; below it, only the name is left.
    named: float = 0.2
    #: Likeness that a definition of the same name in another scope or file needs: `new` and `run` are everywhere.
    moved: float = 0.35
    #: What a renamed definition is given beside its likeness: up to `title` for words its name shares with the old one,
    #: and `neighbour` for each of the two parts beside it that is the same.
    title: float = 0.3
    neighbour: float = 0.15
    #: Likeness that a renamed definition needs at least, and with what it is given beside ...
    renamed: float = 0.4
    renamed_sum: float = 0.55
    #: ... and the same of a section of a document, whose title says what it is about and whose text is rewritten
    #: more freely; without a word in common in the title it needs `retitled`.
    section: float = 0.05
    section_sum: float = 0.45
    retitled: float = 0.25
    #: Likeness from which what has lost its name is told as sure.
    renamed_sure: float = 0.6
    #: Likeness that a place where only some lines turned up needs, to be taken with low confidence and as sure.
    scattered: float = 0.5
    scattered_sure: float = 0.75
    #: How much likeness a name is worth when two places are compared: bodies move out of functions that stay as
    #: one-line wrappers, and then the name is not enough.
    better: float = 0.25
    #: A section is put on the lines that stayed, and not on all of the new one, if that is so much more alike ...
    closer: float = 0.15
    #: ... and holds at least this share of what all of it kept: a heading went, and the next section's text came to it.
    held: float = 0.9
    #: Share of the old text that a new definition beside it must add to be taken in: bodies are split up.
    split_off: float = 0.05
    #: Characters (without blanks) that a text needs to be looked for in other places: less is found everywhere.
    distinctive: int = 60
    #: Lines in a row of comments, blanks and closing brackets that may lie between a range's edge and a definition's.
    slack: int = 3
    #: Share of its old length below which a range is no longer told as sure: two of three lines went somewhere.
    shrunk: float = 0.34
    #: A new range longer than this many times the old, plus `grown_lines`, has taken something else in.
    grown: float = 3.0
    grown_lines: int = 30
    #: Likeness of two single lines that makes one the edited other, by difflib's ratio; a line renamed in one word
    #: of four has about that.
    like_line: float = 0.7
    #: Places a line may stand in to say something about where a range went; `return None` stands everywhere.
    common: int = 8
    #: Candidates that are listed for what was lost.
    listed: int = 3
    #: Likeness below which a candidate is not worth a reader's look.
    candidate: float = 0.2
    #: Definitions of changed files that are compared by their words; ten times that takes a minute and a gigabyte.
    indexed: int = 50_000
    #: Pairs of lines that are compared one by one where no line stands only once; long tables take minutes otherwise.
    compared: int = 4_000_000
    #: Bytes of a file that is read as a place something may have moved to; longer ones are generated.
    file_bytes: int = 1_000_000


DEFAULT = Reanchoring()
