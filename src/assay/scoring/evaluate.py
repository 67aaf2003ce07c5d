"""One measure over a whole grid, failures included: rule 2 lives here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError
from assay.scoring.grid import Grid
from assay.scoring.measure import Measure
from assay.types import Run, Scores

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


def tabulate(run: Run, measures: Sequence[Measure], forms: frozenset[str] | None = None) -> Scores:
    """Score a run: engines × measures × units; `forms` as in `Grid`."""
    listed = tuple(dict.fromkeys(measures))
    grid = Grid(run, forms)
    values = np.empty((grid.shape[0], len(listed), grid.shape[1]))
    for index, measure in enumerate(listed):
        values[:, index] = evaluate(grid, measure)
    return Scores(tuple(engine.name for engine in run.engines), tuple(map(repr, listed)), grid.units, values)
