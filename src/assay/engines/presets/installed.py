"""Whether the tool of a preset is here, in which version, and how to get it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from assay.engines.presets.loading import Preset
from assay.engines.templates import INTERPRETER, fill
from assay.errors import AssayError, EngineError
from assay.processes import Task, run_process

_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*|\b\d+\b")


@dataclass(frozen=True, slots=True)
class ProbeLimits:
    """What asking for a version may cost."""

    seconds: float = 20.0  # a Python tool that imports a tensor library first takes ten
    words: int = 60  # characters of an unexpected answer that are shown


PROBE_LIMITS = ProbeLimits()


@dataclass(frozen=True, slots=True)
class Installed:
    """What this machine has of a tool."""

    missing: tuple[str, ...]  # programs that are not on the PATH
    unset: tuple[str, ...]  # variables of the environment that are not set
    version: str = ""

    @property
    def ready(self) -> bool:
        """Whether everything is there that the preset needs."""
        return not self.missing and not self.unset


def look(preset: Preset, limits: ProbeLimits = PROBE_LIMITS) -> Installed:
    """Look for a tool, and ask it for its version when it is there."""
    missing = _missing(preset.facts.needs)
    return Installed(missing, _unset(preset.facts.variables), "" if missing else tool_version(preset, limits))


def tool_version(preset: Preset, limits: ProbeLimits = PROBE_LIMITS) -> str:
    """Ask a tool for its version; empty when the preset does not know how, or the tool does not say."""
    probe = preset.facts.version
    if probe is None:
        return ""
    try:
        argv = tuple(fill(part, {**INTERPRETER, "preset": str(preset.path.parent)}) for part in probe.argv)
        done = run_process(Task(argv), limits.seconds)
    except AssayError:
        return ""
    if not done.ok:
        return ""
    text = (done.stdout or done.stderr).decode(errors="replace")
    found = _VERSION.search(text)
    return found[0] if found else " ".join(text.split())[: limits.words]


def check_needs(preset: Preset, changes: Mapping[str, object]) -> None:
    """Refuse an engine whose program is not here, with how to install it; what the user changed is theirs."""
    facts = preset.facts
    named = {PurePath(text).name for text in _texts(changes)}
    missing = [program for program in _missing(facts.needs) if program not in named]
    if missing:
        hint = f"install it: {facts.install}" if facts.install else "install it, and put its folder on the PATH"
        raise EngineError(f"preset {preset.name}: no program {', '.join(missing)}", hint=hint)
    changed = changes.get("env")
    given = changed if isinstance(changed, Mapping) else {}
    unset = [name for name in _unset(facts.variables) if name not in given]
    if unset:
        raise EngineError(
            f"preset {preset.name}: the variable {unset[0]} is not set",
            hint=f"export {unset[0]}=...; `assay engines show {preset.name}` says what it is for",
        )


def _missing(programs: Sequence[str]) -> tuple[str, ...]:
    """List the programs that are not on the PATH."""
    return tuple(program for program in programs if shutil.which(program) is None)


def _unset(names: Sequence[str]) -> tuple[str, ...]:
    """List the variables of the environment that are not set."""
    return tuple(name for name in names if not os.environ.get(name))


def _texts(value: object) -> Iterator[str]:
    """List the texts in settings; a command that is one text is as many words."""
    if isinstance(value, str):
        yield from (value, *value.split())
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def told(preset: Preset) -> tuple[str, ...]:
    """Say of what a preset's settings were made and what there is to know, for everybody who reads its numbers."""
    facts = preset.facts
    proof = (
        f"last verified with {facts.verified}"
        if facts.verified
        else f"unverified: written from {facts.docs or 'no source'}"
    )
    return (f"preset {preset.name}, {proof}", *((facts.note,) if facts.note else ()))
