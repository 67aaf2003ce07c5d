"""Who was shown what others said, a file a person beside the votes: what they vote on it afterwards is not blind.

It is kept where votes are, not in a cache, so that other machines know of it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from assay.gold.circumstances import now
from assay.gold.journal import opened, read_rows
from assay.gold.schema import Keys

if TYPE_CHECKING:
    from assay.gold.review.queue import Queue
    from assay.gold.review.votes import Ballot, Vote

#: What a vote says that came after a look.
LOOK: Final = "look"
_LINE = Keys(("by", "on"), ("items",))


@dataclass(frozen=True, slots=True)
class Look:
    """One look at what others said: of all that one had voted on by then, and of these items."""

    on: str  # ISO time, UTC
    items: tuple[str, ...] = ()


def looks_file(queue: Queue, name: str) -> Path:
    """Give the file that holds the looks of one person."""
    return queue.folder / "looks" / f"{name}.jsonl"


def read_looks(queue: Queue, name: str) -> tuple[Look, ...]:
    """Give the looks of one person."""
    rows = [row.mapping(_LINE) for row in read_rows(looks_file(queue, name))]
    return tuple(Look(row["on"].text(), row["items"].texts() if "items" in row else ()) for row in rows)


def note_look(ballot: Ballot, items: Iterable[str] = ()) -> None:
    """Write down that a reviewer is shown what others said, before it is shown; what is known is not said again."""
    looks = read_looks(ballot.queue, ballot.reviewer)
    new = sorted(set(items) - {item for look in looks for item in look.items} - set(ballot.votes()))
    voted = max((vote.on for vote in ballot.history()), default="")
    if not new and voted <= max((look.on for look in looks), default=""):
        return
    ballot.prepare()
    with opened(looks_file(ballot.queue, ballot.reviewer)) as journal:
        journal.append([{"by": ballot.reviewer, "on": now(), **({"items": new} if new else {})}])


def marked(votes: Sequence[Vote], looks: Sequence[Look]) -> tuple[Vote, ...]:
    """Mark those of a reviewer's votes, given in order, that came after the others' votes on the item were shown."""
    first: dict[str, str] = {}
    made = []
    for vote in votes:
        made.append(replace(vote, after=LOOK) if _is_after(vote, first.get(vote.item), looks) else vote)
        first.setdefault(vote.item, vote.on)
    return tuple(made)


def _is_after(vote: Vote, first: str | None, looks: Sequence[Look]) -> bool:
    """Tell whether a look came before a vote and was at its item, which one had voted on by then, or was shown."""
    earlier = [look for look in looks if look.on <= vote.on]
    return any(vote.item in look.items or (first is not None and first <= look.on) for look in earlier)
