"""Pass or fail: floors, failures and proven regressions, and the exit code they add up to."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.report.analysis import FAILED_SHARE
from assay.report.case import contestants, pick
from assay.report.comparison import NOT_COMPARED, comparison_blocks
from assay.report.pages.document import Block, Cell, Document, Heading, Paragraph, Tone, table
from assay.report.synthetic import synthetic_notes
from assay.report.wording import difference_text, ends
from assay.scoring import parse_measure, score
from assay.stats import means
from assay.stats.records import Comparison, ComparisonRow, Verdict
from assay.types import Claim, Run, Status

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True, slots=True)
class Floor:
    """A value that a measure must reach."""

    measure: str
    sign: str
    bound: float

    def holds(self, value: float) -> bool:
        """Whether a value is on the right side."""
        return _OPERATORS[self.sign](value, self.bound)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing a gate looked at."""

    what: str
    passed: bool
    exit_code: int  # what a failure costs
    detail: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """The outcome."""

    checks: tuple[Check, ...]
    comparison: Comparison | None
    strict: bool
    notes: tuple[str, ...] = ()  # what limits every number, where no comparison says it

    @property
    def exit_code(self) -> int:
        """Failed engines first: a number made of failures proves nothing. Then proven harm, then doubt."""
        failed = {check.exit_code for check in self.checks if not check.passed}
        return next((code for code in (4, 5, 1, 3) if code in failed), 0)


def parse_floor(text: str) -> Floor:
    """Read a rule such as `Hit@5>=0.70`."""
    match = re.fullmatch(r"\s*(.+?)\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*", text)
    try:
        if match is None:
            raise ValueError
        return Floor(repr(parse_measure(match[1])), match[2], float(match[3]))
    except ValueError as error:
        raise ConfigError(f"cannot read the rule {text!r}", hint="write it like 'Hit@5>=0.70'") from error


def judge_gate(
    run: Run,
    claim: Claim,
    floors: Sequence[Floor],
    comparison: Comparison | None,
    *,
    engine: str | None,
    strict: bool,
    known: Sequence[str] | None = None,
) -> Gate:
    """Check every engine under the gate; `known` are the engines of the run that it is compared with."""
    named = [e.name for e in run.engines]
    if engine and engine not in named:
        raise ConfigError(f"no engine {engine!r} in this run", hint=f"there are: {', '.join(named)}")
    gated = (engine,) if engine else contestants(run)
    checks = [_failures(run, name) for name in gated]
    checks += [check for floor in floors for check in _floor(run, claim, floor, gated)]
    rows = [row for row in comparison.rows if row.in_family] if comparison else []
    checks += [_regression(row, claim, strict) for row in rows]
    checks += [_uncompared(name) for name in (comparison.failed if comparison else ())]
    compared = [name for name in gated if engine or not claim.family or name in claim.family]
    checks += [_counterpart(name, known) for name in compared if known is not None]
    return Gate(tuple(checks), comparison, strict, () if comparison else synthetic_notes(run))


def _failures(run: Run, name: str) -> Check:
    """Check how many of an engine's queries failed."""
    rankings = next(e.rankings for e in run.engines if e.name == name)
    failed = sum(r.status != Status.OK for r in rankings)
    share = failed / len(rankings) if rankings else 1.0
    detail = f"{failed} of {len(rankings)} queries failed ({share:.1%}; {FAILED_SHARE:.0%} are borne)"
    return Check(f"{name} answers", share <= FAILED_SHARE, 4, detail)


def _uncompared(name: str) -> Check:
    """Say that an engine, or what it is compared with, answered nothing: that must not turn a gate green."""
    return Check(f"{name} is compared", False, 4, f"{NOT_COMPARED}: it answered no query")


def _counterpart(name: str, known: Sequence[str]) -> Check:
    """Check that an engine under the gate has a counterpart: a renamed engine must not turn a gate green."""
    there = name in known
    return Check(f"{name} has a counterpart", there, 5, "compared" if there else "there is none to compare it with")


def _floor(run: Run, claim: Claim, floor: Floor, gated: Sequence[str]) -> list[Check]:
    """Check a floor: the point value decides, the interval says how clear it is."""
    measure = parse_measure(floor.measure)
    if measure.depth > run.k:
        raise ConfigError(f"{floor.measure} looks at {measure.depth} results", hint=f"the run asked for {run.k}")
    rows = means(pick(score(run, [measure]), engines=gated), alpha=claim.alpha, cluster=claim.cluster)
    if not rows:
        raise ConfigError(f"{floor.measure} applies to no query of this run", hint="require another measure")
    checks = []
    for row in rows:
        held = [floor.holds(end) for end in (row.interval.low, row.interval.high)]
        clear = (
            "clear of the bound" if all(held) else "on both sides of it" if any(held) else "wholly on the wrong side"
        )
        detail = f"{row.mean:.3f}, interval {ends(row.interval)} {clear}"
        rule = f"{row.engine}: {floor.measure} {floor.sign} {floor.bound:g}"
        checks.append(Check(rule, floor.holds(row.mean), 1, detail))
    return checks


def _regression(row: ComparisonRow, claim: Claim, strict: bool) -> Check:
    """Check one comparison: worse fails unless its interval lies inside the margin; doubt fails only when strict."""
    what = f"{row.engine} against {row.baseline} on {row.measure}"
    detail = f"{difference_text(row.difference, row.interval)}: {row.claim}"
    if row.verdict is Verdict.WORSE:
        return Check(what, row.within_margin, 1, detail, warning=row.within_margin)
    doubtful = row.verdict is Verdict.INCONCLUSIVE
    if doubtful:
        detail += f"; this set could have shown {row.mde_text}, the margin is {claim.margin:g}"
    return Check(what, not (doubtful and strict), 3, detail, warning=doubtful)


def gate_document(gate: Gate) -> Document:
    """Show the checks, and the comparison behind them."""
    rows: list[list[str | Cell]] = [[check.what, _state(check), check.detail] for check in gate.checks]
    outcome = {0: "pass", 1: "fail", 3: "inconclusive", 4: "an engine failed", 5: "not comparable"}[gate.exit_code]
    blocks: list[Block] = [*(Paragraph(note, "warning") for note in gate.notes), table(["check", "", ""], rows)]
    if gate.comparison:
        blocks += [Heading("The comparison"), *comparison_blocks(gate.comparison)]
    doubtful = "; ".join(check.what for check in gate.checks if check.warning)
    if gate.exit_code == 0 and doubtful:
        blocks.append(Paragraph(f"Passed, but not proven either way: {doubtful}.", "warning"))
    return Document(f"assay gate: {outcome} (exit {gate.exit_code})", tuple(blocks))


def _state(check: Check) -> Cell:
    """Write the outcome of one check."""
    tone: Tone = "bad" if not check.passed else "warning" if check.warning else "good"
    return Cell("fail" if not check.passed else "warning" if check.warning else "pass", tone)
