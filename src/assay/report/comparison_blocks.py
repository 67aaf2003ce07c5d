"""Comparisons as a table and a picture, with all that belongs beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from assay.report.pages.document import Block, Cell, Estimate, Forest, Paragraph, Tone, table
from assay.report.wording import difference_text, signed_ends
from assay.stats.records import Comparison, ComparisonRow, Verdict

_TONES: dict[Verdict, Tone] = {
    Verdict.BETTER: "good",
    Verdict.WORSE: "bad",
    Verdict.EQUIVALENT: "plain",
    Verdict.NOT_INFERIOR: "plain",
    Verdict.INCONCLUSIVE: "warning",
}


#: The verdict of an engine that answered nothing.
NOT_COMPARED = "failed, not compared"


def comparison_blocks(found: Comparison) -> list[Block]:
    """Show the family's comparisons with all that belongs beside them, as a table and a picture."""
    rows = [row for row in found.rows if row.in_family]
    level, narrow = (rows[0].interval.level, rows[0].equivalence.level) if rows else (0.95, 0.90)
    columns = [
        "engine",
        "baseline",
        "verdict",
        f">difference [{level:.0%}]",
        f">equivalence [{narrow:.0%}]",
        ">p",
        ">d_z",
        ">win/tie/loss",
        ">harmed",
        ">ICC",
        ">n eff.",
        ">MDE",
    ]
    lines = [*(_comparison(row) for row in rows), *(_failed(name, found, len(columns)) for name in found.failed)]
    grid = table(columns, lines, " ".join(found.notes))
    if not rows:
        return [grid]
    reach = _round_up(max(abs(v) for r in rows for v in (r.interval.low, r.interval.high)))
    points = tuple(
        Estimate(f"{r.engine} − {r.baseline}", r.difference, r.interval.low, r.interval.high, verdict_tone(r))
        for r in rows
    )
    return [grid, Paragraph(_LEGEND, "quiet"), Forest(points, -reach, reach, line=0.0), *_limits(rows)]


_LEGEND = (
    "better and worse need Holm's p; equivalent and not inferior are read from the equivalence interval, which allows "
    "for unseen differences. d_z: the difference in standard deviations of the differences. harmed: queries that got "
    "worse. ICC, n eff.: how alike queries of one repository, or of one declared cluster, are, and how many "
    "independent ones they are worth. MDE: the smallest difference this set would probably have shown."
)


def _limits(rows: Iterable[ComparisonRow]) -> list[Block]:
    """State each limit once, with the comparisons it holds for."""
    notes: dict[str, list[str]] = {}
    for row in rows:
        for note in row.notes:
            notes.setdefault(note, []).append(f"{row.engine} − {row.baseline}")
    return [Paragraph(f"{', '.join(pairs)}: {note}", "quiet") for note, pairs in notes.items()]


def _round_up(reach: float) -> float:
    """Give the end of an axis that people can read: the next twentieth."""
    return max(0.05, math.ceil(reach * 20 - 1e-9) / 20)


def _comparison(row: ComparisonRow) -> list[str | Cell]:
    """Write one comparison as a row."""
    p = row.p_adjusted if row.p_adjusted is not None else row.p
    return [
        row.engine,
        row.baseline,
        Cell(row.claim, verdict_tone(row)),
        difference_text(row.difference, row.interval),
        signed_ends(row.equivalence),
        "–" if p is None else p_text(p),
        _number(row.d_z, ".2f"),
        f"{row.wins}/{row.ties}/{row.losses}",
        f"{row.harmed:.0%}",
        _number(row.icc, ".2f"),
        f"{row.effective_n:.0f}",
        row.mde_text,
    ]


def _failed(name: str, found: Comparison, width: int) -> list[str | Cell]:
    """Write the row of an engine that is not compared."""
    baseline = "–" if name == found.baseline else found.baseline or "–"
    return [name, baseline, Cell(NOT_COMPARED, "bad"), *["–"] * (width - 3)]


def verdict_tone(row: ComparisonRow) -> Tone:
    """Colour a comparison by its verdict; one of equals is no good news: something may not be connected."""
    if row.identical:
        return "warning"
    return "plain" if row.verdict is None else _TONES[row.verdict]


def _number(value: float | None, shape: str) -> str:
    """Write a number that may not exist."""
    return "–" if value is None else format(value, shape)


def p_text(value: float) -> str:
    """Write a p-value."""
    return f"{value:.4f}" if value >= 0.0001 else "<0.0001"
