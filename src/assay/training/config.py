"""Every number that shapes a model, with its reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from assay.training.mining.config import MiningConfig

SameFile = Literal["all", "kinds", "none"]

#: What a number may be is said beside it, in the field's metadata: the least and the most.
_SHARE: Final = {"least": 0.0, "most": 1.0}
_WEIGHT: Final = {"least": 0.0}
_COUNT: Final = {"least": 1}
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
        metadata={"about": "share of the repositories (of the files where there are fewer than three)", **_SHARE},
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
        metadata={"about": "hard negatives in a batch, as a share of its pairs; 0 draws none", **_SHARE},
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
        default=0.1,  # such a term tells little and costs most of the time
        metadata={"about": "share of a repository's codes above which a term is not looked up", **_SHARE},
    )


@dataclass(frozen=True, slots=True)
class VectorConfig:
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
    query_dropout: float = field(default=0.15, metadata={"about": "share of query terms left out", **_SHARE})
    code_dropout: float = field(default=0.20, metadata={"about": "share of code terms left out", **_SHARE})
    overlap_dropout: float = field(
        default=0.5,  # or the model only learns which words are the same
        metadata={"about": "share of pairs whose code loses the terms that it shares with the query", **_SHARE},
    )
    path_most: float = field(
        default=5.5,  # pooling wants path words heavy, so training must have seen them heavy
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
        metadata={"about": "strength below which a translation is not kept", **_SHARE},
    )


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """One value that, with the repositories, decides every byte of a model."""

    mining: MiningConfig = field(default_factory=MiningConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    kinds: KindWeights = field(default_factory=KindWeights)
    held_out: HeldOutConfig = field(default_factory=HeldOutConfig)
    vectors: VectorConfig = field(default_factory=VectorConfig)
    translations: TranslationConfig = field(default_factory=TranslationConfig)
    seed: int = field(default=0, metadata={"about": "seed of learning; mining has its own", **_ROOM})
    threads: int = field(
        default=2,  # sums come out differently with another number of threads, so it is part of the recipe
        metadata={"about": "threads of the matrix products", **_COUNT},
    )
