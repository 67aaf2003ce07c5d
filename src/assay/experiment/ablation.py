from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.engines.kinds import Component, list_components
from assay.errors import ConfigError, GoldError
from assay.experiment.records.codec import join_sets
from assay.experiment.spec.analysis_plan import match_names
from assay.experiment.spec.experiment_spec import Spec
from assay.experiment.spec.variants import SettingChange
from assay.experiment.tuning import BaseEngine, find_base
from assay.gold.split import DEV, SEALED, select, split_of
from assay.scoring import score
from assay.stats.config import DEFAULT
from assay.stats.score_table import column, headline
from assay.types import Run, Suite

Strategy = Literal["left out", "added"]
#: The steps for each value of --strategy.
WAYS: Mapping[str, tuple[Strategy, ...]] = {"both": ("left out", "added"), "out": ("left out",), "in": ("added",)}
BARE = "bare"
LEAVE_ONE_OUT = "leave-one-out"


def find_parts(spec: Spec, name: str | None, only: Sequence[str] = ()) -> tuple[BaseEngine, tuple[Component, ...]]:
    """Return the engine `name`, or that of the sweep `name`, with the parts that match the names or globs in `only`."""
    sweeps = {key: sweep for key, sweep in spec.sweeps.items() if sweep.strategy == LEAVE_ONE_OUT}
    if name is not None and name in spec.sweeps and name not in sweeps:
        message = f"cannot ablate sweep {name!r}: its strategy is {spec.sweeps[name].strategy!r}"
        raise ConfigError(message, hint=f'name an engine, or a sweep with strategy = "{LEAVE_ONE_OUT}"')
    sweep = sweeps.get(name or "")
    base = find_base(spec, sweep.engine if sweep else name)
    parts = () if sweep else list_components(base.settings, "lines" if spec.level == "lines" else "file")
    if not parts and not sweep:
        of_engine = {key: sweep for key, sweep in sweeps.items() if sweep.engine == base.name}
        if len(of_engine) != 1:
            hint = f'add [sweeps.NAME] with strategy = "{LEAVE_ONE_OUT}" and parts to assay.toml'
            hint = f"name a sweep: {', '.join(of_engine)}" if of_engine else hint
            raise ConfigError(f"{base.name} declares no parts", hint=hint)
        (sweep,) = of_engine.values()
    if sweep:
        parts = tuple(Component(part, off) for part, off in sweep.parts.items())
    if only:
        names = match_names(only, [part.name for part in parts], "--only", kind="part")
        parts = tuple(part for part in parts if part.name in names)
    return base, parts


@dataclass(frozen=True, slots=True)
class AblationStep:
    part: str
    strategy: Strategy
    variant: str
    against: str
    kept: bool = True  # whether the next step builds on this one


def plan_ablation(
    parts: Sequence[Component], base: str, ways: Sequence[Strategy] = WAYS["both"]
) -> tuple[tuple[SettingChange, ...], tuple[AblationStep, ...]]:
    """Return variants that leave out one part each, add the parts one by one, or both, and the comparisons to make.

    Equal variants run once.
    """
    if not parts:
        raise ConfigError("no parts to ablate", hint=f'add [sweeps.NAME] with strategy = "{LEAVE_ONE_OUT}" and parts')
    for part in parts:
        if not part.off:
            message = f"no setting switches off the part {part.name!r}"
            raise ConfigError(message, hint='for example stem = { "search.without" = ["stem"] }')
    name, count = Counter(part.name for part in parts).most_common(1)[0]
    if count > 1:
        raise ConfigError(f"duplicate part name {name!r}", hint="rename one of them")
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
    return tuple(unique), tuple(steps)


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


def select_forward(
    run: Run, base: str, parts: Sequence[Component], primary: str, run_variant: Callable[[SettingChange], Run]
) -> tuple[Run, tuple[AblationStep, ...]]:
    """Start without parts, add one part at a time, and keep each part that improves the mean of `primary`.

    Each step depends on earlier results, so variants run one at a time. `run` contains the unchanged engine `base`;
    the returned run contains every tried variant.
    """
    off = list(parts)
    last = SettingChange(BARE, switched_off(off))
    run = _join(run, run_variant(last))
    steps = []
    for part in parts:
        rest = [other for other in off if other is not part]
        variant = SettingChange(f"plus {part.name}" if rest else base, switched_off(rest))
        run = _join(run, run_variant(variant)) if rest else run
        scores = score(run, (primary,))
        table, measure = headline(scores), column(scores, primary)
        gain = float(np.nanmean(table.row(variant.name, measure) - table.row(last.name, measure)))
        kept = (gain if measure.bounds.higher_is_better else -gain) > DEFAULT.tie
        steps.append(AblationStep(part.name, "added", variant.name, last.name, kept))
        if kept:
            off, last = rest, variant
    return run, tuple(steps)


def _join(run: Run, more: Run) -> Run:
    known = {engine.name for engine in run.engines}
    new = tuple(engine for engine in more.engines if engine.name not in known)
    return replace(run, engines=(*run.engines, *new), lines=join_sets(run.lines, more.lines))


@dataclass(frozen=True, slots=True)
class DataNote:
    """A note on the queries that were used; all but "used" limit the conclusions."""

    kind: Literal["undivided", "used", "used up", "failed"]
    text: str


def select_queries(
    suite: Suite, splits: Sequence[str], purpose: str, *, allow_test: bool
) -> tuple[Suite, tuple[DataNote, ...]]:
    """Return the queries of the named splits, by default dev and sets without splits, with notes on them.

    Sealed queries are never allowed, test queries only with `allow_test`.
    """
    for part in splits:
        if part == SEALED or (part != DEV and not allow_test):
            hint = f"use --split {DEV}: other splits are reserved for confirming changes"
            raise ConfigError(f"split = {part!r} cannot be used for {purpose}", hint=hint, keys=["split"])
    if not set(splits) <= {DEV}:
        return select(suite, splits).suite, (DataNote("used up", spent_warning(sorted({*splits} - {DEV}))),)
    undivided = [gold for gold in suite.golds if not any(map(split_of, gold.queries))]
    dev = [
        gold if gold in undivided else replace(gold, queries=tuple(q for q in gold.queries if split_of(q) == DEV))
        for gold in suite.golds
    ]
    used = tuple(gold for gold in dev if gold.queries)
    if not used:
        counts = Counter(split_of(query) or "none" for gold in suite.golds for query in gold.queries)
        held = ", ".join(f"{count} {part}" for part, count in sorted(counts.items())) or "no query"
        source = suite.golds[0].source if suite.golds else None
        hint = f"create a {DEV} split with `assay gold split`"
        raise GoldError(f"no query in split '{DEV}' ({held})", file=source, hint=hint)
    notes = []
    if undivided:
        text = (
            f"{', '.join(gold.name for gold in undivided)}: no splits, so all queries were used and none are left to "
            f"confirm the result. Run `assay gold split {undivided[0].source or 'SET'}`, repeat this command, then "
            "measure the chosen setting on the test split."
        )
        notes.append(DataNote("undivided", text))
    parts = [split_of(query) for gold in suite.golds if gold not in undivided for query in gold.queries]
    if parts:
        count = parts.count(DEV)
        text = f"{count} {DEV} queries were used; {len(parts) - count} queries of other splits were not."
        notes.append(DataNote("used", text))
    return Suite(used), tuple(notes)


def spent_warning(parts: Sequence[str]) -> str:
    """Return the warning that queries of `parts` can no longer confirm a change."""
    named = " and ".join(parts)
    return f"{named.capitalize()} queries are used up: changes chosen with them cannot be confirmed on {named} queries."
