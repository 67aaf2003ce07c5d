"""The folder of a run: may it be written, who writes, and who else must not look into it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import InputError
from assay.experiment.records.layout import (
    COMMITTED,
    GIT_IGNORE,
    HTML,
    IGNORE,
    LOCK,
    MANIFEST,
    SHARDS,
    STAGED,
    TIMINGS,
    UNFINISHED,
)
from assay.files import remove_leftovers, write_atomic

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
    keep_out(folder)
    with open(folder / LOCK, "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in (IGNORE, GIT_IGNORE):
            remove_leftovers(folder, name)
        yield


def keep_out(folder: Path) -> None:
    """Keep results out of every corpus; a file that the user put there stays as it is."""
    _write_once(folder / IGNORE, _IGNORE)


def is_kept_out(folder: Path) -> bool:
    """Tell a folder of results by the file that keeps it out of every corpus."""
    try:
        return (folder / IGNORE).read_text(encoding="utf-8") == _IGNORE
    except (OSError, UnicodeDecodeError):
        return False


def keep_from_git(folder: Path) -> None:
    """Keep what is large or of this machine alone out of version control; a file of the user's stays as it is."""
    _write_once(folder / GIT_IGNORE, _GIT)


def _write_once(path: Path, text: str) -> None:
    """Write a file that is not there yet."""
    if not path.exists():
        write_atomic(path, text)
