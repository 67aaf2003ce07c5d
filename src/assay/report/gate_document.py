"""The documents of a gate: its checks, the variation between repeats and the largest regressions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from assay.report.comparison_text import card, comparison_blocks
from assay.report.gate_checks import VERDICTS, Gate, GateCheck
from assay.report.gate_history import trend_text
from assay.report.query_scores import Regression, Stability, wavering_text
from assay.report.render.document import Block, Cell, Document, Heading, Paragraph, Table, Tone, table
from assay.report.render.formatting import clip, count

#: Lines of checks in the short output, and their columns; changed files may take two lines. With the card, at most 15.
_CHECK_LINES = 4
_WIDTH = 80
_CHANGES_LENGTH = 150
#: Queries in a table and in annotations; --json has all.
_MAX_REGRESSIONS = 10


def gate_summary(gate: Gate, show: str) -> Document:
    """Show the other checks that did not pass, the decision on the worst comparison, and the outcome of the gate.

    `show` is the command that shows a query.
    """
    checks = [check for check in gate.checks if check.warning or not check.passed or check.kind == "threshold"]
    if gate.decision:  # the card has the comparisons
        checks = [check for check in checks if check.kind != "comparison"]
    # one failure of each exit code first, so that a missing engine and a regression are both printed
    first = {check.exit_code: check for check in reversed(checks) if not check.passed}.values()
    checks.sort(key=lambda check: (check not in first, check.passed))
    lines, free = list[str](), _CHECK_LINES
    for check in checks:
        line = _check_line(check)
        free -= math.ceil(len(line) / (_WIDTH - 10))  # words are wrapped before the last columns
        if free < 0 and lines:
            break
        lines.append(line)
    more = len(checks) - len(lines)
    lines += [f"and {count(more, 'more check')} (--full)"] if more > 0 else []
    lines += [_cut(change, _CHANGES_LENGTH) for change in gate.changes[:1]]
    more = len(gate.changes) - 1
    lines += [f"and {count(more, 'more corpus', 'more corpora')} changed (--full)"] if more > 0 else []
    blocks: list[Block] = [*(Paragraph(note, "warning") for note in gate.notes), *map(Paragraph, lines)]
    return Document("", (*blocks, *_ending(gate, show, " with --full")))


def _ending(gate: Gate, show: str, more: str) -> list[Block]:
    """Return the card, without changes of the corpus that are listed above it, and the outcome as the last line."""
    blocks: list[Block] = []
    if gate.decision:
        warnings = tuple(warning for warning in gate.decision.warnings if warning not in gate.changes)
        blocks.append(card(replace(gate.decision, warnings=warnings), show=show, more=more))
    return [*blocks, Paragraph(_gate_title(gate), "bad" if gate.exit_code else "good")]


def _check_line(check: GateCheck) -> str:
    return _cut(f"{_check_outcome(check)[0]}: {check.what}: {check.detail}", _WIDTH * _CHECK_LINES)


def _cut(text: str, length: int) -> str:
    flat = clip(text, length * 10)
    return flat if len(flat) <= length else f"{flat[: length - 1]}…"


def gate_document(gate: Gate, show: str = "") -> Document:
    """Show the checks, the comparison behind them, and the decision."""
    blocks: list[Block] = [*(Paragraph(note, "warning") for note in gate.notes), check_table(gate)]
    blocks += regression_blocks(gate.regressions)
    if gate.comparison:
        blocks += [Heading("Comparison"), *comparison_blocks(gate.comparison)]
    blocks += stability_blocks(gate.stability)
    doubtful = "; ".join(check.what for check in gate.checks if check.doubtful)
    if gate.exit_code == 0 and doubtful:
        blocks.append(Paragraph(f"Passed, but inconclusive: {doubtful}.", "warning"))
    blocks += [Paragraph(hint, "quiet") for hint in gate.hints]
    blocks += trend_blocks(gate)
    return Document("", (*blocks, *_ending(gate, show, " above")))


def trend_blocks(gate: Gate) -> list[Block]:
    text = trend_text(gate.history)
    return [Paragraph(f"Trend of {text}")] if text else []


def _gate_title(gate: Gate) -> str:
    if gate.exit_code == 0 and gate.verdict != VERDICTS[0]:
        return "assay gate: pass, inconclusive (exit 0)"
    causes = {"comparison": "significant regression", "threshold": "below a threshold", "counterpart": "engine missing"}
    failed = [check for check in gate.checks if not check.passed and check.exit_code == gate.exit_code]
    reasons = dict.fromkeys(causes[check.kind] for check in failed if check.kind in causes and not check.doubtful)
    reason = f": {' and '.join(reasons)}" if reasons and gate.exit_code in (1, 5) else ""
    return f"assay gate: {gate.verdict} (exit {gate.exit_code}){reason}"


def check_table(gate: Gate) -> Table:
    rows = [[Cell(check.what), Cell(*_check_outcome(check)), Cell(check.detail)] for check in gate.checks]
    return table(["Check", "Outcome", "Details"], rows)


def _check_outcome(check: GateCheck) -> tuple[str, Tone]:
    if not check.passed:
        return "fail", "bad"
    return ("warning", "warning") if check.warning else ("pass", "good")


_LEGEND = (
    "Each query counts once, with its mean over the repeats. The standard deviation is that of the mean of one run."
)


def stability_blocks(stabilities: Sequence[Stability]) -> list[Block]:
    rows: list[list[str | Cell]] = []
    for engine in stabilities:
        if engine.sd is not None:
            mean = f"{engine.measure} {math.fsum(engine.means) / engine.repeats:.3f}"
            fails = Cell(wavering_text(engine.wavering), "warning") if engine.wavering else Cell("–")
            numbers = [str(engine.repeats), mean, f"±{engine.sd:.3f}", f"{engine.changed:.0%}"]
            rows.append([engine.side, engine.engine, *numbers, fails])
    columns = [
        "Run",
        "Engine",
        ">Repeats",
        ">Mean",
        ">SD between repeats",
        ">Changed rankings",
        "Failed in some repeats",
    ]
    return [Heading("Variation between repeats"), table(columns, rows), Paragraph(_LEGEND, "quiet")] if rows else []


def regression_blocks(regressions: Sequence[Regression]) -> list[Block]:
    if not regressions:
        return []
    rows = [
        [r.intent, r.engine, f"{r.before:.3f}", f"{r.after:.3f}", f"{r.after - r.before:+.3f}"]
        for r in largest_regressions(regressions)
    ]
    columns = ["Query", "Engine", f">{regressions[0].measure} before", ">Now", ">Change"]
    return [Heading("Largest regressions by query"), table(columns, rows)]


def largest_regressions(regressions: Sequence[Regression]) -> list[Regression]:
    return sorted(regressions, key=lambda found: -abs(found.after - found.before))[:_MAX_REGRESSIONS]
