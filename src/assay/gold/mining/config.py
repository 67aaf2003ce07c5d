"""Limits of mining, with reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Sources within a repository; shell histories and transcripts are named by the user, file by file.
SOURCES: Final = ("history", "docs", "comments", "names")
#: The default leaves out names, which leak their target.
DEFAULT_SOURCES: Final = ("history", "docs", "comments")


@dataclass(frozen=True, slots=True)
class QueryTextRules:
    """Which texts can be a query."""

    fewest: int = 3  # content words; fewer are a label
    most: int = 30  # words; a longer text is a paragraph
    longest: int = 240  # characters, the same for texts without blanks
    shortest_word: int = 3  # letters of a one-word keyword query
    slug: int = 5  # words of an id: enough to recognize a query
    digits: int = 6  # hash digits appended to an id that is taken: 16 million texts for the same five words


@dataclass(frozen=True, slots=True)
class CommitRules:
    """Which commits become proposals."""

    files: int = 3  # most, without tests and docs; a wider change has no particular location
    definitions: int = 4  # most that still exist; the same
    lost: float = 0.5  # most of the changed definitions that may be gone since; more, and the rest is a remnant
    looked_at: int = 3_000  # newest commits; older code has mostly moved
    merges: int = 1_000  # newest merges; each is several commits
    tried: int = 10  # times as many as are wanted: most touch something that has gone since
    main_share: float = 0.34  # of the heaviest target's weight (lines written × words shared): another primary
    shared: int = 2  # fewest stems of the text in the definitions; with fewer it is about something else ...
    share: float = 0.5  # ... and the least share of its stems
    rare: float = 0.05  # of the files: at least one word of the text is in no more, or it could mean anything ...
    few: int = 5  # ... or in no more than this many files
    leak: float = 0.75  # share of its words in the target's path or name from which on it only asks for the name
    unreviewed: int = 4  # fewest content words of an unreviewed subject; those of pull requests may have fewer
    longest: int = 120  # lines of a target; every second result meets a longer one


@dataclass(frozen=True, slots=True)
class DocRules:
    """Which sections and sentences of documents and comments become proposals."""

    named: int = 2  # most definitions that one sentence or heading may name; more is a list
    longest: int = 400  # lines of a target; documents often name a whole class
    largest: int = 2_000_000  # bytes of a document; more is data
    alike: float = 0.7  # share of common words from which on two comments say the same
    shortest: int = 3  # lines of a documented definition; a shorter one is mostly a constant of a group


@dataclass(frozen=True, slots=True)
class LogRules:
    """How shell histories and transcripts are read."""

    bytes: int = 64_000_000  # of a file; a million commands are 50 MB, a long session with its results 30 MB
    line: int = 4_000_000  # bytes of a transcript line; the result of a tool is on one line
    command: int = 4_000  # characters; longer ones are pasted scripts
    sniffed: int = 8_192  # bytes that distinguish text from binary
    first_lines: int = 200  # searched for zsh times; a plain history may have them only from some day on
    depth: int = 12  # of nested JSON; transcripts nest to 6
    after: int = 5  # commands after a search in which an opened file is its result
    steps: int = 12  # tool calls after a question, up to the next one
    opened: int = 3  # most files opened after a question; of more, none is the target
    matches: int = 3  # most definitions that a name may match
    inner: float = 0.7  # share of a class's matching words from which on a method of it is the target
    fitting: float = 0.6  # least share of the question's words in the definition that it means


@dataclass(frozen=True, slots=True)
class AdversaryRules:
    """Which adversaries are proposed."""

    each: int = 3  # most of one relationship per query; a set needs a few good ones, not a list
    total: int = 6  # most per query
    alike: float = 0.6  # least share of common words in two similar names
    strong_share: float = 0.2  # least share of the query's words in a strong adversary ...
    medium_share: float = 0.4  # ... a medium one ...
    weak_share: float = 0.6  # ... and a weak one: without common words it is not plausible
    siblings: int = 6  # most classes of one base; a base of more is a mixin, which does not relate them
    rank: int = 5  # best rank of a confusion
    engines: int = 2  # that rank it above the target, if the run has as many
    strong: int = 3  # engines that make a confusion a strong one
    callers: int = 8  # most callers; a name with more is used everywhere
    longest: int = 150  # lines; a longer definition holds a bit of everything


@dataclass(frozen=True, slots=True)
class PhrasingRules:
    """How phrasings are made."""

    keywords: int = 4  # words of a keyword query: what people type into a search box
    described: int = 14  # words of an ai_optimized query, about what models write
    answer: int = 300  # characters of an endpoint's phrasing
    shown: int = 3_000  # characters of the query and its target in the prompt


@dataclass(frozen=True, slots=True)
class ProposalRules:
    """How an endpoint proposes queries, directory by directory."""

    chars: int = 9_000  # of a digest, some 2,500 tokens, which small models still read whole
    each: int = 4  # queries per directory
    doc: int = 160  # characters of a doc line
    signature: int = 160  # the same
    fewest: int = 2  # definitions of a directory
    targets: int = 4  # most per query


TEXTS: Final = QueryTextRules()
COMMITS: Final = CommitRules()
DOCS: Final = DocRules()
LOGS: Final = LogRules()
ADVERSARIES: Final = AdversaryRules()
PHRASINGS: Final = PhrasingRules()
PROPOSING: Final = ProposalRules()
