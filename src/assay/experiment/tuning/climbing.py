"""Adding parts one by one where only those stay that gain: each step goes on from the last one that was kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.engines.kinds import Part
from assay.experiment.records.lines import join_sets
from assay.experiment.tuning.ablating import BARE, Rung, switched_off
from assay.experiment.tuning.variants import Change
from assay.scoring import score
from assay.stats.config import DEFAULT
from assay.stats.tables import column, headline
from assay.types import Run


@dataclass(frozen=True, slots=True)
class Climbed:
    """The run with every step that was tried, and the steps."""

    run: Run
    steps: tuple[Rung, ...]


def climb(run: Run, base: str, parts: Sequence[Part], primary: str, ask: Callable[[Change], Run]) -> Climbed:
    """Begin with everything off and switch parts on; one that does not raise the mean is switched off again.

    What comes next depends on what was seen, so each step is asked by itself. `base` is the engine with nothing off,
    which the run holds already.
    """
    off = list(parts)
    last = Change(BARE, switched_off(off))
    run = _joined(run, ask(last))
    steps = []
    for part in parts:
        left = [other for other in off if other is not part]
        here = Change(f"plus {part.name}" if left else base, switched_off(left))
        run = _joined(run, ask(here)) if left else run
        kept = _gain(run, here.name, last.name, primary) > DEFAULT.tie
        steps.append(Rung(part.name, "added", here.name, last.name, kept))
        if kept:
            off, last = left, here
    return Climbed(run, tuple(steps))


def _gain(run: Run, engine: str, baseline: str, primary: str) -> float:
    """Give the mean gain of one engine over another, with the good end up."""
    scores = score(run, (primary,))
    table, measure = headline(scores), column(scores, primary)
    gain = float(np.nanmean(table.row(engine, measure) - table.row(baseline, measure)))
    return gain if measure.bounds.higher_is_better else -gain


def _joined(run: Run, more: Run) -> Run:
    """Put the engines of a second run on the same queries beside those of the first."""
    known = {engine.name for engine in run.engines}
    new = tuple(engine for engine in more.engines if engine.name not in known)
    return replace(run, engines=(*run.engines, *new), lines=join_sets(run.lines, more.lines))
