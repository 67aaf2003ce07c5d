"""From a specification to engines: named by flags, made by recipes, chosen by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.experiment.spec.record import Settings, Spec, Subject
from assay.experiment.spec.subjects import declared_engines, place_of
from assay.types import Suite

if TYPE_CHECKING:
    from assay.engines.base import FullEngine
    from assay.experiment.spec.recipe import Recipe


def engine_table(specs: Sequence[str], declared: Mapping[str, Settings] | None = None) -> dict[str, Settings]:
    """Read `NAME=SPEC` or `SPEC` flags into an engine table; an engine that the file declares goes before others."""
    return {label: (declared or {}).get(spec, spec) for label, spec in _labelled(specs).items()}


def _labelled(specs: Sequence[str]) -> dict[str, str]:
    """Name each engine of some flags: as it says, or after its kind or file."""
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


def recipe_of(spec: Spec, name: str, suite: Suite | None = None) -> Recipe:
    """Say how one of its engines is made, a template too."""
    return recipe(spec, spec.subject(name) or declared_engines(spec)[name], suite)


def recipe(spec: Spec, subject: Subject, suite: Suite | None = None) -> Recipe:
    """Say how something that runs is made; a table is always the file's, flags are texts."""
    from assay.experiment.spec.recipe import Recipe

    place, table = subject.place, isinstance(subject.settings, Mapping)
    folder = place.folder if table else spec.folder
    file, line = (place.file, place.line) if table else (None, None)
    return Recipe(subject.settings, folder, spec.seed, suite, subject.name, file, line, place.flags)
