"""Variants and sweeps of engines, and their expansion into the entries of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import ConfigError, did_you_mean
from assay.experiment.spec.engine_entries import (
    ConfigLocation,
    RunEntry,
    Settings,
    canonical,
    is_template,
    located,
    location_of,
    read_requires,
    settings_table,
)
from assay.settings import apply_overrides, flatten, get_key, split_key
from assay.types import VariantInfo

if TYPE_CHECKING:
    from assay.experiment.spec.experiment_spec import Spec

CENTRE = "centre"  # name of the unchanged engine in a one-at-a-time sweep of a template
#: A larger grid is a mistake in the file, not an experiment.
MOST_POINTS = 10_000
Strategy = Literal["grid", "one-at-a-time", "leave-one-out"]


@dataclass(frozen=True, slots=True)
class Variant:
    """An engine with changed settings."""

    engine: str
    set: Mapping[str, object]  # dotted setting -> value
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sweep:
    """Many variants of one engine."""

    engine: str
    strategy: Strategy = "grid"
    params: Mapping[str, tuple[object, ...]] = field(default_factory=dict)  # dotted setting -> values
    parts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # part -> settings that switch it off
    name: str = ""  # such as w{search.dense.language}; default: SWEEP:key=value
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A named set of changed settings."""

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)  # dotted setting -> value


def expand(spec: Spec, declared: Mapping[str, RunEntry]) -> Iterator[RunEntry]:
    """Yield the variants, then the sweep points, of the declared engines."""
    for name, variant in spec.variants.items():
        location = location_of(spec, f"variants.{name}")
        with located(location, name):
            if not variant.set:
                raise ConfigError("set is empty", hint='for example set = { "search.stem.files" = 0.2 }')
            base = _base_engine(variant.engine, declared, spec)
            yield _variant_entry(name, base, VariantInfo(base.name, variant.set), variant.requires, location)
    params = [key for sweep in spec.sweeps.values() for key in sweep.params]
    for name, sweep in spec.sweeps.items():
        location = location_of(spec, f"sweeps.{name}")
        with located(location, name):
            base = _base_engine(sweep.engine, declared, spec)
            own = partial(own_value, base.settings)
            for point in points(name, sweep, centre=own, template=is_template(spec, base.name), others=params):
                variation = VariantInfo(base.name, point.changes, name)
                yield _variant_entry(point.name, base, variation, sweep.requires, location)


def _base_engine(name: str, declared: Mapping[str, RunEntry], spec: Spec) -> RunEntry:
    if name not in declared and name in spec.variants:
        hint = f"name the engine of that variant: {spec.variants[name].engine!r}"
        raise ConfigError(f"engine = {name!r}: expected an engine, got a variant", hint=hint)
    if name not in declared:
        hint = did_you_mean(name, declared) or f"declared: {', '.join(declared)}; add [engines.{name}] to declare it"
        raise ConfigError(f"engine = {name!r} is not declared", hint=hint)
    return declared[name]


def _variant_entry(
    name: str, base: RunEntry, variation: VariantInfo, requires: tuple[str, ...], location: ConfigLocation
) -> RunEntry:
    if not name.strip() or not name.isprintable():
        raise ConfigError(f"invalid name {name!r}", hint="choose a name with printable characters on one line")
    settings = apply_overrides(settings_table(base.settings), variation.changes)
    flags = (*base.location.flags, *location.flags)
    located = ConfigLocation(location.file, location.line, base.location.directory, flags)
    required = tuple(dict.fromkeys((*base.requires, *read_requires(requires))))
    return RunEntry(name, settings, variation, required, located)


def own_value(settings: Settings, key: str) -> object:
    """Return the value of an engine's setting, or its default; MISSING if unknown."""
    table = settings_table(settings)
    value = get_key(table, key, MISSING)
    return _default_value(str(table["kind"]), key) if value is MISSING and "kind" in table else value


@cache
def _default_value(kind: str, key: str) -> object:
    from assay.engines import KINDS

    record = KINDS[kind].settings_class() if kind in KINDS else None
    first, *rest = split_key(key)
    known = {f.name: f for f in fields(record)} if is_dataclass(record) else {}
    if first not in known:
        return MISSING
    default, factory = known[first].default, known[first].default_factory
    value: object = default if factory is MISSING else factory()
    for name in rest:
        value = getattr(value, name, MISSING)
    return value


def points(
    name: str, sweep: Sweep, *, centre: Callable[[str], object], template: bool, others: Iterable[str] = ()
) -> list[SettingChange]:
    """Return the points of a sweep in file order, by default named `SWEEP:key=value` or `SWEEP:no-part`.

    `centre` returns the engine's value of a setting. `others` are the settings of all sweeps, so that a short label
    means the same setting in all of them.
    """
    _check_sweep(sweep)
    labels = short_labels(tuple(dict.fromkeys((*sweep.params, *others))))
    if sweep.strategy == "grid":
        return list(_grid_points(name, sweep, labels))
    if sweep.strategy == "leave-one-out":
        return [
            SettingChange(_format_name(sweep, f"{name}:no-{part}", {"part": part}), off)
            for part, off in sweep.parts.items()
        ]
    found = [SettingChange(f"{name}:{CENTRE}")] if template else []
    for key, values in sweep.params.items():
        own = canonical(centre(key))
        for value in values:
            if canonical(value) != own:
                text = value_text(value)
                label = _format_name(sweep, f"{name}:{labels[key]}={text}", {"param": labels[key], "value": text})
                found.append(SettingChange(label, flatten({key: value})))
    return found


_EXAMPLES = {
    "params": 'params = { "search.stem.files" = [0.2, 0.4] }',
    "parts": 'parts = { stem = { "search.without" = ["stem"] } }',
}


def _check_sweep(sweep: Sweep) -> None:
    wanted, unwanted = ("parts", "params") if sweep.strategy == "leave-one-out" else ("params", "parts")
    if getattr(sweep, unwanted):
        raise ConfigError(f"{sweep.strategy} takes {wanted}, not {unwanted}", hint=_EXAMPLES[wanted])
    if not getattr(sweep, wanted):
        raise ConfigError(f"{sweep.strategy} needs {wanted}", hint=_EXAMPLES[wanted])
    for key, values in sweep.params.items():
        if not values or len(set(map(canonical, values))) < len(values):
            problem = "has a value twice" if values else "has no value"
            raise ConfigError(f"params: {key} {problem}", hint="list the values to try, each once", keys=["params"])
    for part, off in sweep.parts.items():
        if not off:
            raise ConfigError(f"parts: no setting switches off {part!r}", hint=_EXAMPLES["parts"])
    size = math.prod(map(len, sweep.params.values()))
    if sweep.strategy == "grid" and size > MOST_POINTS:
        raise ConfigError(f"expected at most {MOST_POINTS:,} grid points, got {size:,}", hint="remove values")


def _grid_points(name: str, sweep: Sweep, labels: Mapping[str, str]) -> Iterator[SettingChange]:
    own_labels = short_labels(tuple(sweep.params))  # also allowed in the name that the sweep declares
    for values in product(*sweep.params.values()):
        texts = {key: value_text(value) for key, value in zip(sweep.params, values, strict=True)}
        usual = (f"{name}:" if name else "") + ",".join(f"{labels[key]}={text}" for key, text in texts.items())
        known = {labels[key]: text for key, text in texts.items()} | texts
        known |= {own_labels[key]: text for key, text in texts.items()}
        changes = flatten(dict(zip(sweep.params, values, strict=True)))
        yield SettingChange(_format_name(sweep, usual, known), changes)


def _format_name(sweep: Sweep, usual: str, known: Mapping[str, str]) -> str:
    def fill(match: re.Match[str]) -> str:
        if match[1] not in known:
            hint = did_you_mean(match[1], known) or f"known: {', '.join(f'{{{key}}}' for key in known)}"
            raise ConfigError(f"name: unknown placeholder {{{match[1]}}}", hint=hint)
        return known[match[1]]

    return re.sub(r"\{([^{}]*)\}", fill, sweep.name) if sweep.name else usual


def short_labels(keys: Sequence[str]) -> dict[str, str]:
    """Return the shortest unambiguous end of each dotted key."""
    split = {key: split_key(key) for key in keys}
    labels = {}
    for key, names in split.items():
        others = [other for label, other in split.items() if label != key]
        fewest = (n for n in range(1, len(names)) if all(other[-n:] != names[-n:] for other in others))
        labels[key] = ".".join(names[-next(fewest, len(names)) :])
    return labels


def value_text(value: object) -> str:
    """Format a value for a name: as TOML without quotes, with `+` between the items of a list."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "+".join(map(value_text, value)) or "[]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}={value_text(item)}" for key, item in value.items()) + "}"
    return str(value)
