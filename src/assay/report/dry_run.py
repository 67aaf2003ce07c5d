from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from assay.report.render.document import Block, Code, Document, Paragraph, table
from assay.report.render.text import count

if TYPE_CHECKING:
    from assay.experiment.dry_run import DryRun, Node

#: Engines below one step; a sweep of a thousand would hide the tree.
_SHOWN = 12
_STRANGERS = "Rerun every time, because changes of these engines cannot be detected"
_TIMED = (
    "Times are measured: queries are interleaved across engines in this process, each with its own index, and nothing "
    "is cached. --no-times uses the cache."
)


def dry_run_document(plan: DryRun) -> Document:
    tree, left = plan.tree, plan.left
    cells = tree.golds * tree.engines
    lines = [f"{tree.name}: {count(tree.golds, 'gold set')}, {tree.about}", *_tree_lines(tree, "")]
    blocks: list[Block] = [Code("\n".join(lines))]
    if plan.timed:
        blocks.append(Paragraph(_TIMED))
    work = f"{left.cells} remain ({count(left.questions, 'search', 'searches')})" if left.cells else "nothing to run"
    blocks.append(Paragraph(f"{cells - left.cells} of {cells} cells are cached; {work}."))
    if plan.strangers:
        more = len(plan.strangers) - _SHOWN
        names = ", ".join(plan.strangers[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        blocks.append(Paragraph(f"{_STRANGERS}: {names}."))
    if plan.skipped:
        blocks.append(table(["Skipped", "Reason"], list(plan.skipped.items())))
    return Document("Plan", tuple(blocks))


def dry_run_json(plan: DryRun) -> dict[str, object]:
    return {"schema": "assay/prospect/1", **asdict(plan)}


def _tree_lines(node: Node, indent: str) -> Iterator[str]:
    left = len(node.children) - _SHOWN
    shown = node.children[:_SHOWN]
    for number, child in enumerate(shown):
        last = number == len(shown) - 1 and left <= 0
        about = f" ({child.about})" if child.about else ""
        shared = f", shared by {child.engines}" if child.engines > 1 else ""
        yield f"{indent}{'└─' if last else '├─'} {child.name}{about}{shared}: {_state(child)}"
        yield from _tree_lines(child, f"{indent}{'   ' if last else '│  '}")
    if left > 0:
        yield f"{indent}└─ … and {left} more"


def _state(node: Node) -> str:
    if not node.made:
        return "cached"
    if not node.needed:
        return "not needed"
    if not node.kept:
        return f"to do for {count(node.golds, 'gold set')}"
    return f"cached for {node.kept}, to do for {node.made}"
