"""Folders of the cache that are no artefacts, such as fetched trees: looked at alike, pruned only when named."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.artefacts.places import remove, writing
from assay.artefacts.pruning import Pruned, Usage


@dataclass(frozen=True, slots=True)
class _Thing:
    """A file or folder of such a folder."""

    path: Path
    bytes: int
    used: float  # when it was last written to; nobody writes down when these are read


@dataclass(frozen=True, slots=True)
class Other:
    """A folder whose members can each be made or fetched again."""

    kind: str
    folder: Path

    def usage(self) -> Usage | None:
        """Say how much there is; None when there is nothing."""
        found = self._things()
        dates = [one.used for one in found]
        return Usage(self.kind, len(found), sum(one.bytes for one in found), min(dates), max(dates)) if found else None

    def prune(self, most_bytes: int | None, older_than: float | None, *, dry_run: bool = False) -> Pruned:
        """Remove what is old, then the oldest until the rest fits. Who uses a member is not known here."""
        now, found = time.time(), self._things()
        left = sum(one.bytes for one in found)
        most = left if most_bytes is None else most_bytes
        gone = size = 0
        for one in sorted(found, key=lambda one: (one.used, one.path)):
            if left > most or (older_than is not None and now - one.used >= older_than):
                gone, size, left = gone + 1, size + one.bytes, left - one.bytes
                if not dry_run:
                    with writing(one.path):
                        remove(self.folder, one.path)
        with suppress(OSError):
            (self.folder / ".tmp").rmdir()
        return Pruned(gone, size, 0, left)

    def _things(self) -> list[_Thing]:
        """List the members; what goes away while we look was not there."""
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        return [_thing(self.folder / name) for name in names if not name.startswith(".")]


def _thing(path: Path) -> _Thing:
    """Add up a file, or all files of a folder."""
    below = [Path(folder, name) for folder, _, names in os.walk(path) for name in names]
    files = below if path.is_dir() else [path]
    size, used = 0, 0.0
    for file in files or [path]:
        with suppress(OSError):
            facts = file.lstat()
            size, used = size + (facts.st_size if files else 0), max(used, facts.st_mtime)
    return _Thing(path, size, used)
