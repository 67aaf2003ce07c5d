"""What would tuning have promised, and what would it have kept? `python -m benchmarks halves`.

Signals are selected and weighed on a random half of the repositories, from nothing, and scored on the other half. The
default is scored on the same halves; it was tuned with all of the visible repositories in sight.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from assay.stats import means
from assay.types import GoldSet, Scores, Unit
from benchmarks.pages import Section, difference_text, mean_text, signed, table, target_text
from benchmarks.quality.measuring import SEMBLE, Asking, Fleet, ask, difference
from benchmarks.quality.sources import visible
from benchmarks.quality.variants import Variant

if TYPE_CHECKING:
    from assay.types import FloatArray

TARGET = 0.86  # the issue's, mean over the splits

#: A setting, or several that move together, and what it may be. The first value is none of it, or the textbook's.
GRID: Final[Mapping[tuple[str, ...], tuple[object, ...]]] = MappingProxyType(
    {
        ("coherence.chunks",): (1, 3, 10, 30),
        ("stem.files",): (0.0, 0.3, 0.5, 0.8),
        ("noise.files.test", "noise.files.example", "noise.files.compat", "noise.files.vendored"): (1.0, 0.5, 0.3, 0.1),
        ("references.files",): (0.0, 0.15, 0.3, 0.5),
        ("identifier.files",): (0.0, 0.5, 1.0),
        ("identifier.files_inside",): (0.0, 0.3, 0.6),
        ("definition.files",): (0.0, 0.15, 0.3),
        ("coherence.decay",): (0.65, 0.5, 0.8),
        ("lexical.b",): (0.75, 0.6, 0.4),
        ("lexical.k1",): (1.2, 0.9, 1.6),
    }
)


@dataclass(frozen=True, slots=True)
class Halving:
    """How often, and how long is searched."""

    partitions: int = 8  # each both ways, so that no easy repository is unseen more often than the others
    passes: int = 2  # over the grid; a third changed nothing worth its time
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Split:
    """The repositories that are tuned on, and the others."""

    tune: tuple[str, ...]
    test: tuple[str, ...]


Point = tuple[int, ...]  # which value of each param


@dataclass(frozen=True, slots=True)
class Halved:
    """What all splits gave, and for each repository the mean over the splits that did not see it."""

    outcomes: tuple[Outcome, ...]
    unseen: Scores


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one split gave."""

    split: Split
    point: Point
    tuned: float  # on the half it was tuned on
    test: float
    default_tune: float
    default_test: float


def split_all(names: Sequence[str], halving: Halving = Halving()) -> tuple[Split, ...]:
    """Draw the halves; each is tuned on once and unseen once."""
    rng = np.random.default_rng(halving.seed)
    found = []
    for _ in range(halving.partitions):
        drawn = [names[at] for at in rng.permutation(len(names))]
        one, other = (tuple(sorted(half)) for half in (drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]))
        found += [Split(one, other), Split(other, one)]
    return tuple(found)


def unseen_text(macro: Scores, engine: str, baseline: str, splits: Sequence[Split]) -> str:
    """Write the mean difference over the unseen halves, and its least and greatest."""
    new, old = (macro.values[macro.engines.index(name), 0] for name in (engine, baseline))
    change = dict(zip([unit.repository for unit in macro.units], new - old, strict=True))
    halves = [float(np.mean([change[name] for name in split.test])) for split in splits]
    return f"{signed(float(np.mean(halves)))} ({signed(min(halves))}, {signed(max(halves))})"


@dataclass(slots=True)
class Memory:
    """The mean of each repository under each setting, asked for once."""

    fleet: Fleet
    known: dict[tuple[str, Variant], float] = field(default_factory=dict)

    def learn(self, wanted: Mapping[Variant, Sequence[str]]) -> None:
        """Ask what is not known yet, all repositories at once."""
        missing: dict[str, list[Variant]] = {}
        for one, names in wanted.items():
            for name in names:
                if (name, one) not in self.known and one not in missing.setdefault(name, []):
                    missing[name].append(one)
        asked = {name: (variants, Asking()) for name, variants in missing.items() if variants}
        for name, scores in self.fleet.map(ask, asked).items():
            for at, one in enumerate(missing[name]):
                self.known[name, one] = float(scores.values[at, 0].mean())

    def macro(self, one: Variant, names: Sequence[str]) -> float:
        """Average over repositories."""
        return float(np.mean([self.known[name, one] for name in names]))


DEFAULT = Variant("default")
TUNED = "tuned on the other half"


def at(point: Point) -> Variant:
    """Give the engine at a point of the grid; its name says which."""
    changes = {name: values[i] for (names, values), i in zip(GRID.items(), point, strict=True) for name in names}
    return Variant("grid " + " ".join(map(str, point)), tuple(changes.items()))


def tune(memory: Memory, splits: Sequence[Split], halving: Halving) -> tuple[Point, ...]:
    """Search all splits side by side, param by param, so that what they share is asked once."""
    points = [(0,) * len(GRID) for _ in splits]
    for turn in range(halving.passes):
        for param, (names, values) in enumerate(GRID.items()):
            print(f"pass {turn + 1} of {halving.passes}: {names[0]}", file=sys.stderr, flush=True)
            trials = [[(*p[:param], i, *p[param + 1 :]) for i in range(len(values))] for p in points]
            _learn(memory, splits, trials)
            points = [
                _best(memory, split, point, trial) for split, point, trial in zip(splits, points, trials, strict=True)
            ]
    return tuple(points)


def _learn(memory: Memory, splits: Sequence[Split], trials: Sequence[Sequence[Point]]) -> None:
    """Ask for every trial on the half of its split."""
    wanted: dict[Variant, list[str]] = {}
    for split, points in zip(splits, trials, strict=True):
        for point in points:
            wanted.setdefault(at(point), []).extend(split.tune)
    memory.learn(wanted)


def _best(memory: Memory, split: Split, now: Point, trials: Sequence[Point]) -> Point:
    """Move only for something better."""
    return max(trials, key=lambda point: (round(memory.macro(at(point), split.tune), 9), point == now))


def halve(golds: Sequence[GoldSet], halving: Halving = Halving()) -> Halved:
    """Tune on each half, score on the other."""
    names = [gold.name for gold in golds]
    splits = split_all(names, halving)
    with Fleet(tuple(golds)) as fleet:
        memory = Memory(fleet)
        points = tune(memory, splits, halving)
        wanted: dict[Variant, Sequence[str]] = {DEFAULT: names}
        for split, point in zip(splits, points, strict=True):
            wanted[at(point)] = (*wanted.get(at(point), ()), *split.test)
        memory.learn(wanted)
    outcomes = tuple(_outcome(memory, split, point) for split, point in zip(splits, points, strict=True))
    return Halved(outcomes, _unseen(memory, names, outcomes))


def _unseen(memory: Memory, names: Sequence[str], outcomes: Sequence[Outcome]) -> Scores:
    """Average each repository over the splits that did not see it, beside the default."""
    tuned = [
        float(np.mean([memory.known[name, at(o.point)] for o in outcomes if name in o.split.test])) for name in names
    ]
    default = [memory.known[name, DEFAULT] for name in names]
    units = tuple(Unit(name, "mean", "human", name) for name in names)
    return Scores((TUNED, DEFAULT.name), (SEMBLE,), units, np.array([[tuned], [default]]))


def _outcome(memory: Memory, split: Split, point: Point) -> Outcome:
    """Put the figures of a split together."""
    tuned, default = at(point), DEFAULT
    return Outcome(
        split,
        point,
        memory.macro(tuned, split.tune),
        memory.macro(tuned, split.test),
        memory.macro(default, split.tune),
        memory.macro(default, split.test),
    )


def main() -> Section:
    """Run the splits."""
    here = visible()
    halving = Halving()
    return section(halve(here.golds, halving), here.notes, halving)


def section(halved: Halved, notes: Sequence[str], halving: Halving) -> Section:
    """Write what was seen."""
    outcomes = halved.outcomes
    tested = np.array([outcome.test for outcome in outcomes])
    lines = (
        f"{SEMBLE}, macro. {halving.partitions} random halvings (seed {halving.seed}), each both ways; greedy "
        f"search over {len(GRID)} params, {halving.passes} passes, from every signal off. Settings of the index and of "
        "prefixes stay as they are.",
        "",
        *notes,
        f"Mean on the unseen halves: {target_text(float(tested.mean()), TARGET)}",
        "",
        *_intervals(halved.unseen),
        *_summary(outcomes),
        *_splits(outcomes),
        *_choices(outcomes),
    )
    return Section(lines, passed=float(tested.mean()) >= TARGET)


def _intervals(unseen: Scores) -> tuple[str, ...]:
    """Give intervals over repositories, each by the mean of the splits that did not see it."""
    found = {row.engine: mean_text(row) for row in means(unseen)}
    change = difference_text(difference(unseen, TUNED, DEFAULT.name, SEMBLE))
    rows = [(TUNED, found[TUNED]), (DEFAULT.name, found[DEFAULT.name]), ("difference", change)]
    return table(("each repository when unseen", "macro, 95 % by repository"), rows)


def _summary(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Give mean and spread; the splits share repositories, so the spread is no standard error."""
    rows = [
        ("tuned on the half", *_spread([o.tuned for o in outcomes])),
        ("the same settings on the unseen half", *_spread([o.test for o in outcomes])),
        ("loss from seen to unseen", *_spread([o.test - o.tuned for o in outcomes], sign=True)),
        ("the default on the unseen half", *_spread([o.default_test for o in outcomes])),
        ("tuned minus default, unseen half", *_spread([o.test - o.default_test for o in outcomes], sign=True)),
    ]
    return table(("", "mean", "standard deviation", "least", "greatest"), rows)


def _spread(values: Sequence[float], *, sign: bool = False) -> tuple[str, ...]:
    """Write mean, deviation and ends."""
    seen: FloatArray = np.array(values)
    text = signed if sign else "{:.3f}".format
    return text(seen.mean()), f"{seen.std(ddof=1):.3f}", text(seen.min()), text(seen.max())


def _splits(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Show each split."""
    rows = [
        (number, ", ".join(o.split.test), f"{o.tuned:.3f}", f"{o.test:.3f}", f"{o.default_test:.3f}")
        for number, o in enumerate(outcomes, 1)
    ]
    return table(("split", "unseen repositories", "seen", "unseen", "default, unseen"), rows)


def _choices(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Show how often each value was chosen."""
    rows = []
    for param, (names, values) in enumerate(GRID.items()):
        picked = [o.point[param] for o in outcomes]
        label = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        rows.append((label, ", ".join(f"{value}: {picked.count(i)}×" for i, value in enumerate(values))))
    return table(("setting", "values and how many of the splits chose them"), rows)
