"""What can be seen of an engine today, as a digest: its settings, the files that it consists of, its variables.

An engine whose identity nobody knows is told from what it was yesterday by this. It is no promise: a server, a model
behind an address and a library that a program loads may change unseen. Values of variables go into the digest and
nowhere else.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from assay.digests import digest_of
from assay.engines.templates import FOLDERS, fill, find_python, named_secrets
from assay.errors import AssayError
from assay.store import code_digest


@dataclass(frozen=True, slots=True)
class LookLimits:
    """How far is looked."""

    #: Bytes of a file that are read, a twentieth of a second; a larger one is known by size and time.
    read_bytes: int = 20_000_000
    #: Entries of a folder that are listed. A larger one is no program's own: a home, a disk.
    entries: int = 5_000


LOOK_LIMITS = LookLimits()
_ABROAD = re.compile(r"[\s\"'=:;,|&<>()]+")  # what stands around the paths in an option or a shell's command
_NAME = re.compile(r"\w[\w.+-]*", re.ASCII)  # of a program that is looked for


@dataclass(frozen=True, slots=True)
class EngineInputs:
    """What an engine is told that may lead to files and variables."""

    places: Mapping[str, str]  # {here}, {preset} and {python}
    commands: Sequence[Sequence[str]] = ()
    env: Mapping[str, str] | None = None
    texts: Sequence[object] = ()  # all that may hold a placeholder
    token_env: str | None = None


def fingerprint_of(config: Mapping[str, object], *facts: object) -> str:
    """Digest settings, and whatever else was seen."""
    return digest_of([dict(config), *facts])


def fingerprint_inputs(told: EngineInputs) -> list[object]:
    """Look at the programs of an engine, at every file that it is told of, and at the variables that it names."""
    search = None if told.env is None or "PATH" not in told.env else _filled(told.env["PATH"], told.places)
    words = [_filled(text, told.places) for text in _texts([*told.commands, told.env or {}, *told.texts])]
    pieces = {piece for word in words for piece in (word, *_ABROAD.split(word))}
    firsts = {_located(_filled(command[0], told.places), told.places) for command in told.commands}
    asked = {piece for command in told.commands for word in command for piece in _ABROAD.split(word)}
    programs = {shutil.which(name, path=search) for name in (*firsts, *filter(_NAME.fullmatch, asked))} - {None}
    files = {*programs, *filter(os.path.isabs, pieces)}
    seen = sorted((_shown(path, told.places), looked_at(path)) for path in files if path and os.path.exists(path))
    return [seen, sorted(filter(None, map(_packages, map(str, programs)))), _variables(told)]


def looked_at(path: str) -> str:
    """Digest what lies at a path: a file, or the Python code in a folder that is not too large."""
    if os.path.isfile(path):
        return file_seen(path)
    return digest_of([(os.path.relpath(one, path), file_seen(one)) for one in code_in(path)])


def code_in(folder: str, limits: LookLimits = LOOK_LIMITS) -> list[str]:
    """List the Python files below a folder; none where it is too large to be somebody's code."""
    found, entries = [], 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        entries += len(folders) + len(names)
        if entries > limits.entries:
            return []
        found += [os.path.join(place, name) for name in names if name.endswith(".py")]
    return sorted(found)


def file_seen(path: str, limits: LookLimits = LOOK_LIMITS) -> str:
    """Digest a file by its content, a large one by size and time; one that cannot be read is not seen."""
    try:
        facts = os.stat(path)
        if facts.st_size > limits.read_bytes:
            return f"{facts.st_size} bytes of {facts.st_mtime_ns}"
        return _content(os.path.abspath(path), facts.st_size, facts.st_mtime_ns)
    except OSError:
        return ""


@cache
def _content(path: str, _size: int, _time: int) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.values()))
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for item in value:
            yield from _texts(item)


def _filled(text: str, places: Mapping[str, str]) -> str:
    try:
        return fill(text, places)
    except AssayError:
        return ""


def _located(program: str, places: Mapping[str, str]) -> str:
    return os.path.abspath(Path(places["here"], program)) if "/" in program else program


def _shown(path: str, places: Mapping[str, str]) -> str:
    """Name a file from the user's folder or the preset's, so that another checkout has the same name."""
    for name in FOLDERS:
        folder = places.get(name)
        if folder and (path == folder or path.startswith(f"{folder}/")):
            return f"{{{name}}}{path[len(folder) :]}"
    return path


def _packages(program: str) -> list[str]:
    try:
        python = program if "python" in os.path.basename(program) else find_python(program)
    except (AssayError, OSError):
        return []
    home = Path(os.path.abspath(python)).parent.parent
    return sorted(one.name for one in home.glob("lib/python*/site-packages/*.dist-info"))


def _variables(told: EngineInputs) -> str:
    named: list[object] = [*told.commands, told.env or {}, *told.texts]
    named += [f"{{env:{told.token_env}}}"] if told.token_env else []
    try:
        return digest_of(named_secrets(named))
    except AssayError:
        return "not set"


#: What every engine of ours reads its corpus with.
_READING: Final = ("corpus", "syntax", "engines/answers.py", "engines/text_answers.py", "engines/json_answers.py")


def identity_of(config: Mapping[str, object], *places: str, facts: object = None) -> str:
    """Digest settings, the code of some modules, and whatever else decides an answer."""
    code = code_digest(*places, *_READING)
    return digest_of([config, code, facts, platform.python_version()])
