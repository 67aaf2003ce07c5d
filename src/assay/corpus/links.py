"""Which file of a corpus does a path lead to? The walk lists each file once, however many symbolic links name it."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from assay.corpus.read import inside
from assay.errors import CorpusError
from assay.types import Corpus


class ListedPaths:
    """The paths that a corpus lists, and those that lead to the same files through symbolic links."""

    def __init__(self, corpus: Corpus, root: Path | None = None) -> None:
        """Take the files of a corpus; `root` is another folder that has them, such as the original of a copy."""
        self._known = frozenset(file.path for file in corpus.files)
        self._root = os.path.realpath(root or corpus.root)
        self._found: dict[str, str | None] = {}

    def find(self, path: str) -> str | None:
        """Return the listed path of the file that a relative path leads to; None if it is not listed or not inside."""
        if path in self._known:
            return path
        if path not in self._found:
            self._found[path] = self._follow(path)
        return self._found[path]

    def _follow(self, path: str) -> str | None:
        try:
            real = inside(self._root, path)
            if not os.path.isfile(real):
                return None
        except (CorpusError, ValueError):  # outside, or not a name that a file can have
            return None
        direct = os.path.relpath(real, self._root)
        return direct if direct in self._known else self._listed_links.get(real)

    @cached_property
    def _listed_links(self) -> dict[str, str]:
        """The listed paths that are links themselves, by the files they lead to."""
        reals = {os.path.realpath(os.path.join(self._root, path)): path for path in sorted(self._known)}
        return {real: path for real, path in reals.items() if real != os.path.join(self._root, path)}
