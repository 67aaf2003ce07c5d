"""The CI gate: thresholds, failures, significant regressions, exit code."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.errors import ConfigError
from assay.report.comparison import NOT_COMPARED, comparison_blocks, verdict_tone
from assay.report.evidence import (
    EngineScores,
    QueryScores,
    Regression,
    Stability,
    answered_text,
    chance_between,
    loss_blocks,
    losses,
    stability,
    steadiness_blocks,
    wavering_text,
)
from assay.report.render.document import Block, Cell, Document, Heading, Paragraph, Table, Tone, table
from assay.report.render.text import difference_text, format_interval
from assay.report.scored_run import FAILED_SHARE, engines_under_test, notes_on, pick
from assay.scoring import parse_measure
from assay.stats import means
from assay.stats.config import DEFAULT
from assay.stats.records import AllPairs, Comparison, ComparisonRow, Verdict
from assay.stats.run_variance import RunVariance, is_regression
from assay.types import AnalysisPlan

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True, slots=True)
class Threshold:
    """A value that a measure must reach."""

    measure: str
    sign: str
    bound: float

    def holds(self, value: float) -> bool:
        """Whether a value is on the right side."""
        return _OPERATORS[self.sign](value, self.bound)


#: What a doubtful comparison costs under --strict.
DOUBT = 3
#: The outcome of a gate in a word, by its exit code.
VERDICTS = {0: "pass", 1: "fail", 2: "bad input", DOUBT: "inconclusive", 4: "engine failed", 5: "not comparable"}

Kind = Literal["failures", "steadiness", "floor", "comparison", "counterpart"]


@dataclass(frozen=True, slots=True)
class GateCheck:
    """One thing a gate looked at."""

    kind: Kind
    what: str
    passed: bool
    exit_code: int  # what a failure costs
    detail: str
    warning: bool = False

    @property
    def doubtful(self) -> bool:
        """Whether the comparison was inconclusive."""
        return self.warning and self.exit_code == DOUBT

    @property
    def fails_as_regression(self) -> bool:
        """Whether a comparison shows a significant regression beyond the margin."""
        return self.kind == "comparison" and self.exit_code == 1 and not self.passed


@dataclass(frozen=True, slots=True)
class Gate:
    """The outcome."""

    checks: tuple[GateCheck, ...]
    comparison: Comparison | None
    strict: bool
    notes: tuple[str, ...] = ()  # what limits every number, where no comparison says it
    steadiness: tuple[Stability, ...] = ()  # of the engines under the gate, and of what they are compared with
    losses: tuple[Regression, ...] = ()  # of comparisons that did not come out well
    hints: tuple[str, ...] = ()  # what would make the next gate more reliable

    @property
    def exit_code(self) -> int:
        """The first of: engine failed, not comparable, significant regression or below a threshold, inconclusive."""
        failed = {check.exit_code for check in self.checks if not check.passed}
        return next((code for code in (4, 5, 1, 3) if code in failed), 0)

    @property
    def verdict(self) -> str:
        """The outcome in a word; what passes because it is inconclusive is not called a pass."""
        doubtful = self.exit_code == 0 and any(check.doubtful for check in self.checks)
        return VERDICTS[DOUBT if doubtful else self.exit_code]

    @property
    def regressions(self) -> tuple[ComparisonRow, ...]:
        """The comparisons that fail the gate."""
        failed = {check.what for check in self.checks if check.fails_as_regression}
        return tuple(row for row in (self.comparison.rows if self.comparison else ()) if _title(row) in failed)


def parse_floor(text: str) -> Threshold:
    """Read a rule such as `Hit@5>=0.70`."""
    match = re.fullmatch(r"\s*(.+?)\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*", text)
    try:
        if match is None:
            raise ValueError
        return Threshold(repr(parse_measure(match[1])), match[2], float(match[3]))
    except ValueError as error:
        raise ConfigError(f"cannot read the rule {text!r}", hint="write it like 'Hit@5>=0.70'") from error


def judge_gate(
    seen: QueryScores,
    claim: AnalysisPlan,
    floors: Sequence[Threshold],
    comparison: Comparison | None,
    *,
    engine: str | None,
    strict: bool,
    old: QueryScores | None = None,
) -> Gate:
    """Check every engine under the gate; `old` is what it is compared with, where that is no engine beside it.

    The evidence has values of the floors' measures too.
    """
    named = [e.name for e in seen.engines]
    if engine and engine not in named:
        raise ConfigError(f"no engine {engine!r} in this run", hint=f"there are: {', '.join(named)}")
    gated = (engine,) if engine else engines_under_test(seen)
    checks = [_failures(seen.engine(name), seen.repeats) for name in gated]
    checks += [_steady(seen.engine(name)) for name in gated if seen.engine(name).wavering]
    sides = _Sides(old, seen)
    checks += [_single_baseline(name, sides) for name in gated if sides.has_noisy_single_baseline(name)]
    checks += [check for floor in floors for check in _floor(seen, claim, floor, gated)]
    rows = [row for row in comparison.rows if row.in_family] if comparison else []
    checks += [_regression(row, claim, strict, sides) for row in rows]
    checks += [_uncompared(name) for name in (comparison.failed if comparison else ())]
    compared = [name for name in gated if engine or not claim.family or name in claim.family]
    counterparts = [_counterpart(name, old) for name in compared if old is not None]
    checks += [check for check in counterparts if not check.passed]
    checks += [_gone(name, sides) for name in (() if engine else _left(sides, gated, claim))]
    notes = () if comparison else notes_on(seen.synthetic, seen.golds)
    hurt = [loss for row in rows if row.verdict in _UNWELL for loss in sides.losses(row)]
    steady = sides.steadiness(gated, claim.primary)
    return Gate(tuple(checks), comparison, strict, notes, steady, tuple(hurt), sides.hints(rows))


_UNWELL = (Verdict.WORSE, Verdict.INCONCLUSIVE)


@dataclass(frozen=True, slots=True)
class _Sides:
    """What is compared: two sides, or engines of one."""

    old: QueryScores | None
    new: QueryScores

    def steadiness(self, gated: Sequence[str], measure: str) -> tuple[Stability, ...]:
        found = [stability(self.new, name, measure) for name in gated]
        known = [e.name for e in self.old.engines] if self.old and measure in self.old.scores.measures else []
        return (*found, *(stability(self.old, name, measure) for name in gated if self.old and name in known))

    def shared(self, row: ComparisonRow) -> str | None:
        if self.old is None:
            return None
        known = {f"{e.name} ({self.new.name})": e.name for e in self.new.engines}
        name = known.get(row.engine)
        return name if name and row.baseline == f"{name} ({self.old.name})" else None

    def losses(self, row: ComparisonRow) -> tuple[Regression, ...]:
        name = self.shared(row)
        return losses(self.old, self.new, name, row) if self.old and name else ()

    def chance(self, row: ComparisonRow, alpha: float) -> str:
        repeats, chance = self._repeats(row), self.run_chance(row)
        if repeats is None or chance is None:
            return ""
        reach = chance.reach(alpha)
        spread = " and ".join(f"±{one.sd:.3f} ({called})" for one, called in _called(*repeats))
        lost = row.verdict is Verdict.INCONCLUSIVE and 0.0 < abs(row.difference) <= reach
        doubt = (
            f"; chance between whole runs alone reaches {reach:.3f}, so repeat {self.less_repeated} more often"
            if lost
            else ""
        )
        return f"; sd between repeats {spread}{doubt}"

    @property
    def less_repeated(self) -> str:
        return "this run" if self.old is not None and self.new.repeats < self.old.repeats else "the baseline"

    def run_chance(self, row: ComparisonRow) -> RunVariance | None:
        repeats = self._repeats(row)
        return chance_between(*repeats) if repeats else None

    def _repeats(self, row: ComparisonRow) -> tuple[Stability, Stability] | None:
        name = self.shared(row)
        if self.old is None or name is None:
            return None
        return stability(self.old, name, row.measure), stability(self.new, name, row.measure)

    def has_noisy_single_baseline(self, name: str) -> bool:
        if self.old is None or self.old.repeats > 1 or name not in {engine.name for engine in self.old.engines}:
            return False
        return self.new.engine(name).is_noisy

    def hints(self, rows: Sequence[ComparisonRow]) -> tuple[str, ...]:
        if self.old is None or max(self.old.repeats, self.new.repeats) > 1:
            return ()
        unwell = [row for row in rows if row.verdict in _UNWELL and not row.identical and self.shared(row)]
        return (f"{_UNREPEATED} {self.repeat_command}.",) if unwell else ()

    @property
    def repeat_command(self) -> str:
        if self.old is not None and self.old.is_file:
            return (
                f"`assay run --repeat {_REPEATS} --out repeats`, then "
                f"`assay gate repeats --write-baseline {self.old.name}`"
            )
        return f"`assay run --repeat {_REPEATS} --out FOLDER`, then `assay gate RESULTS --against FOLDER`"


#: Runs that a baseline of a noisy engine should have.
_REPEATS = 5
_UNREPEATED = (
    "Neither side was repeated, so noise is unknown. If rankings vary between runs of the unchanged engine, make the "
    "baseline from several:"
)


def _called(then: Stability, now: Stability) -> list[tuple[Stability, str]]:
    return [(one, called) for one, called in ((now, "now"), (then, "before")) if one.sd is not None]


def _failures(engine: EngineScores, repeats: int) -> GateCheck:
    share = engine.failed / engine.asked if engine.asked else 1.0
    detail = answered_text(engine, repeats, FAILED_SHARE)
    return GateCheck("failures", f"{engine.name} answers", share <= FAILED_SHARE and not engine.silent, 4, detail)


def _steady(engine: EngineScores) -> GateCheck:
    detail = f"failed in some repeats only: {wavering_text(engine.wavering)}"
    return GateCheck("steadiness", f"{engine.name} is steady", True, 4, detail, warning=True)


def _single_baseline(name: str, sides: _Sides) -> GateCheck:
    detail = (
        f"rankings of {sides.new.engine(name).changed:.0%} of the queries vary between repeats, and the baseline is a "
        f"single run, lucky or not; make it from several runs of the unchanged engine: {sides.repeat_command}"
    )
    return GateCheck("steadiness", f"baseline of {name} is repeated", True, 4, detail, warning=True)


def _uncompared(name: str) -> GateCheck:
    """Say that an engine, or what it is compared with, answered nothing: that must not turn a gate green."""
    return GateCheck("failures", f"{name} is compared", False, 4, f"{NOT_COMPARED}: it answered no query")


#: A baseline may be a file or a folder.
_ANEW = "make the baseline anew"


def _counterpart(name: str, old: QueryScores) -> GateCheck:
    """Check that an engine under the gate has a counterpart: a renamed engine must not turn a gate green."""
    there = next((engine for engine in old.engines if engine.name == name), None)
    seen = "compared"
    if there is None:
        seen = (
            f"{old.name} has none to compare it with; {_ANEW}, or name by --engine or a declared family what is gated"
        )
    elif there.silent and not there.dead:
        seen = f"what it is compared with found nothing at all; {_ANEW}"
    return GateCheck("counterpart", f"{name} has a counterpart", seen == "compared", 5, seen)


def _left(sides: _Sides, gated: Sequence[str], claim: AnalysisPlan) -> list[str]:
    if sides.old is None:
        return []
    tested, beside = engines_under_test(sides.old), {engine.name for engine in sides.new.engines}
    kept = {*gated, *(e.name for e in sides.old.engines if e.role != "contestant" and e.name in beside)}
    return [name for name in tested if name not in kept and (not claim.family or name in claim.family)]


def _gone(name: str, sides: _Sides) -> GateCheck:
    """Say that an engine is not there any more: to skip it or to take it out must not turn a gate green."""
    why = sides.new.skipped.get(name)
    seen = f"it was skipped: {why}" if why else "this run has no such engine under the gate"
    after = "mend that and run again" if why else _ANEW
    detail = f"{seen}; {after}, or name by --engine or a declared family what is gated"
    return GateCheck("counterpart", f"{name} is measured still", False, 5, detail)


def _floor(seen: QueryScores, claim: AnalysisPlan, floor: Threshold, gated: Sequence[str]) -> list[GateCheck]:
    scores = pick(seen.scores, engines=gated, measures=(floor.measure,))
    rows = means(scores, alpha=claim.alpha, cluster=claim.cluster)
    if not rows:
        raise ConfigError(f"{floor.measure} applies to no query of this run", hint="require another measure")
    checks = []
    for row in rows:
        held = [floor.holds(end) for end in (row.interval.low, row.interval.high)]
        clear = "satisfies the rule" if all(held) else "contains the bound" if any(held) else "violates the rule"
        detail = f"{row.mean:.3f}, interval {format_interval(row.interval)} {clear}"
        rule = f"{row.engine}: {floor.measure} {floor.sign} {floor.bound:g}"
        checks.append(GateCheck("floor", rule, floor.holds(row.mean), 1, detail))
    return checks


def _regression(row: ComparisonRow, claim: AnalysisPlan, strict: bool, sides: _Sides) -> GateCheck:
    """Check one comparison: worse fails unless its interval lies inside the margin or a lucky baseline explains it.

    Inconclusive fails only under --strict. Identical rankings are not inconclusive, however small the set is.
    """
    what = _title(row)
    detail = f"{difference_text(row.difference, row.interval)}: {row.claim}{sides.chance(row, claim.alpha)}"
    chance = sides.run_chance(row)
    if is_regression(row, chance, claim.alpha):
        return GateCheck("comparison", what, False, 1, detail)
    if row.verdict is Verdict.WORSE and row.within_margin:
        return GateCheck("comparison", what, True, 1, detail, warning=True)
    if row.verdict is Verdict.WORSE and chance is not None:
        lucky = chance.lucky_reach(claim.alpha)
        detail += f"; runs of an unchanged engine lose up to {lucky:.3f} against a lucky baseline, so repeat "
        detail += f"{sides.less_repeated} more often"
        return GateCheck("comparison", what, not strict, DOUBT, detail, warning=True)
    doubtful = row.verdict is Verdict.INCONCLUSIVE and not row.identical
    if doubtful:
        shown = "no difference" if row.mde is None else f"a difference of {row.mde_text}"
        detail += f"; this set could have shown {shown}, the margin is {claim.margin:g}"
    return GateCheck("comparison", what, not (doubtful and strict), DOUBT, detail, warning=doubtful)


def _title(row: ComparisonRow) -> str:
    return f"{row.engine} against {row.baseline} on {row.measure}"


def floor_measures(floors: Sequence[Threshold], k: int) -> tuple[str, ...]:
    """Name the measures of floors; one that looks further than the run did is refused."""
    for floor in floors:
        depth = parse_measure(floor.measure).depth
        if depth > k:
            raise ConfigError(f"{floor.measure} looks at {depth} results", hint=f"the run asked for {k}")
    return tuple(floor.measure for floor in floors)


def gate_document(gate: Gate) -> Document:
    """Show the checks, and the comparison behind them."""
    blocks: list[Block] = [*(Paragraph(note, "warning") for note in gate.notes), check_table(gate)]
    blocks += loss_blocks(gate.losses)
    if gate.comparison:
        blocks += [Heading("The comparison"), *comparison_blocks(gate.comparison)]
    blocks += steadiness_blocks(gate.steadiness)
    doubtful = "; ".join(check.what for check in gate.checks if check.doubtful)
    if gate.exit_code == 0 and doubtful:
        blocks.append(Paragraph(f"Passed, but inconclusive: {doubtful}.", "warning"))
    blocks += [Paragraph(hint, "quiet") for hint in gate.hints]
    passes = ", passes" if gate.exit_code == 0 and gate.verdict != VERDICTS[0] else ""
    return Document(f"assay gate: {gate.verdict}{passes} (exit {gate.exit_code})", tuple(blocks))


def check_table(gate: Gate) -> Table:
    """Show every check with its outcome."""
    rows: list[list[str | Cell]] = [[check.what, _state(check), check.detail] for check in gate.checks]
    return table(["check", "outcome", "seen"], rows)


def _state(check: GateCheck) -> Cell:
    tone: Tone = "bad" if not check.passed else "warning" if check.warning else "good"
    return Cell("fail" if not check.passed else "warning" if check.warning else "pass", tone)


def claims(found: Comparison | AllPairs) -> Document:
    """Show the family's comparisons, the leaders of all pairs, and the secondary measures."""
    judged = [row for row in found.rows if row.in_family]
    blocks: list[Block] = []
    if isinstance(found, AllPairs):
        blocks.append(Paragraph(_leaders(found)))
    blocks += comparison_blocks(found)
    if found.secondary:
        blocks += [Heading("Other measures"), _secondary(found.secondary)]
    if len(judged) != 1:
        return Document(f"{found.primary} {found.label}", tuple(blocks))
    row = judged[0]
    return Document(
        f"{row.engine} against {row.baseline} on {row.measure}: {row.claim}", tuple(blocks), verdict_tone(row)
    )


def _leaders(found: AllPairs) -> str:
    means = {row.engine: row.mean for row in found.means if row.measure == found.primary}
    up = found.rows[0].higher_is_better
    ahead = [name for name, mean in means.items() if (mean - means[found.leader]) * (1 if up else -1) > DEFAULT.tie]
    if ahead:
        return f"{found.leader} is the best engine under test; the mean of {', '.join(ahead)} is better."
    if all(row.verdict is Verdict.INCONCLUSIVE for row in found.rows):
        return f"{found.leader} has the best mean, but no pair is decided: this set is too small for that."
    others = [name for name in found.leaders if name != found.leader]
    if not others:
        return f"{found.leader} leads, and every other engine is significantly worse."
    return f"{found.leader} has the best mean; these cannot be told apart from it: {', '.join(others)}."


def _secondary(rows: tuple[ComparisonRow, ...]) -> Block:
    cells = [[row.measure, row.engine, row.baseline, difference_text(row.difference, row.interval)] for row in rows]
    return table(["measure", "engine", "baseline", ">difference"], cells)
