"""What an adjudicator decided where reviewers did not agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.gold.journal import opened, read_row, read_rows
from assay.gold.review.queue import Queue
from assay.gold.review.votes import ACCEPT, GRADES, REJECT, check_name
from assay.gold.schema import Keys

if TYPE_CHECKING:
    from pathlib import Path

    from assay.gold.native.nodes import Field

_DECISION = Keys(("item", "by", "value", "reason", "on"), ("commit",))


@dataclass(frozen=True, slots=True)
class Decision:
    """What holds for an item, whatever was voted; a later decision takes the place of an earlier one."""

    item: str
    by: str
    value: str
    reason: str
    on: str  # ISO time, UTC
    commit: str = ""


def decisions_file(queue: Queue) -> Path:
    """Give the file that holds the decisions."""
    return queue.folder / "decisions.jsonl"


def read_decisions(queue: Queue) -> tuple[Decision, ...]:
    """Give all decisions in the order they were taken, each once: a merge may have mixed or doubled their lines."""
    found = [_read(row) for row in read_rows(decisions_file(queue))]
    return tuple(sorted(dict.fromkeys(found), key=lambda decision: decision.on))


def decide(queue: Queue, decisions: Sequence[Decision]) -> None:
    """Add decisions; they are on the disk when this returns."""
    queue.prepare()
    path = decisions_file(queue)
    for number, decision in enumerate(decisions, 1):
        _read(read_row(_mapping(decision), path, number))
    with opened(path) as journal:
        past = read_decisions(queue)
        last = past[-1].on if past else ""  # whoever decides last has the last word, whatever the clocks say
        journal.append([_mapping(replace(one, on=max(one.on, last))) for one in decisions])


def _mapping(decision: Decision) -> dict[str, object]:
    """Give a decision as the keys of its line."""
    line: dict[str, object] = {
        "item": decision.item,
        "by": check_name(decision.by),
        "value": decision.value,
        "reason": decision.reason,
        "on": decision.on,
    }
    return line | ({"commit": decision.commit} if decision.commit else {})


def _read(row: Field) -> Decision:
    """Read a line."""
    fields = row.mapping(_DECISION)
    return Decision(
        item=fields["item"].text(),
        by=fields["by"].text(),
        value=fields["value"].one_of((*GRADES, ACCEPT, REJECT)),
        reason=fields["reason"].text(),
        on=fields["on"].text(),
        commit=fields["commit"].text() if "commit" in fields else "",
    )
