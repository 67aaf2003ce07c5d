"""Settings of mining and training, with the reason beside each number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeVar

T = TypeVar("T")
SameFile = Literal["all", "kinds", "none"]


def setting(default: T, about: str, *, least: float | None = None, most: float | None = None) -> T:
    """Return a dataclass field with a description and bounds, which `pipeline.read_recipe` checks."""
    bounds = {name: bound for name, bound in (("least", least), ("most", most)) if bound is not None}
    return field(default=default, metadata={"about": about, **bounds})


@dataclass(frozen=True, slots=True)
class Caps:
    """Maximum number of pairs of each kind per repository, so that no project dominates the model."""

    doc: int = setting(6_000, "doc comment -> definition", least=1)  # the best kind: the widest cap
    # half of the study's number was no worse (notes/static-embeddings.md, A3)
    name: int = setting(3_000, "words of a name -> its body", least=1)
    commit: int = setting(3_000, "commit subject -> changed code", least=1)  # the same
    path: int = setting(1_500, "words of a path -> file", least=1)  # few projects have more files
    heading: int = setting(700, "heading -> section", least=1)  # it is prose, and some projects are books


@dataclass(frozen=True, slots=True)
class FileRules:
    """Which files of a repository are read."""

    # code that people write is smaller; a larger file is a table or a bundle
    bytes: int = setting(200_000, "largest file that is read", least=1)
    # fills every cap several times over, and bounds the cost of one monorepo
    code: int = setting(2_500, "most code files of a repository", least=1)
    # the cap on headings is reached with some dozens
    docs: int = setting(300, "most files of documentation of a repository", least=1)
    # tests are half of some projects, and their comments describe checks rather than behavior
    tests: float = setting(0.25, "largest share of tests among the code files", least=0.0, most=0.9)
    # bytes; 99 % of hand-written files stay below, minified ones are far above
    line: int = setting(140, "mean length of lines above which a file counts as minified", least=1)
    # tables of numbers; code has 5 %
    digits: float = setting(0.3, "share of digits above which a file counts as data", least=0.0, most=0.9)


@dataclass(frozen=True, slots=True)
class PairRules:
    """Requirements on a pair."""

    # two words match a dozen places
    fewest: int = setting(3, "telling words that a sentence or subject must have", least=1)
    # the first says what, the second how; the third is about something else
    sentences: int = setting(2, "sentences of a comment that are taken", least=1)
    most: int = setting(40, "words that a sentence may have", least=1)  # more words are a paragraph without a full stop
    # with fewer content words in the first sentence, the next one is read too
    short: int = setting(5, "telling words below which the next sentence is added", least=1)
    # lines; a shorter body has hardly a word besides the name
    body: int = setting(3, "lines that a named body must have", least=1)
    # one and a half times the length of a search chunk
    lines: int = setting(120, "lines of a definition, section or change that are read", least=1)
    # enough to tell what a file is about
    file_lines: int = setting(200, "lines of a file that its path is paired with", least=1)
    # different terms; with fewer there is nothing to match
    code_terms: int = setting(8, "different terms that the code side must have", least=1)
    # `to string`, `get name`: the fifth body teaches nothing new
    same: int = setting(4, "pairs of a repository that may ask with the same words", least=1)


@dataclass(frozen=True, slots=True)
class CommitRules:
    """Which commits are read."""

    # most change one or two files, so this about fills the cap; a patch takes git 1 to 3 ms
    read: int = setting(2_000, "most commits of a repository that are read, drawn over its whole history", least=1)
    # a wider change is about no place in particular
    files: int = setting(3, "most code files that a commit may change, tests apart", least=1)
    # with tests, documentation and a change log; more is a sweep
    paths: int = setting(12, "most files of any kind that a commit may change", least=1)
    # of one commit's diff: a page of code has 3 kB
    bytes: int = setting(60_000, "bytes of a commit's changes that are read", least=1)


@dataclass(frozen=True, slots=True)
class WindowRules:
    """What counts as code copied from an excluded repository."""

    # fewer are idiom: closing brackets, imports
    lines: int = setting(4, "consecutive lines, blank ones aside, that make a window", least=1)
    # without blanks; 120 with them. Shorter windows are idiom again
    characters: int = setting(100, "characters that a window must have, blanks aside", least=1)
    # the limit of the corpus reader: larger files are not searched
    bytes: int = setting(1_000_000, "largest file of an excluded repository that is looked at", least=1)
    # a file with a tenth copied verbatim mostly has more that was copied and edited
    share: float = setting(
        0.1, "share of known windows from which on a whole file counts as copied", least=0.0, most=0.9
    )
    # six lines in a row; of a short file one or two are a tenth by chance
    fewest: int = setting(3, "known windows that a file must have to count as copied", least=1)


@dataclass(frozen=True, slots=True)
class MiningConfig:
    """All settings of mining: with a repository and the exclusions they decide its pairs."""

    seed: int = setting(0, "decides which pairs are drawn where a cap is reached")
    caps: Caps = field(default_factory=Caps, metadata={"about": "most pairs of each kind a repository"})
    files: FileRules = field(default_factory=FileRules, metadata={"about": "which files are read"})
    pairs: PairRules = field(default_factory=PairRules, metadata={"about": "what a pair must be like"})
    commits: CommitRules = field(default_factory=CommitRules, metadata={"about": "which commits are read"})
    windows: WindowRules = field(default_factory=WindowRules, metadata={"about": "what counts as copied code"})


@dataclass(frozen=True, slots=True)
class VocabularyConfig:
    """Which terms are in the model."""

    # 97.8 % of the word uses of the study's 144 repositories; 7.3 MB at 256 dimensions
    size: int = setting(28_000, "terms of the model, at most", least=1)
    # a term of one or two projects is a name, useless for others
    repositories: int = setting(3, "repositories that a term must occur in", least=1)


@dataclass(frozen=True, slots=True)
class KindWeights:
    """How often pairs of each kind are drawn, relative to each other."""

    doc: float = setting(1.0, "doc comment and body", least=0.0)
    # with commits at half, dense retrieval gained .009 (notes/static-embeddings.md, A3)
    name: float = setting(0.5, "words of a name and the body without it", least=0.0)
    commit: float = setting(0.5, "commit subject and changed code", least=0.0)
    path: float = setting(0.5, "words of a path and the file", least=0.0)
    heading: float = setting(1.0, "heading and section", least=0.0)


@dataclass(frozen=True, slots=True)
class HeldOutConfig:
    """What is held out to follow the progress of a training."""

    # a dozen of 300 repositories: enough for a thousand questions, little lost
    share: float = setting(
        0.03, "share of the repositories (of the files where there are fewer than three)", least=0.0, most=1.0
    )
    queries: int = setting(1024, "questions asked of them", least=1)
    # beyond it the measure only gets slower
    candidates: int = setting(512, "pairs of a repository that answer each other's questions, at most", least=1)


@dataclass(frozen=True, slots=True)
class HardConfig:
    """Wrong codes that share words with the query."""

    share: float = setting(0.0, "hard negatives in a batch, as a share of its pairs; 0 draws none", least=0.0, most=1.0)
    # some 300,000 over 300 repositories, found in a minute
    queries: int = setting(1000, "questions of a repository that get some, at most", least=1)
    depth: int = setting(8, "hard negatives kept of a question", least=1)  # one of these is drawn at a time
    # such a term discriminates little and takes most of the time
    common: float = setting(
        0.1, "share of a repository's codes above which a term is not looked up", least=0.0, most=1.0
    )


@dataclass(frozen=True, slots=True)
class VectorTrainConfig:
    """How the vectors and weights are learned."""

    dimension: int = setting(256, "numbers of a vector", least=1)  # 192 lost nothing in the study, 128 lost .0075
    steps: int = setting(1500, "batches learned from", least=0)
    batch: int = setting(2048, "pairs of a batch", least=2)  # the number of wrong codes for each query
    # a search must distinguish codes of the same repository
    group: int = setting(256, "pairs that a batch takes from one repository at a time", least=1)
    # the study's best of three
    rate: float = setting(2e-3, "step length of the vectors and weights at its highest", least=0.0)
    # until the optimizer knows the scale of the gradients
    warmup: int = setting(50, "steps until the rate is at its highest", least=0)
    # the usual start; learned from there
    temperature: float = setting(0.05, "what similarities are divided by at first", least=0.02, most=1.0)
    query_dropout: float = setting(0.15, "share of query terms left out", least=0.0, most=1.0)
    code_dropout: float = setting(0.20, "share of code terms left out", least=0.0, most=1.0)
    # otherwise the model only learns which words are the same
    overlap_dropout: float = setting(
        0.5, "share of pairs whose code loses the terms that it shares with the query", least=0.0, most=1.0
    )
    # pooling has_room_for path words heavy, so training must have seen them heavy
    path_most: float = setting(5.5, "weight of a path term beside a code term, at most", least=0.0)
    # a doc pair and a name pair may be about the same lines
    same_file: SameFile = field(
        default="kinds",
        metadata={"about": "pairs of one file that are no wrong answers to each other: all, of other kinds, or none"},
    )
    hard: HardConfig = field(default_factory=HardConfig)
    report: int = setting(100, "steps between two looks at the held-out pairs", least=1)
    # half a minute; writing takes half a second
    checkpoint: int = setting(250, "steps between two states that are kept", least=1)


@dataclass(frozen=True, slots=True)
class TranslationConfig:
    """How the table of word translations is learned."""

    doc: float = setting(1.0, "weight of a doc pair", least=0.0)
    name: float = setting(0.6, "weight of a name pair", least=0.0)
    commit: float = setting(0.5, "weight of a commit pair", least=0.0)
    path: float = setting(0.5, "weight of a path pair", least=0.0)
    heading: float = setting(1.0, "weight of a heading pair", least=0.0)
    query_pairs: int = setting(25, "pairs that a query term must occur in", least=1)
    code_pairs: int = setting(40, "pairs that a code term must occur in", least=1)
    repositories: int = setting(4, "repositories that a term must occur in", least=1)
    # fewer are a habit of a project
    support: int = setting(3, "repositories in which two terms must meet to be translations", least=1)
    # 2, 4 and 8 were within noise (notes/soft-matching.md)
    iterations: int = setting(4, "rounds of expectation and maximisation", least=1)
    # the most telling ones; more only cost time
    code_terms: int = setting(40, "terms of a code that may explain a query", least=1)
    # the weight of one code term
    null: float = setting(1.0, "weight of the explanation that a query term comes from nowhere", least=0.0)
    # rare terms explain any term beside them: held-out MRR .521 at 5, .527 at 50 to 200
    smoothing: float = setting(100.0, "uses that a code term is held to have beside those that were seen", least=0.0)
    # the study used 10 and 20; a search may use fewer, never more
    most: int = setting(20, "translations of a query term", least=1)
    # weaker ones are below any exact match whatever their weight
    least: float = setting(0.2, "strength below which a translation is not kept", least=0.0, most=1.0)


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """All settings: with the repositories they decide every byte of a model."""

    mining: MiningConfig = field(default_factory=MiningConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    kinds: KindWeights = field(default_factory=KindWeights)
    held_out: HeldOutConfig = field(default_factory=HeldOutConfig)
    vectors: VectorTrainConfig = field(default_factory=VectorTrainConfig)
    translations: TranslationConfig = field(default_factory=TranslationConfig)
    seed: int = setting(0, "seed of learning; mining has its own", least=0)
    # sums are rounded differently with another number of threads, so it is part of the recipe
    threads: int = setting(2, "threads of the matrix products", least=1)
