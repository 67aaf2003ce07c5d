"""Digests of files, programs, modules and environment variables that an engine uses, for its fingerprint.

Values of environment variables appear only in digests.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.digests import digest_of
from assay.engines.templates import PATH_PLACEHOLDERS, fill, find_python, named_secrets
from assay.errors import AssayError


@dataclass(frozen=True, slots=True)
class ReadLimits:
    read_bytes: int = 20_000_000  # bytes of a file, read in 0.05 s; larger files are identified by size and time
    entries: int = 5_000  # entries of a directory; more suggest a home directory or a disk, not the code of a program


READ_LIMITS = ReadLimits()
_SEPARATORS = re.compile(r"[\s\"'=:;,|&<>()]+")  # separators of paths in an option or a shell command
_NAME = re.compile(r"\w[\w.+-]*", re.ASCII)  # name of a program on the PATH
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from[ \t]+(\w[\w.]*)[ \t]+import\b", re.MULTILINE)


def fingerprint_inputs(
    placeholders: Mapping[str, str],  # {here}, {preset} and {python}
    commands: Sequence[Sequence[str]] = (),
    env: Mapping[str, str] | None = None,
    texts: Sequence[object] = (),  # other templates
    token_env: str | None = None,
) -> list[object]:
    """Return digests of programs, files and variables that settings name, and the Python packages of the programs."""
    named = [*commands, env or {}, *texts]
    search = _fill(env["PATH"], placeholders) if env and "PATH" in env else None
    words = [_fill(text, placeholders) for text in iter_texts(named)]
    pieces = {piece for word in words for piece in (word, *_SEPARATORS.split(word))}
    firsts = {_fill(command[0], placeholders) for command in commands}
    located = {os.path.abspath(Path(placeholders["here"], name)) if "/" in name else name for name in firsts}
    arguments = {piece for command in commands for word in command for piece in _SEPARATORS.split(word)}
    programs = {shutil.which(name, path=search) for name in (*located, *filter(_NAME.fullmatch, arguments))} - {None}
    beside = {os.path.join(placeholders["here"], part) for command in commands for part in command[1:]}
    files = {*programs, *filter(os.path.isabs, pieces), *filter(os.path.isfile, beside)}
    existing = [path for path in files if path and os.path.exists(path)]
    digests = sorted((_relative(path, placeholders), digest_path(path)) for path in existing)
    try:
        variables = digest_of(named_secrets([*named, *([f"{{env:{token_env}}}"] if token_env else [])]))
    except AssayError:
        variables = "not set"
    return [digests, sorted(filter(None, map(_packages, map(str, programs)))), variables]


def iter_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from iter_texts(list(value.values()))
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for item in value:
            yield from iter_texts(item)


def _fill(text: str, placeholders: Mapping[str, str]) -> str:
    try:
        return fill(text, placeholders)
    except AssayError:
        return ""


def _relative(path: str, placeholders: Mapping[str, str]) -> str:
    """Write a path below {here} or {preset} with the placeholder, so that it is the same in every checkout."""
    for name in PATH_PLACEHOLDERS:
        directory = placeholders.get(name)
        if directory and (path == directory or path.startswith(f"{directory}/")):
            return f"{{{name}}}{path[len(directory) :]}"
    return path


def _packages(program: str) -> list[str]:
    try:
        python = program if "python" in os.path.basename(program) else find_python(program)
    except (AssayError, OSError):
        return []
    home = Path(os.path.abspath(python)).parent.parent
    return sorted(package.name for package in home.glob("lib/python*/site-packages/*.dist-info"))


def digest_path(path: str) -> str:
    if os.path.isfile(path):
        return digest_file(path)
    return digest_of([(os.path.relpath(file, path), digest_file(file)) for file in python_files(path)])


def python_files(directory: str, limits: ReadLimits = READ_LIMITS) -> list[str]:
    """List the Python files in a directory tree, without hidden directories; empty if there are too many entries."""
    files, entries = [], 0
    for parent, subdirectories, names in os.walk(directory):
        subdirectories[:] = [name for name in subdirectories if not name.startswith((".", "__pycache__"))]
        entries += len(subdirectories) + len(names)
        if entries > limits.entries:
            return []
        files += [os.path.join(parent, name) for name in names if name.endswith(".py")]
    return sorted(files)


def digest_file(path: str, limits: ReadLimits = READ_LIMITS) -> str:
    """Return the SHA-256 of a file, or the size and time of a large file; empty if the file is unreadable."""
    try:
        stat = os.stat(path)
        if stat.st_size > limits.read_bytes:
            return f"{stat.st_size} bytes of {stat.st_mtime_ns}"
        return _digest_content(os.path.abspath(path), stat.st_size, stat.st_mtime_ns)
    except OSError:
        return ""


@cache
def _digest_content(path: str, _size: int, _time: int) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_modules(*modules: str) -> list[tuple[str, str]]:
    """Return paths and digests of the source files of modules and of their top-level packages.

    Modules that these files import from the same directory are included, except in site-packages.
    """
    digests: dict[str, str] = {}
    for module in modules:
        home, waiting = _module_files(module)
        visited, followed = set[str](), set[str]()
        while waiting:
            path = waiting.pop()
            if path in visited:
                continue
            visited.add(path)
            digests[os.path.relpath(path, home)] = digest_file(path)
            if "site-packages" in home.split(os.sep):  # imports of installed packages are not followed
                continue
            imported = _imports(path) - followed  # each module once: the modules of a package import each other
            followed |= imported
            for name in sorted(imported):
                file, directory = os.path.join(home, f"{name}.py"), os.path.join(home, name)
                if os.path.isfile(file):
                    waiting.append(file)
                elif os.path.isdir(directory):
                    waiting += python_files(directory)
    return sorted(digests.items())


def _module_files(module: str) -> tuple[str, list[str]]:
    top = sys.modules.get(module.partition(".")[0])
    packages = list(getattr(top, "__path__", ()))
    if packages:
        own = getattr(sys.modules.get(module), "__file__", None)
        return os.path.dirname(packages[0]), python_files(packages[0]) or ([own] if own else [])
    file = getattr(top, "__file__", None)
    return (os.path.dirname(file), [file]) if file and file.endswith(".py") else ("", [])


def _imports(path: str) -> frozenset[str]:
    try:
        stat = os.stat(path)
        return _imported_names(os.path.abspath(path), stat.st_size, stat.st_mtime_ns)
    except OSError:
        return frozenset()


@cache
def _imported_names(path: str, _size: int, _time: int) -> frozenset[str]:
    text = Path(path).read_text("utf-8", "replace")
    named = [name for line in _IMPORT.findall(text) for name in line.split(",")]
    return frozenset(name.split()[0].partition(".")[0] for name in [*named, *_FROM.findall(text)] if name.split())
