"""Plan ablations of an engine, and select the queries for tuning and ablations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.engines.kinds import Component, list_components
from assay.errors import ConfigError, GoldError
from assay.experiment.records.codec import join_sets
from assay.experiment.spec.analysis_plan import match_names
from assay.experiment.spec.model import Spec
from assay.experiment.spec.variants import SettingChange, Sweep
from assay.experiment.tuning import BaseEngine, find_base
from assay.gold.split import DEV, SEALED, select, split_of
from assay.scoring import score
from assay.stats.config import DEFAULT
from assay.stats.tables import column, headline
from assay.types import GoldSet, Run, Suite

Strategy = Literal["left out", "added"]
#: The steps for each value of --strategy.
WAYS: Mapping[str, tuple[Strategy, ...]] = {"both": ("left out", "added"), "out": ("left out",), "in": ("added",)}
BARE = "bare"
LEAVE_ONE_OUT = "leave-one-out"


@dataclass(frozen=True, slots=True)
class EngineComponents:
    base: BaseEngine
    parts: tuple[Component, ...]


def find_parts(spec: Spec, name: str | None, only: Sequence[str] = ()) -> EngineComponents:
    """Return the engine `name`, or that of the sweep `name`, with the parts that match the names or globs in `only`."""
    found = _find_all_parts(spec, name)
    if not only:
        return found
    names = match_names(only, [part.name for part in found.parts], "--only", kind="part")
    return replace(found, parts=tuple(part for part in found.parts if part.name in names))


def _find_all_parts(spec: Spec, name: str | None) -> EngineComponents:
    sweeps = {key: sweep for key, sweep in spec.sweeps.items() if sweep.strategy == LEAVE_ONE_OUT}
    if name in sweeps:
        return _sweep_parts(spec, sweeps[name])
    if name is not None and name in spec.sweeps:
        message = f"cannot ablate sweep {name!r}: its strategy is {spec.sweeps[name].strategy!r}"
        raise ConfigError(message, hint=f'name an engine, or a sweep with strategy = "{LEAVE_ONE_OUT}"')
    base = find_base(spec, name)
    if own := list_components(base.settings, "lines" if spec.level == "lines" else "file"):
        return EngineComponents(base, own)
    of_engine = {key: sweep for key, sweep in sweeps.items() if sweep.engine == base.name}
    if len(of_engine) == 1:
        return _sweep_parts(spec, next(iter(of_engine.values())))
    hint = f'add [sweeps.NAME] with strategy = "{LEAVE_ONE_OUT}" and parts to assay.toml'
    raise ConfigError(
        f"{base.name} declares no parts", hint=f"name a sweep: {', '.join(of_engine)}" if of_engine else hint
    )


def _sweep_parts(spec: Spec, sweep: Sweep) -> EngineComponents:
    parts = tuple(Component(name, off) for name, off in sweep.parts.items())
    return EngineComponents(find_base(spec, sweep.engine), parts)


@dataclass(frozen=True, slots=True)
class AblationStep:
    """Comparison of two variants that differ in one part."""

    part: str
    strategy: Strategy
    variant: str
    against: str
    kept: bool = True  # whether the next step builds on this one


@dataclass(frozen=True, slots=True)
class Ablation:
    """Variants to run in addition to the unchanged engine, and the comparisons to make."""

    variants: tuple[SettingChange, ...]
    steps: tuple[AblationStep, ...]


def plan_ablation(parts: Sequence[Component], base: str, ways: Sequence[Strategy] = WAYS["both"]) -> Ablation:
    """Plan variants that leave out one part each, add the parts one by one, or both; equal variants run once."""
    _check_parts(parts)
    out, up = list[SettingChange](), list[SettingChange]()
    if "left out" in ways:
        out = [SettingChange(f"without {part.name}", switched_off([part])) for part in parts]
    if "added" in ways:
        names = (BARE, *(f"up to {part.name}" for part in parts[:-1]))
        up = [SettingChange(name, switched_off(parts[count:])) for count, name in enumerate(names)]
    unique: list[SettingChange] = []
    for change in (*out, *up):
        if not any(other.changes == change.changes for other in unique):
            unique.append(change)
    steps = [AblationStep(part.name, "left out", change.name, base) for part, change in zip(parts, out, strict=False)]
    if up:
        run_as = [next(other.name for other in unique if other.changes == change.changes) for change in up]
        pairs = zip(parts, run_as, [*run_as[1:], base], strict=True)
        steps += [AblationStep(part.name, "added", new, old) for part, old, new in pairs]
    return Ablation(tuple(unique), tuple(steps))


def _check_parts(parts: Sequence[Component]) -> None:
    if not parts:
        raise ConfigError("no parts to ablate", hint='add [sweeps.NAME] with strategy = "leave-one-out" and parts')
    for part in parts:
        if not part.off:
            message = f"no setting switches off the part {part.name!r}"
            raise ConfigError(message, hint='for example stem = { "search.without" = ["stem"] }')
    name, count = Counter(part.name for part in parts).most_common(1)[0]
    if count > 1:
        raise ConfigError(f"two parts are called {name!r}", hint="rename one of them")


def switched_off(parts: Sequence[Component]) -> dict[str, object]:
    """Return the settings that switch off all `parts`; lists are joined, other values must be equal."""
    off: dict[str, object] = {}
    for part in parts:
        for key, value in part.off.items():
            old = off.get(key, value)
            if isinstance(old, list | tuple) and isinstance(value, list | tuple):
                off[key] = list(dict.fromkeys((*old, *value)))
            elif old != value:
                message = f"cannot switch off all parts: {part.name} sets {key} = {value!r}, another part sets {old!r}"
                raise ConfigError(message, hint="switch each part off with a different setting")
            else:
                off[key] = value
    return off


@dataclass(frozen=True, slots=True)
class ForwardSelection:
    """Run that includes every tried variant, and the steps of the selection."""

    run: Run
    steps: tuple[AblationStep, ...]


def select_forward(
    run: Run, base: str, parts: Sequence[Component], primary: str, run_variant: Callable[[SettingChange], Run]
) -> ForwardSelection:
    """Start without parts, add one part at a time, and keep each part that improves the mean of `primary`.

    Each step depends on earlier results, so variants run one at a time. `run` contains the unchanged engine `base`.
    """
    off = list(parts)
    last = SettingChange(BARE, switched_off(off))
    run = _join(run, run_variant(last))
    steps = []
    for part in parts:
        rest = [other for other in off if other is not part]
        variant = SettingChange(f"plus {part.name}" if rest else base, switched_off(rest))
        run = _join(run, run_variant(variant)) if rest else run
        kept = _gain(run, variant.name, last.name, primary) > DEFAULT.tie
        steps.append(AblationStep(part.name, "added", variant.name, last.name, kept))
        if kept:
            off, last = rest, variant
    return ForwardSelection(run, tuple(steps))


def _join(run: Run, more: Run) -> Run:
    known = {engine.name for engine in run.engines}
    new = tuple(engine for engine in more.engines if engine.name not in known)
    return replace(run, engines=(*run.engines, *new), lines=join_sets(run.lines, more.lines))


def _gain(run: Run, engine: str, baseline: str, primary: str) -> float:
    scores = score(run, (primary,))
    table, measure = headline(scores), column(scores, primary)
    gain = float(np.nanmean(table.row(engine, measure) - table.row(baseline, measure)))
    return gain if measure.bounds.higher_is_better else -gain


@dataclass(frozen=True, slots=True)
class SplitUse:
    """Purpose for which queries are selected."""

    what: str
    opens: bool = False  # whether test queries are allowed on request; sealed ones never are


TUNING, ABLATING = SplitUse("tuning"), SplitUse("ablations", opens=True)


@dataclass(frozen=True, slots=True)
class DataNote:
    """A note on the queries that were used."""

    kind: Literal["undivided", "used", "used up", "failed"]
    text: str

    @property
    def is_grave(self) -> bool:
        """Whether the note limits the conclusions."""
        return self.kind != "used"


@dataclass(frozen=True, slots=True)
class DevData:
    """Queries selected for tuning or an ablation, with notes."""

    suite: Suite
    notes: tuple[DataNote, ...] = ()


def dev_data(suite: Suite, splits: Sequence[str] = (), use: SplitUse = TUNING) -> DevData:
    """Return the queries of the requested splits, by default dev; raise ConfigError for a split that `use` forbids."""
    hint = f"use --split {DEV}: other splits are reserved for confirming changes"
    for part in splits:
        if part != DEV and not use.opens:
            raise ConfigError(f"split = {part!r} cannot be used for {use.what}", hint=hint, keys=["split"])
        if part == SEALED:
            message = f"split = {part!r} cannot be used for {use.what}"
            raise ConfigError(message, hint=hint, keys=["split"])
    if set(splits) <= {DEV}:
        return _dev_only(suite)
    chosen = select(suite, splits)
    return DevData(chosen.suite, (spent_warning(sorted({*splits} - {DEV})),))


def spent_warning(parts: Sequence[str]) -> DataNote:
    """Return the note that queries of `parts` can no longer confirm a change."""
    named = " and ".join(parts)
    return DataNote(
        "used up",
        f"{named.upper()} QUERIES ARE USED UP: changes chosen with them cannot be confirmed on {named} queries.",
    )


def _dev_only(suite: Suite) -> DevData:
    divided = [gold for gold in suite.golds if any(map(split_of, gold.queries))]
    names = {gold.name for gold in divided}
    undivided = [gold for gold in suite.golds if gold.name not in names]
    dev = {
        gold.name: replace(gold, queries=tuple(query for query in gold.queries if split_of(query) == DEV))
        for gold in divided
    }
    golds = [dev.get(gold.name, gold) for gold in suite.golds]
    used = tuple(gold for gold in golds if gold.queries)
    if not used:
        counts = Counter(split_of(query) or "none" for gold in suite.golds for query in gold.queries)
        held = ", ".join(f"{count} {part}" for part, count in sorted(counts.items())) or "no query"
        source = suite.golds[0].source if suite.golds else None
        hint = f"create a {DEV} split with `assay gold split`"
        raise GoldError(f"no query in split '{DEV}' ({held})", file=source, hint=hint)
    return DevData(Suite(used), tuple(_usage_notes(undivided, divided)))


def _usage_notes(undivided: Sequence[GoldSet], divided: Sequence[GoldSet]) -> Iterator[DataNote]:
    if undivided:
        names = ", ".join(gold.name for gold in undivided)
        file = undivided[0].source or "SET"
        yield DataNote(
            "undivided",
            f"{names}: no splits, so all queries were used and none are left to confirm the result. Run "
            f"`assay gold split {file}`, repeat this command, then measure the chosen setting on the test split.",
        )
    if divided:
        queries = [query for gold in divided for query in gold.queries]
        used = sum(split_of(query) == DEV for query in queries)
        yield DataNote(
            "used", f"{used} {DEV} queries were used; {len(queries) - used} queries of other splits were not."
        )
