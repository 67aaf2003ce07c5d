"""A run with its scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from assay.errors import ConfigError
from assay.scoring import RR, Level, parse_measure, score
from assay.scoring.score import Scorer, as_scorer
from assay.types import AnalysisPlan, EngineRole, EngineRun, Query, Run, Scores, Unit, sort_phrasings

if TYPE_CHECKING:
    from assay.stats.records import Comparison
    from assay.types import FloatArray


#: Digits of a mean that are more than rounding.
SAME_MEAN = 12


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run with its scores, and what is looked up again and again."""

    run: Run
    claim: AnalysisPlan
    scores: Scores
    scorer: Scorer  # what the sections ask for more scores
    queries: dict[tuple[str, str], Query]
    headline: tuple[int, ...]  # columns of the headline units

    @property
    def primary(self) -> str:
        """The measure that verdicts are about."""
        return self.claim.primary

    def values(self, engine: str, measure: str) -> FloatArray:
        """One engine's values of one measure, over all units."""
        scores = self.scores
        row: FloatArray = scores.values[scores.engines.index(engine), scores.measures.index(measure)]
        return row


def open_case(run: Run, claim: AnalysisPlan) -> ScoredRun:
    """Score a run with the measures of its claim and those the sections need."""
    forms = {r.form for e in run.engines for r in e.rankings}
    names = [*claim.measures, rank_measure(claim.primary, run.k)]
    if len(forms) > 1 and parse_measure(claim.primary).of is None:
        names += [f"Worst({claim.primary})", f"Spread({claim.primary})"]
        names += [f"Drop({claim.primary},human→wrong_terminology)"] if "wrong_terminology" in forms else []
    scorer = as_scorer(run)
    scores = score(scorer, list(dict.fromkeys(parse_measure(name) for name in names)))
    queries = {(g.name, q.id): q for g in run.suite.golds for q in g.queries}
    headline = tuple(i for i, unit in enumerate(scores.units) if unit.headline)
    return ScoredRun(run, claim, scores, scorer, queries, headline)


def level_of(primary: str) -> Level:
    """Give the level that a measure finds answers at; what has no choice of one looks at lines."""
    measure = parse_measure(primary)
    if measure.of is not None:
        return level_of(repr(measure.of))
    chosen = any(param.name == "level" for param in measure.kind.params)
    return cast("Level", measure["level"]) if chosen else "lines"


def rank_measure(primary: str, k: int) -> str:
    """Name the reciprocal rank at the level of the primary measure: a rank beside its value must be of its kind."""
    return repr(RR(level=level_of(primary)) @ k)


class EngineLike(Protocol):
    """An engine of a run, or what is known of one."""

    @property
    def name(self) -> str:
        """How it is called."""

    @property
    def role(self) -> EngineRole:
        """What it is in a table."""


class RunLike(Protocol):
    """A run, or the evidence that was made of one."""

    @property
    def engines(self) -> Sequence[EngineLike]:
        """Who took part, in the order shown."""


def real_engines(run: RunLike) -> tuple[str, ...]:
    """The engines that compete: all but floor and ceiling."""
    return tuple(e.name for e in run.engines if e.role in ("contestant", "yardstick"))


def engines_under_test(run: RunLike) -> tuple[str, ...]:
    """The engines under test; where there is none, those that stand for them."""
    return tuple(e.name for e in run.engines if e.role == "contestant") or real_engines(run)


def compared_engines(run: RunLike, baseline: str) -> tuple[str, ...]:
    """The engines that are compared with the baseline: nobody declared the references, so they join no family."""
    tested = tuple(name for name in engines_under_test(run) if name != baseline)
    return tested or tuple(name for name in real_engines(run) if name != baseline)


def family_of(run: RunLike, claim: AnalysisPlan) -> tuple[str, ...]:
    """Name the engines whose comparisons get a verdict: the declared ones that were run, else all rivals."""
    if not claim.family:
        return compared_engines(run, claim.baseline)
    asked = {engine.name for engine in run.engines}
    return tuple(name for name in claim.family if name in asked and name != claim.baseline)


def competing(run: RunLike, claim: AnalysisPlan) -> tuple[str, ...]:
    """Name the engines whose pairs are compared: those under test, or a declared family and its baseline.

    References take part only where the family names them, or where fewer than two engines are left without them.
    """
    tested = candidates(run, claim)
    with_baseline = tuple(e.name for e in run.engines if e.name in tested or e.name == claim.baseline)
    return next((names for names in (tested, with_baseline) if len(names) > 1), real_engines(run))


def candidates(run: RunLike, claim: AnalysisPlan) -> tuple[str, ...]:
    """Name the engines that the leader is chosen from: those under test, or a declared family and its baseline.

    A reference is a candidate only if the family names it.
    """
    tested = {engine.name for engine in run.engines if engine.role == "contestant"}
    names = {*claim.family, *(tested & {claim.baseline})} if claim.family else tested
    return tuple(engine.name for engine in run.engines if engine.name in names) or real_engines(run)


def choose_leader(run: Run, claim: AnalysisPlan, gains: Mapping[str, float]) -> str:
    """Choose the engine with the best mean: the leader of reports, of all pairs and of diagnostics.

    Of equals the baseline, then the one with the fewest changes, then the one that was declared first.
    """
    return _best_of(run, candidates(run, claim), gains, claim.baseline) or _best_of(run, gains, gains) or claim.baseline


def choose_challenger(run: Run, claim: AnalysisPlan, gains: Mapping[str, float]) -> str:
    """Choose the best engine that is compared with the baseline; the baseline where there is none."""
    family = family_of(run, claim) or tuple(name for name in real_engines(run) if name in gains)
    return _best_of(run, family, gains) or claim.baseline


def _best_of(run: Run, names: Collection[str], gains: Mapping[str, float], first: str = "") -> str:
    found = [engine for engine in run.engines if engine.name in names and engine.name in gains]
    alive = [engine for engine in found if not engine.failed_throughout] or found
    order = sorted(alive, key=lambda e: (-gains[e.name], e.name != first, _count_changes(e)))
    return order[0].name if order else ""


def _count_changes(engine: EngineRun) -> int:
    return len(engine.variation.changes) if engine.variation else 0


def mean_gains(comparison: Comparison, primary: str) -> dict[str, float]:
    """Return the mean of every engine on the primary measure, higher is better; rounding makes no difference."""
    sign = 1.0 if parse_measure(primary).higher_is_better else -1.0
    means = (row for row in comparison.means if row.measure == primary)
    return {row.engine: sign * round(row.mean, SAME_MEAN) for row in means}


def absent_notes(run: RunLike, claim: AnalysisPlan) -> tuple[str, ...]:
    """Say which engines of the declared family were not run: no claim is made of them."""
    asked = {engine.name for engine in run.engines}
    absent = [name for name in claim.family if name not in asked]
    return (f"Of the declared family these were not run: {', '.join(absent)}.",) if absent else ()


def failed_engines(run: Run) -> frozenset[str]:
    """Name the engines that failed on every query."""
    return frozenset(engine.name for engine in run.engines if engine.failed_throughout)


def forms_of(units: Iterable[Unit]) -> tuple[str, ...]:
    """List the forms that were asked, in the order they are shown."""
    return sort_phrasings(unit.form for unit in units)


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
    for name in wanted or ():
        if name not in known:
            raise ConfigError(f"no {what} {name!r} in this run", hint=f"there are: {', '.join(known)}")
    return known if wanted is None else tuple(wanted)
