"""The run directory: file names, lock, reading, and atomic replacement.

A run is staged in STAGED, renamed to COMMITTED, then moved into place file by file. Readers look into COMMITTED first,
so they see either the old run or the new one; the next writer completes the move if a writer was killed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from assay.digests import bytes_digest, text_digest
from assay.errors import AssayError, InputError
from assay.experiment.records.codec import (
    decoder,
    dump,
    engine_text,
    gold_text,
    lines_text,
    read_engine_text,
    read_lines,
    read_suite,
)
from assay.files import cannot_write, remove_leftovers, sync_directory, write_atomic
from assay.locks import FileLock
from assay.trec import qrels_text, run_text
from assay.types import GoldSet, Run, RunMetadata, Suite

#: The records: run.json lists the others with their hashes.
MANIFEST: Final = "run.json"
GOLD: Final = "gold.jsonl"
LINES: Final = "lines.jsonl"
ENGINES: Final = "engines/"
STAGED: Final = ".next.part"
COMMITTED: Final = ".next"

#: Files made from the records.
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

#: Files of this machine or of an unfinished run.
LOCK: Final = ".lock"
TIMINGS: Final = "timings.json"
UNFINISHED: Final = ".unfinished"
SHARDS: Final = "shards"

IGNORE: Final = ".assayignore"
GIT_IGNORE: Final = ".gitignore"

_FORMAT = 2  # of run.json

_IGNORE = "# Results are not source: this keeps them out of every corpus.\n*\n"
_GIT = f"""\
# Commit the other files of this directory: they are small and change line by line.
{HTML}
{TIMINGS}
*.parquet
{LOCK}
{UNFINISHED}/
{STAGED}/
{COMMITTED}/
"""
#: Files that Assay may write before the first run is complete, and the prefixes of their temporary files.
_OWN = {LOCK, IGNORE, GIT_IGNORE, STAGED, COMMITTED, UNFINISHED, SHARDS, TIMINGS}
_TEMPORARY = tuple(f".{name}." for name in sorted(_OWN))

_READ_ATTEMPTS = 100  # bounds the wait of a reader for writers
_READ_PAUSE = 0.01  # seconds; a run is moved into place within milliseconds
_SHOWN_RUNS = 3  # in a hint
_NAME_LENGTH = 100  # characters; file systems allow 255 bytes, and temporary names are longer
_NAME_DIGITS = 6  # of the hash; enough for hundreds of engines with the same plain name


def write_run(run: Run, directory: Path) -> None:
    """Write a run into a directory, replacing an earlier run."""
    names = file_names(engine.name for engine in run.engines)
    members = {GOLD: gold_text(run.suite), LINES: lines_text(run.lines)}
    members |= {f"{ENGINES}{names[engine.name]}.jsonl": engine_text(run, engine) for engine in run.engines}
    manifest: dict[str, Any] = {
        "k": run.k,
        "suite": run.suite.name,
        "engines": [engine.name for engine in run.engines],
        "hashes": dict(sorted(run.hashes.items())),
        "header": asdict(run.header),
    }
    if paths := _relative_gold_paths(run.suite, directory):
        manifest["gold_files"] = paths
    write_assayignore(directory)
    if not (directory / GIT_IGNORE).exists():
        write_atomic(directory / GIT_IGNORE, _GIT)
    _replace_snapshot(directory, manifest, members)


def read_run(directory: Path) -> Run:
    """Read a run and verify every member; paths of gold files are relative to the current directory."""
    manifest, members = read_snapshot(directory)
    try:
        header: RunMetadata = decoder(RunMetadata)(manifest["header"])
        order = {name: number for number, name in enumerate(manifest["engines"])}
        texts = [text for name, text in sorted(members.items()) if name.startswith(ENGINES)]
        engines = [read_engine_text(text, header) for text in texts]
        return Run(
            suite=_resolve_gold_paths(read_suite(members[GOLD]), directory, manifest.get("gold_files", {})),
            k=manifest["k"],
            engines=tuple(sorted(engines, key=lambda engine: order[engine.name])),
            lines=read_lines(members[LINES]),
            hashes=manifest["hashes"],
            header=header,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(directory, f"a record is malformed ({type(error).__name__}: {error})") from error


def read_earlier_run(directory: Path) -> Run | None:
    """Read the run in a directory; None if it is missing or damaged."""
    try:
        return read_run(directory) if is_run(directory) else None
    except AssayError:
        return None


def check_directory(directory: Path) -> Path:
    """Return the directory; raise InputError if a run cannot be written there."""
    if directory.exists() and not directory.is_dir():
        raise InputError("expected a directory, got a file", file=directory, hint="pass another --out")
    if not _is_ours(directory):
        hint = "pass a new or empty directory as --out"
        raise InputError("contains files that are not a run", file=directory, hint=hint)
    existing = next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())
    if not os.access(existing, os.W_OK | os.X_OK) or not existing.is_dir():
        raise InputError("not a writable directory", file=existing, hint="check its permissions, or pass another --out")
    return directory


def is_run(directory: Path) -> bool:
    """Return whether a directory contains a manifest of a run."""
    return (directory / MANIFEST).is_file() or (directory / COMMITTED / MANIFEST).is_file()


def _is_ours(directory: Path) -> bool:
    names = (path.name for path in directory.glob("*"))
    return is_run(directory) or all(name in _OWN or name.startswith(_TEMPORARY) for name in names)


@contextmanager
def lock_directory(directory: Path) -> Iterator[None]:
    """Lock a run directory while records and reports are written."""
    write_assayignore(directory)
    with FileLock(directory / LOCK):
        for name in (IGNORE, GIT_IGNORE):
            remove_leftovers(directory, name)
        yield


def write_assayignore(directory: Path) -> None:
    """Exclude a directory from every corpus, unless it already has an .assayignore."""
    if not (directory / IGNORE).exists():
        write_atomic(directory / IGNORE, _IGNORE)


def is_excluded(directory: Path) -> bool:
    """Return whether `write_assayignore` excluded a directory."""
    try:
        return (directory / IGNORE).read_text(encoding="utf-8") == _IGNORE
    except (OSError, UnicodeDecodeError):
        return False


def read_snapshot(directory: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the manifest and the texts of the members of a run; retry while a writer replaces them."""
    for _ in range(_READ_ATTEMPTS):
        text = _manifest_text(directory)
        try:
            manifest = _parse_manifest(directory, text)
            return manifest, {name: _member(directory, name, value) for name, value in manifest["members"].items()}
        except InputError:
            if _manifest_text(directory) == text:  # no writer is active: the run is broken
                raise
        time.sleep(_READ_PAUSE)
    raise InputError("the run is being replaced", file=directory, hint="repeat when no other process writes it")


def peek_snapshot(directory: Path) -> tuple[str, Mapping[str, Any]]:
    """Return a digest that changes with every write, and the manifest; members must exist but are not read."""
    text = _manifest_text(directory)
    manifest = _parse_manifest(directory, text)
    for name in manifest["members"]:
        exists = _is_inside(name) and any((parent / name).is_file() for parent in (directory / COMMITTED, directory))
        if not exists and _manifest_text(directory) == text:
            raise _broken(directory, f"{name} is missing")
    return text_digest(text), manifest


def _manifest_text(directory: Path) -> str:
    for path in (directory / COMMITTED / MANIFEST, directory / MANIFEST):
        try:
            return path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise _broken(directory, f"cannot read run.json: {error}") from error
    raise InputError("no run found", file=directory, hint=_missing_run_hint(directory))


def _missing_run_hint(directory: Path) -> str:
    if repeats := repeats_in(directory):
        return f"pass one repeat, such as {repeats[0]}; `assay gate {directory}` uses all repeats"
    below = [str(path) for path in sorted(directory.glob("[!.]*")) if is_run(path)]
    if below:
        return f"pass {' or '.join(below[:_SHOWN_RUNS])}"
    made = "pass a directory that `assay run` wrote"
    return f"make one with `assay run --out {directory}`" if _is_ours(directory) else made


def _parse_manifest(directory: Path, text: str) -> dict[str, Any]:
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise _broken(directory, f"cannot read run.json: {error}") from error
    if not isinstance(manifest, dict) or "assay_run" not in manifest:
        raise _broken(directory, "run.json is not an Assay run")
    if manifest["assay_run"] != _FORMAT:
        raise InputError(
            f"expected run format {_FORMAT}, got {manifest['assay_run']}",
            file=directory / MANIFEST,
            hint="use the Assay version in its header, or repeat the run",
        )
    if not isinstance(manifest.get("members"), dict):
        raise _broken(directory, "run.json names no members")
    return manifest


def _member(directory: Path, name: str, digest: str) -> str:
    if not _is_inside(name):
        raise _broken(directory, f"run.json names {name!r}, which is outside the directory")
    for path in (directory / COMMITTED / name, directory / name):
        try:
            data = path.read_bytes()
            text = data.decode("utf-8")
            break
        except (OSError, UnicodeDecodeError):
            continue
    else:
        raise _broken(directory, f"cannot read {name}")
    if bytes_digest(data) != digest:
        raise _broken(directory, f"{name} was changed after the run")
    return text


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and len(path.parts) > 0


def _broken(directory: Path, message: str) -> InputError:
    return InputError(message, file=directory, hint="repeat the run, or restore the directory")


def _replace_snapshot(directory: Path, manifest: Mapping[str, object], members: Mapping[str, str]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    digests = {name: text_digest(text) for name, text in sorted(members.items())}
    text = dump({"assay_run": _FORMAT, **manifest, "members": digests}, indent=1) + "\n"
    try:
        with FileLock(directory):  # the directory itself, so that no lock file is left behind
            _move_into_place(directory)
            staged = directory / STAGED
            shutil.rmtree(staged, ignore_errors=True)
            for name, member in members.items():
                if not (directory / name).is_file() or (directory / name).read_bytes() != member.encode("utf-8"):
                    write_atomic(staged / name, member)
            write_atomic(staged / MANIFEST, text)
            os.rename(staged, directory / COMMITTED)
            sync_directory(directory)
            _move_into_place(directory)
    except OSError as error:
        raise cannot_write(directory, error) from error


def _move_into_place(directory: Path) -> None:
    new = directory / COMMITTED
    if (new / MANIFEST).exists():
        members = json.loads((new / MANIFEST).read_text(encoding="utf-8"))["members"]
        for name in [name for name in members if (new / name).exists()]:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(new / name, directory / name)
        old: set[str] = set()
        with suppress(OSError, ValueError, TypeError, KeyError):
            old.update(json.loads((directory / MANIFEST).read_text(encoding="utf-8"))["members"])
        for name in filter(_is_inside, sorted(old.difference(members))):
            (directory / name).unlink(missing_ok=True)
        for parent in sorted({(directory / name).parent for name in members} | {directory}):
            sync_directory(parent)
        os.replace(new / MANIFEST, directory / MANIFEST)
        sync_directory(directory)
    shutil.rmtree(new, ignore_errors=True)
    remove_leftovers(directory, MANIFEST)


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a file stem for every name; stems that differ from the name, or only in case, have a hash."""
    names = tuple(names)
    folded = Counter(name.casefold() for name in names)
    found = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_NAME_LENGTH].strip("-.") or "engine"
        unique = plain == name and folded[name.casefold()] == 1
        found[name] = plain if unique else f"{plain}-{text_digest(name)[:_NAME_DIGITS]}"
    return found


def repeats_in(directory: Path) -> tuple[Path, ...]:
    """Return the numbered subdirectories of a directory, in order; empty if it contains a single run."""
    if (directory / MANIFEST).exists():
        return ()
    found = [path for path in directory.glob("[0-9]*") if path.name.isascii() and path.name.isdigit() and path.is_dir()]
    return tuple(sorted(found, key=lambda path: int(path.name)))


def repeat_directories(directory: Path, count: int) -> tuple[Path, ...]:
    """Return the directories of repeats; raise InputError if one is not writable or there are more than `count`."""
    if (directory / MANIFEST).exists():
        raise InputError("contains a single run", file=directory, hint="pass another --out for repeats")
    chosen = tuple(directory / str(number) for number in range(1, count + 1))
    others = [path.name for path in repeats_in(directory) if path not in chosen]
    if others:
        message = f"contains more than {count} repeats: {', '.join(others)}"
        hint = "remove them: `assay gate` would count them as repeats of this run"
        raise InputError(message, file=directory, hint=hint)
    return tuple(map(check_directory, chosen))


def _relative_gold_paths(suite: Suite, directory: Path) -> dict[str, str]:
    """Return the gold files relative to the run directory; skip absolute paths and missing files."""
    files = {gold.name: Path(gold.source) for gold in suite.golds if gold.source}
    real = os.path.realpath(directory)
    return {
        name: Path(os.path.relpath(_real_path(file), real)).as_posix()
        for name, file in files.items()
        if not file.is_absolute() and file.exists()
    }


def _resolve_gold_paths(suite: Suite, directory: Path, paths: Mapping[str, str]) -> Suite:
    """Make paths of gold files relative to the current directory, if inside; keep those of missing files."""

    def resolve(gold: GoldSet) -> GoldSet:
        if gold.source is None or gold.name not in paths:
            return gold
        file = Path(os.path.normpath(os.path.join(os.path.realpath(directory), paths[gold.name])))
        if not file.exists() or _real_path(Path(gold.source)) == file:
            return gold
        here = Path.cwd()
        return replace(gold, source=str(file.relative_to(here) if file.is_relative_to(here) else file))

    return replace(suite, golds=tuple(map(resolve, suite.golds)))


def _real_path(file: Path) -> Path:
    return Path(os.path.realpath(file.parent)) / file.name


#: Why the times of cells are not comparable.
SIDE_BY_SIDE = "cells ran side by side"
IN_TURN = "one after the other in one process, sharing indexes"
SHARDED = "cells ran in shards"
KEPT = "taken from the cache of an earlier run"


@dataclass(frozen=True, slots=True)
class CellTiming:
    engine: str
    gold: str
    index_seconds: float | None = None  # None: not opened here
    query_seconds: float = 0.0
    worker: str = ""
    comparable: bool = False
    reason: str = SIDE_BY_SIDE


def write_timings(directory: Path, rows: Iterable[CellTiming]) -> None:
    """Write timings.json, one line per cell."""
    cells = ",\n".join(f"  {dump(asdict(row))}" for row in rows)
    write_atomic(directory / TIMINGS, f'{{\n "schema": "assay/timings/1",\n "cells": [\n{cells}\n ]\n}}\n')


def trec_files(run: Run) -> dict[str, str]:
    """Return the TREC runs and judgments by file name, without empty files."""
    engines = file_names(engine.name for engine in run.engines)
    golds = file_names(gold.name for gold in run.suite.golds)
    queries = {(r.gold, r.query, r.form) for engine in run.engines for r in engine.rankings}
    files = {f"{QRELS}{golds[gold.name]}.qrels": qrels_text(gold, queries) for gold in run.suite.golds}
    for engine in run.engines:
        files[f"{RUNS}{engines[engine.name]}.trec"] = run_text(engine, whole_files=True)
        files[f"{LINE_RUNS}{engines[engine.name]}.trec"] = run_text(engine, whole_files=False)
    return {name: text for name, text in sorted(files.items()) if text}
