"""Every number that shapes an adaptation, with its reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from assay.training.config import HeldOutConfig, KindWeights, TrainConfig, VectorConfig
from assay.training.mining.config import MiningConfig

_SHARE: Final = {"least": 0.0, "most": 1.0}
_COUNT: Final = {"least": 1}


@dataclass(frozen=True, slots=True)
class HeldConfig:
    """Which documented files are kept for the test."""

    share: float = field(
        default=0.25,  # three quarters are left to learn from
        metadata={
            "about": "share of the documented files whose comments ask the questions of the test",
            "least": 0.0,
            "most": 0.9,
        },
    )
    files: int = field(
        default=24,  # files are what is drawn independently: with a dozen only great differences show
        metadata={"about": "files of the test, at least, as long as they are not more than half", **_COUNT},
    )


@dataclass(frozen=True, slots=True)
class NewTerms:
    """Which words of the code base get a row beside those of the model."""

    most: int = field(
        default=4_000,  # a seventh more; the rest are names that occur in a file or two
        metadata={"about": "new terms, at most", **_COUNT},
    )
    pairs: int = field(
        default=3,  # fewer teach nothing that holds elsewhere
        metadata={"about": "pairs that a new term must occur in", **_COUNT},
    )


@dataclass(frozen=True, slots=True)
class LearningConfig:
    """How far and how fast the model is moved."""

    steps: int = field(
        default=50,  # 25 gained less on seven of eight repositories, 100 as much in twice the time (+0.039 on average)
        metadata={"about": "batches learned from, at least", **_COUNT},
    )
    passes: int = field(
        default=20,  # 12,000 pairs gained +0.064 in 4 passes, +0.098 in 12; 7,000 pairs +0.029 in 7, +0.053 in 22
        metadata={"about": "times that each pair is learned from, at least", **_COUNT},
    )
    batch: int = field(
        default=1024,  # as many wrong answers to each question; half as many gained no more on four repositories
        metadata={"about": "pairs of a batch", "least": 2},
    )
    rate: float = field(
        default=2e-3,  # what a model is trained with; a quarter of it gained less on four of four repositories
        metadata={"about": "step length of the vectors and weights at its highest", "least": 0.0},
    )
    overlap_dropout: float = field(
        default=0.25,  # at 0 it gained more than at 0.5 on three of four repositories, but learns no new synonym
        metadata={"about": "share of pairs whose code loses the terms that it shares with the query", **_SHARE},
    )
    blend: float = field(
        # Half is what Wortsman et al. (2022, WiSE-FT) advise where there is nothing to choose by. On eight repositories
        # all of the way lost on three, half on none; a choice on some more files was noise (+0.029 against +0.039).
        default=0.5,
        metadata={"about": "share of the way from the old vectors to the learned ones that is taken", **_SHARE},
    )


@dataclass(frozen=True, slots=True)
class AdaptConfig:
    """One value that, with the model and the repository, decides every byte of the adapted model."""

    mining: MiningConfig = field(default_factory=MiningConfig)
    kinds: KindWeights = field(default_factory=KindWeights)
    held: HeldConfig = field(default_factory=HeldConfig)
    terms: NewTerms = field(default_factory=NewTerms)
    learning: LearningConfig = field(default_factory=LearningConfig)
    seed: int = field(default=0, metadata={"about": "seed of every random draw", "least": 0})
    threads: int = field(
        default=2,  # sums come out differently with another number of threads
        metadata={"about": "threads of the matrix products", **_COUNT},
    )

    def training(self, dimension: int, pairs: int) -> TrainConfig:
        """Say it as the trainer of a model's vectors reads it; what it holds out itself is nothing."""
        own = self.learning
        steps = max(own.steps, own.passes * pairs // own.batch)
        vectors = VectorConfig(
            dimension=dimension,
            steps=steps,
            batch=own.batch,
            rate=own.rate,
            warmup=steps // 10,
            overlap_dropout=own.overlap_dropout,
            report=max(1, steps // 4),
        )
        held_out = HeldOutConfig(share=0.0)
        return TrainConfig(
            self.mining, kinds=self.kinds, held_out=held_out, vectors=vectors, seed=self.seed, threads=self.threads
        )
