"""Diagnostics: identical rankings, parameters without effect, leads within noise, selection bias."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.report.render.text import SHOWN, clip
from assay.report.results import Diagnostic
from assay.report.scored_run import SAME_MEAN, ScoredRun, candidates, choose_leader, failed_engines, pick
from assay.scoring import parse_measure, ranking_codes
from assay.settings import get_key
from assay.stats.records import one_digit
from assay.stats.selection import near_leader, selection_bias
from assay.stats.tables import headline, partition

if TYPE_CHECKING:
    from assay.scoring.grid import IntArray
    from assay.stats.tables import Partition
    from assay.types import EngineRun, FloatArray


@dataclass(frozen=True, slots=True)
class AlarmConfig:
    """When something is worth an alarm."""

    nearly: float = 0.01  # share of rankings: a knob that moves fewer decides nothing that a mean could show
    many: int = 3  # of two engines the verdict says all there is
    luck: float = 0.5  # of the margin: less optimism than that nobody acts on
    named: int = 8  # engines that a sentence names; results.json has them all


ALARMS = AlarmConfig()


def find_diagnostics(case: ScoredRun, config: AlarmConfig = ALARMS) -> tuple[Diagnostic, ...]:
    """Look for all of them, what is certain first."""
    codes = ranking_codes(case.scorer)
    knobs = _knobs(case.run.engines, codes)
    dead = [knob for knob in knobs if not knob.changed]
    nearly = [knob for knob in knobs if 0 < knob.changed < config.nearly * knob.rankings]
    found = [
        *_identical(case.run.engines, codes, dead),
        *(_dead(knob, config) for knob in dead),
        *(_nearly(knob) for knob in nearly),
    ]
    table = _table(case, codes)
    if len(table.names) >= config.many:
        found += [*_noise(case, table, config), *_luck(case, table, config)]
    return tuple(found)


def _identical(engines: Sequence[EngineRun], codes: IntArray, dead: Sequence[_Knob]) -> Iterator[Diagnostic]:
    """Put engines together that answered the same though they are set otherwise; what a dead knob explains is told."""
    groups: dict[bytes, list[EngineRun]] = {}
    for engine, row in zip(engines, codes, strict=True):
        if row.any():
            groups.setdefault(row.tobytes(), []).append(engine)
    for group in groups.values():
        if len(group) > 1 and not _one_setting(group) and not _explained(group, dead):
            names = tuple(engine.name for engine in group)
            yield Diagnostic(
                "identical rankings",
                names,
                f"{_listed(names)} gave identical rankings: is a setting not connected, or is it one engine asked in "
                "several ways?",
                "Look at what each passes on, and keep one of them.",
                {"queries": int((codes != 0).any(axis=0).sum())},
            )


def _one_setting(group: Sequence[EngineRun]) -> bool:
    return bool(group[0].config) and all(engine.config == group[0].config for engine in group)


def _explained(group: Sequence[EngineRun], dead: Sequence[_Knob]) -> bool:
    bases = {_base(engine) for engine in group}
    keys = {key for engine in group for key in _changes(engine)}
    moved = {key for key in keys if len({_value(engine, key) for engine in group}) > 1}
    return len(bases) == 1 and bool(moved) and moved <= {knob.key for knob in dead if knob.base in bases}


@dataclass(frozen=True, slots=True)
class _Knob:
    """A setting that variants of one engine differ in, other things equal, and what it did."""

    base: str
    key: str
    values: tuple[str, ...]
    pairs: int
    rankings: int  # of all pairs
    changed: int


def _knobs(engines: Sequence[EngineRun], codes: IntArray) -> list[_Knob]:
    rows = {engine.name: row for engine, row in zip(engines, codes, strict=True) if row.any()}
    families: dict[str, list[EngineRun]] = {}
    for engine in engines:
        if engine.name in rows:
            families.setdefault(_base(engine), []).append(engine)
    found = []
    for base, members in families.items():
        keys = dict.fromkeys(key for engine in members for key in _changes(engine))
        found += [_knob(base, key, list(keys), members, rows) for key in keys]
    return [knob for knob in found if knob.pairs]


def _knob(
    base: str, key: str, keys: Sequence[str], members: Sequence[EngineRun], rows: Mapping[str, IntArray]
) -> _Knob:
    alike: dict[tuple[str, ...], dict[str, str]] = {}
    for engine in members:
        others = tuple(_value(engine, other) for other in keys if other != key)
        alike.setdefault(others, {}).setdefault(_value(engine, key), engine.name)
    pairs = [pair for group in alike.values() for pair in combinations(group.values(), 2)]
    values = tuple(dict.fromkeys(value for group in alike.values() if len(group) > 1 for value in group))
    changed = sum(int((rows[a] != rows[b]).sum()) for a, b in pairs)
    asked = sum(int(((rows[a] != 0) | (rows[b] != 0)).sum()) for a, b in pairs)
    return _Knob(base, key, values, len(pairs), asked, changed)


def _base(engine: EngineRun) -> str:
    return engine.variation.base if engine.variation else engine.name


def _changes(engine: EngineRun) -> Mapping[str, object]:
    return engine.variation.changes if engine.variation else {}


def _value(engine: EngineRun, key: str) -> str:
    """Write what a knob is set to: what the engine says it is, else what the variant says, else that it is as it was.

    The engine first: a variant that sets what is the default anyway differs from its base in nothing.
    """
    value = get_key(engine.config, key, _UNSAID)
    said = _changes(engine).get(key, _UNSAID) if value is _UNSAID else value
    return "unchanged" if said is _UNSAID else json.dumps(said, sort_keys=True, default=str)


_UNSAID: Any = object()


def _dead(knob: _Knob, config: AlarmConfig) -> Diagnostic:
    values = _listed([clip(value, SHOWN.example) for value in knob.values], config.named)
    pairs = f"{knob.pairs} pairs of variants that differ" if knob.pairs > 1 else "the two variants that differ"
    return Diagnostic(
        "dead knob",
        (knob.key,),
        f"{knob.key} of {knob.base} does nothing here: with {values} the rankings are identical on every query, in "
        f"{pairs} in nothing else.",
        "Is it connected, is it misspelt, or does it need another setting beside it? Else take it out of the sweep.",
        {"base": knob.base, "values": list(knob.values), "pairs": knob.pairs, "rankings": knob.rankings},
    )


def _nearly(knob: _Knob) -> Diagnostic:
    share = knob.changed / knob.rankings
    return Diagnostic(
        "nearly dead knob",
        (knob.key,),
        f"{knob.key} of {knob.base} changes {knob.changed} of {knob.rankings} rankings ({share:.1%}).",
        "Too few for any mean to show; a wider range of values may say more.",
        {"base": knob.base, "values": list(knob.values), "changed": knob.changed, "rankings": knob.rankings},
        grave=False,
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """The engines that compete, each ranking once, on the queries that the primary measure applies to."""

    names: tuple[str, ...]  # the leader first
    values: FloatArray  # engines × queries
    parts: Partition


def _table(case: ScoredRun, codes: IntArray) -> _Table:
    dead = failed_engines(case.run)
    names = [name for name in candidates(case.run, case.claim) if name not in dead]
    shown = headline(pick(case.scores, engines=names, measures=(case.primary,)))
    kept = np.asarray(~np.isnan(shown.values[:, 0]).any(axis=0))
    units = [unit for unit, keep in zip(shown.units, kept, strict=True) if keep]
    values = dict(zip(names, shown.values[:, 0, kept], strict=True))
    if not units or not names:
        return _Table((), np.empty((0, 0)), partition(units, case.claim.cluster))
    sign = 1.0 if parse_measure(case.primary).higher_is_better else -1.0
    gains = {name: sign * round(float(row.mean()), SAME_MEAN) for name, row in values.items()}
    leader = choose_leader(case.run, case.claim, gains)
    rows = {engine.name: row.tobytes() for engine, row in zip(case.run.engines, codes, strict=True)}
    first: dict[bytes, str] = {}
    for name in (leader, *names):
        first.setdefault(rows[name], name)
    once = tuple(first.values())
    return _Table(once, np.stack([values[name] for name in once]), partition(units, case.claim.cluster))


def _noise(case: ScoredRun, table: _Table, config: AlarmConfig) -> Iterator[Diagnostic]:
    up = parse_measure(case.primary).higher_is_better
    found = near_leader(table.values, table.parts, higher_is_better=up, alpha=case.claim.alpha)
    others = [i for i in range(len(table.names)) if i != found.leader]
    near = [i for i in others if not found.decided[i] or found.lead[i] < case.claim.margin]
    if not near:
        return
    names, leader = tuple(table.names[i] for i in near), table.names[found.leader]
    all_of_them = "all other variants" if len(near) == len(others) else f"{len(near)} of {len(others)} other variants"
    shows = "none at all" if found.smallest is None else f"from about {one_digit(found.smallest)} up"
    widest = max(float(found.lead[i]) for i in near)
    behind = f"They are up to {one_digit(widest)} behind" if widest > 0.0 else "Their means are equal"
    yield Diagnostic(
        "within noise",
        (leader, *names),
        f"{leader} leads on {case.primary}, but {all_of_them} differ from it by noise or by less than the margin of "
        f"{case.claim.margin:g}: {_listed(names, config.named)}. {behind}; between any two "
        f"of {len(table.names)} variants this set would show differences {shows}.",
        "Choose among them by cost, or ask more queries: `assay plan` says how many.",
        {
            "leader": leader,
            "behind": {table.names[i]: float(found.lead[i]) for i in near},
            "undecided": [table.names[i] for i in near if not found.decided[i]],
            "smallest": found.smallest,
        },
    )


def _luck(case: ScoredRun, table: _Table, config: AlarmConfig) -> Iterator[Diagnostic]:
    up = parse_measure(case.primary).higher_is_better
    found = selection_bias(table.values, table.parts, np.random.default_rng(case.claim.seed), higher_is_better=up)
    if found is None or abs(found.apparent - found.honest) < config.luck * case.claim.margin:
        return
    leader, many = table.names[0], len(table.names)
    yield Diagnostic(
        "best of many",
        (leader,),
        f"{leader} is the best of {many} on the queries that chose it: {found.apparent:.3f} {case.primary}. Chosen on "
        f"one half of them and scored on the other, the best of {many} is worth {found.honest:.3f}.",
        "Report that one, or choose with `assay tune` on the dev part and measure the choice on the test part.",
        {"apparent": found.apparent, "honest": found.honest, "engines": many, "queries": table.values.shape[1]},
    )


def _listed(names: Sequence[str], most: int = ALARMS.named) -> str:
    shown = [*names] if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
