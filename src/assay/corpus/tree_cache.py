"""Fetched trees in the store, verified when a corpus is opened.

A tree (`trees`) is named by the hash of its archive or commit. A request, such as a branch or a package version, maps
to a tree and a revision (`refs`), which is written last: a killed process leaves nothing that is trusted later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.errors import CorpusError
from assay.store import Store
from assay.store.entries import writing
from assay.store.kinds import REFS, TREES


@dataclass(frozen=True, slots=True)
class FetchedTree:
    """A fetched tree and its origin."""

    tree: Path
    content: str  # the hash that names it, with its kind: sha256-…, git-…
    revision: str
    root: str = ""  # the directory inside the tree that archives wrap everything in
    notes: tuple[str, ...] = ()
    manifest: Mapping[str, str] = field(default_factory=dict)  # path -> sha256 of every file; links have another value


@dataclass(frozen=True, slots=True)
class TreeCache:
    """The fetched trees of a store; an offline cache never fetches."""

    store: Store
    offline: bool = False

    def obtain(self, request: str, fetch: Callable[[Path], FetchedTree], *, refresh: bool = False) -> FetchedTree:
        """Return the tree of a request; `fetch` runs in an empty directory, once unless the result may change."""
        if self.offline:
            found = self.recall(request)
            if found is None:
                raise CorpusError("it is no longer in the cache", hint="a run, or `assay gold lint`, fetches it again")
            return found
        if not refresh and (found := self.recall(request)):
            return found
        with self.store.temporary(request) as work:
            assert work is not None
            if not refresh and (found := self.recall(request)):  # another process was first
                return found
            with writing(self.store.root):
                fetched = fetch(work)

                def move(content: Path) -> None:
                    os.rename(fetched.tree, content)

                tree = self.store.directory(TREES.name, fetched.content, move, check=False)
                ref = {"content": fetched.content, "revision": fetched.revision, "root": fetched.root}
                self.store.put(REFS.name, request, json.dumps({**ref, "notes": fetched.notes}).encode())
            return replace(fetched, tree=tree, manifest=self._manifest(fetched.content))

    def recall(self, request: str) -> FetchedTree | None:
        """Return the last tree of a request without fetching."""
        data = self.store.get(REFS.name, request)
        if data is None:
            return None
        ref = json.loads(data)
        tree = self.store.find(TREES.name, ref["content"], check=False)  # the walk verifies the files it reads
        if tree is None:
            return None
        notes, manifest = tuple(ref["notes"]), self._manifest(ref["content"])
        return FetchedTree(tree, ref["content"], ref["revision"], ref["root"], notes, manifest)

    def _manifest(self, content: str) -> dict[str, str]:
        entries = self.store.contents(TREES.name, content) or {}
        return {path: entry.rpartition(" ")[2] for path, entry in entries.items() if entry != "folder"}
