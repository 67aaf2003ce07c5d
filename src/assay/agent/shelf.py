"""The index of each served folder, kept open and brought up to date before it is asked."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.toml import read_toml

if TYPE_CHECKING:
    from assay.corpus import Memory
    from assay.search import Index, SearchConfig


@dataclass(frozen=True, slots=True)
class _Kept:
    """An index, and the digest of the files that it was made of."""

    index: Index
    digest: str


class Shelf:
    """Opens the index of a folder once, and again when a file changed; folders do not wait for each other."""

    def __init__(self, folders: Iterable[Path]) -> None:
        """Read the settings of every folder that has some: a call that changes the file later changes nothing."""
        self._stands = {folder: _Stand(folder) for folder in folders}

    def index(self, folder: Path) -> Index:
        """Give the index of a folder as the folder is now."""
        return self._stands[folder].index()


class _Stand:
    """The place of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._kept: _Kept | None = None
        self._memory: Memory | None = None
        self._config = _settings(folder) if _has_settings(folder) else None

    def index(self) -> Index:
        """Walk the folder, and open its index anew where the files are others; calls for one folder take turns."""
        with self._lock:
            if self._kept is None or self._kept.digest != self._digest():
                self._kept = self._opened()
            return self._kept.index

    def _digest(self) -> str:
        """Digest the files as they are now."""
        from assay.corpus import Memory, open_corpus, parse_spec

        self._memory = self._memory or Memory()
        return open_corpus(parse_spec(str(self._folder)), memory=self._memory).digest

    def _opened(self) -> _Kept:
        """Open the index from the cache, refreshed; the digest is of what it holds, whatever changed meanwhile."""
        from assay.corpus.opening import digest
        from assay.search import Index

        self._config = self._config or _settings(self._folder)
        index = Index.open(self._folder, self._config)
        files = index.table.files
        return _Kept(index, digest(dict(zip(files.paths, files.hashes, strict=True))))


def _has_settings(folder: Path) -> bool:
    """Tell whether a folder has a [search] table, without loading what reads it."""
    file = folder / "assay.toml"
    return file.is_file() and "search" in read_toml(file).data


def _settings(folder: Path) -> SearchConfig:
    """Put the settings of a folder together, as `assay search` does."""
    from assay.search.settings import find_config, load_config

    return load_config((), find_config(folder), os.environ)
