"""The run directory: file names, lock, atomic replacement."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from assay.digests import bytes_digest, text_digest
from assay.errors import InputError
from assay.experiment.records.codec import dump
from assay.files import cannot_write, remove_leftovers, sync_directory, write_atomic
from assay.locks import FileLock
from assay.types import GoldSet, Suite

#: The records: run.json names the others with their hashes.
MANIFEST: Final = "run.json"
GOLD: Final = "gold.jsonl"
LINES: Final = "lines.jsonl"
ENGINES: Final = "engines/"
#: A generation that is being written, and one that holds but is not in its place yet.
STAGED: Final = ".next.part"
COMMITTED: Final = ".next"

#: What is made from the records.
PAGE: Final = "RESULTS.md"
RESULTS: Final = "results.json"
ROWS: Final = "rows.json"
SCORES: Final = "per-query.csv"
PARQUET: Final = "per-query.parquet"
HTML: Final = "report.html"
FOREST: Final = "forest.csv"
RUNS: Final = "runs/"  # whole files, for qrels/
LINE_RUNS: Final = "runs/lines/"
QRELS: Final = "qrels/"
OLD_RUNS: Final = "runs/files/"  # where whole files were; what is there goes

#: What is of this machine or this moment alone.
LOCK: Final = ".lock"
TIMINGS: Final = "timings.json"
UNFINISHED: Final = ".unfinished"
SHARDS: Final = "shards"

#: What keeps results out of corpora, and the rest out of version control.
IGNORE: Final = ".assayignore"
GIT_IGNORE: Final = ".gitignore"


#: Results inside a repository are no part of it: the next run must not find them.
_IGNORE = "# Results are not source: this keeps them out of every corpus.\n*\n"
_GIT = f"""\
# The rest of this folder is small, changes line by line and belongs into version control.
{HTML}
{TIMINGS}
*.parquet
{LOCK}
{UNFINISHED}/
{STAGED}/
{COMMITTED}/
"""
#: What Assay may have left in a folder before the first run was whole.
_OWN = {LOCK, IGNORE, GIT_IGNORE, STAGED, COMMITTED, UNFINISHED, SHARDS, TIMINGS}
#: What writers of those leave where they are killed.
_LEFTOVERS = tuple(f".{name}." for name in sorted(_OWN))


def check_folder(folder: Path) -> Path:
    """Make sure that a run can be written here before hours are spent on it; nothing is written yet."""
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file, not a folder", file=folder, hint="name another place with --out")
    if not is_ours(folder):
        raise InputError("holds files that are no run", file=folder, hint="name a new or empty folder with --out")
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not os.access(there, os.W_OK | os.X_OK) or not there.is_dir():
        raise InputError("cannot be written", file=there, hint="check its rights, or name another place with --out")
    return folder


def is_run(folder: Path) -> bool:
    """Tell a folder with a run, whole or about to be replaced."""
    return (folder / MANIFEST).is_file() or (folder / COMMITTED / MANIFEST).is_file()


def is_ours(folder: Path) -> bool:
    """Tell a folder with a run, one whose first run was cut off, or an empty one."""
    if is_run(folder):
        return True
    return all(path.name in _OWN or path.name.startswith(_LEFTOVERS) for path in folder.glob("*"))


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold a results folder for oneself while records and reports are written; a second writer waits."""
    write_assayignore(folder)
    with FileLock(folder / LOCK):
        for name in (IGNORE, GIT_IGNORE):
            remove_leftovers(folder, name)
        yield


def write_assayignore(folder: Path) -> None:
    """Keep results out of every corpus; a file that the user put there stays as it is."""
    _write_once(folder / IGNORE, _IGNORE)


def is_kept_out(folder: Path) -> bool:
    """Tell a folder of results by the file that keeps it out of every corpus."""
    try:
        return (folder / IGNORE).read_text(encoding="utf-8") == _IGNORE
    except (OSError, UnicodeDecodeError):
        return False


def write_gitignore(folder: Path) -> None:
    """Keep what is large or of this machine alone out of version control; a file of the user's stays as it is."""
    _write_once(folder / GIT_IGNORE, _GIT)


def _write_once(path: Path, text: str) -> None:
    if not path.exists():
        write_atomic(path, text)


FORMAT = 2
READ = (1, FORMAT)
#: Runs below a folder that are named where it is none itself: as many as one line holds.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class ReadRetry:
    """How a reader that meets a writer goes on."""

    tries: int = 100  # a writer that is never done would keep a reader for ever
    seconds: float = 0.01  # between two of them; a generation is in its place within some milliseconds


PATIENCE = ReadRetry()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A manifest and the texts of the members it names."""

    manifest: Mapping[str, Any]
    members: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A manifest, and the digest that changes with every generation."""

    digest: str
    manifest: Mapping[str, Any]


def replace_generation(folder: Path, manifest: Mapping[str, object], members: Mapping[str, str]) -> None:
    """Put a generation in the place of the one that is there; members that it no longer has are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    digests = {name: text_digest(text) for name, text in sorted(members.items())}
    text = dump({"assay_run": FORMAT, **manifest, "members": digests}, indent=1) + "\n"
    try:
        with FileLock(folder):  # the directory itself is the lock, so that no lock file is left behind
            _finish(folder)
            _stage(folder, text, members)
            os.rename(folder / STAGED, folder / COMMITTED)
            sync_directory(folder)
            _finish(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error


def read_generation(folder: Path) -> Snapshot:
    """Read the generation that holds; one that is replaced meanwhile is read anew."""
    for _ in range(PATIENCE.tries):
        text = _manifest_text(folder)
        try:
            manifest = _manifest(folder, text)
            return Snapshot(manifest, {name: _member(folder, name, it) for name, it in manifest["members"].items()})
        except InputError:
            if _manifest_text(folder) == text:  # nobody is writing: it is really broken
                raise
        time.sleep(PATIENCE.seconds)
    raise broken(folder, "it is being written all the time")


def peek_generation(folder: Path) -> SnapshotInfo:
    """Read what the generation that holds says of itself; its members are only looked for."""
    text = _manifest_text(folder)
    manifest = _manifest(folder, text)
    for name in manifest["members"]:
        here = _is_inside(name) and any((place / name).is_file() for place in (folder / COMMITTED, folder))
        if not here and _manifest_text(folder) == text:
            raise broken(folder, f"{name} is not there")
    return SnapshotInfo(text_digest(text), manifest)


def _stage(folder: Path, manifest: str, members: Mapping[str, str]) -> None:
    staged = folder / STAGED
    shutil.rmtree(staged, ignore_errors=True)
    for name, text in members.items():
        if not _has(folder / name, text):
            write_atomic(staged / name, text)
    write_atomic(staged / MANIFEST, manifest)


def _has(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode("utf-8")
    except OSError:
        return False


def _finish(folder: Path) -> None:
    new = folder / COMMITTED
    if (new / MANIFEST).exists():
        named = json.loads((new / MANIFEST).read_text(encoding="utf-8"))["members"]
        for name in [name for name in named if (new / name).exists()]:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(new / name, folder / name)
        _remove(folder, sorted(_named(folder).difference(named)))
        for place in sorted({(folder / name).parent for name in named} | {folder}):
            sync_directory(place)
        os.replace(new / MANIFEST, folder / MANIFEST)
        sync_directory(folder)
    shutil.rmtree(new, ignore_errors=True)
    remove_leftovers(folder, MANIFEST)


def _named(folder: Path) -> set[str]:
    try:
        named = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["members"]
        return {name for name in named if _is_inside(name)}
    except (OSError, ValueError, TypeError, KeyError):
        return set()


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)


def _manifest_text(folder: Path) -> str:
    for path in (folder / COMMITTED / MANIFEST, folder / MANIFEST):
        try:
            return path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise broken(folder, f"run.json cannot be read: {error}") from error
    raise InputError("there is no run here", file=folder, hint=_elsewhere(folder))


def _elsewhere(folder: Path) -> str:
    repeats = repeats_in(folder)
    if repeats:
        return f"there are repeats of one: try {repeats[0]}; `assay gate {folder}` takes them together"
    below = [str(path) for path in sorted(folder.glob("[!.]*")) if is_run(path)]
    if below:
        return f"runs lie below it: name {' or '.join(below[:_NAMED])}"
    return f"make one with `assay run --out {folder}`" if is_ours(folder) else "name the folder that `assay run` wrote"


def _manifest(folder: Path, text: str) -> dict[str, Any]:
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise broken(folder, f"run.json cannot be read: {error}") from error
    if not isinstance(manifest, dict) or "assay_run" not in manifest:
        raise broken(folder, "run.json is not an Assay run")
    if manifest["assay_run"] not in READ:
        raise InputError(
            f"the run has format {manifest['assay_run']}, this Assay reads {' and '.join(map(str, READ))}",
            file=folder / MANIFEST,
            hint="score it with the Assay version in its header, or run it again",
        )
    if not isinstance(manifest.get("members"), dict):
        raise broken(folder, "run.json names no members")
    return manifest


def _member(folder: Path, name: str, digest: str) -> str:
    """Read one member of a run; its name must stay inside the folder and its content must fit the hash."""
    if not _is_inside(name):
        raise broken(folder, f"run.json names {name!r}, which lies outside the folder")
    text = None
    for path in (folder / COMMITTED / name, folder / name):
        try:
            data = path.read_bytes()
            text = data.decode("utf-8")
            break
        except (OSError, UnicodeDecodeError):
            continue
    if text is None:
        raise broken(folder, f"{name} cannot be read")
    if bytes_digest(data) != digest:
        raise broken(folder, f"{name} was changed after the run")
    return text


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and len(path.parts) > 0


def broken(folder: Path, message: str) -> InputError:
    """Make the error for a run folder that cannot be trusted."""
    return InputError(message, file=folder, hint="run it again; records are never edited by hand")


_LONGEST = 100  # characters; file systems take 255 bytes, and a name that is being written takes some more
_DIGITS = 6  # of the hash; among hundreds of engines with one plain name it tells all apart


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Give every name its file name, without a suffix; those that differ only in case are told apart by their hash."""
    known = tuple(names)
    folded = Counter(name.casefold() for name in known)
    return {name: _file_name(name, alone=folded[name.casefold()] == 1) for name in known}


def _file_name(name: str, *, alone: bool) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_LONGEST].strip("-.") or "engine"
    digest = text_digest(name)[:_DIGITS]
    return plain if plain == name and alone else f"{plain}-{digest}"


def repeats_in(folder: Path) -> tuple[Path, ...]:
    """List the repeats that lie in a folder, in their order; none where it is a run itself, or anything else."""
    if (folder / MANIFEST).exists():
        return ()
    found = [path for path in folder.glob("[0-9]*") if path.name.isascii() and path.name.isdigit() and path.is_dir()]
    return tuple(sorted(found, key=lambda path: int(path.name)))


def repeat_folders(folder: Path, count: int) -> tuple[Path, ...]:
    """Name the folders of a number of repeats, and make sure that they can be written and are all there will be."""
    if (folder / MANIFEST).exists():
        raise InputError("holds a single run", file=folder, hint="name another place for repeats with --out")
    chosen = tuple(folder / str(number) for number in range(1, count + 1))
    left = [path for path in repeats_in(folder) if path not in chosen]
    if left:
        raise InputError(
            f"holds more repeats than {count}: {', '.join(path.name for path in left)}",
            file=folder,
            hint="remove them: a gate would take them for repeats of this run",
        )
    return tuple(map(check_folder, chosen))


def relative_paths(suite: Suite, folder: Path) -> dict[str, str]:
    """Give the way from the folder of a run to each gold file that was named from where one stood.

    It holds as long as both move together, as they do in a repository. A file with a whole path needs no way.
    """
    named = {gold.name: Path(gold.source) for gold in suite.golds if gold.source}
    here = {name: file for name, file in named.items() if not file.is_absolute() and file.exists()}
    return {
        name: Path(os.path.relpath(_real(file), os.path.realpath(folder))).as_posix() for name, file in here.items()
    }


def from_here(suite: Suite, folder: Path, ways: Mapping[str, str]) -> Suite:
    """Name gold files as they are found from where one stands now; one that is not there any more stays as it was."""
    return replace(suite, golds=tuple(_found(gold, folder, ways.get(gold.name)) for gold in suite.golds))


def _found(gold: GoldSet, folder: Path, way: str | None) -> GoldSet:
    file = None if way is None else Path(os.path.normpath(os.path.join(os.path.realpath(folder), way)))
    if gold.source is None or file is None or not file.exists() or _real(Path(gold.source)) == file:
        return gold
    here = Path.cwd()
    return replace(gold, source=str(file.relative_to(here) if file.is_relative_to(here) else file))


def _real(file: Path) -> Path:
    return Path(os.path.realpath(file.parent)) / file.name


#: Why times of cells are not compared.
SIDE_BY_SIDE = "cells ran side by side"
IN_TURN = "one after the other in one process, sharing indexes"
SHARDED = "asked in shards, here or elsewhere"
KEPT = "taken from earlier work"


@dataclass(frozen=True, slots=True)
class CellTiming:
    """What one engine took on one gold set, where it ran."""

    engine: str
    gold: str
    index_seconds: float | None = None  # None: it was not opened here
    query_seconds: float = 0.0
    worker: str = ""
    comparable: bool = False
    reason: str = SIDE_BY_SIDE


def write_timings(folder: Path, rows: Iterable[CellTiming]) -> None:
    """Write timings.json, one line a cell; it is kept out of version control."""
    cells = ",\n".join(f"  {dump(asdict(row))}" for row in rows)
    write_atomic(folder / TIMINGS, f'{{\n "schema": "assay/timings/1",\n "cells": [\n{cells}\n ]\n}}\n')
