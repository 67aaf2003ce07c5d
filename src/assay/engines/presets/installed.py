"""Whether the tool of a preset is here, in which version, and how to get it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from assay.engines.presets.loading import Preset
from assay.engines.templates import fill
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
    unset = tuple(name for name in preset.facts.variables if not os.environ.get(name))
    return Installed(missing, unset, "" if missing else tool_version(preset, limits))


def tool_version(preset: Preset, limits: ProbeLimits = PROBE_LIMITS) -> str:
    """Ask a tool for its version; empty when the preset does not know how, or the tool does not say."""
    probe = preset.facts.version
    if probe is None:
        return ""
    try:
        argv = tuple(fill(part, {"preset": str(preset.path.parent)}) for part in probe.argv)
        done = run_process(Task(argv), limits.seconds)
    except AssayError:
        return ""
    if not done.ok:
        return ""
    text = (done.stdout or done.stderr).decode(errors="replace")
    found = _VERSION.search(text)
    return found[0] if found else " ".join(text.split())[: limits.words]


def check_needs(preset: Preset, changes: Mapping[str, object]) -> None:
    """Refuse an engine whose program is not here, with how to install it; one that the user named is theirs."""
    named = {PurePath(text).name for text in _texts(changes)}
    missing = [program for program in _missing(preset.facts.needs) if program not in named]
    if missing:
        raise EngineError(f"preset {preset.name}: no program {', '.join(missing)}", hint=install_line(preset))


def install_line(preset: Preset) -> str:
    """Say how to get a tool."""
    facts = preset.facts
    return f"install it: {facts.install}" if facts.install else f"see {facts.home or 'the home page of the tool'}"


def _missing(programs: Sequence[str]) -> tuple[str, ...]:
    """List the programs that are not on the PATH."""
    return tuple(program for program in programs if shutil.which(program) is None)


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


def origin(preset: Preset) -> str:
    """Say of what a preset's settings were made, for everybody who reads its numbers."""
    facts = preset.facts
    if facts.verified:
        return f"preset {preset.name}, run with {facts.verified}"
    return f"preset {preset.name}, unverified: written from {facts.docs or 'nobody said what'}"

