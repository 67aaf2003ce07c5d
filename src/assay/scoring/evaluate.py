"""Measures over a whole grid, failures included: rule 2 lives here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError
from assay.scoring.grid import Grid, IntArray
from assay.scoring.measure import Measure
from assay.types import Adversary, Run, Scores

if TYPE_CHECKING:
    from assay.types import FloatArray


def evaluate(grid: Grid, measure: Measure) -> FloatArray:
    """Compute engines × units; a failed query takes the worst value, NaN says that the measure does not apply."""
    measure.complete()
    if measure.depth > grid.run.k:
        raise ConfigError(
            f"{measure!r} needs {measure.depth} results; the engines of this run were asked for {grid.run.k}",
            hint=f"run again with k={measure.depth}, or score at {grid.run.k} or less",
        )
    values = measure.kind.compute(grid, measure)
    if measure.kind.phrasings:  # made of values that went through here already
        return values
    return np.where(grid.ok | np.isnan(values), values, measure.worst)


class Scorer:
    """A run that several tables are made of: it is matched once, and no measure is computed twice."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._values: dict[Measure, FloatArray] = {}
        self._codes: IntArray | None = None

    @property
    def run(self) -> Run:
        """The run that is scored."""
        return self.grid.run

    def tabulate(self, measures: Sequence[Measure]) -> Scores:
        """Give engines × measures × units."""
        listed = tuple(dict.fromkeys(measures))
        values = np.empty((self.grid.shape[0], len(listed), self.grid.shape[1]))
        for index, measure in enumerate(listed):
            values[:, index] = self._value(measure)
        return Scores(
            tuple(engine.name for engine in self.run.engines), tuple(map(repr, listed)), self.grid.units, values
        )

    def against(self, keep: Callable[[Adversary], bool]) -> Scorer:
        """Score as if only some adversaries were there; what was claimed stays, as it is of the targets alone."""
        return Scorer(self.grid.against(keep))

    def codes(self, make: Callable[[Run], IntArray]) -> IntArray:
        """Give the numbers of all rankings, made when first asked for (`audit.ranking_codes`)."""
        if self._codes is None:
            self._codes = make(self.run)
        return self._codes

    def _value(self, measure: Measure) -> FloatArray:
        if measure not in self._values:
            self._values[measure] = evaluate(self.grid, measure)
        return self._values[measure]


def as_scorer(run: Run | Scorer) -> Scorer:
    """Lay a run out, unless somebody did already."""
    return run if isinstance(run, Scorer) else Scorer(Grid(run))


def tabulate(run: Run, measures: Sequence[Measure], forms: frozenset[str] | None = None) -> Scores:
    """Score a run: engines × measures × units; `forms` as in `Grid`."""
    return Scorer(Grid(run, forms)).tabulate(measures)
