"""How often a gate raises a false alarm, and how often it finds a loss, in worlds whose truth is known.

`tests/stats/test_gate_worlds.py` checks the figures, `python -m docs.gate_figures` writes them at the stated
counts. Rows are compared and judged by the functions that `assay gate` uses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from assay.report.query_scores import means_over, query_noise
from assay.stats.compare import assemble
from assay.stats.config import DEFAULT, CompareSettings
from assay.stats.records import ComparisonRow, ValueRange, Verdict
from assay.stats.rows import EnginePair, comparison_rows
from assay.stats.run_variance import RunVariance, add_run_variance, estimate_run_variance, is_regression
from assay.stats.score_table import MeasureColumn
from tests.stats.audit_worlds import GAINS
from tests.stats.worlds import make_units

if TYPE_CHECKING:
    from assay.types import FloatArray

SEED = 1820
BATCH = 100  # gates that share the resamples
FLIPS = 1_999
SMALL, STATED = 200, 2_000  # gates per figure, in `make test` and in the documentation
#: Shares of the queries whose target is at rank 1, 2, 3, 5, 10, and not found: a mean nDCG@10 of .57.
SHARES = (0.42, 0.12, 0.08, 0.06, 0.04, 0.28)
#: Share of the rankings that are drawn anew: in each run of a noisy engine, by each change of a deterministic one.
REDRAWN = 0.1
LUCKY_OF = 20  # baselines of which the luckiest is kept in version control
MEASURE = "nDCG@10"
LOSSES = (0.05, 0.1)

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GateWorld:
    """An engine, the number of queries, and the runs on both sides."""

    queries: int
    is_noisy: bool
    runs: tuple[int, int] = (1, 1)  # of the baseline and of the gate

    @property
    def name(self) -> str:
        """A short name for files."""
        runs = f"-{self.runs[0]}-{self.runs[1]}" if self.is_noisy else ""
        return f"{'noisy' if self.is_noisy else 'deterministic'}{runs}/{self.queries}"


def _worlds() -> tuple[GateWorld, ...]:
    sizes = (30, 100, 300)
    noisy = (GateWorld(n, True, runs) for runs, n in product(((1, 1), (1, 5), (5, 1), (5, 5)), sizes))
    return (*(GateWorld(n, False) for n in sizes), *noisy)


WORLDS: Mapping[str, GateWorld] = {world.name: world for world in _worlds()}


def _redrawn(rng: np.random.Generator, values: FloatArray) -> FloatArray:
    fresh = rng.choice(GAINS, size=values.shape, p=SHARES)
    return np.where(rng.random(values.shape) < REDRAWN, fresh, values)


def draw_gates(
    rng: np.random.Generator, world: GateWorld, count: int, loss: float = 0.0, *, lucky: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Draw values of baselines and of new runs: runs × gates × 1 × queries.

    A loss makes each query lose its target with the probability that gives this loss on average.
    """
    truth = rng.choice(GAINS, size=(count, 1, world.queries), p=SHARES)
    lost = rng.random(truth.shape) < loss / float(np.dot(GAINS, SHARES))
    if not world.is_noisy:
        return truth[None], np.where(lost, 0.0, _redrawn(rng, truth))[None]
    old_runs, new_runs = (np.broadcast_to(truth, (runs, *truth.shape)) for runs in world.runs)
    old = _redrawn(rng, old_runs)
    for _ in range(LUCKY_OF - 1 if lucky else 0):
        other = _redrawn(rng, old_runs)
        is_better = other.mean(axis=(0, -1)) > old.mean(axis=(0, -1))
        old = np.where(is_better[None, ..., None], other, old)
    return old, np.where(lost, 0.0, _redrawn(rng, new_runs))


def gate_rows(old: FloatArray, new: FloatArray) -> list[tuple[ComparisonRow, RunVariance | None]]:
    """Compare and judge every gate, each a family of one, as `assay gate` does."""
    settings = CompareSettings(resamples=FLIPS)
    units = tuple(make_units([0] * old.shape[-1]))
    column = MeasureColumn(MEASURE, 0, ValueRange())
    befores, afters = old.mean(axis=0)[:, 0], new.mean(axis=0)[:, 0]
    pairs = [
        EnginePair(f"e{at}", "b", MEASURE, ValueRange(), after, before)
        for at, (before, after) in enumerate(zip(befores, afters, strict=True))
    ]
    means, noise = ([found(side)[..., 0] for side in (old, new)] for found in (means_over, query_noise))
    judged = []
    for at, row in enumerate(comparison_rows(pairs, units, settings)):
        chance = estimate_run_variance(
            tuple(means[0][:, at]), tuple(means[1][:, at]), (float(noise[0][at]), float(noise[1][at]))
        )
        found = assemble([row], [], column, "b", settings, None)
        judged.append((add_run_variance(found, lambda _: chance, settings).rows[0], chance))  # noqa: B023  # called at once
    return judged


def measure_gate(world: GateWorld, count: int) -> Figures:
    """Simulate a gate without a change, against a lucky baseline, and after losses."""
    alarms, doubts = _shares(world, count)
    figures = {"false alarms": alarms, "inconclusive": doubts}
    if world.is_noisy:
        figures["false alarms, lucky baseline"] = _shares(world, count, lucky=True)[0]
    return figures | {f"loss of {loss:g} found": _shares(world, count, loss)[0] for loss in LOSSES}


def _shares(world: GateWorld, count: int, loss: float = 0.0, *, lucky: bool = False) -> tuple[float, float]:
    """Return the shares of gates that fail, and of those that are inconclusive."""
    rows: list[tuple[ComparisonRow, RunVariance | None]] = []
    for batch in range(math.ceil(count / BATCH)):
        key = [SEED, *map(ord, world.name), round(1000 * loss), int(lucky), batch]
        rows += gate_rows(*draw_gates(np.random.default_rng(key), world, BATCH, loss, lucky=lucky))
    failed = [is_regression(row, chance, DEFAULT.alpha) for row, chance in rows]
    explained = [row.verdict is Verdict.WORSE and not row.within_margin for row, _ in rows]
    inconclusive = sum(
        row.verdict is Verdict.INCONCLUSIVE or (by_luck and not fails)
        for (row, _), by_luck, fails in zip(rows, explained, failed, strict=True)
    )
    return sum(failed) / len(rows), inconclusive / len(rows)
