"""Reading a preset: `[preset]` says what is known of a tool, `[engine]` how it is asked, as in assay.toml.

A preset ships in `data/presets`, or is a copy of one that a user changed: any TOML file of the same shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from assay.engines.kinds import KINDS
from assay.errors import ConfigError, nearest
from assay.settings import merge, read_settings, unknown
from assay.toml import TomlFile, line_of, read_toml

_TABLES = ("preset", "engine")
_FILE = ".toml"
_HINT = "a preset has [preset] and [engine]; `assay engines show semble` prints one"


@dataclass(frozen=True, slots=True)
class Probe:
    """How to ask a tool for its version: what it prints holds it."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a tool. `verified` is the version it ran with; without one the preset is from `docs` alone."""

    about: str
    home: str = ""
    docs: str = ""
    verified: str = ""
    install: str = ""
    needs: tuple[str, ...] = ()  # programs on the PATH
    variables: tuple[str, ...] = ()  # of the environment, that must be set
    note: str = ""  # what a reader of its numbers has to know
    version: Probe | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """A tool, and the settings of the engine that asks it."""

    name: str
    path: Path
    facts: Facts
    settings: Mapping[str, object]  # of [engine], `kind` among them
    text: str = field(repr=False)  # of the file, to copy and to find lines in

    @property
    def kind(self) -> str:
        """The kind of engine that asks it."""
        return str(self.settings["kind"])


@cache
def _shipped() -> Mapping[str, Path]:
    """Find the presets that ship, by name."""
    folder = Path(str(resources.files("assay.data") / "presets"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"), key=lambda path: path.stem)}


def preset_names() -> tuple[str, ...]:
    """List the presets that ship."""
    return tuple(_shipped())


def find_preset(name: str) -> Preset:
    """Read a preset that ships."""
    path = _shipped().get(name)
    if path is None:
        near = nearest(name.partition(":")[0], (*KINDS, *_shipped()))
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(
            f"unknown engine {name!r}{meant}",
            hint=f"kinds: {', '.join(sorted(KINDS))}; presets: {', '.join(_shipped())}; or a file: ./mine.toml",
        )
    return read_preset(path)


def named_preset(name: str, folder: Path) -> Preset:
    """Find a preset that ships, by its name, or in a file of the user's, from a folder."""
    return read_preset(folder / name) if name.endswith(_FILE) and name not in _shipped() else find_preset(name)


def read_preset(path: Path) -> Preset:
    """Read a preset from a file; what is wrong with it is told with its line."""
    file = read_toml(path, hint="check the path; `assay engines` lists the presets that ship")
    for key in file.data:
        if key not in _TABLES:
            raise _placed(unknown("unknown table", key, list(_TABLES), "tables"), file, (key,))
    tables = {name: file.data.get(name) for name in _TABLES}
    facts, settings = tables["preset"], tables["engine"]
    if not isinstance(facts, dict) or not isinstance(settings, dict):
        missing = next(name for name in _TABLES if not isinstance(tables[name], dict))
        raise ConfigError(f"no table [{missing}]", file=path, hint=_HINT)
    try:
        read = read_settings(Facts, facts, "[preset]")
    except ConfigError as problem:
        raise _placed(problem, file, _mentioned(problem, "preset", facts)) from problem
    return Preset(path.stem, path, read, _with_kind(settings, file), file.text)


def _with_kind(settings: Mapping[str, object], file: TomlFile) -> Mapping[str, object]:
    """Make sure that the settings name a kind of engine."""
    kind = settings.get("kind")
    if not isinstance(kind, str):
        raise _placed(ConfigError("[engine] has no kind", hint=f"kinds: {', '.join(sorted(KINDS))}"), file, ("engine",))
    if kind not in KINDS:
        raise _placed(unknown("unknown kind of engine", kind, sorted(KINDS), "kinds"), file, ("engine", "kind"))
    return settings


def settings_of(preset: Preset, changes: Mapping[str, object]) -> dict[str, object]:
    """Give the settings of a preset's engine, changed; a command line tool is asked for its version too."""
    probe = preset.facts.version
    own = {"version": list(probe.argv)} if probe and preset.kind == "command" else {}
    merged = merge({**own, **preset.settings}, changes)
    return {key: value for key, value in merged.items() if key != "kind"}


def place(problem: ConfigError, preset: Preset, changes: Mapping[str, object]) -> ConfigError:
    """Say where in a preset a wrong setting stands, unless it is one that the user changed."""
    if problem.file or _mentioned(problem, "engine", changes) != ("engine",):
        return problem
    file = TomlFile(preset.path, preset.text, {})
    return _placed(problem, file, _mentioned(problem, "engine", preset.settings))


def _mentioned(problem: ConfigError, table: str, values: Mapping[str, object]) -> tuple[str, ...]:
    """Find the key that a message is about: the first of its words that is one, else the table itself."""
    for word in re.findall(r"\w+", problem.message):
        for keys in _keys(values):
            if keys[-1] == word:
                return (table, *keys)
    return (table,)


def _keys(values: Mapping[str, object]) -> Iterator[tuple[str, ...]]:
    """List the keys of a table, then those of the tables in it."""
    yield from ((key,) for key in values)
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from ((key, *inner) for inner in _keys(value))


def _placed(problem: ConfigError, file: TomlFile, keys: tuple[str, ...]) -> ConfigError:
    """Add file and line to a message."""
    line = line_of(file.text, ".".join(keys))
    return ConfigError(problem.message, file=file.path, line=line, hint=problem.hint)
