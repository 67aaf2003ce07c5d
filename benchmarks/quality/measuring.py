"""Run, score, and put the tables of several repositories together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from typing import Self, TypeVar

import numpy as np

from assay.experiment.execution import run
from assay.scoring import score
from assay.search import Per
from assay.stats import compare
from assay.stats.config import DEFAULT
from assay.stats.records import ComparisonRow
from assay.types import GoldSet, Scores, Suite, Unit
from benchmarks.quality.variants import Shelves, Variant, make

T = TypeVar("T")
SEMBLE = "nDCG(rule=semble)@10"
PROCESSES = 2

#: The indexes of this process. Each repository is always asked in the same one.
SHELF = Shelves()


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked of every variant."""

    measures: tuple[str, ...] = (SEMBLE,)
    per: Per = "file"
    k: int = 10
    as_written: bool = True  # queries and targets that the corpus does not have stay in: nobody can find them


def ask(gold: GoldSet, variants: Sequence[Variant], asking: Asking) -> Scores:
    """Run variants on one repository and score them by its annotations: as they stand, like semble, or resolved."""
    engines = {one.name: make(one, asking.per, SHELF) for one in variants}
    made = run(engines, gold, k=asking.k, missing="report")
    judged = replace(made, suite=Suite((gold,))) if asking.as_written else made
    return housed(score(judged, asking.measures), {gold.name: gold.name})


def housed(scores: Scores, homes: Mapping[str, str]) -> Scores:
    """Say which repository each gold set is about, so that sets about one are one cluster."""
    return replace(scores, units=tuple(replace(unit, repository=homes[unit.gold]) for unit in scores.units))


def joined(parts: Sequence[Scores]) -> Scores:
    """Put tables of different repositories, with the same engines and measures, side by side."""
    values = np.concatenate([part.values for part in parts], axis=2)
    return Scores(parts[0].engines, parts[0].measures, tuple(u for part in parts for u in part.units), values)


def chosen(scores: Scores, wanted: Callable[[Unit], bool]) -> Scores:
    """Keep some queries."""
    kept = [at for at, unit in enumerate(scores.units) if wanted(unit)]
    return replace(scores, units=tuple(scores.units[at] for at in kept), values=scores.values[:, :, kept])


def by_repository(scores: Scores) -> Scores:
    """Average inside each repository, so that each counts once: the macro mean is the mean of this table."""
    homes = [unit.repository for unit in scores.units]
    names = tuple(dict.fromkeys(homes))
    columns = [np.flatnonzero([home == name for home in homes]) for name in names]
    values = np.stack([np.nanmean(scores.values[:, :, at], axis=2) for at in columns], axis=2)
    units = tuple(Unit(name, "mean", "human", name) for name in names)
    return Scores(scores.engines, scores.measures, units, values)


def differences(
    scores: Scores, engines: Sequence[str], baseline: str, margin: float = DEFAULT.margin
) -> dict[tuple[str, str], ComparisonRow]:
    """Compare engines of a table with another, clustered by repository; rows by engine and measure."""
    rows = [scores.engines.index(name) for name in (baseline, *engines)]
    part = Scores((baseline, *engines), scores.measures, scores.units, scores.values[rows])
    found = compare(part, baseline=baseline, primary=scores.measures[0], margin=margin)
    return {(row.engine, row.measure): row for row in (*found.rows, *found.secondary)}


def difference(scores: Scores, engine: str, baseline: str, measure: str) -> ComparisonRow:
    """Compare two engines of a table on one measure."""
    return differences(scores, [engine], baseline)[engine, measure]


@dataclass(slots=True)
class Fleet:
    """Processes that each own some of the repositories, and keep their indexes."""

    golds: tuple[GoldSet, ...]
    _pools: list[ProcessPoolExecutor] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        """Start the processes."""
        context = get_context("spawn")
        self._pools = [self._stack.enter_context(ProcessPoolExecutor(1, mp_context=context)) for _ in range(PROCESSES)]
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        self._stack.close()

    def map(self, work: Callable[..., T], arguments: Mapping[str, Sequence[object]]) -> dict[str, T]:
        """Do work for repositories, each where its indexes are; `arguments` follow the gold set."""
        owner = {gold.name: self._pools[at % PROCESSES] for at, gold in enumerate(self.golds)}
        golds = {gold.name: gold for gold in self.golds}
        sent: dict[str, Future[T]] = {
            name: owner[name].submit(work, golds[name], *rest) for name, rest in arguments.items()
        }
        return {name: future.result() for name, future in sent.items()}

    def scores(self, variants: Sequence[Variant], asking: Asking) -> Scores:
        """Score variants on every repository."""
        found = self.map(ask, {gold.name: (variants, asking) for gold in self.golds})
        return joined([found[gold.name] for gold in self.golds])
