"""Annotations: lines that GitHub's runner takes out of the log and shows beside the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.errors import AssayError
from assay.gold.lint import Finding
from assay.report.commands.gating import Gate
from assay.report.evidence.losses import Loss
from assay.report.github.context import inside
from assay.report.pages.texts import SHOWN, clip, inert

Level = Literal["error", "warning", "notice"]
#: GitHub shows ten annotations of a level for each step, and drops the rest without a word.
_MOST = 10
_LEVELS: Mapping[str, Level] = {"error": "error", "warning": "warning", "info": "notice"}


@dataclass(frozen=True, slots=True)
class Spot:
    """A line of a file."""

    file: str | None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Annotation:
    """One remark, at a line where it has one."""

    level: Level
    title: str
    text: str
    spot: Spot = Spot(None)


def of_gate(gate: Gate, places: Mapping[tuple[str, str], Spot]) -> list[Annotation]:
    """Return annotations for failed and doubtful checks, and for the queries behind a significant regression."""
    found = [
        Annotation("warning" if check.passed else "error", "assay gate", f"{check.what}: {check.detail}")
        for check in gate.checks
        if check.warning or not check.passed
    ]
    regressed = any(check.fails_as_regression for check in gate.checks)
    return found + ([_of_loss(loss, places) for loss in gate.losses] if regressed else [])


def _of_loss(loss: Loss, places: Mapping[tuple[str, str], Spot]) -> Annotation:
    """Show a query that lost where it stands in its gold set."""
    text = f"{loss.engine} lost on {loss.intent}: {loss.measure} {loss.before:.3f} → {loss.after:.3f}"
    return Annotation("notice", "assay gate", text, places.get((loss.gold, loss.query), Spot(None)))


def of_error(error: AssayError, command: str) -> Annotation:
    """Show what stopped a command, at the line where it is wrong."""
    return Annotation("error", command, str(error), Spot(error.file, error.line))


def of_findings(findings: Sequence[Finding]) -> list[Annotation]:
    """Make annotations of what `assay gold lint` found."""
    return [
        Annotation(
            _LEVELS[one.severity],
            f"assay gold lint {one.code}",
            f"{one.message}{f' → {one.hint}' if one.hint else ''}",
            Spot(one.file, one.line),
        )
        for one in findings
    ]


def commands(annotations: Sequence[Annotation], workspace: Path | None, rest: str) -> list[str]:
    """Write annotations as the runner reads them; beyond what GitHub shows they are counted, and `rest` says where."""
    lines = []
    for level in _LEVELS.values():
        mine = [one for one in annotations if one.level == level]
        shown = mine if len(mine) <= _MOST else mine[: _MOST - 1]
        more = [Annotation(level, "assay", f"and {len(mine) - len(shown)} more: {rest}")] if len(mine) > _MOST else []
        lines += [_command(one, workspace) for one in (*shown, *more)]
    return lines


def _command(one: Annotation, workspace: Path | None) -> str:
    """Write one annotation; nothing in it can begin another command."""
    # GitHub knows paths below the checkout; a file elsewhere has no line to stand beside
    file = None if one.spot.file is None else inside(one.spot.file, workspace or Path())
    given = {"file": file, "line": one.spot.line if file else None, "title": one.title}
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in given.items() if value is not None)
    return f"::{one.level} {properties}::{_data(clip(one.text, SHOWN.stderr))}"


def _data(text: str) -> str:
    """Escape the text of a command, as GitHub's toolkit does; the old form of one may stand anywhere in a line."""
    return inert(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a property of a command."""
    return _data(clip(text, SHOWN.message)).replace(":", "%3A").replace(",", "%2C")
