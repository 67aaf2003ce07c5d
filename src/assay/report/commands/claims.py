"""A comparison alone, as a document."""

from __future__ import annotations

from assay.report.comparison_blocks import comparison_blocks, verdict_tone
from assay.report.pages.document import Block, Document, Heading, Paragraph, table
from assay.report.wording import difference_text
from assay.stats.config import DEFAULT
from assay.stats.records import AllPairs, Comparison, ComparisonRow, Verdict


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
    """Name the best engine and those that cannot be told apart from it; say so where a reference is ahead of it."""
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
    """Show the measures that carry no verdict."""
    cells = [[row.measure, row.engine, row.baseline, difference_text(row.difference, row.interval)] for row in rows]
    return table(["measure", "engine", "baseline", ">difference"], cells)
