"""The plan of a run as text: tree, cached cells, remaining work, estimated time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from assay.experiment.forecast import DryRun, Node, TimeEstimate
from assay.report.render.document import Block, Code, Document, Paragraph, table
from assay.report.render.text import count

#: Engines below one step that are drawn; a sweep of a thousand would hide the tree.
_SHOWN = 12
_STRANGERS = "Asked in every run, because nobody knows whether they are still what they were"
_TURNS = (
    "Times are measured: engines take turns in this process, each with an index of its own, and all are asked. "
    "--no-times shares what they have in common."
)


def prospect_document(found: DryRun, processes: int) -> Document:
    """Show what a run would do."""
    tree, left = found.tree, found.left
    cells = tree.golds * tree.engines
    blocks: list[Block] = [Code("\n".join(_lines(tree)))]
    if found.timed:
        blocks.append(Paragraph(_TURNS))
    blocks.append(Paragraph(f"{cells - left.cells} of {cells} cells are there; {left.cells} are left to ask."))
    blocks.append(Paragraph(_time(left, 1 if found.timed else processes)))
    if found.strangers:
        blocks.append(Paragraph(f"{_STRANGERS}: {_some(found.strangers)}."))
    if found.skipped:
        blocks.append(table(["not run", "because"], [[name, reason] for name, reason in found.skipped.items()]))
    return Document("The plan", tuple(blocks))


def prospect_json(found: DryRun) -> dict[str, object]:
    """Give a plan as JSON can hold it."""
    return {"schema": "assay/prospect/1", **asdict(found)}


def _time(left: TimeEstimate, processes: int) -> str:
    if not left.cells:
        return "Nothing has to be asked: the results are put together from what is there."
    if left.seconds is None:
        return f"How long that takes is not known: {', '.join(left.unknown)} never ran in cells on this machine."
    by = f"{processes} processes" if processes > 1 else "one process"
    return f"About {_span(left.seconds)} on {by}, by what earlier cells took here ({left.questions:,} questions)."


def _span(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _lines(root: Node) -> Iterator[str]:
    yield f"{root.name}: {count(root.golds, 'gold set')}, {root.about}"
    yield from _below(root, "")


def _below(node: Node, indent: str) -> Iterator[str]:
    shown = node.children if len(node.children) <= _SHOWN else node.children[:_SHOWN]
    left = len(node.children) - len(shown)
    for number, child in enumerate(shown):
        last = number == len(shown) - 1 and not left
        yield f"{indent}{'└─' if last else '├─'} {_label(child)}"
        yield from _below(child, f"{indent}{'   ' if last else '│  '}")
    if left:
        yield f"{indent}└─ … and {left} more"


def _label(node: Node) -> str:
    about = f" ({node.about})" if node.about else ""
    shared = f", shared by {node.engines}" if node.engines > 1 else ""
    return f"{node.name}{about}{shared}: {_state(node)}"


def _some(names: Sequence[str]) -> str:
    left = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {left} more" if left > 0 else "")


def _state(node: Node) -> str:
    if not node.made:
        return "there"
    if not node.needed:
        return "not needed"
    if not node.kept:
        return f"to do on {count(node.golds, 'gold set')}"
    return f"there on {node.kept}, to do on {node.made}"
