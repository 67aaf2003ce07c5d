"""Everything that runs: engines, variants, the points of sweeps, references; each under a name of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from typing import Any

from assay.errors import ConfigError, meant
from assay.experiment.spec.claim import REFERENCES
from assay.experiment.spec.environment import with_environment
from assay.experiment.spec.needs import check_needs
from assay.experiment.spec.record import ENGINE_KEYS, Place, Settings, Spec, Subject
from assay.experiment.spec.sweeps import canonical, points
from assay.settings import applied, look_up, parts
from assay.types import Variation

OWN = "builtin"  # runs if no engine is declared


def expand(spec: Spec) -> tuple[Subject, ...]:
    """List what runs, in the order shown; names are unique."""
    declared = declared_engines(spec)
    own = [
        *(s for name, s in declared.items() if not is_template(spec.engines.get(name, ""))),
        *_varied(spec, declared),
    ]
    if not own:
        place = place_of(spec, f"engines.{next(iter(declared))}")
        raise _error(place, "every engine is a template: nothing runs", "declare a variant, or take template out")
    names: dict[str, Subject] = {}
    for subject in own:
        if subject.name in names or (subject.name in REFERENCES and subject.variation):
            raise _taken(subject, names.get(subject.name))
        names[subject.name] = subject
    references = [Subject(name, name) for name in REFERENCES if spec.references and name not in names]
    return (*own, *references)


def declared_engines(spec: Spec) -> dict[str, Subject]:
    """Give the engines of [engines] by name, templates too, without the keys that are not theirs."""
    engines = dict(spec.engines) or {OWN: OWN}
    return {name: _declared(spec, name, settings) for name, settings in engines.items()}


def _declared(spec: Spec, name: str, settings: Settings) -> Subject:
    """Read one engine."""
    place = place_of(spec, f"engines.{name}") if isinstance(settings, Mapping) else Place(folder=spec.folder)
    if isinstance(settings, str):
        return Subject(name, with_environment(settings, place.folder), place=place)
    with _told(place, name):
        needs = _needs(settings.get("requires", ()))
    own = {key: value for key, value in settings.items() if key not in ENGINE_KEYS}
    return Subject(name, with_environment(own, place.folder, place.flags), None, needs, place)


def is_template(settings: Settings) -> bool:
    """Tell whether an engine is only there to be varied."""
    return isinstance(settings, Mapping) and settings.get("template") is True


def place_of(spec: Spec, dotted: str) -> Place:
    """Find where something is declared; what nobody wrote down belongs to the file that was named."""
    return spec.places.get(dotted) or Place(spec.file, None, spec.folder)


def _varied(spec: Spec, declared: Mapping[str, Subject]) -> Iterator[Subject]:
    """Make the variants, then the points of the sweeps."""
    for name, variant in spec.variants.items():
        place = place_of(spec, f"variants.{name}")
        with _told(place, name):
            base = _base(variant.engine, declared, spec)
            if not variant.set:
                raise ConfigError("set is empty: it changes nothing", hint='set = { "search.stem.files" = 0.2 }')
            yield _variant(name, base, Variation(base.name, variant.set), _needs(variant.requires), place)
    knobs = [key for sweep in spec.sweeps.values() for key in sweep.knobs]
    for name, sweep in spec.sweeps.items():
        place = place_of(spec, f"sweeps.{name}")
        with _told(place, name):
            base, needs = _base(sweep.engine, declared, spec), _needs(sweep.requires)
            template = is_template(spec.engines.get(base.name, ""))
            own = partial(own_value, base.settings)
            for point in points(name, sweep, centre=own, template=template, others=knobs):
                yield _variant(point.name, base, Variation(base.name, point.changes, name), needs, place)


@contextmanager
def _told(place: Place, name: str) -> Iterator[None]:
    """Tell a mistake in a variant or a sweep with its name and its place."""
    try:
        yield
    except ConfigError as problem:
        raise (problem if problem.file else _error(place, f"{name}: {problem.message}", problem.hint)) from problem


def _error(place: Place, message: str, hint: str | None) -> ConfigError:
    """Say what is wrong at a place; what only a flag declared is the flag's."""
    if place.file is None and place.flags:
        message = f"{place.flags[-1]}: {message}"
    return ConfigError(message, file=place.file, line=place.line, hint=hint)


def _taken(subject: Subject, other: Subject | None) -> ConfigError:
    """Say that a name has been given already."""
    if other is None:
        return _error(subject.place, f"{subject.name} is the name of a reference engine", "give it a name of its own")
    where = f" at {other.place.file}:{other.place.line}" if other.place.file else ""
    hint = 'give one of them another name; a sweep takes name = "...{setting}..."'
    return _error(subject.place, f"two engines are called {subject.name!r}{where and f': the other is{where}'}", hint)


def _base(name: str, declared: Mapping[str, Subject], spec: Spec) -> Subject:
    """Find the engine that is varied."""
    if name not in declared and name in spec.variants:
        engine = spec.variants[name].engine
        raise ConfigError(f"engine = {name!r}: {name} is a variant", hint=f"name its engine, {engine}")
    if name not in declared:
        hint = meant(name, declared) or f"declared are: {', '.join(declared)}; others need an [engines.{name}]"
        raise ConfigError(f"engine = {name!r} is not declared", hint=hint)
    return declared[name]


def _needs(requires: object) -> tuple[str, ...]:
    """Read what is needed; a single text is a list of one."""
    items = [requires] if isinstance(requires, str) else requires
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise ConfigError(f"requires = {requires!r}", hint='a list such as ["env:NAME", "tool:rg", "extra:parquet"]')
    check_needs(items)
    return tuple(items)


def _variant(name: str, base: Subject, variation: Variation, needs: tuple[str, ...], place: Place) -> Subject:
    """Change an engine; its relative paths stay those of the file that declares it."""
    if not name.strip() or not name.isprintable():
        raise ConfigError(f"{name!r} is no name", hint="a name has no line breaks and is not empty")
    settings = applied(_table(base.settings), variation.changes)
    at = Place(place.file, place.line, base.place.folder, (*base.place.flags, *place.flags))
    return Subject(name, settings, variation, tuple(dict.fromkeys((*base.requires, *needs))), at)


def _table(settings: Settings) -> Mapping[str, Any]:
    """Write an engine that is named by a text as a table."""
    from assay.engines import table_of

    return table_of(settings) if isinstance(settings, str) else settings


def own_value(settings: Settings, key: str) -> object:
    """Give an engine's own value of a setting: what its table says, or the default of its kind."""
    table = _table(settings)
    found = look_up(table, key, MISSING)
    return _default(str(table["kind"]), key) if found is MISSING and "kind" in table else found


@cache
def _default(kind: str, key: str) -> object:
    """Find the default of a setting by its dotted key."""
    from assay.engines import KINDS

    record = getattr(import_module(KINDS[kind].module), "Settings", None) if kind in KINDS else None
    names = parts(key)
    first = {f.name: f for f in fields(record)}.get(names[0]) if is_dataclass(record) else None
    if first is None:
        return MISSING
    found: object = first.default_factory() if first.default_factory is not MISSING else first.default
    for name in names[1:]:
        found = getattr(found, name, MISSING)
    return found


def check_twins(spec: Spec) -> None:
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
    seen: dict[str, Subject] = {}
    notes = []
    for subject in spec.subjects():
        other = seen.setdefault(_identity(subject), subject)
        if other is not subject and subject.variation:
            notes.append(f"{subject.name} is set just as {other.name} is: it will rank the same")
    return tuple(notes)


def _identity(subject: Subject) -> str:
    """Write what an engine is made of."""
    return f"{subject.place.folder}|{canonical(subject.settings)}"
