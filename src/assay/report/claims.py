"""A comparison alone, as a document."""

from __future__ import annotations

from assay.report.document import Block, Document, Heading, Paragraph, table
from assay.report.sections import comparison_blocks
from assay.stats.records import AllPairs, Comparison, ComparisonRow


def claims(found: Comparison | AllPairs) -> Document:
    """Show the family's comparisons, the leaders of all pairs, and the secondary measures."""
    judged = [row for row in found.rows if row.in_family]
    blocks: list[Block] = []
    if isinstance(found, AllPairs):
        blocks.append(Paragraph(_leaders(found)))
    blocks += comparison_blocks(judged, found.notes)
    blocks += [Paragraph(f"{row.engine}: {note}", "quiet") for row in judged for note in row.notes]
    if found.secondary:
        blocks += [Heading("Other measures"), _secondary(found.secondary)]
    return Document(f"{found.primary} {found.label}", tuple(blocks))


def _leaders(found: AllPairs) -> str:
    """Name the best engine and those that cannot be told apart from it."""
    others = [name for name in found.leaders if name != found.leader]
    if not others:
        return f"{found.leader} leads, and every other engine is proven worse."
    return f"{found.leader} has the best mean; these cannot be told apart from it: {', '.join(others)}."


def _secondary(rows: tuple[ComparisonRow, ...]) -> Block:
    """Show the measures that carry no verdict."""
    cells = [
        [r.measure, r.engine, r.baseline, f"{r.difference:+.3f} [{r.interval.low:+.3f}, {r.interval.high:+.3f}]"]
        for r in rows
    ]
    return table(["measure", "engine", "baseline", ">difference"], cells)
