"""Engines of a specification: their entries in a run, their requirements, and how they are made."""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assay.errors import AssayError, ConfigError, did_you_mean, install_hint
from assay.experiment.records.codec import config_hash
from assay.experiment.records.merge import RetainedEngine
from assay.redaction import make_redactor
from assay.settings import apply_overrides, iter_leaves, read_settings, split_key, unknown_name
from assay.types import ResultLevel, Suite, VariantInfo

if TYPE_CHECKING:
    from assay.engines.base import FullEngine
    from assay.experiment.spec.experiment_spec import Spec

#: Reference engines in every table: the floor, a careful grep, and the reachable ceiling.
REFERENCES = ("random", "keywords", "oracle")
BUILTIN = "builtin"  # the engine of a specification that declares none
#: Keys of an [engines.NAME] table that are not settings of the engine.
ENGINE_KEYS = ("template", "requires")
_ENVIRONMENT_PREFIX = "ASSAY_SEARCH"
Settings = Mapping[str, Any] | str  # a table, or a text such as `command:my-search`


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


def declared_engines(spec: Spec) -> dict[str, RunEntry]:
    """Return the engines of [engines] by name, including templates."""
    entries = {}
    for name, settings in (spec.engines or {BUILTIN: BUILTIN}).items():
        own, location = settings, ConfigLocation(directory=spec.directory)
        requires: tuple[str, ...] = ()
        if isinstance(settings, Mapping):
            location = location_of(spec, f"engines.{name}")
            with located(location, name):
                requires = read_requires(settings.get("requires", ()))
            own = {key: value for key, value in settings.items() if key not in ENGINE_KEYS}
        own = with_environment(own, location.directory, location.flags)
        entries[name] = RunEntry(name, own, None, requires, location)
    return entries


def is_template(spec: Spec, name: str) -> bool:
    settings = spec.engines.get(name)
    return isinstance(settings, Mapping) and settings.get("template") is True


def location_of(spec: Spec, dotted: str) -> ConfigLocation:
    """Return the location of a declaration such as `variants.no-stem`; default: the main file."""
    return spec.locations.get(dotted) or ConfigLocation(spec.file, None, spec.directory)


@contextmanager
def located(location: ConfigLocation, name: str) -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        raise (error if error.file else location.error(f"{name}: {error.message}", error.hint)) from error


def find_duplicates(spec: Spec, entries: Iterable[RunEntry]) -> Iterator[tuple[RunEntry, RunEntry]]:
    """Yield each variant or sweep point that has the settings of an earlier entry, with that entry."""
    known: dict[str, RunEntry] = {}
    for entry in (*entries, *spec.entries()):
        other = known.setdefault(f"{entry.location.directory}|{canonical(entry.settings)}", entry)
        if other is not entry and entry.variation:
            yield entry, other


def duplicate_notes(spec: Spec) -> list[str]:
    return [
        f"{entry.name} has the same settings as {other.name}: its ranking will be the same"
        for entry, other in find_duplicates(spec, ())
    ]


def canonical(value: object) -> str:
    """Return a text that is equal for equal values; 1 equals 1.0, but true does not equal 1."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value)) if abs(value) < 2**53 else repr(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    return f"{type(value).__name__}:{value}"


def settings_table(settings: Settings) -> Mapping[str, Any]:
    from assay.engines import engine_table

    return engine_table(settings) if isinstance(settings, str) else settings


@dataclass(frozen=True, slots=True)
class EngineFactory:
    """Arguments of `make_engine`, and the location that errors name."""

    spec: str | Mapping[str, object]
    directory: Path = Path()  # base of relative paths
    seed: int = 0
    suite: Suite | None = field(default=None, repr=False)
    name: str = ""
    file: str | None = None  # the file that declares the engine
    line: int | None = None
    flags: tuple[str, ...] = ()  # the --set flags that changed its settings
    level: ResultLevel | None = None  # None: that of the suite

    def make(self) -> FullEngine:
        """Make the engine; errors name the engine and its file, line or flag."""
        from assay.engines import make_engine

        try:
            return make_engine(self.spec, suite=self.suite, seed=self.seed, directory=self.directory, level=self.level)
        except ConfigError as error:
            raise self._locate(error) from error

    def check(self) -> None:
        """Check the settings without making the engine, because its tools may be missing."""
        from assay.engines import KINDS
        from assay.engines.presets import add_location, load_preset, preset_settings

        try:
            table = settings_table(self.spec)
            rest = {name: value for name, value in table.items() if name not in ("kind", "preset")}
            preset = load_preset(str(table["preset"]), self.directory) if "preset" in table else None
            kind = preset.kind if preset else str(table["kind"])
            if kind not in KINDS:
                raise unknown_name("unknown kind of engine", kind, sorted(KINDS), "kinds", keys=["kind"])
            settings = preset_settings(preset, rest) if preset else rest
            try:
                read_settings(KINDS[kind].settings_class(), settings, f"engine {kind}")
            except ConfigError as error:
                raise (add_location(error, preset, rest) if preset else error) from error
        except ConfigError as error:
            raise self._locate(error) from error

    def _locate(self, error: ConfigError) -> ConfigError:
        message = f"{self.name}: {error.message}" if self.name else error.message
        faults = [split_key(key) for key in error.keys]
        for flag in reversed(self.flags):
            if any(fault[: len(path)] == path[: len(fault)] for path in _changed_settings(flag) for fault in faults):
                return ConfigError(f"{flag}: {message}", hint=error.hint, flag=flag)
        file, line = (error.file, error.line) if error.file else (self.file, error.line or self.line)
        return ConfigError(message, file=file, line=line, hint=error.hint)


def _changed_settings(flag: str) -> Iterator[tuple[str, ...]]:
    for (table, _, *names), _ in iter_leaves(parse_override(flag.removeprefix("--set "))):
        # in a variant or a sweep, dotted keys of settings follow `set` or `params`
        path = names if table == "engines" else [part for key in names[1:] for part in split_key(key)]
        if path:
            yield tuple(path)


def engine_factory(spec: Spec, name: str, suite: Suite | None = None) -> EngineFactory:
    """Return the factory of a run entry or a declared engine."""
    entry = spec.entry(name) or declared_engines(spec)[name]
    at, level = entry.location, None if spec.level == "auto" else spec.level
    return EngineFactory(entry.settings, at.directory, spec.seed, suite, entry.name, at.file, at.line, at.flags, level)


def make_engines(spec: Spec, suite: Suite) -> dict[str, FullEngine]:
    """Make the engines of all entries."""
    return {name: engine_factory(spec, name, suite).make() for name in spec.names()}


def retained_engines(spec: Spec, suite: Suite) -> dict[str, RetainedEngine]:
    """Return the engines that may keep rows of an earlier run, with the hashes of their current settings.

    Without `--only` all engines run, so the result is empty.
    """
    retained = {name: RetainedEngine() for name in spec.names() if spec.only}
    for name in retained.keys() - set(spec.only):
        with suppress(AssayError):  # an engine that cannot be made now keeps its row
            engine = engine_factory(spec, name, suite).make()
            config = cast(Mapping[str, object], make_redactor(engine.secrets).value(engine.config))
            retained[name] = RetainedEngine(config_hash(config), engine.fingerprint)
    return retained


def parse_engine_flags(flags: Sequence[str]) -> dict[str, str]:
    """Parse `NAME=SPEC` or `SPEC` flags into texts by name."""
    labeled: dict[str, str] = {}
    for text in flags:
        label, equals, spec = text.partition("=")
        if not equals or not re.fullmatch(r"[\w.-]+", label):
            label, spec = Path(text).stem if text.endswith(".toml") else text.partition(":")[0], text
        if label in labeled:
            raise ConfigError(f"duplicate engine name {label!r}", hint="give each a name: --engine NAME=SPEC")
        labeled[label] = spec
    return labeled


def with_engines(spec: Spec, flags: Sequence[str]) -> Spec:
    """Replace all engines, variants and sweeps by the engines that flags name, which may be templates."""
    declared = without_template_keys(spec.engines)
    labeled = parse_engine_flags(flags)
    engines = {}
    for label, text in labeled.items():
        set_by_flags = label in declared and location_of(spec, f"engines.{label}").by_flags
        engines[label] = declared[label] if set_by_flags else declared.get(text, text)
    named = {label: text for label, text in labeled.items() if text in declared}
    moved = {f"engines.{label}": location_of(spec, f"engines.{text}") for label, text in named.items()}
    return replace(spec, engines=engines, variants={}, sweeps={}, locations={**spec.locations, **moved})


def without_template_keys(engines: Mapping[str, Settings]) -> dict[str, Settings]:
    """Return the engines without their `template` keys."""
    return {
        name: settings if isinstance(settings, str) else {k: v for k, v in settings.items() if k != "template"}
        for name, settings in engines.items()
    }


def check_encodable(names: Iterable[str]) -> None:
    """Raise ConfigError for a name that UTF-8 cannot encode."""
    for name in names:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError as error:
            message = f"engine name {name!a}: character {error.start + 1} is a lone surrogate"
            raise ConfigError(message, hint="choose a name that can be written as UTF-8") from error


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


def read_requires(requires: object) -> tuple[str, ...]:
    items = [requires] if isinstance(requires, str) else requires
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        message = f"requires: expected a list of strings, got {requires!r}"
        raise ConfigError(message, hint='write requires = ["tool:rg"]')
    for item in items:
        kind, _, name = item.partition(":")
        if kind not in ("env", "tool", "extra") or not name.strip():
            message = f"requires: expected env:NAME, tool:NAME or extra:NAME, got {item!r}"
            raise ConfigError(message, hint='for example ["tool:rg"]')
        if kind == "extra" and name not in extras():
            hint = did_you_mean(name, extras()) or f"extras of Assay: {', '.join(extras()) or 'none'}"
            raise ConfigError(f"requires: unknown extra {name!r}", hint=hint)
    return tuple(items)


def missing_requirement(requires: Sequence[str]) -> str | None:
    """Return the missing requirements as text; None if all are met."""
    missing = []
    for kind, _, name in (item.partition(":") for item in read_requires(requires)):
        if kind == "env" and not os.environ.get(name):
            missing.append(f"the environment variable {name} is not set")
        elif kind == "tool" and not shutil.which(name):
            missing.append(f"{name} is not on the PATH")
        elif kind == "extra":
            absent = [package for package in extras()[name] if not any(metadata.distributions(name=package))]
            missing += [f"{', '.join(absent)} not installed ({install_hint(name)})"] if absent else []
    return "; ".join(missing) or None


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
