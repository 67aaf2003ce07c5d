"""Temporary directories in one private directory; each process also removes the directories of killed processes.

TMP/assay-UID/NAME         the directory
TMP/assay-UID/NAME.lock    locked while its process lives
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from assay.errors import SetupError
from assay.locks import temporary_lock

_LOCK: Final = ".lock"


@contextmanager
def scratch(prefix: str = "assay-") -> Iterator[Path]:
    """Yield an empty directory, and remove it at the end even if files in it are read-only."""
    with ExitStack() as stack:
        directory = None
        while directory is None:
            try:
                directory = _make(prefix, stack)
            except OSError as error:
                if isinstance(error, FileNotFoundError) and Path(tempfile.gettempdir()).is_dir():
                    stack.pop_all().close()  # another process removed the parent directory
                    continue
                raise SetupError(
                    f"cannot create a temporary directory: {error.strerror or error}",
                    hint="free disk space or set TMPDIR to a writable directory",
                ) from error
        yield directory


def sweep(home: Path) -> None:
    for lock in sorted(home.glob(f"*{_LOCK}")):
        with suppress(OSError), temporary_lock(lock, wait=False) as free:
            if free:
                _remove(lock.with_suffix(""))


_sweep_once = cache(sweep)


def _make(prefix: str, stack: ExitStack) -> Path:
    home = _home()
    _sweep_once(home)
    directory = home / f"{prefix}{os.getpid()}_{secrets.token_hex(4)}"
    stack.callback(_remove_if_empty, home)
    stack.enter_context(temporary_lock(directory.with_name(directory.name + _LOCK)))
    stack.callback(_remove, directory)
    directory.mkdir(mode=0o700)
    return directory


def _home() -> Path:
    shared = Path(tempfile.gettempdir()).resolve() / f"assay-{os.getuid()}"
    with suppress(FileExistsError):
        shared.mkdir(mode=0o700)
    status = os.lstat(shared)
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return shared if ours else _private_home(shared)


@cache
def _private_home(wanted: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=wanted.parent, prefix=f"{wanted.name}-"))


def _remove_if_empty(home: Path) -> None:
    with suppress(OSError):
        home.rmdir()


def _remove(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    if not directory.exists():
        return
    for parent, subdirectories, _ in os.walk(directory):
        for path in (parent, *(os.path.join(parent, name) for name in subdirectories)):
            if not os.path.islink(path):
                with suppress(OSError):
                    os.chmod(path, 0o700)
    shutil.rmtree(directory, ignore_errors=True)
