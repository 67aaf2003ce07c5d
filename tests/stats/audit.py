"""Audit what a comparison claims, on the worlds of `audit_worlds.py`.

    python -m tests.stats.audit null [--sets 10000] [--shape skewed] [--processes 2] [--out FILE.json]

`null`      true difference 0: type I error, coverage, verdicts, warnings
`margin`    true difference at the margin: wrong "equivalent" and "not inferior"
`power`     true difference at the MDE that sets of the same design report
`price`     true difference 0 with a standard deviation of .15: how often "equivalent" is found
`plan`      sets of the size that a plan states for a true difference: power
`pilot`     pilots of this size: how often the range of their plan holds the size that the true variance needs
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from assay.stats.config import DEFAULT, CompareSettings
from assay.stats.paired import Components
from assay.stats.records import ComparisonRow, SamplePlan, SizeRange, ValueRange, Verdict
from assay.stats.rows import EnginePair, comparison_rows
from assay.stats.sample_size import Pilot, read_pilot
from assay.stats.sample_size import plan as plan_size
from assay.stats.score_table import repository_codes
from assay.stats.verdicts import judge
from tests.stats.audit_worlds import (
    DESIGNS,
    RARE_LOSSES,
    SHAPES,
    Design,
    Sets,
    Shape,
    draw_sets,
    tilted,
)

BATCH = 100  # sets that share the sizes of repositories and the resamples
SEED = 1811
LEVEL = 0.05
FLIPS = 1_999

Figures = Mapping[str, float]


def rows_of(sets: Sets, margin: float, seed: int) -> list[ComparisonRow]:
    """Compare every set as a report does, each a family of one."""
    settings = CompareSettings(margin, LEVEL, seed, FLIPS)
    zero = np.zeros(len(sets.units))
    pairs = [
        EnginePair(f"e{at}", "b", "nDCG@10", ValueRange(), column, zero) for at, column in enumerate(sets.differences.T)
    ]
    return [judge([row], ValueRange(), settings)[0] for row in comparison_rows(pairs, sets.units, settings)]


def _generators(shape: Shape, design: Design, count: int) -> list[np.random.Generator]:
    key = [SEED, *(ord(letter) for letter in f"{shape.name} {design.name}")]
    return [np.random.default_rng([*key, at]) for at in range(math.ceil(count / BATCH))]


def _share(rows: list[ComparisonRow], holds: Callable[[ComparisonRow], bool]) -> float:
    return sum(map(holds, rows)) / len(rows)


def _warned(row: ComparisonRow) -> bool:
    """Whether the row says that its differences are too skewed for the interval."""
    return any("skew" in note for note in row.notes)


def null(shape: Shape, design: Design, count: int) -> Figures:
    """Compare two engines with no true difference."""
    rows: list[ComparisonRow] = []
    for rng in _generators(shape, design, count):
        rows += rows_of(draw_sets(rng, shape, design, BATCH), DEFAULT.margin, 0)
    missed = [row for row in rows if not row.interval.low <= 0.0 <= row.interval.high]
    return {
        "type I": _share(rows, lambda row: row.p is not None and row.p <= LEVEL),
        "coverage": 1.0 - len(missed) / len(rows),
        "better": _share(rows, lambda row: row.verdict is Verdict.BETTER),
        "worse": _share(rows, lambda row: row.verdict is Verdict.WORSE),
        "equivalent": _share(rows, lambda row: row.verdict is Verdict.EQUIVALENT),
        "warned": _share(rows, _warned),
        "warned of those missed": _share(missed, _warned) if missed else math.nan,
        "no verdict of those missed": _share(missed, lambda row: row.verdict not in (Verdict.BETTER, Verdict.WORSE))
        if missed
        else math.nan,
        "width": float(np.mean([row.interval.high - row.interval.low for row in rows])),
    }


def margin(shape: Shape, design: Design, count: int) -> Figures:
    """Compare with an engine that is worse by the margin, which is wide enough for claims to be made at all."""
    wide = min(0.3, max(DEFAULT.margin, 3.0 * shape.sd / math.sqrt(design.effective)))
    moved = shape if shape.name == RARE_LOSSES.name else tilted(shape, -wide)
    rows: list[ComparisonRow] = []
    for rng in _generators(shape, design, count):
        sets = draw_sets(rng, moved, design, BATCH)
        rows += rows_of(sets, -sets.truth, 0)
    return {
        "margin": -sets.truth,
        "equivalent": _share(rows, lambda row: row.verdict is Verdict.EQUIVALENT),
        "not inferior": _share(rows, lambda row: row.verdict in (Verdict.NOT_INFERIOR, Verdict.EQUIVALENT)),
        "better": _share(rows, lambda row: row.verdict is Verdict.BETTER),
    }


def power(shape: Shape, design: Design, count: int) -> Figures:
    """Find the MDE that sets report, then how often fresh sets with that difference find it."""
    probes = [row.mde for rng in _generators(shape, design, 4 * BATCH) for row in
              rows_of(draw_sets(rng, shape, design, BATCH), DEFAULT.margin, 0)]  # fmt: skip
    known = [mde for mde in probes if mde is not None]
    if len(known) < len(probes) / 2:
        return {"no MDE": 1.0 - len(known) / len(probes)}
    mde = float(np.median(known))
    if not mde < 0.9 * max(shape.values):
        return {"MDE": mde}
    moved, rows = tilted(shape, mde), list[ComparisonRow]()
    for rng in _generators(moved, design, count):
        rows += rows_of(draw_sets(rng, moved, design, BATCH), DEFAULT.margin, 0)
    return {
        "MDE": mde,
        "no MDE": 1.0 - len(known) / len(probes),
        "power": _share(rows, lambda row: row.verdict is Verdict.BETTER),
    }


def price(shape: Shape, design: Design, count: int) -> Figures:
    """Count what is still claimed of two equal engines whose differences have a standard deviation of .15."""
    keep = 0.15 / shape.sd
    rows: list[ComparisonRow] = []
    for rng in _generators(shape, design, count):
        sets = draw_sets(rng, shape, design, BATCH)
        rows += rows_of(Sets(sets.units, sets.differences * keep, sets.truth * keep), DEFAULT.margin, 0)
    return {
        "equivalent": _share(rows, lambda row: row.verdict is Verdict.EQUIVALENT),
        "warned": _share(rows, _warned),
    }


# Mean and mean square of the factor exp(−|Z|) of repositories in a shape that scales.
ENDLESS = 1e9  # degrees of freedom
SCALES = 200  # repositories of a pilot that stands for all
SCALE, SCALE_SQUARE = math.exp(0.5) * math.erfc(1.0 / math.sqrt(2.0)), math.exp(2.0) * math.erfc(math.sqrt(2.0))


def _equal_sets(
    rng: np.random.Generator, shape: Shape, repositories: int, queries: int, icc: float, count: int
) -> Sets:
    """Draw sets whose repositories have equal sizes, or sizes that differ by one query."""
    sizes = [queries // repositories + (at < queries % repositories) for at in range(repositories)]
    parts = [draw_sets(rng, shape, Design(1, size, icc), count) for size in sizes]
    units = tuple(replace(unit, query=f"r{at}{unit.query}", repository=f"r{at}") for at, part in enumerate(parts)
                  for unit in part.units)  # fmt: skip
    return Sets(units, np.concatenate([part.differences for part in parts]), parts[0].truth)


def _true_plan(shape: Shape, repositories: int, queries: float, icc: float, delta: float) -> SamplePlan:
    """Plan with the variance components that a shape has, as if from an endless pilot."""
    scale, square = (SCALE, SCALE_SQUARE) if shape.scales else (1.0, 1.0)
    within = square * shape.sd**2 * (1.0 - icc)
    between = square * shape.sd**2 * icc + (square - scale**2) * shape.mean**2
    if shape.scales:
        factors = np.exp(-np.abs(np.random.default_rng(SEED).standard_normal(SCALES)))
        values = np.outer(factors, shape.values).ravel()
        shares = np.tile(shape.shares, SCALES) / SCALES
    else:
        values, shares = np.array(shape.values), np.array(shape.shares)
    pilot = Pilot(ENDLESS, ENDLESS, values, shares)
    return plan_size(Components(between, within, repositories, queries), delta, pilot=pilot)


def plan(shape: Shape, design: Design, count: int) -> Figures:
    """Plan for the difference that a design should just show, and find the power of sets of the stated size.

    The pilot compares two equal engines, or two with the true difference.
    """
    figures: dict[str, float] = {}
    each, scale = design.queries / design.repositories, SCALE if shape.scales else 1.0
    shown = _true_plan(shape, design.repositories, each, design.icc, 0.1).mde_now
    if shown is None or shown >= 0.9 * scale * max(shape.values):
        return figures
    delta = 1.02 * shown  # or the answer may be a whole repository more than the design has
    moved = tilted(shape, delta / scale)
    for name, world in (("", shape), (", pilot with the difference", moved)):
        found = _true_plan(world, design.repositories, each, design.icc, delta)
        size = found.queries if design.repositories == 1 else found.repositories
        if size is None:
            continue
        stated = Design(1, size) if design.repositories == 1 else Design(size, round(size * each), design.icc)
        rows: list[ComparisonRow] = []
        for rng in _generators(moved, design, count):
            sets = _equal_sets(rng, moved, stated.repositories, stated.queries, stated.icc, BATCH)
            rows += rows_of(sets, DEFAULT.margin, 0)
        power = _share(rows, lambda row: row.verdict is Verdict.BETTER)
        figures |= {f"delta{name}": delta, f"size{name}": float(size), f"power{name}": power}
    return figures


def pilot(shape: Shape, design: Design, count: int) -> Figures:
    """Plan from small pilots for a difference that needs four times their size; the ICC is given if they are few."""
    each = design.queries / design.repositories
    shown = _true_plan(shape, design.repositories, each, design.icc, 0.1).mde_now
    if shown is None:
        return {}
    delta = min(shown / 2.0, 0.5 * max(shape.values))
    truth = _true_plan(shape, design.repositories, each, design.icc, delta)
    icc = design.icc if design.repositories < DEFAULT.repositories_as_clusters else None
    plans: list[SamplePlan] = []
    for rng in _generators(shape, design, count):
        sets = _equal_sets(rng, shape, design.repositories, design.queries, design.icc, BATCH)
        groups = repository_codes(sets.units)
        for column in sets.differences.T:
            if np.count_nonzero(column) >= DEFAULT.p_value_clusters:
                found = read_pilot(column, groups, icc)
                plans.append(plan_size(found.components, delta, pilot=found.pilot))
    return {
        "repositories": truth.repositories or math.inf,
        "in range": sum(_holds(one.repositories_range, truth.repositories) for one in plans) / len(plans),
        "median": float(np.median([one.repositories or math.inf for one in plans])),
        "queries": truth.queries or math.inf,
        "queries in range": sum(_holds(one.queries_range, truth.queries) for one in plans) / len(plans),
        "refused": 1.0 - len(plans) / (BATCH * math.ceil(count / BATCH)),
    }


def _holds(sizes: SizeRange | None, size: int | None) -> bool:
    """Whether a range holds a size; no size is the largest."""
    low, high = (None, None) if sizes is None else (sizes.low, sizes.high)
    found = [math.inf if one is None else float(one) for one in (low, size, high)]
    return sizes is not None and found == sorted(found)


AUDITS: Mapping[str, Callable[[Shape, Design, int], Figures]] = {
    "null": null,
    "margin": margin,
    "power": power,
    "price": price,
    "plan": plan,
    "pilot": pilot,
}


ICCS = (0.0, 0.05, 0.15, 0.3)
#: What a plan states, roughly: repositories of 10 or 30 queries, or queries in one repository.
PLANS = (
    *(Design(1, queries) for queries in (30, 60, 100, 300)),
    *(Design(r, 10 * r, icc) for r in (6, 7, 8, 10, 20, 60) for icc in ICCS),
    *(Design(r, 30 * r, icc) for r in (6, 10, 20) for icc in ICCS),
)
PILOTS = (Design(1, 60), *(Design(r, 10 * r, icc) for r in (6, 10, 20) for icc in ICCS))


@dataclass(frozen=True, slots=True)
class Cell:
    """A shape and a design."""

    shape: Shape
    design: Design


def cells_of(kind: str, shape: str = "", design: str = "") -> list[Cell]:
    """List the cells of an audit, by parts of their names.

    A shape that scales each repository has no fixed mean in a single one, so a margin has no meaning there.
    """
    shapes = {
        "margin": (*SHAPES, RARE_LOSSES),
        "plan": [one for one in SHAPES if one.symmetric],
        "pilot": [one for one in SHAPES if one.symmetric],
    }.get(kind, SHAPES)
    designs = {
        "price": (Design(1, 600), Design(60, 600)),
        "plan": PLANS,
        "pilot": PILOTS,
    }.get(kind, (*DESIGNS, Design(1, 50), Design(1, 600)))
    cells = [Cell(s, d) for s in shapes for d in designs if shape in s.name and design in d.name]
    fixed = kind in ("margin", "plan", "pilot")
    return [one for one in cells if not fixed or one.design.repositories > 1 or not one.shape.scales]


def audit(kind: str, count: int, cell: Cell) -> Figures:
    """Audit one cell."""
    return AUDITS[kind](cell.shape, cell.design, count)


def main() -> None:
    """Print a line for each cell, and write all of them."""
    parser = argparse.ArgumentParser(description="audit the statistics")
    parser.add_argument("kind", choices=AUDITS)
    parser.add_argument("--sets", type=int, default=10_000)
    parser.add_argument("--shape", default="")
    parser.add_argument("--design", default="")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cells = cells_of(given.kind, given.shape, given.design)
    found = {}
    with ProcessPoolExecutor(given.processes) as pool:
        for cell, figures in zip(cells, pool.map(partial(audit, given.kind, given.sets), cells), strict=True):
            found[f"{cell.shape.name}: {cell.design.name}"] = figures
            told = "  ".join(f"{name} {value:.3f}" for name, value in figures.items())
            sys.stdout.write(f"{cell.shape.name:18}{cell.design.name:22}{told}\n")
            sys.stdout.flush()
    if given.out:
        given.out.write_text(json.dumps({"sets": given.sets, "flips": FLIPS, "figures": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
