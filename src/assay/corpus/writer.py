"""Safe extraction: the only module that writes untrusted names to disk.

Files are created exclusively and never through a link. Links are created last and then followed; one that leaves the
root rejects the whole archive.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn, Self

from assay.corpus.config import ArchiveLimits
from assay.errors import CorpusError

_DRIVE: Final = re.compile(r"[A-Za-z]:/")
_BAD_NAMES: Final = frozenset({errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ELOOP})


class TreeWriter:
    """Writes members of an archive to a new directory; on errors the directory is removed."""

    def __init__(self, root: Path, *, source: str, limits: ArchiveLimits, archive_bytes: int | None = None) -> None:
        self.root = root
        self.paths: set[str] = set()
        self._source = source
        self._limits = limits
        self._allowed = limits.unpacked_bytes
        if archive_bytes is not None:
            self._allowed = min(self._allowed, max(limits.ratio_grace_bytes, limits.ratio * archive_bytes))
        self._members = 0
        self._bytes = 0
        self._folders: set[str] = set()
        self._links: dict[str, str] = {}
        root.mkdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            shutil.rmtree(self.root, ignore_errors=True)

    def folder(self, name: str) -> None:
        """Create a directory."""
        self._make(self._admit(name), name)

    def file(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file; of repeated names the last one wins, as with tar and pip."""
        parts = self._admit(name)
        if not parts:
            self.refuse(name, "has no name")
        self._make(parts[:-1], name)
        path = "/".join(parts)
        self._links.pop(path, None)
        with self._rejecting_bad_names(name):
            if path in self.paths:
                os.unlink(self.root / path)
            self.paths.add(path)
            self._write(self.root / path, name, chunks)

    def link(self, name: str, target: str) -> None:
        """Record a symbolic link, which `finish` creates."""
        parts = self._admit(name)
        if not parts or not target or "\0" in target:
            self.refuse(name, "is a link without a name or target")
        self._links["/".join(parts)] = target

    def hard_link(self, name: str, target: str) -> None:
        """Copy the target of a hard link."""
        original = "/".join(self._parts(target))
        if original not in self.paths:
            self.refuse(name, f"is a hard link to {target!r}, which is not a file of this archive")
        self.file(name, _chunks(self.root / original))

    def finish(self, *, outside_links: bool) -> set[str]:
        """Create the links; those that leave the root reject the archive unless `outside_links`, as for commits."""
        for path, target in sorted(self._links.items()):
            self._make(path.split("/")[:-1], path)
            with self._rejecting_bad_names(path):
                os.symlink(target, self.root / path)
            self.paths.add(path)
        if not outside_links:
            for path in sorted(self._links):
                if not is_inside(os.path.realpath(self.root / path), os.path.realpath(self.root)):
                    self.refuse(path, f"is a link that leaves the archive: {self._links[path]!r}")
        return self.paths

    def refuse(self, member: str, why: str) -> NoReturn:
        """Reject the archive because of a member."""
        shown = member.encode("unicode_escape", "backslashreplace").decode("ascii")
        raise CorpusError(
            f"member {shown!r} {why}; nothing was kept",
            file=self._source,
            hint="do not use this archive; take it from a source you trust, or report it to its index",
        )

    def _admit(self, name: str) -> list[str]:
        self._members += 1
        if self._members > self._limits.members:
            self.refuse(name, f"is one too many: more than {self._limits.members:,} members")
        return self._parts(name)

    def _parts(self, name: str) -> list[str]:
        if "\0" in name:
            self.refuse(name, "has a NUL byte in its name")
        normalized = unicodedata.normalize("NFKC", name)
        for reading in (name, "".join(char for char in normalized if unicodedata.category(char) != "Cf")):
            slashed = reading.replace("\\", "/")
            if slashed.startswith("/") or _DRIVE.match(slashed) or ".." in slashed.split("/"):
                self.refuse(name, "would be written outside the archive")
        return [part for part in name.split("/") if part not in ("", ".")]

    def _make(self, parts: list[str], member: str) -> None:
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            if path in self._folders:
                continue
            with self._rejecting_bad_names(member):
                try:
                    os.mkdir(self.root / path)
                except FileExistsError:
                    if not stat.S_ISDIR(os.lstat(self.root / path).st_mode):
                        self.refuse(member, f"is below {path!r}, which is not a folder")
            self._folders.add(path)

    def _write(self, path: Path, member: str, chunks: Iterable[bytes]) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with open(handle, "wb") as stream:
            for chunk in chunks:
                self._bytes += len(chunk)
                if self._bytes > self._allowed:
                    self.refuse(member, f"unpacks to more than {self._allowed:,} bytes: a bomb")
                stream.write(chunk)

    @contextmanager
    def _rejecting_bad_names(self, member: str) -> Iterator[None]:
        try:
            yield
        except (FileExistsError, IsADirectoryError, NotADirectoryError):
            self.refuse(member, "collides with another member")
        except UnicodeEncodeError:
            self.refuse(member, "has a name that is not UTF-8")
        except OSError as error:
            if error.errno not in _BAD_NAMES:
                raise
            self.refuse(member, f"has a name this file system does not take ({error.strerror})")


def is_inside(path: str, root: str) -> bool:
    """Return whether a real path is the root or below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def _chunks(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as stream:
        while chunk := stream.read(1 << 20):
            yield chunk
