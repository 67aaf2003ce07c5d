"""What is each signal worth? Added one by one, and left out one by one: `python -m benchmarks signals`."""

from __future__ import annotations

from collections.abc import Sequence

from assay.types import Scores
from benchmarks.pages import Section, difference_text, table
from benchmarks.quality.halves import Split, split_all, unseen_text
from benchmarks.quality.ladder import ELSEWHERE, Step, left_out, steps
from benchmarks.quality.measuring import SEMBLE, Asking, Fleet, by_repository, difference
from benchmarks.quality.sources import visible
from benchmarks.quality.variants import Variant

DEFAULT = Variant("default")


def main() -> Section:
    """Run every step on every repository."""
    here = visible()
    climbed, dropped = tuple(steps()), tuple(left_out())
    variants = [DEFAULT, *(step.variant for step in (*climbed, *dropped))]
    with Fleet(here.golds) as fleet:
        macro = by_repository(fleet.scores(variants, Asking()))
    splits = split_all([gold.name for gold in here.golds])
    return section(macro, climbed, dropped, splits, here.notes)


def section(
    macro: Scores, climbed: Sequence[Step], dropped: Sequence[Step], splits: Sequence[Split], notes: Sequence[str]
) -> Section:
    """Write what was seen."""
    header = ("signal", "macro", "paired difference, 95 % by repository", "repositories better, same, worse")
    unseen = f"mean over the unseen halves of {len(splits)} splits (least, greatest)"
    lines = (
        f"{SEMBLE}, macro over {len(macro.units)} repositories. Each step is compared with the last one that was kept. "
        "Intervals are not adjusted for the number of steps. The seed's figures are ColGREP's own, on 63 repositories.",
        "",
        *notes,
        *table((*header, unseen, "kept", "seed 001"), [_row(macro, step, splits) for step in climbed]),
        "Of the seed's other signals:",
        "",
        *(f"- {sentence}" for sentence in ELSEWHERE),
        "",
        "Each stage left out of the default (coherence: cut to a file's best unit); those for spans do nothing here:",
        "",
        *table((*header, unseen), [_row(macro, step, splits)[:5] for step in dropped]),
    )
    return Section(lines)


def _row(macro: Scores, step: Step, splits: Sequence[Split]) -> tuple[str, ...]:
    """Write one step."""
    name = step.variant.name
    mean = f"{macro.values[macro.engines.index(name), 0].mean():.3f}"
    kept = "yes" if step.kept else "no"
    if not step.against:
        return name, mean, "", "", "", kept, step.seed
    row = difference(macro, name, step.against, SEMBLE)
    counts = f"{row.wins}, {row.ties}, {row.losses}"
    return name, mean, difference_text(row), counts, unseen_text(macro, name, step.against, splits), kept, step.seed
