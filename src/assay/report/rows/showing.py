"""The rows as the first table of a report."""

from __future__ import annotations

from collections.abc import Sequence

from assay.report.pages.document import Block, Cell, Heading, Paragraph, Tone, table
from assay.report.rows.records import HASH_DIGITS, Row, Value
from assay.report.wording import mean_text
from assay.scoring import parse_measure

_VERDICT = "verdict"


def row_blocks(rows: Sequence[Row], primary: str, measures: Sequence[str]) -> list[Block]:
    """Show all rows, best first; those of earlier runs stand apart, because their numbers are on another footing."""
    measured = sorted((row for row in rows if row.state == "measured"), key=lambda row: _rank(row, primary))
    skipped = [row for row in rows if row.state == "skipped"]
    others = [measure for measure in measures if measure != primary]
    columns = ["engine", f">{primary}", *(f">{measure}" for measure in others), ">failed", _VERDICT]
    columns += [">queries", ">repositories", ">k", "date", "Assay", "gold", "corpora", "settings"]
    lines = [_line(row, primary, others) for row in measured] + [_empty(row, columns) for row in skipped]
    blocks: list[Block] = [Heading("Results"), table(columns, lines, _NOTE)]
    return [*blocks, *_stale(rows)]


_NOTE = (
    "Each row has the day and the version it was made with and hashes of what it was made from: gold set, corpora, "
    "settings; rows.json has them in full. Intervals and verdicts are explained below."
)


def skipped_blocks(rows: Sequence[Row]) -> list[Block]:
    """Say in a sentence each who was not run, and whose rows are of earlier runs."""
    said: list[Block] = [
        Paragraph(f"{row.engine} was not run: {row.reason}.", "quiet") for row in rows if row.state == "skipped"
    ]
    stale = [f"{row.engine} ({row.reason})" for row in rows if row.state == "stale"]
    text = f"Rows of earlier runs are in RESULTS.md, marked stale: {', '.join(stale)}."
    return [*said, Paragraph(text, "quiet")] if stale else said


def _rank(row: Row, primary: str) -> tuple[float, str]:
    """Order by the primary measure, best first; who has no value comes last, names break ties."""
    value = row.value(primary)
    sign = -1 if parse_measure(primary).higher_is_better else 1
    return (float("inf") if value is None else sign * value.mean, row.engine)


def _line(row: Row, primary: str, others: Sequence[str]) -> list[str | Cell]:
    """Write the row of an engine that was asked."""
    return [
        row.engine,
        _interval(row.value(primary)),
        *(_mean(row.value(measure)) for measure in others),
        Cell(f"{row.failed} of {row.asked}", "bad") if row.failed else "0",
        Cell(_verdict(row), _tone(row)),
        str(row.queries),
        str(row.repositories),
        str(row.k),
        *_made(row),
    ]


def _empty(row: Row, columns: Sequence[str]) -> list[str | Cell]:
    """Write the row of an engine that was not run, with the reason in the place of a verdict."""
    told: dict[str, str | Cell] = {"engine": row.engine, _VERDICT: Cell(f"skipped: {row.reason}", "warning")}
    return [told.get(column, "–") for column in columns]


def _verdict(row: Row) -> str:
    """Write the verdict, or why there is none."""
    ends = {"floor": "the floor", "ceiling": "the ceiling"}
    if row.engine == row.baseline:
        return row.verdict or "the baseline"
    return row.verdict or ends.get(row.role, "–")


def _tone(row: Row) -> Tone:
    """Colour a verdict."""
    return "good" if row.verdict.startswith("better") else "bad" if row.verdict.startswith("worse") else "plain"


def _made(row: Row) -> list[str]:
    """Write when and with what a row was made."""
    hashes = (row.gold_hash, row.corpora_hash, row.config_hash)
    return [row.date, row.assay, *(digest[:HASH_DIGITS] for digest in hashes)]


def _stale(rows: Sequence[Row]) -> list[Block]:
    """Show the rows of earlier runs."""
    stale = [row for row in rows if row.state == "stale"]
    if not stale:
        return []
    lines = [[row.engine, row.reason, *_measured(row), str(row.queries), str(row.k), *_made(row)] for row in stale]
    columns = ["engine", "stale because", "measure", ">mean", ">queries", ">k", "date", "Assay", "gold", "corpora"]
    note = (
        "These were measured in earlier runs and cannot be compared with the rows above. "
        "`assay run` measures those that are declared; `assay run --forget` drops the others."
    )
    return [Heading("Rows of earlier runs"), table([*columns, "settings"], lines, note)]


def _measured(row: Row) -> list[str]:
    """Write the measure that a row is about, with its mean."""
    return [row.primary, _interval(row.value(row.primary))]


def _interval(value: Value | None) -> str:
    """Write a mean with its interval."""
    return "–" if value is None else mean_text(value.mean, value)


def _mean(value: Value | None) -> str:
    """Write a mean."""
    return "–" if value is None else f"{value.mean:.3f}"
