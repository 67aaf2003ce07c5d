"""Expand engines, variants, sweeps and references into named run entries."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache, partial
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError, did_you_mean, install_hint
from assay.experiment.spec.layers import with_environment
from assay.experiment.spec.model import ENGINE_KEYS, REFERENCES, ConfigLocation, RunEntry, Settings, Spec, Sweep
from assay.settings import apply_overrides, flatten, get_key, split_key
from assay.types import Suite, VariantInfo

if TYPE_CHECKING:
    from assay.engines.base import FullEngine
    from assay.experiment.spec.model import EngineFactory


#: More points than this are a mistake in the file, not an experiment.
MOST_POINTS = 10_000
#: What the engine itself is called in a sweep around it, where it does not run by itself.
CENTRE = "centre"


@dataclass(frozen=True, slots=True)
class Point:
    """One variant of a sweep."""

    name: str
    changes: Mapping[str, Any]


def check_sweep(sweep: Sweep) -> None:
    """Refuse a sweep that makes no sense, before its points are made."""
    wanted, unwanted = ("parts", "knobs") if sweep.way == "leave-one-out" else ("knobs", "parts")
    if getattr(sweep, unwanted):
        raise ConfigError(f"{unwanted} mean nothing for {sweep.way}", hint=f"it takes {wanted}")
    if not getattr(sweep, wanted):
        raise ConfigError(f"{sweep.way} needs {wanted}", hint=_EXAMPLES[wanted])
    for key, values in sweep.knobs.items():
        shown = [canonical(value) for value in values]
        if not shown or len(set(shown)) < len(shown):
            what = "has no value" if not shown else "has a value twice"
            raise ConfigError(f"knobs: {key} {what}", hint="list the values to try, each once")
    for part, off in sweep.parts.items():
        if not off:
            raise ConfigError(f"parts: {part} is switched off by nothing", hint=_EXAMPLES["parts"])
    if sweep.way == "grid" and (many := math.prod(map(len, sweep.knobs.values()))) > MOST_POINTS:
        raise ConfigError(f"a grid of {many:,} points", hint=f"at most {MOST_POINTS:,}; take values out, or use tune")


_EXAMPLES = {
    "knobs": 'knobs = { "search.stem.files" = [0.2, 0.4] }',
    "parts": 'parts = { stem = { "search.without" = ["stem"] } }',
}


def points(
    name: str, sweep: Sweep, *, centre: Callable[[str], object], template: bool, others: Iterable[str] = ()
) -> list[Point]:
    """Make the points of a sweep, in the order of the file; `centre` gives the engine's own value of a setting.

    Their names begin with that of the sweep, unless it has none. `others` are the knobs of the sweeps beside it: what
    a setting is called by its last parts means that setting in the whole file.
    """
    check_sweep(sweep)
    labels = short_labels(tuple(dict.fromkeys((*sweep.knobs, *others))))
    if sweep.way == "grid":
        return list(_grid(name, sweep, labels))
    if sweep.way == "leave-one-out":
        return [Point(_named(sweep, f"{name}:no-{part}", {"part": part}), off) for part, off in sweep.parts.items()]
    around = list(_around(name, sweep, labels, centre))
    return [Point(f"{name}:{CENTRE}", {}), *around] if template else around


def _grid(name: str, sweep: Sweep, labels: Mapping[str, str]) -> Iterator[Point]:
    shortest = short_labels(tuple(sweep.knobs))  # what the name of the sweep may call them
    for values in product(*sweep.knobs.values()):
        chosen = dict(zip(sweep.knobs, values, strict=True))
        told = {key: value_text(value) for key, value in chosen.items()}
        usual = (f"{name}:" if name else "") + ",".join(f"{labels[key]}={text}" for key, text in told.items())
        fields = {labels[key]: text for key, text in told.items()} | told
        fields |= {shortest[key]: text for key, text in told.items()}
        yield Point(_named(sweep, usual, fields), flatten(chosen))


def _around(name: str, sweep: Sweep, labels: Mapping[str, str], centre: Callable[[str], object]) -> Iterator[Point]:
    for key, values in sweep.knobs.items():
        own = canonical(centre(key))
        for value in values:
            if canonical(value) != own:
                text = value_text(value)
                fields = {"knob": labels[key], "value": text}
                yield Point(_named(sweep, f"{name}:{labels[key]}={text}", fields), flatten({key: value}))


def _named(sweep: Sweep, usual: str, fields: Mapping[str, str]) -> str:
    def filled(match: re.Match[str]) -> str:
        if match[1] not in fields:
            raise ConfigError(
                f"name: nothing is called {{{match[1]}}} here",
                hint=did_you_mean(match[1], fields) or f"there are: {', '.join(f'{{{field}}}' for field in fields)}",
            )
        return fields[match[1]]

    return re.sub(r"\{([^{}]*)\}", filled, sweep.name) if sweep.name else usual


def short_labels(keys: Sequence[str]) -> dict[str, str]:
    """Name each setting by the last parts of its key: as few as tell it from the others."""
    split = {key: split_key(key) for key in keys}
    labels = {}
    for key, names in split.items():
        others = [other for label, other in split.items() if label != key]
        fewest = (n for n in range(1, len(names)) if all(other[-n:] != names[-n:] for other in others))
        labels[key] = ".".join(names[-next(fewest, len(names)) :])
    return labels


def value_text(value: object) -> str:
    """Write a value in a name: as TOML would, without quotes; a list's items are joined by a plus sign."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "+".join(map(value_text, value)) or "[]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}={value_text(item)}" for key, item in value.items()) + "}"
    return str(value)


def canonical(value: object) -> str:
    """Write a value so that equal ones are equal texts: 1 and 1.0 are one number, true is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value)) if abs(value) < 2**53 else repr(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    return f"{type(value).__name__}:{value}"


KINDS = ("env", "tool", "extra")
_DISTRIBUTION = "assay"
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_needs(requires: Sequence[str]) -> None:
    """Refuse a need that nobody can look up."""
    for need in requires:
        kind, colon, name = need.partition(":")
        if not colon or not name.strip() or kind not in KINDS:
            raise ConfigError(f"requires = {need!r}", hint="env:NAME, tool:NAME or extra:NAME")
        if kind == "extra" and name not in extras():
            known = ", ".join(extras()) or "none that this installation knows"
            raise ConfigError(
                f"requires = {need!r}: no such extra", hint=did_you_mean(name, extras()) or f"extras of Assay: {known}"
            )


def missing_requirement(requires: Sequence[str]) -> str | None:
    """Say what is missing of some needs; None when nothing is."""
    check_needs(requires)
    missing = [said for said in map(_missing, requires) if said]
    return "; ".join(missing) or None


def _missing(need: str) -> str | None:
    kind, _, name = need.partition(":")
    if kind == "env":
        return None if os.environ.get(name) else f"the variable {name} is not set"
    if kind == "tool":
        return None if shutil.which(name) else f"{name} is not on the PATH"
    absent = [package for package in extras()[name] if not _installed(package)]
    return f"{', '.join(absent)} not installed ({install_hint(name)})" if absent else None


@cache
def extras() -> dict[str, tuple[str, ...]]:
    """List the extras of Assay with their packages, as its metadata has them."""
    try:
        about = metadata.metadata(_DISTRIBUTION)
        wanted = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return {}
    packages: dict[str, list[str]] = {name: [] for name in about.get_all("Provides-Extra") or ()}
    for line in wanted:
        name, extra = _PACKAGE.match(line), _EXTRA.search(line)
        if name and extra:
            packages.setdefault(extra.group(1), []).append(name.group())
    return {extra: tuple(names) for extra, names in sorted(packages.items())}


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


OWN = "builtin"  # runs if no engine is declared


def expand(spec: Spec) -> tuple[RunEntry, ...]:
    """List what runs, in the order shown; names are unique."""
    declared = declared_engines(spec)
    own = [
        *(s for name, s in declared.items() if not is_template(spec.engines.get(name, ""))),
        *_varied(spec, declared),
    ]
    if not own:
        place = place_of(spec, f"engines.{next(iter(declared))}")
        raise _error(place, "every engine is a template: nothing runs", "declare a variant, or take template out")
    names: dict[str, RunEntry] = {}
    for subject in own:
        if subject.name in names or (subject.name in REFERENCES and subject.variation):
            raise _taken(subject, names.get(subject.name))
        names[subject.name] = subject
    references = [RunEntry(name, name) for name in REFERENCES if spec.references and name not in names]
    return (*own, *references)


def declared_engines(spec: Spec) -> dict[str, RunEntry]:
    """Give the engines of [engines] by name, templates too, without the keys that are not theirs."""
    engines = dict(spec.engines) or {OWN: OWN}
    return {name: _declared(spec, name, settings) for name, settings in engines.items()}


def _declared(spec: Spec, name: str, settings: Settings) -> RunEntry:
    place = place_of(spec, f"engines.{name}") if isinstance(settings, Mapping) else ConfigLocation(folder=spec.folder)
    if isinstance(settings, str):
        return RunEntry(name, with_environment(settings, place.folder), place=place)
    with _told(place, name):
        needs = _needs(settings.get("requires", ()))
    own = {key: value for key, value in settings.items() if key not in ENGINE_KEYS}
    return RunEntry(name, with_environment(own, place.folder, place.flags), None, needs, place)


def is_template(settings: Settings) -> bool:
    """Tell whether an engine is only there to be varied."""
    return isinstance(settings, Mapping) and settings.get("template") is True


def place_of(spec: Spec, dotted: str) -> ConfigLocation:
    """Find where something is declared; what nobody wrote down belongs to the file that was named."""
    return spec.places.get(dotted) or ConfigLocation(spec.file, None, spec.folder)


def _varied(spec: Spec, declared: Mapping[str, RunEntry]) -> Iterator[RunEntry]:
    for name, variant in spec.variants.items():
        place = place_of(spec, f"variants.{name}")
        with _told(place, name):
            base = _base(variant.engine, declared, spec)
            if not variant.set:
                raise ConfigError("set is empty: it changes nothing", hint='set = { "search.stem.files" = 0.2 }')
            yield _variant(name, base, VariantInfo(base.name, variant.set), _needs(variant.requires), place)
    knobs = [key for sweep in spec.sweeps.values() for key in sweep.knobs]
    for name, sweep in spec.sweeps.items():
        place = place_of(spec, f"sweeps.{name}")
        with _told(place, name):
            base, needs = _base(sweep.engine, declared, spec), _needs(sweep.requires)
            template = is_template(spec.engines.get(base.name, ""))
            own = partial(own_value, base.settings)
            for point in points(name, sweep, centre=own, template=template, others=knobs):
                yield _variant(point.name, base, VariantInfo(base.name, point.changes, name), needs, place)


@contextmanager
def _told(place: ConfigLocation, name: str) -> Iterator[None]:
    try:
        yield
    except ConfigError as problem:
        raise (problem if problem.file else _error(place, f"{name}: {problem.message}", problem.hint)) from problem


def _error(place: ConfigLocation, message: str, hint: str | None) -> ConfigError:
    if place.file is None and place.flags:
        message = f"{place.flags[-1]}: {message}"
    return ConfigError(message, file=place.file, line=place.line, hint=hint)


def _taken(subject: RunEntry, other: RunEntry | None) -> ConfigError:
    if other is None:
        return _error(subject.place, f"{subject.name} is the name of a reference engine", "give it a name of its own")
    where = f" at {other.place.file}:{other.place.line}" if other.place.file else ""
    hint = 'give one of them another name; a sweep takes name = "...{setting}..."'
    return _error(subject.place, f"two engines are called {subject.name!r}{where and f': the other is{where}'}", hint)


def _base(name: str, declared: Mapping[str, RunEntry], spec: Spec) -> RunEntry:
    if name not in declared and name in spec.variants:
        engine = spec.variants[name].engine
        raise ConfigError(f"engine = {name!r}: {name} is a variant", hint=f"name its engine, {engine}")
    if name not in declared:
        hint = did_you_mean(name, declared) or f"declared are: {', '.join(declared)}; others need an [engines.{name}]"
        raise ConfigError(f"engine = {name!r} is not declared", hint=hint)
    return declared[name]


def _needs(requires: object) -> tuple[str, ...]:
    items = [requires] if isinstance(requires, str) else requires
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise ConfigError(f"requires = {requires!r}", hint='a list such as ["env:NAME", "tool:rg", "extra:parquet"]')
    check_needs(items)
    return tuple(items)


def _variant(
    name: str, base: RunEntry, variation: VariantInfo, needs: tuple[str, ...], place: ConfigLocation
) -> RunEntry:
    if not name.strip() or not name.isprintable():
        raise ConfigError(f"{name!r} is no name", hint="a name has no line breaks and is not empty")
    settings = apply_overrides(_table(base.settings), variation.changes)
    at = ConfigLocation(place.file, place.line, base.place.folder, (*base.place.flags, *place.flags))
    return RunEntry(name, settings, variation, tuple(dict.fromkeys((*base.requires, *needs))), at)


def _table(settings: Settings) -> Mapping[str, Any]:
    from assay.engines import engine_table

    return engine_table(settings) if isinstance(settings, str) else settings


def own_value(settings: Settings, key: str) -> object:
    """Give an engine's own value of a setting: what its table says, or the default of its kind."""
    table = _table(settings)
    found = get_key(table, key, MISSING)
    return _default(str(table["kind"]), key) if found is MISSING and "kind" in table else found


@cache
def _default(kind: str, key: str) -> object:
    from assay.engines import KINDS

    record = KINDS[kind].settings_class() if kind in KINDS else None
    names = split_key(key)
    first = {f.name: f for f in fields(record)}.get(names[0]) if is_dataclass(record) else None
    if first is None:
        return MISSING
    found: object = first.default_factory() if first.default_factory is not MISSING else first.default
    for name in names[1:]:
        found = getattr(found, name, MISSING)
    return found


def reject_duplicates(spec: Spec) -> None:
    """Refuse a variant that is set as an engine or another variant is: its row would be theirs once more.

    A point of a sweep may be one: a grid around an engine holds the engine. `twin_notes` tells of those.
    """
    seen = {_identity(subject): subject for subject in declared_engines(spec).values()}
    for name in spec.variants:
        subject = spec.subject(name)
        other = seen.setdefault(_identity(subject), subject) if subject else None
        if subject and other and other is not subject:
            raise _error(
                subject.place,
                f"{name} is set just as {other.name} is: it changes nothing",
                "change a setting, or take it out",
            )


def twin_notes(spec: Spec) -> tuple[str, ...]:
    """Tell which points of sweeps are other engines once more: a grid around an engine holds the engine."""
    seen: dict[str, RunEntry] = {}
    notes = []
    for subject in spec.subjects():
        other = seen.setdefault(_identity(subject), subject)
        if other is not subject and subject.variation:
            notes.append(f"{subject.name} is set just as {other.name} is: it will rank the same")
    return tuple(notes)


def _identity(subject: RunEntry) -> str:
    return f"{subject.place.folder}|{canonical(subject.settings)}"


def engine_table(specs: Sequence[str], declared: Mapping[str, Settings] | None = None) -> dict[str, Settings]:
    """Read `NAME=SPEC` or `SPEC` flags into an engine table; an engine that the file declares goes before others."""
    return {label: (declared or {}).get(spec, spec) for label, spec in _labelled(specs).items()}


def _labelled(specs: Sequence[str]) -> dict[str, str]:
    table: dict[str, str] = {}
    for text in specs:
        name, equals, rest = text.partition("=")
        named = bool(equals) and re.fullmatch(r"[\w.-]+", name) is not None
        alone = Path(text).stem if text.endswith(".toml") else text.partition(":")[0]
        label, spec = (name, rest) if named else (alone, text)
        if label in table:
            raise ConfigError(f"two engines are called {label!r}", hint="give each a name: --engine NAME=SPEC")
        table[label] = spec
    return table


def with_engines(spec: Spec, flags: Sequence[str]) -> Spec:
    """Run the engines that flags name, and nothing else that the file declares; a template that is named runs."""
    engines = engine_table(flags, untemplated(spec.engines))
    named = {label: text for label, text in _labelled(flags).items() if text in spec.engines}
    places = {**spec.places, **{f"engines.{label}": place_of(spec, f"engines.{text}") for label, text in named.items()}}
    return replace(spec, engines=engines, variants={}, sweeps={}, places=places)


def untemplated(engines: Mapping[str, Settings]) -> dict[str, Settings]:
    """Give engines that somebody names, which makes templates engines like the others."""
    return {
        name: settings if isinstance(settings, str) else {k: v for k, v in settings.items() if k != "template"}
        for name, settings in engines.items()
    }


def make_engines(spec: Spec, suite: Suite) -> dict[str, FullEngine]:
    """Make every engine of a specification; what is wrong with one is told with its name, file and line."""
    return {subject.name: recipe(spec, subject, suite).make() for subject in spec.subjects()}


def recipe_of(spec: Spec, name: str, suite: Suite | None = None) -> EngineFactory:
    """Say how one of its engines is made, a template too."""
    return recipe(spec, spec.subject(name) or declared_engines(spec)[name], suite)


def recipe(spec: Spec, subject: RunEntry, suite: Suite | None = None) -> EngineFactory:
    """Say how something that runs is made; a table is always the file's, flags are texts."""
    from assay.experiment.spec.model import EngineFactory

    place, table = subject.place, isinstance(subject.settings, Mapping)
    folder = place.folder if table else spec.folder
    file, line = (place.file, place.line) if table else (None, None)
    return EngineFactory(subject.settings, folder, spec.seed, suite, subject.name, file, line, place.flags)
