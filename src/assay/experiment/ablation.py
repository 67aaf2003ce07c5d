"""Ablation: each component left out, and added one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.engines.kinds import Component
from assay.errors import ConfigError, GoldError
from assay.experiment.records.codec import join_sets
from assay.experiment.tuning import SettingChange
from assay.gold.split import DEV, SEALED, select, split_of
from assay.scoring import score
from assay.stats.config import DEFAULT
from assay.stats.tables import column, headline
from assay.types import GoldSet, Run, Suite

Way = Literal["left out", "added"]
BARE = "bare"
#: What is done by the word that a command takes for it.
WAYS: Mapping[str, tuple[Way, ...]] = {"both": ("left out", "added"), "out": ("left out",), "in": ("added",)}


@dataclass(frozen=True, slots=True)
class AblationStep:
    """One comparison of an ablation: a variant, and what it is compared with."""

    part: str
    way: Way
    variant: str
    against: str
    kept: bool = True  # whether the next rung goes on from here


@dataclass(frozen=True, slots=True)
class Ablation:
    """The variants that an ablation runs beside the whole engine, each once, and the steps between them."""

    variants: tuple[SettingChange, ...]
    steps: tuple[AblationStep, ...]


def plan_ablation(parts: Sequence[Component], base: str, ways: Sequence[Way] = WAYS["both"]) -> Ablation:
    """Plan both ways: each part left out of the whole, and each added to those before it, from the bare engine up.

    The last step up is the whole engine, and the one before it lacks the last part alone: those are not run twice.
    """
    _check(parts)
    out = [SettingChange(f"without {part.name}", switched_off([part])) for part in parts] if "left out" in ways else []
    up = list(_ladder(parts)) if "added" in ways else []
    every = [*out, *up]
    once = [one for at, one in enumerate(every) if _first(one, every) == at]
    steps = [AblationStep(part.name, "left out", one.name, base) for part, one in zip(parts, out, strict=False)]
    if up:
        names = [*(every[_first(one, every)].name for one in up), base]
        steps += [
            AblationStep(part.name, "added", new, old) for part, old, new in zip(parts, names, names[1:], strict=False)
        ]
    return Ablation(tuple(once), tuple(steps))


def _ladder(parts: Sequence[Component]) -> Iterator[SettingChange]:
    yield SettingChange(BARE, switched_off(parts))
    for at, part in enumerate(parts[:-1], 1):
        yield SettingChange(f"up to {part.name}", switched_off(parts[at:]))


def _first(change: SettingChange, every: Sequence[SettingChange]) -> int:
    return next(at for at, other in enumerate(every) if other.changes == change.changes)


def switched_off(parts: Sequence[Component]) -> dict[str, object]:
    """Switch several parts off at once: lists are put together, one value for two parts must be the same."""
    off: dict[str, object] = {}
    for part in parts:
        for key, value in part.off.items():
            old = off.get(key, value)
            if isinstance(old, list | tuple) and isinstance(value, list | tuple):
                off[key] = list(dict.fromkeys((*old, *value)))
            elif old != value:
                raise ConfigError(
                    f"{part.name} sets {key} = {value!r}, another part {old!r}: they cannot be off together",
                    hint="give each part a setting of its own",
                )
            else:
                off[key] = value
    return off


def _check(parts: Sequence[Component]) -> None:
    if not parts:
        raise ConfigError("there is no part to leave out", hint='name parts: [sweeps.NAME] way = "leave-one-out"')
    for part in parts:
        if not part.off:
            raise ConfigError(
                f"the part {part.name!r} is not switched off by any setting", hint='{ "search.without" = ["stem"] }'
            )
    twice = [part.name for at, part in enumerate(parts) if part.name in {other.name for other in parts[:at]}]
    if twice:
        raise ConfigError(f"two parts are called {twice[0]!r}", hint="give each a name of its own")


@dataclass(frozen=True, slots=True)
class ForwardSelection:
    """The run with every step that was tried, and the steps."""

    run: Run
    steps: tuple[AblationStep, ...]


def select_forward(
    run: Run, base: str, parts: Sequence[Component], primary: str, ask: Callable[[SettingChange], Run]
) -> ForwardSelection:
    """Begin with everything off and switch parts on; one that does not raise the mean is switched off again.

    What comes next depends on what was seen, so each step is asked by itself. `base` is the engine with nothing off,
    which the run holds already.
    """
    off = list(parts)
    last = SettingChange(BARE, switched_off(off))
    run = _joined(run, ask(last))
    steps = []
    for part in parts:
        left = [other for other in off if other is not part]
        here = SettingChange(f"plus {part.name}" if left else base, switched_off(left))
        run = _joined(run, ask(here)) if left else run
        kept = _gain(run, here.name, last.name, primary) > DEFAULT.tie
        steps.append(AblationStep(part.name, "added", here.name, last.name, kept))
        if kept:
            off, last = left, here
    return ForwardSelection(run, tuple(steps))


def _gain(run: Run, engine: str, baseline: str, primary: str) -> float:
    scores = score(run, (primary,))
    table, measure = headline(scores), column(scores, primary)
    gain = float(np.nanmean(table.row(engine, measure) - table.row(baseline, measure)))
    return gain if measure.bounds.higher_is_better else -gain


def _joined(run: Run, more: Run) -> Run:
    known = {engine.name for engine in run.engines}
    new = tuple(engine for engine in more.engines if engine.name not in known)
    return replace(run, engines=(*run.engines, *new), lines=join_sets(run.lines, more.lines))


_WHY = "what changes an engine must not see what its claims will be made on"


@dataclass(frozen=True, slots=True)
class SplitUse:
    """What queries are wanted for."""

    what: str
    opens: bool = False  # whether other parts than dev may be asked for; the sealed one never


TUNING, ABLATING = SplitUse("tuning"), SplitUse("ablations", opens=True)


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


def dev_data(suite: Suite, asked: Sequence[str] = (), use: SplitUse = TUNING) -> DevData:
    """Keep the dev queries of divided sets; `asked` are parts that somebody asked for by name."""
    for part in asked:
        _grant(part, use)
    if set(asked) <= {DEV}:
        return _dev_of(suite)
    chosen = select(suite, asked)
    return DevData(chosen.suite, (spent_warning(sorted({*asked} - {DEV})),))


def _grant(part: str, use: SplitUse) -> None:
    if part != DEV and not use.opens:
        raise ConfigError(f"split = {part!r}: only {DEV} is for {use.what}", hint=f"{_WHY}: --split {DEV}")
    if part == SEALED:
        raise ConfigError(f"split = {part!r}: sealed queries are not for {use.what}", hint=f"{_WHY}: --split {DEV}")


def spent_warning(parts: Sequence[str]) -> DataNote:
    """Say that queries of some parts decided on a change, and so are worth nothing to a claim on it."""
    named = " and ".join(parts)
    return DataNote(
        "used up",
        f"{named.upper()} QUERIES ARE USED UP: what is changed after this was chosen with them, so no claim about the "
        f"changed engine can be made on {named} queries any more.",
    )


def _dev_of(suite: Suite) -> DevData:
    whole = [gold for gold in suite.golds if not any(split_of(query) for query in gold.queries)]
    divided = [_dev(gold) for gold in suite.golds if gold not in whole]
    kept = {gold.name: gold for gold in (*whole, *divided) if gold.queries}
    golds = tuple(kept[gold.name] for gold in suite.golds if gold.name in kept)
    if not golds:
        raise _nothing(suite)
    return DevData(Suite(golds), tuple(_notes(suite, whole, divided)))


def _dev(gold: GoldSet) -> GoldSet:
    return replace(gold, queries=tuple(query for query in gold.queries if split_of(query) == DEV))


def _nothing(suite: Suite) -> GoldError:
    counts = Counter(split_of(query) or "none" for gold in suite.golds for query in gold.queries)
    held = ", ".join(f"{many} {part}" for part, many in sorted(counts.items())) or "no query"
    source = suite.golds[0].source if suite.golds else None
    return GoldError(
        f"no query is in the part '{DEV}' ({held})", file=source, hint=f"{_WHY}; `assay gold split` makes a {DEV} part"
    )


def _notes(suite: Suite, whole: Sequence[GoldSet], divided: Sequence[GoldSet]) -> Iterator[DataNote]:
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
