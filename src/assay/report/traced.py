"""Which queries of a run are worth a trace of the reference engine, and the traces themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.gold.split import SEALED, part_of
from assay.report.case import Case, dead_engines, rank_measure
from assay.report.wording import count
from assay.scoring import parse_measure

if TYPE_CHECKING:
    from assay.experiment.running.tracing import Traces

#: Queries that a report has traces of where nobody says otherwise: more than anybody reads, some 60 kB of the page.
USUAL_TRACES = 40


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine that is traced, and its queries as gold, query and form, those that matter most first."""

    engine: str
    queries: tuple[tuple[str, str, str], ...]
    sealed: int = 0  # that were left out: nobody should learn from them


def traces_for(case: Case, rival: str, most: int, *, cheap: bool = False) -> Traces:
    """Trace the queries of a run that matter most; what is left out is said with the command that makes it.

    `rival` is who the engine is held against where it is the baseline itself. `cheap` makes no index of a corpus that
    takes more than a moment.
    """
    from assay.experiment.running.tracing import Traces, traces_of

    choice = choose_traced(case, rival)
    if choice is None:
        return Traces()
    if most <= 0:
        notes = (f"Traces of {choice.engine} are not made; `assay report FOLDER --traces {USUAL_TRACES}` makes them.",)
        return Traces({}, notes)
    found = traces_of(case.run, choice.queries, choice.engine, most, cheap=cheap)
    return replace(found, notes=_notes(choice, found, most))


def choose_traced(case: Case, rival: str) -> Choice | None:
    """Choose the best builtin engine, and order its queries; nothing where there is none that answered."""
    from assay.experiment.running.tracing import explainable

    dead = dead_engines(case.run)
    names = [engine.name for engine in explainable(case.run) if engine.name not in dead]
    if not names:
        return None
    sign = 1.0 if parse_measure(case.primary).higher_is_better else -1.0
    best = max(names, key=lambda name: sign * _mean(case, name))  # of equals the first that was declared
    against = case.claim.baseline if best != case.claim.baseline else rival
    columns = _ordered(case, best, against, sign)
    units = [case.scores.units[at] for at in columns]
    kept = [u for u in units if part_of(case.queries[u.gold, u.query]) != SEALED]
    return Choice(best, tuple((u.gold, u.query, u.form) for u in kept), len(units) - len(kept))


def _mean(case: Case, engine: str) -> float:
    """Give the mean of the primary measure over the headline queries; one that applies nowhere counts as none."""
    import numpy as np

    values = case.values(engine, case.primary)[list(case.headline)]
    return float(np.nanmean(values)) if np.isfinite(values).any() else 0.0


def _ordered(case: Case, engine: str, against: str, sign: float) -> list[int]:
    """Order units: what was missed, then what got worse, then the rest by value; headlines before other phrasings."""
    values, others = (sign * case.values(name, case.primary) for name in (engine, against))
    found = case.values(engine, rank_measure(case.primary, case.run.k)) > 0
    shown = set(case.headline)

    def key(at: int) -> tuple[bool, int, float, float, int]:
        lost = float(others[at] - values[at])
        group = 0 if not found[at] else 1 if lost > 0 else 2
        # NaN, where a measure does not apply, has no place in an order
        return (at not in shown, group, -lost if lost == lost else 0.0, _last_if_none(float(values[at])), at)

    return sorted(range(len(case.scores.units)), key=key)


def _last_if_none(value: float) -> float:
    """Put what has no value behind all that have."""
    return value if value == value else float("inf")


def _notes(choice: Choice, found: Traces, most: int) -> tuple[str, ...]:
    """Say which queries have no trace, and what makes it."""
    made, whole = len(found.made), len(choice.queries)
    notes = list(found.notes)
    if made and made < whole:
        where = ", where their corpora are here" if found.notes else ""
        notes.append(
            f"Traces of {choice.engine} are there for {count(made, 'query', 'queries')} of {whole:,}, misses and "
            f"regressions first; `assay report FOLDER --traces {whole}` makes all{where}."
        )
    elif found.notes:
        notes.append(
            f"`assay report FOLDER --traces {min(most, whole)}` makes what is missing, where its corpus is here."
        )
    if choice.sealed:
        notes.append(f"{count(choice.sealed, 'sealed query has', 'sealed queries have')} no trace.")
    return tuple(notes)
