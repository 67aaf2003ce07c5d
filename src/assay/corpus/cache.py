"""Where fetched trees live.

    CACHE/refs/REQUEST.json     what was asked for -> which content, which revision
    CACHE/trees/CONTENT/tree/   the files, addressed by the hash of the archive or commit they came from
    CACHE/trees/CONTENT/entry.json    path -> sha256 of every file
    CACHE/mirrors/URL/          bare git repositories
    CACHE/locks/, CACHE/tmp/

A tree is made in tmp/ and renamed into place, and a ref is written only after its tree, so a kill at any instant leaves
nothing that is later trusted. Every file that is used is checked against entry.json when a corpus is opened, so a
disk that lost data after a power cut is noticed as well.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from assay.errors import SetupError
from assay.files import remove_leftovers, sync_folder, write_atomic

#: Raised when the layout, or what unpacking writes, changes; older entries are then simply not found.
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class FetchedTree:
    """What a fetch brought: files in `tree`, and where they come from."""

    tree: Path
    content: str  # the hash that names it, with its kind: sha256-…, git-…
    manifest: Mapping[str, str]  # path -> sha256 of every file, `link:TARGET` of every link
    revision: str
    root: str = ""  # the folder inside the tree that archives wrap everything in
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CachedTree:
    """A tree in the cache."""

    tree: Path
    content: str
    manifest: Mapping[str, str]
    revision: str
    root: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Ref:
    """A line of refs/: what a request led to."""

    format: int
    request: str
    content: str
    revision: str
    root: str
    notes: tuple[str, ...]


def cache_dir() -> Path:
    """Find the cache: $ASSAY_CACHE_DIR, else $XDG_CACHE_HOME/assay, else ~/.cache/assay."""
    if own := os.environ.get("ASSAY_CACHE_DIR"):
        return Path(own).expanduser()
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification tells programs to ignore a relative path.
    base = Path(xdg) if xdg and Path(xdg).is_absolute() else Path.home() / ".cache"
    return base / "assay"


@dataclass(frozen=True, slots=True)
class CorpusCache:
    """The cache of one folder, safe against other processes and against being killed."""

    root: Path

    def obtain(self, request: str, fetch: Callable[[Path], FetchedTree]) -> CachedTree:
        """Return the tree that a request led to, fetching it once; `fetch` works in a folder of its own."""
        with self.lock(request):
            return self._recall(request) or self._fetch(request, fetch)

    def refresh(self, request: str, fetch: Callable[[Path], FetchedTree]) -> CachedTree:
        """Fetch anew, for requests whose answer may change: a branch, a range of versions."""
        with self.lock(request):
            return self._fetch(request, fetch)

    def recall(self, request: str) -> CachedTree | None:
        """Return what a request led to the last time, without asking anyone."""
        with self.lock(request):
            return self._recall(request)

    def evict(self, content: str) -> None:
        """Take a damaged tree out of the store."""
        grave = self._temporary("evicted")
        with suppress(FileNotFoundError):
            os.rename(self.root / "trees" / content, grave / "tree")
        shutil.rmtree(grave, ignore_errors=True)

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold a key against other processes; the system lets go of it when the holder dies."""
        path = self._folder("locks") / f"{digest(key)}.lock"
        with _writable(self.root):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def mirror(self, url: str) -> Path:
        """Name the folder of a mirror."""
        return self._folder("mirrors") / digest(url)

    def discard(self, folder: Path) -> None:
        """Remove a folder in one instant, as others see it."""
        grave = self._temporary("discarded")
        with suppress(FileNotFoundError):
            os.rename(folder, grave / "folder")
        shutil.rmtree(grave, ignore_errors=True)

    def _recall(self, request: str) -> CachedTree | None:
        try:
            ref = json.loads((self.root / "refs" / f"{digest(request)}.json").read_bytes())
            folder = self.root / "trees" / ref["content"]
            manifest = json.loads((folder / "entry.json").read_bytes())
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if ref.get("format") != _FORMAT or ref.get("request") != request:
            return None
        return CachedTree(folder / "tree", ref["content"], manifest, ref["revision"], ref["root"], tuple(ref["notes"]))

    def _fetch(self, request: str, fetch: Callable[[Path], FetchedTree]) -> CachedTree:
        self._sweep(request)
        work = self._temporary(digest(request))
        try:
            with _writable(self.root):
                fetched = fetch(work)
                tree = self._publish(work, fetched)
                self._write_ref(request, fetched)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return CachedTree(tree, fetched.content, fetched.manifest, fetched.revision, fetched.root, fetched.notes)

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

    def _write_ref(self, request: str, fetched: FetchedTree) -> None:
        ref = _Ref(_FORMAT, request, fetched.content, fetched.revision, fetched.root, fetched.notes)
        final = self._folder("refs") / f"{digest(request)}.json"
        write_atomic(final, json.dumps(asdict(ref)))

    def _sweep(self, request: str) -> None:
        name = digest(request)
        leftovers = [*self._folder("tmp").glob(f"{name}.*"), *self._folder("tmp").glob("evicted.*")]
        for folder in sorted(leftovers):
            shutil.rmtree(folder, ignore_errors=True)
        remove_leftovers(self._folder("refs"), f"{name}.json")

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
    """Turn a request into a file name."""
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
