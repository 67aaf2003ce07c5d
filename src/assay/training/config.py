"""How pairs are mined, with the reason beside each number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

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


SameFile = Literal["all", "kinds", "none"]

#: What a number may be is said beside it, in the field's metadata: the least and the most.
_CONFIG_SHARE: Final = {"least": 0.0, "most": 1.0}
_WEIGHT: Final = {"least": 0.0}
_ROOM: Final = {"least": 0}


@dataclass(frozen=True, slots=True)
class VocabularyConfig:
    """Which terms get a row."""

    size: int = field(
        default=28_000,  # 97.8 % of the word uses of the study's 144 repositories; 7.3 MB at 256 dimensions
        metadata={"about": "terms of the model, at most", **_COUNT},
    )
    repositories: int = field(
        default=3,  # a term of one or two projects is a name, and teaches nothing about others
        metadata={"about": "repositories that a term must occur in", **_COUNT},
    )


@dataclass(frozen=True, slots=True)
class KindWeights:
    """How often a pair of a kind is drawn, beside the others."""

    doc: float = field(default=1.0, metadata={"about": "doc comment and body", **_WEIGHT})
    name: float = field(
        default=0.5,  # with commits at half, dense retrieval gained .009 (notes/static-embeddings.md, A3)
        metadata={"about": "words of a name and the body without it", **_WEIGHT},
    )
    commit: float = field(default=0.5, metadata={"about": "commit subject and changed code", **_WEIGHT})
    path: float = field(default=0.5, metadata={"about": "words of a path and the file", **_WEIGHT})
    heading: float = field(default=1.0, metadata={"about": "heading and section", **_WEIGHT})


@dataclass(frozen=True, slots=True)
class HeldOutConfig:
    """What is kept from training to look how it goes."""

    share: float = field(
        default=0.03,  # a dozen of 300 repositories: enough for a thousand questions, little lost
        metadata={
            "about": "share of the repositories (of the files where there are fewer than three)",
            **_CONFIG_SHARE,
        },
    )
    queries: int = field(default=1024, metadata={"about": "questions asked of them", **_COUNT})
    candidates: int = field(
        default=512,  # beyond it the measure only gets slower
        metadata={"about": "pairs of a repository that answer each other's questions, at most", **_COUNT},
    )


@dataclass(frozen=True, slots=True)
class HardConfig:
    """Wrong answers that share words with the question."""

    share: float = field(
        default=0.0,
        metadata={"about": "hard negatives in a batch, as a share of its pairs; 0 draws none", **_CONFIG_SHARE},
    )
    queries: int = field(
        default=1000,  # some 300,000 over 300 repositories, found in a minute
        metadata={"about": "questions of a repository that get some, at most", **_COUNT},
    )
    depth: int = field(
        default=8,  # one of these is drawn at a time
        metadata={"about": "hard negatives kept of a question", **_COUNT},
    )
    common: float = field(
        default=0.1,  # such a term is_informative little and costs most of the time
        metadata={"about": "share of a repository's codes above which a term is not looked up", **_CONFIG_SHARE},
    )


@dataclass(frozen=True, slots=True)
class VectorTrainConfig:
    """How the vectors and weights are learned."""

    dimension: int = field(
        default=256,  # 192 lost nothing in the study, 128 lost .0075
        metadata={"about": "numbers of a vector", **_COUNT},
    )
    steps: int = field(default=1500, metadata={"about": "batches learned from", **_ROOM})
    batch: int = field(
        default=2048,  # as many wrong answers to each question
        metadata={"about": "pairs of a batch", "least": 2},
    )
    group: int = field(
        default=256,  # wrong answers of the same repository are what a search must tell apart
        metadata={"about": "pairs that a batch takes from one repository at a time", **_COUNT},
    )
    rate: float = field(
        default=2e-3,  # the study's best of three
        metadata={"about": "step length of the vectors and weights at its highest", **_WEIGHT},
    )
    warmup: int = field(
        default=50,  # until the optimiser knows the scale of the gradients
        metadata={"about": "steps until the rate is at its highest", **_ROOM},
    )
    temperature: float = field(
        default=0.05,  # the usual start; learned from there
        metadata={"about": "what similarities are divided by at first", "least": 0.02, "most": 1.0},
    )
    query_dropout: float = field(default=0.15, metadata={"about": "share of query terms left out", **_CONFIG_SHARE})
    code_dropout: float = field(default=0.20, metadata={"about": "share of code terms left out", **_CONFIG_SHARE})
    overlap_dropout: float = field(
        default=0.5,  # or the model only learns which words are the same
        metadata={"about": "share of pairs whose code loses the terms that it shares with the query", **_CONFIG_SHARE},
    )
    path_most: float = field(
        default=5.5,  # pooling has_room_for path words heavy, so training must have seen them heavy
        metadata={"about": "weight of a path term beside a code term, at most", **_WEIGHT},
    )
    same_file: SameFile = field(
        default="kinds",  # a doc pair and a name pair may be about the same lines
        metadata={"about": "pairs of one file that are no wrong answers to each other: all, of other kinds, or none"},
    )
    hard: HardConfig = field(default_factory=HardConfig)
    report: int = field(default=100, metadata={"about": "steps between two looks at the held-out pairs", **_COUNT})
    checkpoint: int = field(
        default=250,  # half a minute; writing takes half a second
        metadata={"about": "steps between two states that are kept", **_COUNT},
    )


@dataclass(frozen=True, slots=True)
class TranslationConfig:
    """How the table of word translations is learned."""

    doc: float = field(default=1.0, metadata={"about": "weight of a doc pair", **_WEIGHT})
    name: float = field(default=0.6, metadata={"about": "weight of a name pair", **_WEIGHT})
    commit: float = field(default=0.5, metadata={"about": "weight of a commit pair", **_WEIGHT})
    path: float = field(default=0.5, metadata={"about": "weight of a path pair", **_WEIGHT})
    heading: float = field(default=1.0, metadata={"about": "weight of a heading pair", **_WEIGHT})
    query_pairs: int = field(default=25, metadata={"about": "pairs that a query term must occur in", **_COUNT})
    code_pairs: int = field(default=40, metadata={"about": "pairs that a code term must occur in", **_COUNT})
    repositories: int = field(default=4, metadata={"about": "repositories that a term must occur in", **_COUNT})
    support: int = field(
        default=3,  # fewer are a habit of a project
        metadata={"about": "repositories in which two terms must meet to be translations", **_COUNT},
    )
    iterations: int = field(
        default=4,  # 2, 4 and 8 were within noise (notes/soft-matching.md)
        metadata={"about": "rounds of expectation and maximisation", **_COUNT},
    )
    code_terms: int = field(
        default=40,  # the most telling ones; more only cost time
        metadata={"about": "terms of a code that may explain a query", **_COUNT},
    )
    null: float = field(
        default=1.0,  # the weight of one code term
        metadata={"about": "weight of the explanation that a query term comes from nowhere", **_WEIGHT},
    )
    smoothing: float = field(
        default=100.0,  # rare terms explain whatever stands beside them: held-out MRR .521 at 5, .527 at 50 to 200
        metadata={"about": "uses that a code term is held to have beside those that were seen", **_WEIGHT},
    )
    most: int = field(
        default=20,  # the study used 10 and 20; a reader may use fewer, never more
        metadata={"about": "translations of a query term", **_COUNT},
    )
    least: float = field(
        default=0.2,  # weaker ones are below any exact match whatever their weight
        metadata={"about": "strength below which a translation is not kept", **_CONFIG_SHARE},
    )


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """One value that, with the repositories, decides every byte of a model."""

    mining: MiningConfig = field(default_factory=MiningConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    kinds: KindWeights = field(default_factory=KindWeights)
    held_out: HeldOutConfig = field(default_factory=HeldOutConfig)
    vectors: VectorTrainConfig = field(default_factory=VectorTrainConfig)
    translations: TranslationConfig = field(default_factory=TranslationConfig)
    seed: int = field(default=0, metadata={"about": "seed of learning; mining has its own", **_ROOM})
    threads: int = field(
        default=2,  # sums come out differently with another number of threads, so it is part of the recipe
        metadata={"about": "threads of the matrix products", **_COUNT},
    )
