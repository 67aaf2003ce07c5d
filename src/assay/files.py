"""Read UTF-8 files, and replace files and directories only when their new content is complete."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from assay.errors import InputError, SetupError


def write_atomic(path: Path, data: str | bytes, *, sync: bool = True) -> None:
    with atomic_stream(path, sync=sync) as stream:
        stream.write(data.encode("utf-8") if isinstance(data, str) else data)


@contextmanager
def atomic_stream(path: Path, *, sync: bool = True) -> Iterator[IO[bytes]]:
    """Yield a stream whose content replaces a file at the end; if the block raises, the old file is kept.

    Without `sync`, the file may be empty after a power failure: for what can be made again.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
                if sync:
                    stream.flush()
                    os.fsync(stream.fileno())
            mask = os.umask(0o022)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, path)
            if sync:
                sync_directory(path.parent)
        except BaseException:
            with suppress(FileNotFoundError):  # already renamed: syncing the directory failed
                os.unlink(name)
            raise
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def atomic_directory(directory: Path) -> Iterator[Path]:
    """Yield an empty directory that replaces `directory` at the end; if the block raises, the old one is kept."""
    work = directory.parent / f".{directory.name}.{os.getpid()}"
    try:
        work.mkdir(parents=True)
        try:
            yield work
            if directory.exists():
                shutil.rmtree(directory)
            os.replace(work, directory)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise cannot_write(directory, error) from error


def cannot_write(path: Path, error: OSError) -> SetupError:
    hint = "check the permissions of the directory and the free disk space"
    return SetupError(f"cannot write {path}: {error.strerror or error}", hint=hint)


def remove_leftovers(directory: Path, name: str = "*") -> None:
    """Remove temporary files that killed writers left; the caller must ensure that no writer is active."""
    for part in sorted(directory.glob(f".{name}.*")):
        part.unlink(missing_ok=True)


def read_utf8(path: Path, error: type[InputError] = InputError, *, hint: str = "check the path") -> str:
    """Read a UTF-8 file without its byte-order mark; raise `error` unless it is a readable, regular file in UTF-8."""
    check_regular(path, error)
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise error(f"cannot read the file: {problem.strerror or problem}", file=path, hint=hint) from problem
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as problem:
        line = raw[: problem.start].count(b"\n") + 1
        raise error("the file is not UTF-8", file=path, line=line, hint="save the file as UTF-8") from problem


def open_regular(path: str) -> IO[bytes]:
    """Open a regular file for reading; raise OSError for a link, pipe, device, socket or directory, and never block."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file")
    return os.fdopen(handle, "rb")


def check_regular(path: Path, error: type[InputError] = InputError) -> None:
    """Raise `error` for a pipe or a device, whose content may never end; accept directories and missing files."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        hint = "save the data to a file, and pass that file instead of a pipe or `<(...)`"
        raise error("expected a regular file, got a pipe or a device", file=path, hint=hint)


def sync_directory(directory: Path) -> None:
    """Flush a directory to disk, so that a rename in it survives a power failure."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def relative_path(path: str | os.PathLike[str], directory: str | os.PathLike[str]) -> str:
    """Return a path relative to a directory; `..` leads up from the target of a symbolic link, not from the link."""
    parent, name = os.path.split(os.path.abspath(path))
    return os.path.relpath(os.path.join(os.path.realpath(parent), name), os.path.realpath(directory))


def is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def find_upward(directory: Path, name: str) -> Path | None:
    """Return the file of this name in a directory or its nearest parent up to the root of the Git repository.

    Outside of a repository no parent is read: it may belong to another user, and assay.toml names commands to run.
    """
    parents = [parent := os.path.realpath(directory)]
    while not os.path.exists(os.path.join(parent, ".git")):
        if parent == os.path.dirname(parent):
            del parents[1:]
            break
        parents.append(parent := os.path.dirname(parent))
    found = next((parent for parent in parents if os.path.isfile(os.path.join(parent, name))), None)
    if found is None or found == parents[0]:
        return None if found is None else directory / name
    return Path(found if directory.is_absolute() else os.path.relpath(found)) / name
