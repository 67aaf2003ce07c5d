from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from assay._version import __version__
from assay.clock import today
from assay.corpus_changes import change_sentences
from assay.errors import ConfigError
from assay.report.comparison import decide_sides
from assay.report.decision import Decision
from assay.report.family import tested_engines
from assay.report.gate_history import GatedCommit
from assay.report.query_scores import (
    QueryScores,
    Regression,
    Stability,
    answered_text,
    chance_between,
    find_regressions,
    means_over,
    stability,
    wavering_text,
)
from assay.report.render.formatting import signed_ends
from assay.report.scored_run import FAILED_SHARE, NOT_COMPARED, labeled_measure, measure_text, pick
from assay.report.sentences import notes_on
from assay.scoring import parse_measure
from assay.scoring.match import MATCHING_RULE
from assay.scoring.measures import default_level
from assay.stats import means
from assay.stats.records import Comparison, ComparisonRow, Verdict, engine_of
from assay.stats.run_variance import is_regression
from assay.types import AnalysisPlan

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
#: Exit code of an inconclusive comparison under --strict.
DOUBT = 3
#: The outcome of a gate by its exit code.
VERDICTS = {0: "pass", 1: "fail", 2: "bad input", DOUBT: "inconclusive", 4: "engine failed", 5: "not comparable"}
#: Recommended repeats for the baseline of a noisy engine.
_REPEATS = 5
_UNREPEATED = (
    "Neither run was repeated, so the between-run variance is unknown. If rankings vary between runs of the "
    "unchanged engine, make the baseline from several runs:"
)
#: A baseline may be a file or a directory.
_ANEW = "record the baseline again"

Kind = Literal["failures", "stability", "threshold", "comparison", "counterpart"]


@dataclass(frozen=True, slots=True)
class Threshold:
    measure: str
    sign: str
    bound: float

    def holds(self, value: float) -> bool:
        return _OPERATORS[self.sign](value, self.bound)


def parse_threshold(text: str, level: str = "file") -> Threshold:
    """Parse a rule such as `Hit@5>=0.70`; a measure that names no level has that of the run."""
    match = re.fullmatch(r"\s*(.+?)\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*", text)
    try:
        if match is None:
            raise ValueError
        return Threshold(repr(default_level(parse_measure(match[1]), level)), match[2], float(match[3]))
    except ValueError as error:
        raise ConfigError(f"invalid threshold {text!r}", hint="write it like 'Hit@5>=0.70'") from error


def threshold_measures(thresholds: Sequence[Threshold], k: int) -> tuple[str, ...]:
    """Return the measures of thresholds; raise if one needs more results than the run has."""
    for threshold in thresholds:
        depth = parse_measure(threshold.measure).depth
        if depth > k:
            raise ConfigError(f"{threshold.measure} needs {depth} results", hint=f"the run requested {k}")
    return tuple(threshold.measure for threshold in thresholds)


@dataclass(frozen=True, slots=True)
class GateCheck:
    kind: Kind
    what: str
    passed: bool
    exit_code: int  # of a failure
    detail: str
    warning: bool = False

    @property
    def doubtful(self) -> bool:
        return self.warning and self.exit_code == DOUBT

    @property
    def fails_as_regression(self) -> bool:
        """Whether a comparison shows a significant regression beyond the margin."""
        return self.kind == "comparison" and self.exit_code == 1 and not self.passed


@dataclass(frozen=True, slots=True)
class Gate:
    checks: tuple[GateCheck, ...]
    comparison: Comparison | None
    strict: bool
    notes: tuple[str, ...] = ()  # limits of every number, if no comparison contains them
    stability: tuple[Stability, ...] = ()  # of the gated engines, on both sides
    regressions: tuple[Regression, ...] = ()  # of comparisons that are worse or inconclusive
    hints: tuple[str, ...] = ()  # what would make the next gate more reliable
    decision: Decision | None = None  # on the worst comparison
    changes: tuple[str, ...] = ()  # corpora that changed since the baseline, with the changed files
    history: tuple[GatedCommit, ...] = ()  # the last gates of the engine of the decision, this one included

    @property
    def exit_code(self) -> int:
        """The first of: engine failed, significant regression or below a threshold, not comparable, inconclusive."""
        failed = {check.exit_code for check in self.checks if not check.passed}
        return next((code for code in (4, 1, 5, 3) if code in failed), 0)

    @property
    def verdict(self) -> str:
        """The outcome in a word; an inconclusive gate that passes is not called a pass."""
        doubtful = self.exit_code == 0 and any(check.doubtful for check in self.checks)
        return VERDICTS[DOUBT if doubtful else self.exit_code]


def judge_gate(
    new: QueryScores,
    plan: AnalysisPlan,
    thresholds: Sequence[Threshold],
    comparison: Comparison | None,
    *,
    engine: str | None,
    strict: bool,
    old: QueryScores | None = None,
) -> Gate:
    """Check every gated engine; `old` is the other side of the comparison, None if it is an engine of the same run.

    The scores include the measures of the thresholds.
    """
    names = [e.name for e in new.engines]
    if engine and engine not in names:
        raise ConfigError(f"no engine {engine!r} in this run", hint=f"use one of: {', '.join(names)}")
    gated = (engine,) if engine else tested_engines(new)
    # the baseline is not what a threshold is for
    required = tuple(name for name in gated if name != plan.baseline) or gated
    sides = _Sides(old, new)
    rows = [row for row in comparison.rows if row.in_family] if comparison else []
    dead = comparison.failed if comparison else ()
    uncompared = f"{NOT_COMPARED}: every query failed"
    checks = [
        *_check_engines(sides, gated),
        *(check for threshold in thresholds for check in _check_threshold(new, plan, threshold, required)),
        *(_check_comparison(row, plan, strict, sides) for row in rows),
        *(GateCheck("failures", f"{name}: compared", False, 4, uncompared) for name in dead),
        *(_check_counterparts(old, new, gated, plan, engine) if old else ()),
    ]
    failed = {part for check in checks if not check.passed for part in (check.what, check.what.partition(": ")[0])}
    blamed = [row.engine for row in rows if {_title(row), engine_of(row.engine)} & failed]
    doubted = [row for row in rows if row.verdict in (Verdict.WORSE, Verdict.INCONCLUSIVE)]
    pairs = [(row, pair) for row in doubted if (pair := sides.pair(row))]
    unrepeated = (
        old and max(old.repeats, new.repeats) == 1 and any(row.differing and not row.identical for row, _ in pairs)
    )
    stable = [stability(new, name, plan.primary) for name in gated]
    if old and plan.primary in old.scores.measures:
        stable += [stability(old, e.name, plan.primary) for name in gated for e in old.engines if e.name == name]
    return Gate(
        tuple(checks),
        comparison,
        strict,
        notes=() if comparison else notes_on(new.synthetic, new.golds),
        stability=tuple(stable),
        regressions=tuple(each for row, (before, name) in pairs for each in find_regressions(before, new, name, row)),
        hints=(f"{_UNREPEATED} {sides.repeat_command}.",) if unrepeated else (),
        decision=decide_sides(comparison, old, new, plan, worst=True, blamed=blamed) if comparison else None,
        changes=tuple(change_sentences(old.corpora, new.corpora)) if old else (),
    )


def history_line(gate: Gate, new: QueryScores, plan: AnalysisPlan, engine: str | None, commit: str) -> GatedCommit:
    """Return the history line of a gate: of the engine with the worst comparison, else of the first gated engine."""
    decision = gate.decision
    gated = (engine,) if engine else tested_engines(new)
    compared = engine_of(decision.candidate.name) if decision else ""
    name = compared if compared in new.scores.engines else gated[0]
    mean = decision.candidate.mean if decision and name == compared else None
    if mean is None:
        mean = float(means_over(pick(new.scores, engines=(name,), measures=(plan.primary,)).values[0, 0]))
    low, high = (decision.low, decision.high) if decision else (None, None)
    return GatedCommit(
        date=today(),
        commit=commit,
        exit_code=gate.exit_code,
        outcome=decision.outcome if decision else gate.verdict,
        engine=name,
        measure=plan.primary,
        mean=None if math.isnan(mean) else mean,
        baseline=decision.baseline.mean if decision and decision.baseline else None,
        difference=decision.difference if decision else None,
        interval=None if low is None or high is None else (low, high),
        queries=len(new.scores.units),
        assay=__version__,
        matching=MATCHING_RULE,
    )


@dataclass(frozen=True, slots=True)
class _Sides:
    """The two sides of a comparison; `old` is None within one run."""

    old: QueryScores | None
    new: QueryScores

    def pair(self, row: ComparisonRow) -> tuple[QueryScores, str] | None:
        """Return the old side and the engine of a row that compares one engine between the sides."""
        name = engine_of(row.engine)
        return (self.old, name) if self.old and engine_of(row.baseline) == name else None

    @property
    def repeat_advice(self) -> str:
        less = "this run" if self.old is not None and self.new.repeats < self.old.repeats else "the baseline"
        return f"so repeat {less} more often"

    @property
    def repeat_command(self) -> str:
        run = f"`assay run --repeat {_REPEATS} --out"
        if self.old is not None and self.old.is_file:
            return f"{run} repeats`, then `assay gate repeats --write-baseline {self.old.name}`"
        return f"{run} DIR`, then `assay gate RESULTS --against DIR`"


def _check_engines(sides: _Sides, gated: Sequence[str]) -> Iterator[GateCheck]:
    engines = [sides.new.engine(name) for name in gated]
    for engine in engines:
        share = engine.failed / engine.asked if engine.asked else 1.0
        detail = answered_text(engine, sides.new.repeats)
        answered = share <= FAILED_SHARE and not engine.silent and not engine.foreign
        yield GateCheck("failures", f"{engine.name}: queries answered", answered, 4, detail)
    for engine in engines:
        if engine.wavering:
            detail = f"failed in some repeats only: {wavering_text(engine.wavering)}"
            yield GateCheck("stability", f"{engine.name}: same failures in every repeat", True, 4, detail, warning=True)
    single = {engine.name for engine in sides.old.engines} if sides.old and sides.old.repeats == 1 else ()
    for engine in engines:
        if engine.name in single and (engine.changed > 0.0 or engine.wavering):
            detail = (
                f"{engine.changed:.0%} of the rankings vary between repeats, but the baseline is a single run; make it "
                f"from several runs of the unchanged engine: {sides.repeat_command}"
            )
            yield GateCheck("stability", f"{engine.name}: baseline repeated", True, 4, detail, warning=True)


def _check_threshold(
    new: QueryScores, plan: AnalysisPlan, threshold: Threshold, gated: Sequence[str]
) -> Iterator[GateCheck]:
    scores = pick(new.scores, engines=gated, measures=(threshold.measure,))
    rows = means(scores, alpha=plan.alpha, cluster=plan.cluster)
    if not rows:
        raise ConfigError(f"{threshold.measure} applies to no query of this run", hint="require another measure")
    for row in rows:
        exact = f"{row.mean:.3f}" if round(row.mean, 3) != round(threshold.bound, 3) else f"{row.mean:.6g}"
        detail = f"{exact}, {1 - plan.alpha:.0%} CI {row.interval.low:.2f} to {row.interval.high:.2f}"
        rule = f"{row.engine}: {labeled_measure(threshold.measure)} {threshold.sign} {threshold.bound:g}"
        yield GateCheck("threshold", rule, threshold.holds(row.mean), 1, detail)


def _check_comparison(row: ComparisonRow, plan: AnalysisPlan, strict: bool, sides: _Sides) -> GateCheck:
    """Check one comparison: worse fails unless its interval is inside the margin or a lucky baseline explains it.

    Inconclusive fails only under --strict. If no query is worse, the check passes however small the set is.
    """
    pair, variance = sides.pair(row), None
    detail = f"{row.difference:+.3f} {signed_ends(row.interval)}: {row.summary}"
    if pair:
        old, new = stability(*pair, row.measure), stability(sides.new, pair[1], row.measure)
        variance = chance_between(old, new)
        if variance:
            spread = [f"±{side.sd:.3f} ({at})" for side, at in ((new, "now"), (old, "before")) if side.sd is not None]
            detail += f"; sd between repeats {' and '.join(spread)}"
            reach = variance.reach(plan.alpha)
            if row.verdict is Verdict.INCONCLUSIVE and 0.0 < abs(row.difference) <= reach:
                detail += f"; between-run variance alone explains up to {reach:.3f}, {sides.repeat_advice}"
    title = _title(row)
    if is_regression(row, variance, plan.alpha):
        return GateCheck("comparison", title, False, 1, detail)
    if row.verdict is Verdict.WORSE and row.within_margin:
        return GateCheck("comparison", title, True, 1, detail, warning=True)
    doubtful = row.verdict in (Verdict.WORSE, Verdict.INCONCLUSIVE) and row.losses > 0 and not row.identical
    if row.verdict is Verdict.WORSE and variance:
        lucky = variance.lucky_reach(plan.alpha)
        detail += f"; an unchanged engine may lose up to {lucky:.3f} against a lucky baseline, "
        detail += sides.repeat_advice
    elif doubtful:
        shown = "any difference" if row.mde is None else f"a difference below {row.mde_text}"
        detail += f"; the set is too small to detect {shown}, the margin is {plan.margin:g}"
    elif row.verdict is Verdict.INCONCLUSIVE and row.differing:
        detail += "; no query is worse"
    return GateCheck("comparison", title, not (doubtful and strict), DOUBT, detail, warning=doubtful)


def _title(row: ComparisonRow) -> str:
    return f"{row.engine} against {row.baseline} on {measure_text(row.measure)}"


def _check_counterparts(
    old: QueryScores, new: QueryScores, gated: Sequence[str], plan: AnalysisPlan, engine: str | None
) -> Iterator[GateCheck]:
    """Fail engines that one of the sides lacks: a renamed, skipped or removed engine must not pass."""
    family = () if engine else plan.family
    choose = "or select the gated engines with --engine or --family"
    known = {other.name: other for other in old.engines}
    for name in gated:
        if family and name not in family:
            continue
        detail, other = "", known.get(name)
        if other is None:
            detail = f"{old.name} does not have this engine; {_ANEW}, {choose}"
        elif other.silent and not other.dead:
            detail = f"it returned no results in {old.name}; {_ANEW}"
        if detail:
            yield GateCheck("counterpart", name, False, 5, detail)
    present = {other.name for other in new.engines}
    references = {other.name for other in old.engines if other.role != "candidate" and other.name in present}
    for name in tested_engines(old) if engine is None else ():
        if name not in {*gated, *references} and (not family or name in family):
            why = new.skipped.get(name)
            add = f"the baseline has this engine, the run does not; add it to the run, {_ANEW}"
            state = f"it was skipped: {why}; fix that and run again" if why else add
            yield GateCheck("counterpart", name, False, 5, f"{state}, {choose}")
