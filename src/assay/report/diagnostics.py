from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.experiment.spec.analysis_plan import without_lines
from assay.report.family import SAME_MEAN, choose_leader, failed_engines, possible_leaders
from assay.report.render.formatting import SHOWN, clip
from assay.report.results_file import Diagnostic
from assay.report.scored_run import ScoredRun, level_of, measure_text, pick
from assay.scoring import parse_measure, ranking_codes
from assay.settings import get_key
from assay.stats.records import one_digit
from assay.stats.score_table import headline, partition
from assay.stats.selection import near_leader, selection_bias

if TYPE_CHECKING:
    from assay.scoring.grid import IntArray
    from assay.stats.score_table import Partition
    from assay.types import EngineRun, FloatArray


#: Engines; of two the verdict is enough.
_MANY = 3
#: Of the margin: smaller selection bias does not matter.
_LUCK = 0.5
#: Engines in a sentence; results.json has all.
_NAMED = 8
_MISSING: Any = object()


def find_diagnostics(scored: ScoredRun) -> tuple[Diagnostic, ...]:
    """Return all diagnostics of a run, certain ones first."""
    codes = ranking_codes(scored.scorer)
    parameters = _parameters(scored.run.engines, codes)
    dead = [parameter for parameter in parameters if not parameter.changed]
    diagnostics = [*_levels(scored), *_identical_rankings(scored.run.engines, codes, dead), *map(_dead_parameter, dead)]
    names, values, parts = _ranked_values(scored, codes)
    if len(names) >= _MANY:
        diagnostics += _lead_within_noise(scored, names, values, parts)
        diagnostics += _selection_bias(scored, names, values, parts)
    return tuple(diagnostics)


def _levels(scored: ScoredRun) -> Iterator[Diagnostic]:
    """Yield diagnostics of engines without lines, and of gold sets that differ in level."""
    by_file = level_of(scored.primary) == "file"
    if not by_file or (scored.plan.auto_level and scored.run.suite.level == "lines"):
        for name in without_lines(scored.run):
            sentence = f"{name} returns no lines: use --level file."
            if by_file:
                sentence = f"Measured by file, as {name} returns no lines; --level lines forces lines."
            step = "A path alone matches no target with lines."
            yield Diagnostic("paths only", (name,), sentence, step, {})
        return
    by_lines = [gold.name for gold in scored.run.suite.golds if gold.level == "lines"]
    if by_lines and len(by_lines) < len(scored.run.suite.golds):
        sentence = f"Measured by file, because only some gold sets have targets with lines: {_join_names(by_lines)}."
        step = "Run gold sets with lines separately to measure them by lines."
        yield Diagnostic("mixed levels", tuple(by_lines), sentence, step, {"gold_sets": len(by_lines)}, grave=False)


def _identical_rankings(
    engines: Sequence[EngineRun], codes: IntArray, dead: Sequence[_Parameter]
) -> Iterator[Diagnostic]:
    """Yield groups of engines with identical rankings and different settings that no dead parameter explains."""
    groups: dict[bytes, list[EngineRun]] = {}
    for engine, row in zip(engines, codes, strict=True):
        if row.any():
            groups.setdefault(row.tobytes(), []).append(engine)
    for group in groups.values():
        same_settings = bool(group[0].config) and all(engine.config == group[0].config for engine in group)
        if len(group) > 1 and not same_settings and not _is_explained(group, dead):
            names = tuple(engine.name for engine in group)
            yield Diagnostic(
                "identical rankings",
                names,
                f"{_join_names(names)} have identical rankings.",
                "Check that their settings are connected, and keep one of them.",
                {"queries": int((codes != 0).any(axis=0).sum())},
            )


def _is_explained(group: Sequence[EngineRun], dead: Sequence[_Parameter]) -> bool:
    bases = {_base(engine) for engine in group}
    keys = {key for engine in group for key in _changes(engine)}
    changed = {key for key in keys if len({_value(engine, key) for engine in group}) > 1}
    return len(bases) == 1 and bool(changed) and changed <= {p.key for p in dead if p.base in bases}


class _Parameter(NamedTuple):
    """The effect of one parameter on variants of an engine that differ only in this parameter."""

    base: str
    key: str
    values: tuple[str, ...]
    pairs: int
    rankings: int  # of all pairs
    changed: int


def _parameters(engines: Sequence[EngineRun], codes: IntArray) -> list[_Parameter]:
    rows = {engine.name: row for engine, row in zip(engines, codes, strict=True) if row.any()}
    variants: dict[str, list[EngineRun]] = {}
    for engine in engines:
        if engine.name in rows:
            variants.setdefault(_base(engine), []).append(engine)
    parameters = []
    for base, members in variants.items():
        keys = dict.fromkeys(key for engine in members for key in _changes(engine))
        parameters += [_parameter(base, key, list(keys), members, rows) for key in keys]
    return [parameter for parameter in parameters if parameter.pairs]


def _parameter(
    base: str, key: str, keys: Sequence[str], members: Sequence[EngineRun], rows: Mapping[str, IntArray]
) -> _Parameter:
    alike: dict[tuple[str, ...], dict[str, str]] = {}
    for engine in members:
        others = tuple(_value(engine, other) for other in keys if other != key)
        alike.setdefault(others, {}).setdefault(_value(engine, key), engine.name)
    pairs = [pair for group in alike.values() for pair in combinations(group.values(), 2)]
    values = tuple(dict.fromkeys(value for group in alike.values() if len(group) > 1 for value in group))
    changed = sum(int((rows[a] != rows[b]).sum()) for a, b in pairs)
    rankings = sum(int(((rows[a] != 0) | (rows[b] != 0)).sum()) for a, b in pairs)
    return _Parameter(base, key, values, len(pairs), rankings, changed)


def _base(engine: EngineRun) -> str:
    return engine.variation.base if engine.variation else engine.name


def _changes(engine: EngineRun) -> Mapping[str, object]:
    return engine.variation.changes if engine.variation else {}


def _value(engine: EngineRun, key: str) -> str:
    """Return the value of a parameter in the configuration, else in the changes of the variant, else "unchanged".

    The configuration comes first because a variant may set the default explicitly.
    """
    value = get_key(engine.config, key, _MISSING)
    if value is _MISSING:
        value = _changes(engine).get(key, _MISSING)
    return "unchanged" if value is _MISSING else json.dumps(value, sort_keys=True, default=str)


def _dead_parameter(parameter: _Parameter) -> Diagnostic:
    values = _join_names([clip(value, SHOWN.example) for value in parameter.values])
    pairs = f"{parameter.pairs} pairs of variants" if parameter.pairs > 1 else "the two variants"
    return Diagnostic(
        "dead parameter",
        (parameter.key,),
        f"{parameter.key} of {parameter.base} has no effect: with {values} the rankings are identical on every query, "
        f"in {pairs} that differ only in this parameter.",
        "Check the name of the parameter and the settings it depends on, or remove it from the sweep.",
        {
            "base": parameter.base,
            "values": list(parameter.values),
            "pairs": parameter.pairs,
            "rankings": parameter.rankings,
        },
    )


def _ranked_values(scored: ScoredRun, codes: IntArray) -> tuple[tuple[str, ...], FloatArray, Partition]:
    """Return candidates with distinct rankings, the leader first, their values and the clusters of queries."""
    dead = failed_engines(scored.run)
    names = [name for name in possible_leaders(scored.run, scored.plan) if name not in dead]
    scores = headline(pick(scored.scores, engines=names, measures=(scored.primary,)))
    applies = np.asarray(~np.isnan(scores.values[:, 0]).any(axis=0))
    units = [unit for unit, keep in zip(scores.units, applies, strict=True) if keep]
    parts = partition(units, scored.plan.cluster)
    if not units or not names:
        return (), np.empty((0, 0)), parts
    values = dict(zip(names, scores.values[:, 0, applies], strict=True))
    sign = 1.0 if parse_measure(scored.primary).higher_is_better else -1.0
    gains = {name: sign * round(float(row.mean()), SAME_MEAN) for name, row in values.items()}
    leader = choose_leader(scored.run, scored.plan, gains)
    rankings = {engine.name: row.tobytes() for engine, row in zip(scored.run.engines, codes, strict=True)}
    first: dict[bytes, str] = {}
    for name in (leader, *names):
        first.setdefault(rankings[name], name)
    distinct = tuple(first.values())
    return distinct, np.stack([values[name] for name in distinct]), parts


def _lead_within_noise(
    scored: ScoredRun, names: Sequence[str], values: FloatArray, parts: Partition
) -> Iterator[Diagnostic]:
    up = parse_measure(scored.primary).higher_is_better
    gaps = near_leader(values, parts, higher_is_better=up, alpha=scored.plan.alpha)
    others = [i for i in range(len(names)) if i != gaps.leader]
    near = [i for i in others if not gaps.decided[i] or gaps.lead[i] < scored.plan.margin]
    if not near:
        return
    near_names, leader = tuple(names[i] for i in near), names[gaps.leader]
    which = "all other variants" if len(near) == len(others) else f"{len(near)} of {len(others)} other variants"
    shows = "unknown" if gaps.smallest is None else f"about {one_digit(gaps.smallest)}"
    widest = max(float(gaps.lead[i]) for i in near)
    behind = f"They are up to {one_digit(widest)} behind" if widest > 0.0 else "Their means are equal"
    yield Diagnostic(
        "within noise",
        (leader, *near_names),
        f"{leader} leads on {measure_text(scored.primary)}, but {which} are worse by less than the margin of "
        f"{scored.plan.margin:g} or not significantly worse: {_join_names(near_names)}. {behind}; the MDE "
        f"between two of {len(names)} variants is {shows}.",
        "Choose by cost, or add queries: `assay plan --detect 0.05` computes how many.",
        {
            "leader": leader,
            "behind": {names[i]: float(gaps.lead[i]) for i in near},
            "undecided": [names[i] for i in near if not gaps.decided[i]],
            "smallest": gaps.smallest,
        },
    )


def _selection_bias(
    scored: ScoredRun, names: Sequence[str], values: FloatArray, parts: Partition
) -> Iterator[Diagnostic]:
    up = parse_measure(scored.primary).higher_is_better
    bias = selection_bias(values, parts, np.random.default_rng(scored.plan.seed), higher_is_better=up)
    if bias is None or abs(bias.apparent - bias.honest) < _LUCK * scored.plan.margin:
        return
    leader, many = names[0], len(names)
    yield Diagnostic(
        "best of many",
        (leader,),
        f"{leader} is the best of {many} engines: {bias.apparent:.3f} {measure_text(scored.primary)} on the queries "
        f"used to choose it. The best engine on one half of the queries scores {bias.honest:.3f} on the other half.",
        "Report the lower number, or choose with `assay tune` on dev queries and measure the choice on test queries.",
        {"apparent": bias.apparent, "honest": bias.honest, "engines": many, "queries": values.shape[1]},
    )


def _join_names(names: Sequence[str]) -> str:
    shown = [*names] if len(names) <= _NAMED else [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
