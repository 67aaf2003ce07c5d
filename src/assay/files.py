"""Read files so that what is wrong has a line, and write them so that nobody ever meets half of one."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from assay.errors import InputError, SetupError


def write_atomic(path: Path, data: str | bytes) -> None:
    """Replace a file whole: the old content or the new, whatever happens in between."""
    with atomic_stream(path) as stream:
        stream.write(data.encode("utf-8") if isinstance(data, str) else data)


@contextmanager
def atomic_stream(path: Path) -> Iterator[IO[bytes]]:
    """Replace a file whole by what is written to a stream; an error on the way leaves the old file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
            sync_folder(path.parent)
        except BaseException:
            with suppress(FileNotFoundError):  # already renamed: the folder could not be synced
                os.unlink(name)
            raise
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Fill a folder beside the real one, and put it in its place at the end; an error on the way leaves the old one."""
    work = folder.parent / f".{folder.name}.{os.getpid()}"
    try:
        work.mkdir(parents=True)
        try:
            yield work
            if folder.exists():
                shutil.rmtree(folder)
            os.replace(work, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise cannot_write(folder, error) from error


def cannot_write(path: Path, error: OSError) -> SetupError:
    """Make the error of a disk that does not take what is written."""
    return SetupError(
        f"cannot write {path}: {error.strerror or error}", hint="check the folder's rights and the free disk space"
    )


def remove_leftovers(folder: Path, name: str = "*") -> None:
    """Remove what killed writers of a file left beside it; the caller sees to it that nobody is writing now."""
    for part in sorted(folder.glob(f".{name}.*")):
        part.unlink(missing_ok=True)


def read_utf8(path: Path, error: type[InputError] = InputError, *, hint: str = "check the path") -> str:
    """Read a text file; what is not UTF-8 is an error with its line, a byte-order mark is dropped."""
    check_regular(path, error)
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise error(f"cannot be read: {problem.strerror or problem}", file=path, hint=hint) from problem
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as problem:
        line = raw[: problem.start].count(b"\n") + 1
        raise error("not UTF-8", file=path, line=line, hint="save the file as UTF-8") from problem


def check_regular(path: Path, error: type[InputError] = InputError) -> None:
    """Refuse a pipe or a device: reading it may never end. What is not there is left to the read that follows."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        hint = "save what it gives as a file, and name that; `<(...)` is a pipe too"
        raise error("is no regular file but a pipe or a device", file=path, hint=hint)


def sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
