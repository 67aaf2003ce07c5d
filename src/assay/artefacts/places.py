"""Where things lie, and how they are put there and taken away so that nobody meets half of one.

ROOT/KIND/ab/NAME             a small thing: its bytes behind a checksum
ROOT/KIND/ab/NAME/content/    a folder, made in place, so that it has one address for ever
ROOT/KIND/ab/NAME/finished    its manifest, written last: without it the folder is not there
ROOT/.locks/, ROOT/.tmp/
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.artefacts.sealing import name_of
from assay.errors import EnvironmentFailure

#: What a disk or a mount refuses; anything else that goes wrong while something is made is the maker's own.
_REFUSED: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
#: How often a write is tried when folders vanish under it: another run into the same folder removes them when it ends.
_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class Place:
    """Where one thing lies."""

    root: Path
    kind: str
    name: str

    @property
    def path(self) -> Path:
        """The file of a small thing, or the folder of a large one; some hundred names a folder at a million things."""
        return self.root / self.kind / self.name[:2] / self.name

    @property
    def content(self) -> Path:
        """What was made, of a large thing."""
        return self.path / "content"

    @property
    def finished(self) -> Path:
        """What says that a large thing is whole."""
        return self.path / "finished"

    @property
    def lock(self) -> Path:
        """What is held by whoever makes it."""
        return self.root / ".locks" / f"{self.kind}.{self.name}"


def place_of(root: Path, kind: str, key: str) -> Place:
    """Find the place of a key."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", kind):
        raise ValueError(f"not the name of a kind: {kind!r}")
    return Place(root, kind, name_of(kind, key))


def write_whole(root: Path, path: Path, data: bytes) -> None:
    """Write a file atomically, creating folders that are missing or that another process removes meanwhile.

    There is no fsync: after a power cut a file may be empty, which its checksum shows.
    """
    spare = root / ".tmp" / f"{path.name}.{secrets.token_hex(8)}"
    try:
        for attempt in range(_ATTEMPTS):
            try:
                if attempt:
                    spare.parent.mkdir(parents=True, exist_ok=True)
                    path.parent.mkdir(parents=True, exist_ok=True)
                with open(spare, "wb") as stream:
                    stream.write(data)
                os.replace(spare, path)
            except FileNotFoundError:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return
    except BaseException:
        with suppress(OSError):
            spare.unlink(missing_ok=True)
        raise


def remove(root: Path, path: Path) -> None:
    """Take something away in one instant, as others see it; what is not there is gone already."""
    grave = root / ".tmp" / f"removed.{secrets.token_hex(8)}"
    grave.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(path, grave)
    except FileNotFoundError:
        return
    if grave.is_dir() and not grave.is_symlink():
        shutil.rmtree(grave, ignore_errors=True)
    else:
        grave.unlink(missing_ok=True)


@contextmanager
def writing(path: Path, *, only: frozenset[int] | None = None) -> Iterator[None]:
    """Turn a cache that cannot be written into an error with a next step; `only` names the errors it is about."""
    try:
        yield
    except OSError as error:
        if only is not None and error.errno not in only:
            raise
        raise EnvironmentFailure(
            f"the cache cannot be written: {error.strerror or error}",
            file=path,
            hint="free some space (`assay cache prune --to 1GB`), or set ASSAY_CACHE_DIR to a folder you can write",
        ) from error


@contextmanager
def made_by_another(path: Path) -> Iterator[None]:
    """Let the maker's own troubles through, and those of the disk as `writing` does."""
    with writing(path, only=_REFUSED):
        yield
