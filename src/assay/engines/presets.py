"""Presets: TOML files with engine settings for known tools."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path, PurePath

from assay.engines.fingerprints import iter_texts
from assay.engines.kinds import KINDS
from assay.engines.templates import INTERPRETER, fill
from assay.engines.tool import PROBE_LIMITS, ProbeLimits
from assay.errors import AssayError, ConfigError, EngineError, did_you_mean
from assay.processes.running import ProgramSpec, run_process
from assay.settings import get_key, merge, read_settings, split_key, unknown_name
from assay.toml import TomlFile, find_line, read_toml, write_key

_TABLES = ("preset", "engine")
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*|\b\d+\b")


@dataclass(frozen=True, slots=True)
class Probe:
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolInfo:
    about: str
    home: str = ""
    docs: str = ""  # the source of an unverified preset
    verified: str = ""  # the version that the preset was run with
    install: str = ""
    needs: tuple[str, ...] = ()  # programs on the PATH
    variables: tuple[str, ...] = ()  # required environment variables
    note: str = ""  # for the report
    version: Probe | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    name: str
    path: Path
    facts: ToolInfo
    settings: Mapping[str, object]  # the table [engine], including `kind`
    text: str = field(repr=False)  # the file's text, to copy and to find lines

    @property
    def kind(self) -> str:
        return str(self.settings["kind"])


@cache
def shipped_presets() -> Mapping[str, Path]:
    directory = Path(str(resources.files("assay.data") / "presets"))
    return {path.stem: path for path in sorted(directory.glob("*.toml"), key=lambda path: path.stem)}


def load_preset(name: str, directory: Path = Path()) -> Preset:
    """Load a shipped preset by name, or a preset file relative to `directory`; raise ConfigError if it is invalid."""
    path = shipped_presets().get(name, directory / name)
    if name not in shipped_presets() and not name.endswith(".toml"):
        meant = did_you_mean(name.partition(":")[0], (*KINDS, *shipped_presets()))
        hint = meant or "run `assay engines` for the kinds and presets, or name a file such as ./mine.toml"
        if " " in name and not meant:
            hint = f"did you mean {shlex.quote(f'command:{name}')}?"
        raise ConfigError(f"unknown engine {name!r}", hint=hint)
    file = read_toml(path, hint="check the path; `assay engines` lists the shipped presets")
    for key in file.data:
        if key not in _TABLES:
            raise _with_line(unknown_name("unknown table", key, list(_TABLES), "tables"), file, (key,))
    for table in _TABLES:
        if not isinstance(file.data.get(table), dict):
            hint = "add [preset] and [engine]; `assay engines show semble` prints an example"
            raise ConfigError(f"missing table [{table}]", file=path, hint=hint)
    facts, settings = file.data["preset"], file.data["engine"]
    try:
        read = read_settings(ToolInfo, facts, "[preset]")
    except ConfigError as problem:
        raise _with_line(problem, file, ("preset", *_find_key(problem, facts))) from problem
    kind = settings.get("kind")
    if not isinstance(kind, str):
        missing = ConfigError("missing `kind` in [engine]", hint=f"kinds: {', '.join(sorted(KINDS))}")
        raise _with_line(missing, file, ("engine",))
    if kind not in KINDS:
        raise _with_line(unknown_name("unknown kind of engine", kind, sorted(KINDS), "kinds"), file, ("engine", "kind"))
    return Preset(path.stem, path, read, settings, file.text)


def preset_settings(preset: Preset, changes: Mapping[str, object]) -> dict[str, object]:
    probe = preset.facts.version
    own = {"version": list(probe.argv)} if probe and preset.kind == "command" else {}
    merged = merge({**own, **preset.settings}, changes)
    return {key: value for key, value in merged.items() if key != "kind"}


def add_location(problem: ConfigError, preset: Preset, changes: Mapping[str, object]) -> ConfigError:
    """Add the line in the preset file to an error without a file, unless the user changed the setting."""
    if problem.file or _find_key(problem, changes):
        return problem
    keys = ("engine", *_find_key(problem, preset.settings))
    return _with_line(problem, TomlFile(preset.path, preset.text, {}), keys)


def _find_key(problem: ConfigError, values: Mapping[str, object]) -> tuple[str, ...]:
    """Return the first setting at fault that the table sets, or the innermost table around it; empty if none."""
    for key in problem.keys:
        names = split_key(key)
        for end in range(len(names), 0, -1):
            if get_key(values, write_key(names[:end]), MISSING) is not MISSING:
                return names[:end]
    return ()


def _with_line(problem: ConfigError, file: TomlFile, keys: tuple[str, ...]) -> ConfigError:
    line = find_line(file.text, ".".join(keys))
    return ConfigError(problem.message, file=file.path, line=line, hint=problem.hint)


@dataclass(frozen=True, slots=True)
class InstalledTool:
    missing: tuple[str, ...]
    unset: tuple[str, ...]
    version: str = ""

    @property
    def ready(self) -> bool:
        return not self.missing and not self.unset


def check_installed(preset: Preset, limits: ProbeLimits = PROBE_LIMITS) -> InstalledTool:
    missing = _missing(preset.facts.needs)
    return InstalledTool(missing, _unset(preset.facts.variables), "" if missing else tool_version(preset, limits))


def tool_version(preset: Preset, limits: ProbeLimits = PROBE_LIMITS) -> str:
    """Return the version that the version command of a preset prints, else its output; empty if there is none."""
    probe = preset.facts.version
    if probe is None:
        return ""
    try:
        argv = tuple(fill(part, {**INTERPRETER, "preset": str(preset.path.parent)}) for part in probe.argv)
        done = run_process(ProgramSpec(argv), limits.seconds)
    except AssayError:
        return ""
    text = (done.stdout or done.stderr).decode(errors="replace") if done.ok else ""
    version = _VERSION.search(text)
    return version[0] if version else " ".join(text.split())[: limits.shown]


def check_needs(preset: Preset, changes: Mapping[str, object]) -> None:
    """Raise EngineError if a required program or variable is missing and `changes` do not replace it."""
    facts = preset.facts
    replaced = {PurePath(word).name for text in iter_texts(changes) for word in (text, *text.split())}
    missing = [program for program in _missing(facts.needs) if program not in replaced]
    if missing:
        names = ", ".join(missing)
        hint = f"install {names}: {facts.install}" if facts.install else f"install {names}, or extend PATH"
        raise EngineError(f"preset {preset.name}: program not found: {names}", hint=hint)
    env = changes.get("env")
    unset = [name for name in _unset(facts.variables) if not isinstance(env, Mapping) or name not in env]
    if unset:
        raise EngineError(
            f"preset {preset.name}: environment variable {unset[0]} is not set",
            hint=f"run `export {unset[0]}=...`; `assay engines show {preset.name}` describes the variable",
        )


def _missing(programs: Sequence[str]) -> tuple[str, ...]:
    return tuple(program for program in programs if shutil.which(program) is None)


def _unset(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if not os.environ.get(name))


def preset_notes(preset: Preset) -> tuple[str, ...]:
    facts = preset.facts
    source = f"unverified: written from {facts.docs}" if facts.docs else "unverified"
    verified = f"last verified with {facts.verified}" if facts.verified else source
    return (f"preset {preset.name}, {verified}", *((facts.note,) if facts.note else ()))
