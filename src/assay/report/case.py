"""A run with its scores, and what every section looks up in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.experiment.spec import Spec
from assay.scoring import parse_measure, score
from assay.types import FORMS, Query, Run, Scores, Unit

if TYPE_CHECKING:
    from assay.types import FloatArray


@dataclass(frozen=True, slots=True)
class Case:
    """A run with its scores, and what is looked up again and again."""

    run: Run
    spec: Spec
    scores: Scores
    queries: dict[tuple[str, str], Query]
    headline: tuple[int, ...]  # columns of the headline units
    primary: str
    measures: tuple[str, ...]  # those that were asked for, the primary one first

    def values(self, engine: str, measure: str) -> FloatArray:
        """One engine's values of one measure, over all units."""
        scores = self.scores
        row: FloatArray = scores.values[scores.engines.index(engine), scores.measures.index(measure)]
        return row


def open_case(run: Run, spec: Spec) -> Case:
    """Score a run with the measures asked for and those the sections need."""
    primary = repr(parse_measure(spec.primary_measure()))
    names = [*spec.all_measures(), f"RR@{run.k}"]
    if len(_asked(run)) > 1:
        names += [f"Worst({primary})", f"Spread({primary})"]
        names += [f"Drop({primary},human→wrong_terminology)"] if "wrong_terminology" in _asked(run) else []
    measures = list(dict.fromkeys(parse_measure(name) for name in names))
    scores = score(run, measures)
    queries = {(g.name, q.id): q for g in run.suite.golds for q in g.queries}
    headline = tuple(i for i, unit in enumerate(scores.units) if unit.headline)
    asked = tuple(dict.fromkeys(repr(parse_measure(name)) for name in spec.all_measures()))
    return Case(run, spec, scores, queries, headline, primary, asked)


def real_engines(run: Run) -> tuple[str, ...]:
    """The engines that compete: all but floor and ceiling."""
    return tuple(e.name for e in run.engines if e.config.get("kind") not in ("random", "oracle"))


def rivals(run: Run, baseline: str) -> tuple[str, ...]:
    """The engines that are compared with the baseline."""
    return tuple(name for name in real_engines(run) if name != baseline)


def claimed_scores(run: Run, spec: Spec) -> Scores:
    """Score a run with the measures of its claim, under their full names."""
    return score(run, list(dict.fromkeys(parse_measure(name) for name in spec.all_measures())))


def pick(
    scores: Scores,
    *,
    engines: Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
    columns: Sequence[int] | None = None,
) -> Scores:
    """Keep some engines, measures or units of a score table."""
    names = _chosen(scores.engines, engines, "engine")
    kept = _chosen(scores.measures, measures, "measure")
    places = range(len(scores.units)) if columns is None else columns
    values = scores.values[[scores.engines.index(n) for n in names]]
    values = values[:, [scores.measures.index(m) for m in kept]][:, :, list(places)]
    return Scores(names, kept, tuple(scores.units[i] for i in places), values)


def _chosen(known: tuple[str, ...], wanted: Sequence[str] | None, what: str) -> tuple[str, ...]:
    """Check that what is wanted is there."""
    for name in wanted or ():
        if name not in known:
            raise ConfigError(f"no {what} {name!r} in this run", hint=f"there are: {', '.join(known)}")
    return known if wanted is None else tuple(wanted)


def _asked(run: Run) -> set[str]:
    """Collect the forms that were asked."""
    return {r.form for e in run.engines for r in e.rankings}


def forms_of(units: Sequence[Unit]) -> tuple[str, ...]:
    """List the forms that were asked, in the order they are shown."""
    asked = {u.form for u in units}
    return tuple(f for f in FORMS if f in asked) + tuple(sorted(asked - set(FORMS)))
