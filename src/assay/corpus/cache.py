"""The cache of fetched trees.

    CACHE/refs/REQUEST.json     request -> content and revision
    CACHE/trees/CONTENT/tree/   the files, addressed by the hash of their archive or commit
    CACHE/trees/CONTENT/entry.json    path -> sha256 of every file
    CACHE/mirrors/URL/          bare git repositories
    CACHE/locks/, CACHE/tmp/

A tree is built in tmp/ and renamed into place, and its ref is written afterwards, so a killed process leaves nothing
that is trusted later. Opening a corpus checks every used file against entry.json, which also detects data lost in a
power cut.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from assay.errors import SetupError
from assay.files import remove_leftovers, sync_folder, write_atomic
from assay.locks import FileLock

#: Raised when the layout or the unpacked content changes; older entries are then not found.
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class FetchedTree:
    """A fetched tree and its origin."""

    tree: Path
    content: str  # the hash that names it, with its kind: sha256-…, git-…
    manifest: Mapping[str, str]  # path -> sha256 of every file, `link:TARGET` of every link
    revision: str
    root: str = ""  # the directory inside the tree that archives wrap everything in
    notes: tuple[str, ...] = ()


def cache_dir() -> Path:
    """Return the cache directory: $ASSAY_CACHE_DIR, else $XDG_CACHE_HOME/assay, else ~/.cache/assay."""
    if own := os.environ.get("ASSAY_CACHE_DIR"):
        return Path(own).expanduser()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification requires relative paths to be ignored.
    base = Path(xdg) if xdg and Path(xdg).is_absolute() else Path.home() / ".cache"
    return base / "assay"


@dataclass(frozen=True, slots=True)
class CorpusCache:
    """The cache in one directory, safe against concurrent processes and kills."""

    root: Path

    def obtain(self, request: str, fetch: Callable[[Path], FetchedTree]) -> FetchedTree:
        """Return the tree of a request; `fetch` runs once, in an empty directory."""
        with self.lock(request):
            return self._recall(request) or self._fetch(request, fetch)

    def refresh(self, request: str, fetch: Callable[[Path], FetchedTree]) -> FetchedTree:
        """Fetch again, for requests whose result may change: a branch, a version range."""
        with self.lock(request):
            return self._fetch(request, fetch)

    def recall(self, request: str) -> FetchedTree | None:
        """Return the last tree of a request without fetching."""
        with self.lock(request):
            return self._recall(request)

    def evict(self, content: str) -> None:
        """Remove a damaged tree."""
        self.discard(self.root / "trees" / content)

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold a key against other processes."""
        lock = FileLock(self._folder("locks") / f"{digest(key)}.lock")
        with _writable(self.root):
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def mirror(self, url: str) -> Path:
        """Return the directory of a mirror."""
        return self._folder("mirrors") / digest(url)

    def discard(self, folder: Path) -> None:
        """Remove a directory atomically."""
        doomed = self._temporary("evicted")
        with suppress(FileNotFoundError):
            os.rename(folder, doomed / "folder")
        shutil.rmtree(doomed, ignore_errors=True)

    def _recall(self, request: str) -> FetchedTree | None:
        try:
            ref = json.loads((self.root / "refs" / f"{digest(request)}.json").read_bytes())
            folder = self.root / "trees" / ref["content"]
            manifest = json.loads((folder / "entry.json").read_bytes())
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if ref.get("format") != _FORMAT or ref.get("request") != request:
            return None
        return FetchedTree(folder / "tree", ref["content"], manifest, ref["revision"], ref["root"], tuple(ref["notes"]))

    def _fetch(self, request: str, fetch: Callable[[Path], FetchedTree]) -> FetchedTree:
        name = digest(request)
        temporary, refs = self._folder("tmp"), self._folder("refs")
        for leftover in sorted([*temporary.glob(f"{name}.*"), *temporary.glob("evicted.*")]):
            shutil.rmtree(leftover, ignore_errors=True)
        remove_leftovers(refs, f"{name}.json")
        work = self._temporary(name)
        try:
            with _writable(self.root):
                fetched = fetch(work)
                tree = self._publish(work, fetched)
                ref = {
                    "format": _FORMAT,
                    "request": request,
                    "content": fetched.content,
                    "revision": fetched.revision,
                    "root": fetched.root,
                    "notes": fetched.notes,
                }
                write_atomic(refs / f"{name}.json", json.dumps(ref))
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return replace(fetched, tree=tree)

    def _publish(self, work: Path, fetched: FetchedTree) -> Path:
        if not re.fullmatch(r"[a-z0-9]+-[0-9a-f]{40,128}", fetched.content):
            raise ValueError(f"not the name of a content: {fetched.content!r}")
        entry = work / "entry"
        entry.mkdir()
        os.rename(fetched.tree, entry / "tree")
        write_atomic(entry / "entry.json", json.dumps(dict(sorted(fetched.manifest.items()))))
        final = self._folder("trees") / fetched.content
        if not (final / "entry.json").exists():
            with suppress(FileExistsError, OSError):  # another process was first
                os.rename(entry, final)
        if not (final / "entry.json").exists():
            raise OSError(f"{final} could not be put in place")
        sync_folder(final.parent)
        return final / "tree"

    def _temporary(self, name: str) -> Path:
        path = self._folder("tmp") / f"{name}.{secrets.token_hex(8)}"
        with _writable(self.root):
            path.mkdir()
        return path

    def _folder(self, name: str) -> Path:
        path = self.root / name
        with _writable(self.root):
            path.mkdir(parents=True, exist_ok=True)
        return path


def digest(text: str) -> str:
    """Return the file name of a request."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:40]


@contextmanager
def _writable(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SetupError(
            f"the cache cannot be written: {error.strerror or error}",
            file=root,
            hint="free some space, or set ASSAY_CACHE_DIR to a folder you can write",
        ) from error
