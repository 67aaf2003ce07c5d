"""How pairs are mined, with the reason beside each number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

#: What a number may be: the least and the most.
_COUNT: Final = {"least": 1}
_SHARE: Final = {"least": 0.0, "most": 0.9}


@dataclass(frozen=True, slots=True)
class Caps:
    """The most pairs of each kind that one repository gives, so that no project's words become the model's."""

    doc: int = field(
        default=6_000,  # the best kind: the widest cap
        metadata={"about": "doc comment -> definition", **_COUNT},
    )
    name: int = field(
        default=3_000,  # half of what the study took was no worse (notes/static-embeddings.md, A3)
        metadata={"about": "words of a name -> its body", **_COUNT},
    )
    commit: int = field(
        default=3_000,  # the same
        metadata={"about": "commit subject -> changed code", **_COUNT},
    )
    path: int = field(
        default=1_500,  # few projects have more files
        metadata={"about": "words of a path -> file", **_COUNT},
    )
    heading: int = field(
        default=700,  # it is prose, and some projects are books
        metadata={"about": "heading -> section", **_COUNT},
    )


@dataclass(frozen=True, slots=True)
class FileRules:
    """Which files of a repository are read."""

    bytes: int = field(
        default=200_000,  # code that people write is smaller; a larger file is a table or a bundle
        metadata={"about": "largest file that is read", **_COUNT},
    )
    code: int = field(
        default=2_500,  # gives every cap several times over, and bounds what one monorepo costs
        metadata={"about": "most code files of a repository", **_COUNT},
    )
    docs: int = field(
        default=300,  # the cap on headings is reached with some dozens
        metadata={"about": "most files of documentation of a repository", **_COUNT},
    )
    tests: float = field(
        default=0.25,  # they are half of some projects, and say what is checked rather than what is done
        metadata={"about": "largest share of tests among the code files", **_SHARE},
    )
    line: int = field(
        default=140,  # bytes; 99 % of hand-written files stay below, minified ones are far above
        metadata={"about": "mean length of lines above which a file counts as minified", **_COUNT},
    )
    digits: float = field(
        default=0.3,  # tables of numbers; code has a twentieth
        metadata={"about": "share of digits above which a file counts as data", **_SHARE},
    )


@dataclass(frozen=True, slots=True)
class PairRules:
    """What a pair must be like."""

    fewest: int = field(
        default=3,  # two words fit a dozen places
        metadata={"about": "telling words that a sentence or subject must have", **_COUNT},
    )
    sentences: int = field(
        default=2,  # the second says how, where the first says what; the third is about something else
        metadata={"about": "sentences of a comment that are taken", **_COUNT},
    )
    most: int = field(
        default=40,  # more words are a paragraph without a full stop
        metadata={"about": "words that a sentence may have", **_COUNT},
    )
    short: int = field(
        default=5,  # with fewer telling words in the first sentence, the next one is read too
        metadata={"about": "telling words below which the next sentence is added", **_COUNT},
    )
    body: int = field(
        default=3,  # lines; a shorter body holds hardly a word besides the name
        metadata={"about": "lines that a named body must have", **_COUNT},
    )
    lines: int = field(
        default=120,  # what a search unit is cut to, and half as much again
        metadata={"about": "lines of a definition, section or change that are read", **_COUNT},
    )
    file_lines: int = field(
        default=200,  # enough to tell what a file is about
        metadata={"about": "lines of a file that its path is paired with", **_COUNT},
    )
    code_terms: int = field(
        default=8,  # different terms; with fewer there is nothing to match
        metadata={"about": "different terms that the code side must have", **_COUNT},
    )
    same: int = field(
        default=4,  # `to string`, `get name`: the fifth body teaches nothing new
        metadata={"about": "pairs of a repository that may ask with the same words", **_COUNT},
    )


@dataclass(frozen=True, slots=True)
class CommitRules:
    """Which commits are read."""

    read: int = field(
        default=2_000,  # most change one or two files, so this about fills the cap; a patch takes git 1 to 3 ms
        metadata={
            "about": "most commits of a repository that are read, drawn over its whole history",
            **_COUNT,
        },
    )
    files: int = field(
        default=3,  # a wider change is about no place in particular
        metadata={"about": "most code files that a commit may change, tests apart", **_COUNT},
    )
    paths: int = field(
        default=12,  # with tests, documentation and a change log; more is a sweep
        metadata={"about": "most files of any kind that a commit may change", **_COUNT},
    )
    bytes: int = field(
        default=60_000,  # of one commit's diff: a page of code has 3 kB
        metadata={"about": "bytes of a commit's changes that are read", **_COUNT},
    )


@dataclass(frozen=True, slots=True)
class WindowRules:
    """What counts as code shared with an excluded repository."""

    lines: int = field(
        default=4,  # fewer are idiom: closing brackets, imports
        metadata={"about": "consecutive lines, blank ones aside, that make a window", **_COUNT},
    )
    characters: int = field(
        default=100,  # without blanks; 120 with them. Shorter windows are idiom again
        metadata={"about": "characters that a window must have, blanks aside", **_COUNT},
    )
    bytes: int = field(
        default=1_000_000,  # what the corpus reader takes: no larger file is searched
        metadata={"about": "largest file of an excluded repository that is looked at", **_COUNT},
    )
    share: float = field(
        default=0.1,  # who copied a tenth word for word has mostly copied, and changed a little, some of the rest
        metadata={"about": "share of known windows from which on a whole file counts as copied", **_SHARE},
    )
    fewest: int = field(
        default=3,  # six lines in a row; of a short file one or two are a tenth by chance
        metadata={"about": "known windows that a file must have to count as copied", **_COUNT},
    )


@dataclass(frozen=True, slots=True)
class MiningConfig:
    """One value that, with a repository and the exclusions, decides its pairs."""

    seed: int = field(default=0, metadata={"about": "decides which pairs are drawn where a cap is reached"})
    caps: Caps = field(default_factory=Caps, metadata={"about": "most pairs of each kind a repository"})
    files: FileRules = field(default_factory=FileRules, metadata={"about": "which files are read"})
    pairs: PairRules = field(default_factory=PairRules, metadata={"about": "what a pair must be like"})
    commits: CommitRules = field(default_factory=CommitRules, metadata={"about": "which commits are read"})
    windows: WindowRules = field(default_factory=WindowRules, metadata={"about": "what counts as copied code"})
