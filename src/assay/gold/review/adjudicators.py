"""Who gave up voting to adjudicate: a file a person, beside the votes. They saw what others said, and vote no more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.gold.circumstances import now
from assay.gold.journal import opened, read_rows
from assay.gold.schema import Keys

if TYPE_CHECKING:
    from assay.gold.review.queue import Queue
    from assay.gold.review.votes import Ballot

_LINE = Keys(("by", "on"))


def adjudicator_file(queue: Queue, name: str) -> Path:
    """Give the file that says that somebody adjudicates."""
    return _folder(queue) / f"{name}.jsonl"


def give_up(ballot: Ballot) -> None:
    """Take somebody's word that they vote no more; it is on the disk when this returns. Saying it twice is once."""
    ballot.prepare()
    if adjudicates(ballot.queue, ballot.reviewer):
        return
    with opened(adjudicator_file(ballot.queue, ballot.reviewer)) as journal:
        journal.append([{"by": ballot.reviewer, "on": now()}])


def adjudicates(queue: Queue, name: str) -> bool:
    """Tell whether somebody gave up voting, however the name is written; half a line is no word."""
    files = [path for path in _folder(queue).glob("*.jsonl") if path.stem.casefold() == name.casefold()]
    return any(row.mapping(_LINE) for path in files for row in read_rows(path))


def check_votes(queue: Queue, name: str) -> None:
    """Refuse the vote of one who saw what others said."""
    if adjudicates(queue, name):
        hint = f"decide what is disputed, and let somebody else vote ({adjudicator_file(queue, name)} says so)"
        raise ConfigError(f"{name} gave up voting to adjudicate, and has seen what others said", hint=hint)


def _folder(queue: Queue) -> Path:
    """Give the folder with a file for each adjudicator."""
    return queue.folder / "adjudicators"
