from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from assay.settings import setting

SameFile = Literal["all", "kinds", "none"]


@dataclass(frozen=True, slots=True)
class Caps:
    """Maximum number of pairs of each kind per repository."""

    doc: int = setting(6_000, "doc comment -> definition", least=1)  # the best kind: the widest cap
    # half of the study's number was no worse (notes/static-embeddings.md, A3)
    name: int = setting(3_000, "words of a name -> body", least=1)
    commit: int = setting(3_000, "commit subject -> changed code", least=1)  # half, as for names
    path: int = setting(1_500, "words of a path -> file", least=1)  # few projects have more files
    heading: int = setting(700, "heading -> section", least=1)  # prose; some projects are books


@dataclass(frozen=True, slots=True)
class FileRules:
    # code that people write is smaller; a larger file is a table or a bundle
    bytes: int = setting(200_000, "maximum file size in bytes", least=1)
    # fills every cap several times over, and bounds the cost of one monorepo
    code: int = setting(2_500, "maximum number of code files per repository", least=1)
    # the cap on headings is reached with some dozens
    docs: int = setting(300, "maximum number of documentation files per repository", least=1)
    # tests are half of some projects, and their comments describe checks rather than behavior
    tests: float = setting(0.25, "maximum share of tests among the code files", least=0.0, most=0.9)
    # bytes; 99 % of hand-written files stay below, minified ones are far above
    line: int = setting(140, "mean line length above which a file counts as minified, in bytes", least=1)
    # tables of numbers; code has 5 %
    digits: float = setting(0.3, "share of digits above which a file counts as data", least=0.0, most=0.9)


@dataclass(frozen=True, slots=True)
class PairRules:
    # two words match a dozen definitions
    fewest: int = setting(3, "minimum content words of a sentence or subject", least=1)
    # the third sentence rarely describes the definition
    sentences: int = setting(2, "maximum sentences of a comment", least=1)
    most: int = setting(40, "maximum words of a sentence", least=1)  # more words are a paragraph without a full stop
    # with fewer content words in the first sentence, the next one is read too
    short: int = setting(5, "content words below which the next sentence is added", least=1)
    # lines; a shorter body has hardly a word besides the name
    body: int = setting(3, "minimum lines of a body", least=1)
    # one and a half times the length of a search chunk
    lines: int = setting(120, "maximum lines read of a definition, section or change", least=1)
    # enough to tell what a file is about
    file_lines: int = setting(200, "maximum lines of a file that are paired with its path", least=1)
    # with fewer distinct terms there is nothing to match
    code_terms: int = setting(8, "minimum distinct terms in the code of a pair", least=1)
    # as with `to string` or `get name`
    same: int = setting(4, "maximum pairs per repository with the same kind and query", least=1)


@dataclass(frozen=True, slots=True)
class CommitSelection:
    # most change one or two files, so this about fills the cap; a patch takes git 1 to 3 ms
    read: int = setting(2_000, "maximum number of commits per repository, drawn from its whole history", least=1)
    # wider changes describe no particular code
    files: int = setting(3, "maximum number of code files in a commit, without tests", least=1)
    # with tests, documentation and a change log; more is a sweep
    paths: int = setting(12, "maximum number of files in a commit", least=1)
    # of one commit's diff: a page of code has 3 kB
    bytes: int = setting(60_000, "maximum bytes read of a commit's changes", least=1)


@dataclass(frozen=True, slots=True)
class WindowRules:
    # fewer are idiom: closing brackets, imports
    lines: int = setting(4, "number of consecutive nonblank lines in a window", least=1)
    # 120 with blanks; shorter windows are idiom
    characters: int = setting(100, "minimum characters of a window, without blanks", least=1)
    # the limit of the corpus reader: larger files are not searched
    bytes: int = setting(1_000_000, "maximum file size in excluded repositories, in bytes", least=1)
    # a file with a tenth copied verbatim mostly has more that was copied and edited
    share: float = setting(0.1, "share of known windows from which a file counts as copied", least=0.0, most=0.9)
    # six lines in a row; in a short file one or two windows are a tenth by chance
    fewest: int = setting(3, "minimum known windows of a copied file", least=1)


@dataclass(frozen=True, slots=True)
class MiningConfig:
    """All settings of mining."""

    seed: int = setting(0, "seed of the draw where a cap is reached")
    texts: int = setting(0, "characters of code to keep per pair, for encoders; 0 keeps word counts only", least=0)
    caps: Caps = field(default_factory=Caps, metadata={"about": "maximum pairs of each kind per repository"})
    files: FileRules = field(default_factory=FileRules, metadata={"about": "selection of files"})
    pairs: PairRules = field(default_factory=PairRules, metadata={"about": "requirements on pairs"})
    commits: CommitSelection = field(default_factory=CommitSelection, metadata={"about": "selection of commits"})
    windows: WindowRules = field(default_factory=WindowRules, metadata={"about": "detection of copied code"})


@dataclass(frozen=True, slots=True)
class VocabularyConfig:
    # 97.8 % of the word uses of the study's 144 repositories; 7.3 MB at 256 dimensions
    size: int = setting(28_000, "maximum number of terms", least=1)
    # a term of one or two projects is a name, useless for others
    repositories: int = setting(3, "minimum number of repositories with a term", least=1)


@dataclass(frozen=True, slots=True)
class KindWeights:
    """Relative frequency of each kind of pair in training."""

    doc: float = setting(1.0, "doc comment and body", least=0.0)
    # with commits at half, dense retrieval gained .009 (notes/static-embeddings.md, A3)
    name: float = setting(0.5, "words of a name and the body without the name", least=0.0)
    commit: float = setting(0.5, "commit subject and changed code", least=0.0)
    path: float = setting(0.5, "words of a path and the file", least=0.0)
    heading: float = setting(1.0, "heading and section", least=0.0)


@dataclass(frozen=True, slots=True)
class HeldOutConfig:
    """Selection of held-out pairs."""

    # a dozen of 300 repositories: enough for a thousand queries
    share: float = setting(
        0.03, "share of the repositories to hold out; with fewer than three, share of the files", least=0.0, most=1.0
    )
    queries: int = setting(1024, "number of held-out queries", least=1)
    # beyond it the measure only gets slower
    candidates: int = setting(512, "maximum candidates per held-out repository", least=1)


@dataclass(frozen=True, slots=True)
class HardConfig:
    """Selection of hard negatives: code of other pairs that shares words with the query."""

    share: float = setting(
        0.0, "hard negatives per batch, as a share of the pairs; 0 disables them", least=0.0, most=1.0
    )
    # some 300,000 over 300 repositories, found in a minute
    queries: int = setting(1000, "maximum queries per repository with hard negatives", least=1)
    depth: int = setting(8, "maximum hard negatives per query", least=1)  # one of these is drawn at a time
    # frequent terms discriminate little and take most of the time
    common: float = setting(
        0.1,
        "document frequency above which a term is ignored, as a share of the repository's pairs",
        least=0.0,
        most=1.0,
    )


@dataclass(frozen=True, slots=True)
class VectorTrainConfig:
    dimension: int = setting(256, "dimension of the vectors", least=1)  # 192 lost nothing in the study, 128 lost .0075
    steps: int = setting(1500, "training steps", least=0)
    batch: int = setting(2048, "pairs per batch", least=2)  # also the number of candidates for each query
    # a search must distinguish the code of one repository
    group: int = setting(256, "maximum pairs of one repository per portion of a batch", least=1)
    rate: float = setting(2e-3, "maximum learning rate", least=0.0)  # the study's best of three
    warmup: int = setting(50, "warmup steps", least=0)  # until the running means of the gradients are reliable
    # the usual start; learned from there
    temperature: float = setting(0.05, "initial temperature", least=0.02, most=1.0)
    query_dropout: float = setting(0.15, "dropout of query terms", least=0.0, most=1.0)
    code_dropout: float = setting(0.20, "dropout of code terms", least=0.0, most=1.0)
    # without it the model only learns exact matches
    overlap_dropout: float = setting(
        0.5, "share of pairs whose code loses the terms shared with the query", least=0.0, most=1.0
    )
    # a search weights path terms heavily, so training does too
    path_most: float = setting(5.5, "maximum weight of a path term relative to a code term", least=0.0)
    # a doc pair and a name pair may describe the same lines
    same_file: SameFile = field(
        default="kinds",
        metadata={"about": "pairs of the same file excluded as negatives: all, kinds (other kinds of pairs) or none"},
    )
    hard: HardConfig = field(default_factory=HardConfig)
    report: int = setting(100, "steps between evaluations on held-out pairs", least=1)
    checkpoint: int = setting(250, "steps between checkpoints", least=1)  # half a minute; writing takes half a second


@dataclass(frozen=True, slots=True)
class TranslationConfig:
    doc: float = setting(1.0, "weight of a doc pair", least=0.0)
    name: float = setting(0.6, "weight of a name pair", least=0.0)
    commit: float = setting(0.5, "weight of a commit pair", least=0.0)
    path: float = setting(0.5, "weight of a path pair", least=0.0)
    heading: float = setting(1.0, "weight of a heading pair", least=0.0)
    query_pairs: int = setting(25, "minimum number of pairs with a query term", least=1)
    code_pairs: int = setting(40, "minimum number of pairs with a code term", least=1)
    repositories: int = setting(4, "minimum number of repositories with a term", least=1)
    # with fewer, the pair is a habit of some projects
    support: int = setting(3, "minimum repositories in which two terms co-occur", least=1)
    # 2, 4 and 8 were within noise (notes/soft-matching.md)
    iterations: int = setting(4, "iterations of expectation maximization", least=1)
    # the most informative ones; more only cost time
    code_terms: int = setting(40, "maximum code terms that explain a query", least=1)
    null: float = setting(1.0, "weight of the null translation", least=0.0)  # the weight of one code term
    # rare terms explain any term beside them: held-out MRR .521 at 5, .527 at 50 to 200
    smoothing: float = setting(100.0, "smoothing: number added to the uses of each code term", least=0.0)
    # the study used 10 and 20; a search may use fewer, never more
    most: int = setting(20, "maximum translations of a query term", least=1)
    # weaker ones rank below any exact match
    least: float = setting(0.2, "minimum strength of a translation", least=0.0, most=1.0)


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """All settings of training."""

    mining: MiningConfig = field(default_factory=MiningConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    kinds: KindWeights = field(default_factory=KindWeights)
    held_out: HeldOutConfig = field(default_factory=HeldOutConfig)
    vectors: VectorTrainConfig = field(default_factory=VectorTrainConfig)
    translations: TranslationConfig = field(default_factory=TranslationConfig)
    seed: int = setting(0, "seed of learning; mining has a separate one", least=0)
    # sums are rounded differently with another number of threads, so it is part of the recipe
    threads: int = setting(2, "threads of matrix products", least=1)
