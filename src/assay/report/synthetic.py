"""Notes on results from synthetic gold sets."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from assay.types import Run

#: Names of sets that a sentence lists; more are counted.
_LISTED = 3


def synthetic_sets(run: Run) -> tuple[str, ...]:
    """Name the gold sets of a run that are synthetic."""
    return tuple(gold.name for gold in run.suite.golds if gold.synthetic)


def synthetic_notes(run: Run) -> tuple[str, ...]:
    """Say that numbers rest on synthetic gold, if they do."""
    return notes_on(synthetic_sets(run), [gold.name for gold in run.suite.golds])


def notes_on(synthetic: Iterable[str], golds: Iterable[str]) -> tuple[str, ...]:
    """Say which of some gold sets are synthetic, if any is."""
    names = list(dict.fromkeys(synthetic))
    if not names:
        return ()
    every = len(set(golds))
    which = "This gold is" if len(names) == every else f"{len(names)} of {every} gold sets are"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (
        f"{which} synthetic ({', '.join(names[:_LISTED])}{more}): questions made from the code, not by people. "
        "It tells engines apart; it does not tell how well one serves people.",
    )


def suite_name(run: Run) -> str:
    """Name the gold sets of a run, each with its mark."""
    return "+".join(marked(gold.name, synthetic_sets(run)) for gold in run.suite.golds)


def marked(name: str, synthetic: Collection[str]) -> str:
    """Write the name of a gold set, with the mark where it does not say so itself."""
    return f"{name} (synthetic)" if name in synthetic and "synthetic" not in name else name
