"""Variants and sweeps of engines, and their expansion into the entries of a run."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache, partial
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import ConfigError, did_you_mean, install_hint
from assay.settings import apply_overrides, flatten, get_key, iter_leaves, split_key
from assay.types import VariantInfo

if TYPE_CHECKING:
    from assay.experiment.spec.model import Spec

#: Reference engines in every table: the floor, a careful grep, and the reachable ceiling.
REFERENCES = ("random", "keywords", "oracle")
BUILTIN = "builtin"  # the engine of a specification that declares none
CENTRE = "centre"  # name of the unchanged engine in a one-at-a-time sweep of a template
#: Keys of an [engines.NAME] table that are not settings of the engine.
ENGINE_KEYS = ("template", "requires")
#: A larger grid is a mistake in the file, not an experiment.
MOST_POINTS = 10_000
_ENVIRONMENT_PREFIX = "ASSAY_SEARCH"

Settings = Mapping[str, Any] | str  # a table, or a text such as `command:my-search`
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


@dataclass(frozen=True, slots=True)
class ConfigLocation:
    """File and line of a declaration, and the --set flags that changed it."""

    file: str | None = None
    line: int | None = None
    directory: Path = Path()  # base of relative paths in the settings
    flags: tuple[str, ...] = ()

    @property
    def by_flags(self) -> bool:
        return self.file is None and bool(self.flags)

    def error(self, message: str, hint: str | None) -> ConfigError:
        if self.by_flags:
            return ConfigError(f"{self.flags[-1]}: {message}", hint=hint, flag=self.flags[-1])
        return ConfigError(message, file=self.file, line=self.line, hint=hint)


@dataclass(frozen=True, slots=True)
class RunEntry:
    """An engine or variant as one row of a run."""

    name: str
    settings: Settings
    variation: VariantInfo | None = None
    requires: tuple[str, ...] = ()
    location: ConfigLocation = ConfigLocation()


def expand(spec: Spec) -> tuple[RunEntry, ...]:
    """Return engines, variants, sweep points and references, in the order shown; raise ConfigError for equal names."""
    declared = declared_engines(spec)
    own = [entry for name, entry in declared.items() if not _is_template(spec, name)]
    own += [*_expand_variants(spec, declared), *_expand_sweeps(spec, declared)]
    if not own:
        location = location_of(spec, f"engines.{next(iter(declared))}")
        raise location.error("no engine to run: all engines are templates", "declare a variant, or remove template")
    by_name: dict[str, RunEntry] = {}
    for entry in own:
        if entry.name in REFERENCES and entry.variation:
            raise entry.location.error(f"{entry.name!r} is the name of a reference engine", "choose another name")
        if other := by_name.get(entry.name):
            where = f": the other is at {other.location.file}:{other.location.line}" if other.location.file else ""
            hint = 'rename one of them; a sweep takes name = "...{setting}..."'
            raise entry.location.error(f"two engines are called {entry.name!r}{where}", hint)
        by_name[entry.name] = entry
    references = [RunEntry(name, name) for name in REFERENCES if spec.references and name not in by_name]
    return (*own, *references)


def declared_engines(spec: Spec) -> dict[str, RunEntry]:
    """Return the engines of [engines] by name, including templates."""
    entries = {}
    for name, settings in (spec.engines or {BUILTIN: BUILTIN}).items():
        own, location = settings, ConfigLocation(directory=spec.directory)
        requires: tuple[str, ...] = ()
        if isinstance(settings, Mapping):
            location = location_of(spec, f"engines.{name}")
            with _located(location, name):
                requires = _read_requires(settings.get("requires", ()))
            own = {key: value for key, value in settings.items() if key not in ENGINE_KEYS}
        own = with_environment(own, location.directory, location.flags)
        entries[name] = RunEntry(name, own, None, requires, location)
    return entries


def _is_template(spec: Spec, name: str) -> bool:
    settings = spec.engines.get(name)
    return isinstance(settings, Mapping) and settings.get("template") is True


def location_of(spec: Spec, dotted: str) -> ConfigLocation:
    """Return the location of a declaration such as `variants.no-stem`; default: the main file."""
    return spec.locations.get(dotted) or ConfigLocation(spec.file, None, spec.directory)


def _expand_variants(spec: Spec, declared: Mapping[str, RunEntry]) -> Iterator[RunEntry]:
    for name, variant in spec.variants.items():
        location = location_of(spec, f"variants.{name}")
        with _located(location, name):
            if not variant.set:
                raise ConfigError("set is empty", hint='for example set = { "search.stem.files" = 0.2 }')
            base = _base_engine(variant.engine, declared, spec)
            yield _variant_entry(name, base, VariantInfo(base.name, variant.set), variant.requires, location)


def _expand_sweeps(spec: Spec, declared: Mapping[str, RunEntry]) -> Iterator[RunEntry]:
    params = [key for sweep in spec.sweeps.values() for key in sweep.params]
    for name, sweep in spec.sweeps.items():
        location = location_of(spec, f"sweeps.{name}")
        with _located(location, name):
            base = _base_engine(sweep.engine, declared, spec)
            own = partial(own_value, base.settings)
            for point in points(name, sweep, centre=own, template=_is_template(spec, base.name), others=params):
                variation = VariantInfo(base.name, point.changes, name)
                yield _variant_entry(point.name, base, variation, sweep.requires, location)


@contextmanager
def _located(location: ConfigLocation, name: str) -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        raise (error if error.file else location.error(f"{name}: {error.message}", error.hint)) from error


def _base_engine(name: str, declared: Mapping[str, RunEntry], spec: Spec) -> RunEntry:
    if name not in declared and name in spec.variants:
        hint = f"name the engine of that variant: {spec.variants[name].engine!r}"
        raise ConfigError(f"engine = {name!r}: expected an engine, got a variant", hint=hint)
    if name not in declared:
        hint = did_you_mean(name, declared) or f"declared: {', '.join(declared)}; add [engines.{name}] for another"
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
    required = tuple(dict.fromkeys((*base.requires, *_read_requires(requires))))
    return RunEntry(name, settings, variation, required, located)


def settings_table(settings: Settings) -> Mapping[str, Any]:
    from assay.engines import engine_table

    return engine_table(settings) if isinstance(settings, str) else settings


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


def reject_duplicates(spec: Spec) -> None:
    """Raise ConfigError for a variant with the settings of an engine or another variant."""
    known = {_identity(entry): entry for entry in declared_engines(spec).values()}
    for entry in spec.entries():
        other = known.setdefault(_identity(entry), entry) if entry.name in spec.variants else entry
        if other is not entry:
            message = f"{entry.name} has the same settings as {other.name}"
            raise entry.location.error(message, "change a setting, or remove the variant")


def duplicate_notes(spec: Spec) -> list[str]:
    """Return a note for each variant or sweep point that has the settings of another entry."""
    known: dict[str, RunEntry] = {}
    pairs = [(entry, known.setdefault(_identity(entry), entry)) for entry in spec.entries()]
    return [
        f"{entry.name} has the same settings as {other.name}: its ranking will be the same"
        for entry, other in pairs
        if other is not entry and entry.variation
    ]


def _identity(entry: RunEntry) -> str:
    return f"{entry.location.directory}|{canonical(entry.settings)}"


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


def canonical(value: object) -> str:
    """Return a text that is equal for equal values; 1 equals 1.0, but true does not equal 1."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value)) if abs(value) < 2**53 else repr(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    return f"{type(value).__name__}:{value}"


def with_environment(settings: Settings, directory: Path = Path(), flags: Sequence[str] = ()) -> Settings:
    """Apply the ASSAY_SEARCH variables to the settings of a built-in engine; --set flags take precedence."""
    if not _search_variables() or not _is_builtin(settings, directory):
        return settings
    from assay.engines.builtin import environment_settings

    flagged = {keys[2:] for flag in flags for keys, _ in iter_leaves(parse_override(flag.removeprefix("--set ")))}
    variables = environment_settings(os.environ)
    changes = {key: value for key, value in variables.items() if split_key(key) not in flagged}
    return apply_overrides(settings_table(settings), changes)


def parse_override(text: str) -> dict[str, Any]:
    """Parse `TABLE.KEY=VALUE`, where the value is TOML or a text without quotes."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set {text}: expected KEY=VALUE", hint="for example --set run.k=20")
    for written in (text, f"{key} = {json.dumps(value.strip())}"):
        try:
            return tomllib.loads(written)
        except tomllib.TOMLDecodeError:
            continue
    raise ConfigError(f"--set {text}: invalid key", hint="write a TOML key: --set run.k=20")


def environment_note(spec: Spec) -> str:
    """Return a note on the environment variables that changed engines; empty without any."""
    if not (variables := _search_variables()):
        return ""
    names = [entry.name for entry in spec.entries() if _is_builtin(entry.settings, entry.location.directory)]
    return f"{', '.join(variables)} from the environment applied to {', '.join(names)}" if names else ""


def _search_variables() -> list[str]:
    return sorted(name for name in os.environ if name.startswith(_ENVIRONMENT_PREFIX))


def _is_builtin(settings: Settings, directory: Path) -> bool:
    table = settings_table(settings)
    if "preset" not in table:
        return table.get("kind") == BUILTIN
    from assay.engines.presets import load_preset

    try:
        return load_preset(str(table["preset"]), directory).kind == BUILTIN
    except ConfigError:  # an unknown preset is reported where the engine is made
        return False


def missing_requirement(requires: Sequence[str]) -> str | None:
    """Return the missing requirements as text; None if all are met."""
    return "; ".join(filter(None, map(_missing, _read_requires(requires)))) or None


def _read_requires(requires: object) -> tuple[str, ...]:
    items = [requires] if isinstance(requires, str) else requires
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise ConfigError(
            f"requires: expected a list of texts, got {requires!r}",
            hint='for example ["tool:rg"]',
        )
    for item in items:
        kind, _, name = item.partition(":")
        if kind not in ("env", "tool", "extra") or not name.strip():
            raise ConfigError(f"requires = {item!r}", hint="use env:NAME, tool:NAME or extra:NAME")
        if kind == "extra" and name not in extras():
            hint = did_you_mean(name, extras()) or f"extras of Assay: {', '.join(extras()) or 'none'}"
            raise ConfigError(f"requires = {item!r}: unknown extra", hint=hint)
    return tuple(items)


def _missing(requirement: str) -> str | None:
    kind, _, name = requirement.partition(":")
    if kind == "env":
        return None if os.environ.get(name) else f"the environment variable {name} is not set"
    if kind == "tool":
        return None if shutil.which(name) else f"{name} is not on the PATH"
    absent = [package for package in extras()[name] if not any(metadata.distributions(name=package))]
    return f"{', '.join(absent)} not installed ({install_hint(name)})" if absent else None


@cache
def extras() -> dict[str, tuple[str, ...]]:
    """Return the extras of the installed Assay, with the packages of each."""
    try:
        assay = metadata.distribution("assay")
    except metadata.PackageNotFoundError:
        return {}
    packages: dict[str, list[str]] = {name: [] for name in assay.metadata.get_all("Provides-Extra") or ()}
    for line in assay.requires or ():
        if found := re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*).*extra\s*==\s*['\"]([^'\"]+)['\"]", line):
            packages.setdefault(found[2], []).append(found[1])
    return {extra: tuple(names) for extra, names in sorted(packages.items())}
