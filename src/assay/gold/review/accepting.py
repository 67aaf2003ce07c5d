"""From settled proposals to gold: what holds is written into the set, and written down so that it is done once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import GoldError
from assay.files import write_atomic
from assay.gold.anchors.resolving import Problem
from assay.gold.journal import opened, read_rows
from assay.gold.review.applying import Applied, apply
from assay.gold.review.decisions import read_decisions
from assay.gold.review.queue import Queue
from assay.gold.review.standing import AGAINST, ReviewRules, Standing, standings
from assay.gold.review.votes import all_votes
from assay.gold.schema import Keys
from assay.types import CorpusSpec, Gold

if TYPE_CHECKING:
    from assay.gold.native.nodes import Field

#: Finds what is wrong with a set: lint, or the look-up of its anchors.
Check = Callable[[Gold], Sequence[Problem]]

_WRITTEN = Keys(("item", "value", "by", "on"))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A settled proposal that would have made the set unsound, and why."""

    item: str
    query: str
    reason: str


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What became of the settled proposals."""

    gold: Gold | None  # the set as it is now; none where there is still none
    taken: tuple[Standing, ...] = ()
    refused: tuple[Refusal, ...] = ()
    whole: bool = False  # all of the file was written anew, so that comments went
    lost: tuple[str, ...] = ()  # what the format of the set could not hold

    @property
    def added(self) -> int:
        """How many proposals became gold."""
        return sum(standing.value not in AGAINST for standing in self.taken)


def read_standings(queue: Queue, rules: ReviewRules | None = None) -> tuple[Standing, ...]:
    """Tell where each item of a queue stands, from the files."""
    return standings(queue.items(), all_votes(queue), read_decisions(queue), read_written(queue), rules)


def read_written(queue: Queue) -> dict[str, str]:
    """Give what the set has taken up: the value by item, the last one where there are several."""
    return {fields["item"].text(): fields["value"].text() for fields in _written(queue)}


def read_taken(queue: Queue) -> dict[str, str]:
    """Give when the set first took each item up, or turned it down: since then everybody can see what holds."""
    return {fields["item"].text(): fields["on"].text() for fields in reversed(_written(queue))}


def read_closed(queue: Queue) -> frozenset[str]:
    """Name the items that need no more votes: decided, or taken up by the set. No vote is read for it."""
    return frozenset(read_written(queue)) | {decision.item for decision in read_decisions(queue)}


def _written(queue: Queue) -> list[dict[str, Field]]:
    """Read what the set has taken up, by time: a merge may have mixed the lines."""
    return sorted((row.mapping(_WRITTEN) for row in read_rows(_file(queue))), key=lambda fields: fields["on"].text())


def accept(
    queue: Queue,
    load: Callable[[], Gold | None],
    check: Check,
    *,
    corpus: CorpusSpec | None = None,
    rules: ReviewRules | None = None,
    on: str,
) -> Acceptance:
    """Write what is settled into the set, then that it was written; killed in between, the next call does the rest."""
    queue.prepare()
    with opened(_file(queue)) as journal:  # one writer of the set at a time
        old = load()
        made = _foreseen(queue, old, check, corpus, rules)
        if not made.taken and not made.refused:
            return made
        made = _saved(old, made, queue.gold_file)
        journal.append([_row(standing, on) for standing in made.taken])
    return made


def foresee(
    queue: Queue,
    load: Callable[[], Gold | None],
    check: Check,
    *,
    corpus: CorpusSpec | None = None,
    rules: ReviewRules | None = None,
) -> Acceptance:
    """Say what `accept` would do now; nothing is written."""
    return _foreseen(queue, load(), check, corpus, rules)


def _foreseen(
    queue: Queue, old: Gold | None, check: Check, corpus: CorpusSpec | None, rules: ReviewRules | None
) -> Acceptance:
    """Put what is settled into a set, in memory; a set that would still be empty is none."""
    settled = [standing for standing in read_standings(queue, rules) if standing.settled]
    if not settled:
        return Acceptance(old)
    made = take(old or _empty(queue.gold_file, corpus), settled, check)
    return replace(made, gold=None) if old is None and made.gold is not None and not made.gold.queries else made


def take(gold: Gold, settled: Sequence[Standing], check: Check) -> Acceptance:
    """Put settled proposals into a set; each that would bring an error is left out and told."""
    before = {_key(problem) for problem in check(gold)} if gold.queries else set()
    refused: dict[str, Refusal] = {}
    while True:
        made, applied = gold, {}
        # a whole query comes before what was proposed for it
        for standing in sorted(settled, key=lambda standing: standing.item.kind != "query"):
            if standing.item.id in refused:
                continue
            try:
                applied[standing.item.id] = apply(made, standing)
                made = applied[standing.item.id].gold
            except GoldError as error:
                refused[standing.item.id] = _refusal(standing, error.message)
        found = check(made) if made != gold else ()
        new = [problem for problem in found if _key(problem) not in before]
        blamed = _blamed(new, applied, settled)
        if not blamed:
            taken = tuple(standing for standing in settled if standing.item.id in applied)
            return Acceptance(made, taken, tuple(refused[key] for key in _order(settled) if key in refused))
        refused |= blamed


def _blamed(
    problems: Sequence[Problem], applied: Mapping[str, Applied], settled: Sequence[Standing]
) -> dict[str, Refusal]:
    """Find the proposals that brought a problem in: those about its anchor, else all about its query, else all."""
    blamed: dict[str, Refusal] = {}
    gains = [standing for standing in settled if standing.item.id in applied and standing.value not in AGAINST]
    for problem in problems:
        same = [s for s in gains if applied[s.item.id].query == problem.query]
        exact = [s for s in same if problem.anchor and problem.anchor in applied[s.item.id].anchors]
        for standing in exact or same or [s for s in settled if s.item.id in applied]:
            blamed.setdefault(standing.item.id, _refusal(standing, problem.message))
    return blamed


def _saved(old: Gold | None, made: Acceptance, path: Path) -> Acceptance:
    """Write a set that changed: over its old file, or as a new one."""
    from assay.gold.native.editing import save
    from assay.gold.native.writing import write_native

    if made.gold is None or made.gold == old:
        return made
    if old is None:
        write_atomic(path, write_native(made.gold))
        return made
    saved = save(old, made.gold)
    return replace(made, whole=saved.whole, lost=saved.lost)


def _empty(path: Path, corpus: CorpusSpec | None) -> Gold:
    """Begin a set that is not there yet."""
    if corpus is None:
        raise GoldError("there is no such set yet", file=path, hint="name its code with --corpus to make it")
    return Gold("-".join(path.stem.split()), corpus, (), source=str(path))


def _row(standing: Standing, on: str) -> dict[str, object]:
    """Write down that an item was taken up."""
    return {"item": standing.item.id, "value": standing.value, "by": ", ".join(standing.supporters), "on": on}


def _key(problem: Problem) -> tuple[str, str, str, str]:
    """Say which problem it is, wherever it stands in the file."""
    return (problem.code, problem.query, problem.anchor, problem.message)


def _order(settled: Sequence[Standing]) -> list[str]:
    """List the items in queue order."""
    return [standing.item.id for standing in settled]


def _refusal(standing: Standing, reason: str) -> Refusal:
    """Say why a proposal was left out."""
    return Refusal(standing.item.id, standing.item.query.id, reason)


def _file(queue: Queue) -> Path:
    """Give the file that says what the set has taken up."""
    return queue.folder / "accepted.jsonl"
