"""Tuning sees dev queries and no others; a set that nobody divided is used whole, and that is said aloud."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.errors import ConfigError, GoldError
from assay.gold.split.parts import DEV, part_of
from assay.types import Gold, Suite

_WHY = "what tunes an engine must not see what its claims will be made on"


@dataclass(frozen=True, slots=True)
class DevData:
    """The queries that may be tuned on, and what a reader must know of them."""

    suite: Suite
    notes: tuple[str, ...] = ()
    divided: bool = True


def dev_data(suite: Suite, asked: Sequence[str] = ()) -> DevData:
    """Keep the dev queries of divided sets; `asked` are parts that somebody asked for, and only dev is granted."""
    for part in asked:
        if part != DEV:
            raise ConfigError(f"--split {part}: only {DEV} is for tuning", hint=f"{_WHY}: leave the flag out")
    whole = [gold for gold in suite.golds if not any(part_of(query) for query in gold.queries)]
    divided = [_dev(gold) for gold in suite.golds if gold not in whole]
    kept = {gold.name: gold for gold in (*whole, *divided) if gold.queries}
    golds = tuple(kept[gold.name] for gold in suite.golds if gold.name in kept)
    if not golds:
        raise _nothing(suite)
    return DevData(Suite(golds), tuple(_notes(suite, whole, divided)), not whole)


def _dev(gold: Gold) -> Gold:
    """Keep the dev queries of one set."""
    return replace(gold, queries=tuple(query for query in gold.queries if part_of(query) == DEV))


def _nothing(suite: Suite) -> GoldError:
    """Say what a suite without a dev query is made of."""
    counts = Counter(part_of(query) or "none" for gold in suite.golds for query in gold.queries)
    held = ", ".join(f"{many} {part}" for part, many in sorted(counts.items())) or "no query"
    source = suite.golds[0].source if suite.golds else None
    return GoldError(
        f"no query is in the part '{DEV}' ({held})", file=source, hint=f"{_WHY}; `assay gold split` makes a {DEV} part"
    )


def _notes(suite: Suite, whole: Sequence[Gold], divided: Sequence[Gold]) -> list[str]:
    """Say what was used and what was left alone."""
    notes = []
    if whole:
        names = ", ".join(gold.name for gold in whole)
        file = whole[0].source or "SET"
        notes.append(
            f"{names}: not divided, so all of it was tuned on and no part is left to claim on. Divide it first: "
            f"assay gold split {file}; then tune again, and measure the choice on the test part."
        )
    kept = sum(len(gold.queries) for gold in divided)
    every = {gold.name: gold for gold in suite.golds}
    left = sum(len(every[gold.name].queries) for gold in divided) - kept
    if divided:
        notes.append(f"Tuned on {kept} {DEV} queries; {left} of other parts were not looked at.")
    return notes
