"""What changes an engine sees dev queries and no others, unless asked; a set that nobody divided is used whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assay.errors import ConfigError, GoldError
from assay.gold.split import DEV, SEALED, part_of, select
from assay.types import Gold, Suite

_WHY = "what changes an engine must not see what its claims will be made on"


@dataclass(frozen=True, slots=True)
class Use:
    """What queries are wanted for."""

    what: str
    opens: bool = False  # whether other parts than dev may be asked for; the sealed one never


TUNING, ABLATING = Use("tuning"), Use("ablations", opens=True)


@dataclass(frozen=True, slots=True)
class DataNote:
    """What a reader must know of the queries that were used."""

    kind: Literal["undivided", "used", "used up", "failed"]
    text: str

    @property
    def is_grave(self) -> bool:
        """Whether it takes something from what may be claimed."""
        return self.kind != "used"


@dataclass(frozen=True, slots=True)
class DevData:
    """The queries that may be used, and what a reader must know of them."""

    suite: Suite
    notes: tuple[DataNote, ...] = ()


def dev_data(suite: Suite, asked: Sequence[str] = (), use: Use = TUNING) -> DevData:
    """Keep the dev queries of divided sets; `asked` are parts that somebody asked for by name."""
    for part in asked:
        _grant(part, use)
    if set(asked) <= {DEV}:
        return _dev_of(suite)
    chosen = select(suite, asked)
    return DevData(chosen.suite, (used_up(sorted({*asked} - {DEV})),))


def _grant(part: str, use: Use) -> None:
    """Refuse a part that is not for this use."""
    if part != DEV and not use.opens:
        raise ConfigError(f"split = {part!r}: only {DEV} is for {use.what}", hint=f"{_WHY}: --split {DEV}")
    if part == SEALED:
        raise ConfigError(f"split = {part!r}: sealed queries are not for {use.what}", hint=f"{_WHY}: --split {DEV}")


def used_up(parts: Sequence[str]) -> DataNote:
    """Say that queries of some parts decided on a change, and so are worth nothing to a claim on it."""
    named = " and ".join(parts)
    return DataNote(
        "used up",
        f"{named.upper()} QUERIES ARE USED UP: what is changed after this was chosen with them, so no claim about the "
        f"changed engine can be made on {named} queries any more.",
    )


def _dev_of(suite: Suite) -> DevData:
    """Keep dev queries, and sets that nobody divided."""
    whole = [gold for gold in suite.golds if not any(part_of(query) for query in gold.queries)]
    divided = [_dev(gold) for gold in suite.golds if gold not in whole]
    kept = {gold.name: gold for gold in (*whole, *divided) if gold.queries}
    golds = tuple(kept[gold.name] for gold in suite.golds if gold.name in kept)
    if not golds:
        raise _nothing(suite)
    return DevData(Suite(golds), tuple(_notes(suite, whole, divided)))


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


def _notes(suite: Suite, whole: Sequence[Gold], divided: Sequence[Gold]) -> Iterator[DataNote]:
    """Say what was used and what was left alone."""
    if whole:
        names = ", ".join(gold.name for gold in whole)
        file = whole[0].source or "SET"
        yield DataNote(
            "undivided",
            f"{names}: not divided, so all of it was used and no part is left to claim on. Divide it first: "
            f"assay gold split {file}; then do this again, and measure what you chose on the test part.",
        )
    if divided:
        kept = sum(len(gold.queries) for gold in divided)
        every = {gold.name: gold for gold in suite.golds}
        left = sum(len(every[gold.name].queries) for gold in divided) - kept
        yield DataNote("used", f"{kept} {DEV} queries were used; {left} of other parts were not looked at.")
