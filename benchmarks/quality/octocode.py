"""Which lines? octocode's own sets at the pinned commit, one-to-one: `python -m benchmarks octocode`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.experiment.execution import run
from assay.scoring import score
from assay.stats import means
from assay.types import Run, Scores, Unit
from benchmarks.pages import Section, mean_text, table, target_text
from benchmarks.quality.measuring import SHELF, chosen, housed
from benchmarks.quality.sources import OCTOCODE_COMMIT, octocode
from benchmarks.quality.variants import Variant, make

MEASURES = ("Hit(level=lines)@5", "nDCG(level=lines)@10", "SpanR(iou=0.3)@10", "RecallAtTokens(2000)")
#: The last measure with a list long enough to use its budget up: ten short spans do not.
FULL = "RecallAtTokens(2000), list as long as the budget"
DEPTH = 60
SHOWN = 10
LONGEST = 100  # lines; longer spans win overlap scores for nothing
DOCS = ("*.md", "LICENSE")


@dataclass(frozen=True, slots=True)
class Part:
    """One of the sets over some of the files; targets in the order of MEASURES."""

    name: str
    gold: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    targets: tuple[float, ...] = ()


PARTS = (
    Part("code.csv over code", "code", exclude=DOCS, targets=(0.82, 0.72, 0.60, 0.90)),
    Part("docs.csv over docs", "docs", include=DOCS, targets=(0.90, 0.76, 0.55, 0.95)),
    Part("code.csv over all files", "code"),
    Part("docs.csv over all files", "docs"),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one part gave."""

    part: Part
    scores: Scores
    full: Scores  # the last measure again, with longer lists
    mean_lines: float
    longest: int


def main() -> Section:
    """Run the parts."""
    return section([measure(part) for part in PARTS])


def measure(part: Part) -> Measured:
    """Ask one set over its files."""
    gold = replace(octocode(part.gold, include=part.include, exclude=part.exclude), name=part.name)
    engines = {
        "builtin": make(Variant("builtin"), "span", SHELF),
        "keywords": make(Variant("keywords", kind="keywords"), "span", SHELF),
    }
    deep = run(engines, gold, k=DEPTH)
    made = replace(deep, k=SHOWN)  # what is asked for later changes nothing before it
    lengths, homes = span_lengths(made), {part.name: "octocode"}
    scores, full = (housed(score(one, names), homes) for one, names in ((made, MEASURES), (deep, MEASURES[-1:])))
    return Measured(part, scores, full, float(np.mean(lengths)), max(lengths))


def span_lengths(made: Run) -> list[int]:
    """Count the lines of every result of the first engine."""
    hits = [hit for ranking in made.engines[0].rankings for hit in ranking.hits[: made.k]]
    return [hit.end - hit.start + 1 for hit in hits if hit.start is not None and hit.end is not None]


def section(measured: Sequence[Measured]) -> Section:
    """Write what was seen."""
    longest = max(one.longest for one in measured)
    lines = (
        f"Commit {OCTOCODE_COMMIT}, ten spans, each target is met once. {MEASURES[0]} and the others by lines; "
        "intervals over queries, on this repository only. `hard` are rows 101 to 127.",
        "",
        f"Longest span: {longest} lines ({'met' if longest <= LONGEST else 'missed'}: at most {LONGEST})",
        "",
        *table(("set", "engine", "queries", *MEASURES, FULL), [row for one in measured for row in _rows(one)]),
        *table(
            ("set", "mean lines of a result", "most"),
            [(o.part.name, f"{o.mean_lines:.1f}", o.longest) for o in measured],
        ),
        *table(("set", *MEASURES), [_against(one) for one in measured if one.part.targets]),
    )
    return Section(lines, passed=longest <= LONGEST and all(_met(one) for one in measured))


def _rows(one: Measured) -> list[tuple[object, ...]]:
    """Show all queries, then the hard ones."""
    rows: list[tuple[object, ...]] = []
    for label, wanted in (("", _any), (", hard", _hard)):
        scores = chosen(one.scores, wanted)
        found = {(row.engine, row.measure): row for row in means(scores)}
        full = {row.engine: row for row in means(chosen(one.full, wanted))}
        for engine in scores.engines:
            shown = (mean_text(found[engine, name]) for name in scores.measures)
            rows.append((one.part.name + label, engine, len(scores.units), *shown, mean_text(full[engine])))
    return rows


def _any(_: Unit) -> bool:
    """Keep every query."""
    return True


def _hard(unit: Unit) -> bool:
    """Keep the hard queries."""
    return unit.tags.get("difficulty") == "hard"


def _values(one: Measured) -> list[float]:
    """Give the means of the engine."""
    return [float(value) for value in np.nanmean(one.scores.values[0], axis=1)]


def _against(one: Measured) -> tuple[str, ...]:
    """Show means beside what was wanted."""
    return (one.part.name, *(target_text(v, t) for v, t in zip(_values(one), one.part.targets, strict=True)))


def _met(one: Measured) -> bool:
    """Tell whether every target of a part is met."""
    return all(v >= t for v, t in zip(_values(one), one.part.targets, strict=bool(one.part.targets)))
