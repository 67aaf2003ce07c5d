"""The numbers behind proposals, and why they are what they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: What a repository itself can be asked for; shell histories and transcripts are named by the user, file by file.
SOURCES: Final = ("history", "docs", "comments", "names")
#: What is mined when nothing is named: names give the answer away, so they are asked for on purpose.
DEFAULT_SOURCES: Final = ("history", "docs", "comments")


@dataclass(frozen=True, slots=True)
class QueryTextRules:
    """Which texts can be a query."""

    fewest: int = 3  # content words of a question; fewer are a label
    most: int = 30  # words; nobody asks longer, and what is longer is a paragraph
    longest: int = 240  # characters, the same for texts without blanks
    shortest_word: int = 3  # letters of a word that may stand alone as a keyword query
    slug: int = 5  # words of an id: enough to recognise a query by
    digits: int = 6  # of the text's hash, behind words that are taken: 16 million texts for the same five words


@dataclass(frozen=True, slots=True)
class Changes:
    """Which commits are proposals."""

    files: int = 3  # most, tests and docs apart; a wider change is about no place in particular
    definitions: int = 4  # most that still exist; the same
    lost: float = 0.5  # most of the changed definitions that may be gone since; more, and the rest is a remnant
    looked_at: int = 3_000  # of the newest commits; older code has mostly moved
    merges: int = 1_000  # of the newest merges; each is several commits
    tried: int = 10  # times as many as are wanted: most touch something that has gone since
    main_share: float = 0.34  # of the weight (lines written × words shared) of the heaviest: another primary
    shared: int = 2  # stems of the text that the definitions hold; with fewer it is about something else ...
    share: float = 0.5  # ... and the least part of its stems
    rare: float = 0.05  # of the files: at least one word of the text stands in no more, or it could mean anything ...
    few: int = 5  # ... where so many files are more than that share
    leak: float = 0.75  # of its words in the answer's path or name, from which on nothing but the name is asked
    unreviewed: int = 4  # content words of a subject that nobody reviewed; those of pull requests may have fewer
    longest: int = 120  # lines of a target; what is longer is met by every second result


@dataclass(frozen=True, slots=True)
class Docs:
    """Which sections and sentences of documents are proposals."""

    named: int = 2  # most definitions that one sentence or heading may name; more is a list
    longest: int = 400  # lines of what a document names; it often names a class as a whole
    largest: int = 2_000_000  # bytes of a document; more is data
    alike: float = 0.7  # least share of common words in two comments that say the same of two definitions
    leak: float = 0.75  # of its words in the answer's path or name, from which on nothing but the name is asked
    shortest: int = 3  # lines of a documented definition; a shorter one is mostly a constant of a group


@dataclass(frozen=True, slots=True)
class LogRules:
    """How shell histories and transcripts are read."""

    bytes: int = 64_000_000  # of a file; a million commands are 50 MB, a long session with its results 30 MB
    line: int = 4_000_000  # bytes of a line of a transcript; a tool's result is on one line
    command: int = 4_000  # characters; longer ones are scripts that were pasted
    sniffed: int = 8_192  # bytes that tell text from a binary
    first_lines: int = 200  # that tell whether zsh wrote its times; a plain history may have them from some day on
    depth: int = 12  # of nested JSON; transcripts nest to 6
    after: int = 5  # commands after a search in which the file that was opened is what was found
    steps: int = 12  # tool calls after a question, up to the next one
    opened: int = 3  # most files opened after a question; more, and none of them is the answer
    matches: int = 3  # most definitions a name may match
    inner: float = 0.7  # of the words that a class holds, which make one of its methods the one that is meant
    fitting: float = 0.6  # least share of the question's words in a definition that it is taken to mean


@dataclass(frozen=True, slots=True)
class AdversaryRules:
    """Which wrong answers are proposed."""

    each: int = 3  # most of one relationship for one query; a set needs a few good traps, not a list
    total: int = 6  # most for one query
    alike: float = 0.6  # least share of common words in two names that look alike
    strong_share: float = 0.2  # least part of the query's words that a strong neighbour holds ...
    medium_share: float = 0.4  # ... a medium one ...
    weak_share: float = 0.6  # ... and a weak one: what shares no words with the question is no trap
    siblings: int = 6  # most classes of one base; a base of more is a mixin, which says nothing of what they do
    rank: int = 5  # best rank of a confusion; what stands lower confuses nobody
    engines: int = 2  # that rank it above the right answer, where the run has as many
    strong: int = 3  # engines that make a confusion a strong one
    callers: int = 8  # most places that may use a name before it is used everywhere
    longest: int = 150  # lines of a neighbour; a larger one holds a bit of everything


@dataclass(frozen=True, slots=True)
class Phrases:
    """How phrasings are made."""

    keywords: int = 4  # of a keyword query: what people type into a search box
    described: int = 14  # words of an ai_optimized query, about what models write
    answer: int = 300  # characters of an endpoint's answer that is a query
    shown: int = 3_000  # characters of a target that the endpoint is shown


@dataclass(frozen=True, slots=True)
class Proposing:
    """How an endpoint is asked for queries, module by module."""

    chars: int = 9_000  # of a module's digest, some 2,500 tokens: small models still read it whole
    each: int = 4  # queries asked of one module
    doc: int = 160  # characters of a doc line
    signature: int = 160  # the same
    fewest: int = 2  # definitions of a module that is worth asking about
    targets: int = 4  # most of one query


TEXTS: Final = QueryTextRules()
CHANGES: Final = Changes()
DOCS: Final = Docs()
TRACES: Final = LogRules()
NEIGHBOURS: Final = AdversaryRules()
PHRASES: Final = Phrases()
PROPOSING: Final = Proposing()
