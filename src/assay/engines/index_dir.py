"""Where an index lies: a copy of the corpus and a store, which must stay as making the index left them."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from assay.corpus.copying import copy_corpus, folder_bytes
from assay.engines.tool import STORE
from assay.types import Corpus

_STORE = f"{STORE}shared"
_CORPUS = "corpus"


@dataclass(frozen=True, slots=True)
class PlaceLimits:
    """What putting an index back may cost."""

    #: Bytes of a workplace of which a second copy is kept: a second or two to write, less than any tool takes to
    #: index as much. A larger one is indexed anew when a variant has changed it.
    copy_bytes: int = 1_000_000_000


PLACE_LIMITS = PlaceLimits()


@dataclass(frozen=True, slots=True)
class IndexWorkspace:
    """What an engine is given to work on: a corpus, and the folder of an index where it wants one."""

    corpus: Corpus
    store: Path | None = None


class IndexDir:
    """A folder with a copy of a corpus and a store."""

    def __init__(self, folder: Path, spot: IndexWorkspace, on_close: Callable[[], None]) -> None:
        self.folder = folder
        self.spot = spot
        self.users = 0
        self.notes: tuple[str, ...] = ()
        self.stderr = ""  # what was said when the index was made
        self.left = 0  # bytes that making the index left beside the code
        self.on_close = on_close
        self._seen: Mapping[str, tuple[int, int]] = {}
        self._spare: Path | None = None

    def settle(self, spare: Path | None) -> None:
        """Know the place as it is now: so it must stay; `spare` is the same once more."""
        self._seen = snapshot(self.folder)
        self._spare = spare

    @property
    def is_as_it_was(self) -> bool:
        """Whether every file is as making the index left it."""
        return snapshot(self.folder) == self._seen

    def mend(self) -> bool:
        """Put everything back as it was; False when that cannot be done."""
        if self._spare is None:
            return False
        try:
            empty(self.folder)
            copy_tree(self._spare, self.folder)
        except OSError:
            return False
        return self.is_as_it_was

    def close(self) -> None:
        """Remove it."""
        self.on_close()


def create(folder: Path, corpus: Corpus, *, git: bool, store: bool, on_close: Callable[[], None]) -> IndexDir:
    """Make a place in an empty folder."""
    copied = copy_corpus(corpus, folder / _CORPUS, commit=git)
    if store:
        (folder / _STORE).mkdir()
    return IndexDir(folder, IndexWorkspace(copied, folder / _STORE if store else None), on_close)


def reopen(folder: Path, corpus: Corpus, *, store: bool, on_close: Callable[[], None]) -> IndexDir:
    """Take a place as it was made before, in the same folder."""
    copied = replace(corpus, root=folder / _CORPUS / root_name(corpus))
    return IndexDir(folder, IndexWorkspace(copied, folder / _STORE if store else None), on_close)


def root_name(corpus: Corpus) -> str:
    """Give the name of the folder that a copy of a corpus has."""
    return corpus.root.resolve().name or "corpus"


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Give size and time of every file below a folder; what vanishes meanwhile is not there."""
    seen = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with suppress(OSError):
                facts = os.lstat(path)
                seen[os.path.relpath(path, folder)] = (facts.st_size, facts.st_mtime_ns)
    return seen


def copy_tree(source: Path, target: Path) -> None:
    """Copy all files with their times; links stay links, pipes and sockets are left out."""
    shutil.copytree(source, target, symlinks=True, ignore=_odd, dirs_exist_ok=True)


def backup(folder: Path, limits: PlaceLimits = PLACE_LIMITS) -> Path | None:
    """Copy a place beside itself, if it is not too large."""
    if folder_bytes(folder) > limits.copy_bytes:
        return None
    spare = folder.with_name(f"{folder.name}-as-it-was")
    try:
        copy_tree(folder, spare)
    except OSError:
        return None
    return spare


def empty(folder: Path) -> None:
    """Remove what is in a folder, and leave the folder."""
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def _odd(folder: str, names: list[str]) -> list[str]:
    kinds = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
    plain = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    return [name for name, mode in kinds.items() if not any(kind(mode) for kind in plain)]
