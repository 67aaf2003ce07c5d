"""The numbers behind synthetic gold, and why they are what they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KINDS: Final = ("symbol", "doc", "keyword", "commit")


@dataclass(frozen=True, slots=True)
class Draw:
    """How many queries are drawn, and which."""

    count: int = 40  # of each kind; thirty are the least that says anything, and some are lost to duplicates
    max_per_file: int = 4  # one large file would otherwise be the set
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Targets:
    """Which definitions can be an answer."""

    longest: int = 100  # lines; what is longer is met by every second result, and says little about where
    shortest_documented: int = 3  # lines; a sentence on a one-line declaration mostly speaks of the group around it
    shortest_name: int = 3  # characters; `i` and `fn` are no queries
    largest_file: int = 1_000_000  # bytes; a source file beyond is generated


@dataclass(frozen=True, slots=True)
class Sentences:
    """Which sentences can be a query."""

    fewest: int = 4  # content words; fewer are a label, not a description
    most: int = 40  # words; more are a paragraph without a full stop
    keywords: int = 3  # words of a keyword query: what people type into a search box


@dataclass(frozen=True, slots=True)
class Commits:
    """Which commits can be a query."""

    files: int = 3  # most, tests and examples apart; a wider change is about no place in particular
    definitions: int = 4  # most; the same
    tried: int = 5  # times as many as are wanted; most commits touch something that has gone or grown since
    looked_at: int = 3_000  # of the newest; older code has mostly moved, and git's answer stays small


DRAW = Draw()
TARGETS = Targets()
SENTENCES = Sentences()
COMMITS = Commits()
