"""Learning vectors and weights: from a start to a table, one batch after the other, from wherever it was left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from assay.search.store.format import JSON, read_store, write_store
from assay.training.adam import Moments
from assay.training.batches import Batch, make_batch, make_plan
from assay.training.config import TrainConfig, VectorConfig
from assay.training.hard_negatives import HardNegatives
from assay.training.loss import Parameters, loss_and_gradient
from assay.training.pairs import Pairs
from assay.training.sparse import Products
from assay.training.validation import Exam, Grade, make_exam, take_exam

_START, _BATCH = 0, 1  # streams of the seed: what one draws says nothing about the other
_LEARNED: Final = ("vectors", "asked", "said", "sharpness")
_MEMORY: Final = 0.98  # of the loss that is shown: the mean of some fifty batches
_SHARPEST: Final = float(np.log(1 / 0.02))  # beyond it chances underflow, and only the nearest wrong answer counts


@dataclass(frozen=True, slots=True)
class Table:
    """What is learned: a vector of each term, and the logarithm of its weight in queries and in code."""

    vectors: NDArray[np.float32]
    asked: NDArray[np.float32]
    said: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Report:
    """Where a training is."""

    step: int
    steps: int
    loss: float
    temperature: float
    grade: Grade


@dataclass(frozen=True, slots=True)
class Trained:
    """A table, and how it got there."""

    table: Table
    temperature: float
    reports: tuple[Report, ...]


def random_table(pairs: Pairs, terms: int, config: VectorConfig, seed: int) -> Table:
    """Begin with random vectors, and weights by how few codes use a term."""
    draw = np.random.default_rng((seed, _START))
    vectors = draw.standard_normal((terms, config.dimension), dtype=np.float32) / np.float32(config.dimension**0.5)
    uses = np.bincount(pairs.code.term, minlength=terms)
    weight = np.log(np.log1p((len(pairs) + 1) / (uses + 1))).astype(np.float32)
    return Table(vectors, weight, weight.copy())


@contextmanager
def limited(threads: int) -> Iterator[Products]:
    """Use so many threads and no more."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=threads), ThreadPoolExecutor(threads) as pool:
        yield Products(pool, threads)


class _State:
    """A training under way; it owns its arrays and changes them in place."""

    def __init__(self, arrays: dict[str, NDArray[np.float32]], step: int, loss: float, reports: list[Report]) -> None:
        self._arrays = arrays
        self._moments = {name: Moments(arrays[f"{name}.mean"], arrays[f"{name}.square"]) for name in _LEARNED}
        self.step = step
        self.loss = loss
        self.reports = reports

    @classmethod
    def begin(cls, start: Table, config: VectorConfig) -> _State:
        """Begin with a table that stays as it is."""
        sharpness = np.array([-np.log(config.temperature)], dtype=np.float32)
        arrays = {"vectors": start.vectors.copy(), "asked": start.asked.copy(), "said": start.said.copy()}
        arrays["sharpness"] = sharpness
        zeros = {f"{name}.{part}": np.zeros_like(arrays[name]) for name in _LEARNED for part in ("mean", "square")}
        return cls(arrays | zeros, 0, 0.0, [])

    @classmethod
    def read(cls, path: Path) -> _State:
        """Go on where a training was left."""
        stored = read_store(path)
        meta = cast(dict[str, Any], stored.meta)
        reports = [Report(**one | {"grade": Grade(**one["grade"])}) for one in meta["reports"]]
        return cls({name: array.copy() for name, array in stored.arrays.items()}, meta["step"], meta["loss"], reports)

    def write(self, path: Path) -> None:
        """Keep everything that the next step depends on."""
        reports: list[JSON] = [asdict(one) for one in self.reports]
        meta: dict[str, JSON] = {"step": self.step, "loss": self.loss, "reports": reports}
        write_store(path, meta, self._arrays)

    def parameters(self, terms: NDArray[np.int64] | slice) -> Parameters:
        """Give what is known of some terms."""
        vectors, asked, said = (self._arrays[name][terms] for name in _LEARNED[:3])
        return Parameters(vectors, asked, said, float(self._arrays["sharpness"][0]))

    def learn(self, batch: Batch, config: VectorConfig, products: Products) -> None:
        """Take one step down."""
        loss, slope = loss_and_gradient(self.parameters(batch.terms), batch, products)
        self.loss = loss if not self.step else _MEMORY * self.loss + (1 - _MEMORY) * loss
        rate = _rate(self.step, config)
        self.step += 1
        for name in _LEARNED[:3]:
            change = self._moments[name].step(batch.terms, getattr(slope, name), rate, self.step)
            self._arrays[name][batch.terms] += change
        only = np.zeros(1, dtype=np.int64)
        sharper = self._moments["sharpness"].step(only, np.array([slope.sharpness], dtype=np.float32), rate, self.step)
        self._arrays["sharpness"] = np.clip(self._arrays["sharpness"] + sharper, 0.0, _SHARPEST)

    def report(self, config: VectorConfig, pairs: Pairs, exam: Exam, products: Products) -> Report:
        """Say where the training is."""
        own = self.parameters(slice(None))
        seen = take_exam(pairs, exam, own, products)
        return Report(self.step, config.steps, round(self.loss, 4), round(float(np.exp(-own.sharpness)), 5), seen)

    def result(self) -> Trained:
        """Give the table as it is now."""
        own = self._arrays
        table = Table(own["vectors"], own["asked"], own["said"])
        return Trained(table, float(np.exp(-own["sharpness"][0])), tuple(self.reports))


def _rate(step: int, config: VectorConfig) -> float:
    """Rise to the full rate, then fall to nothing in a straight line."""
    return config.rate * min(1.0, (step + 1) / max(1, config.warmup)) * (1 - step / config.steps)


def train_vectors(
    pairs: Pairs,
    start: Table,
    config: TrainConfig,
    hard: HardNegatives | None = None,
    *,
    keep: Path | None = None,
    tell: Callable[[Report], None] = lambda _: None,
) -> Trained:
    """Train from a start, or go on with what `keep` holds; either way the result is the same to the byte."""
    state = _State.read(keep) if keep and keep.exists() else _State.begin(start, config.vectors)
    plan = make_plan(pairs, config.kinds, config.vectors.group)
    exam = make_exam(pairs, config.held_out)
    own = config.vectors
    with limited(config.threads) as products:
        while state.step < own.steps:
            draw = np.random.default_rng((config.seed, _BATCH, state.step))
            state.learn(make_batch(pairs, plan, hard, own, draw), own, products)
            if state.step % own.report == 0 or state.step == own.steps:
                state.reports.append(state.report(own, pairs, exam, products))
                tell(state.reports[-1])
            if keep and (state.step % own.checkpoint == 0 or state.step == own.steps):
                state.write(keep)
    return state.result()
