"""Open a corpus: locate it, walk it, hash it, and check what came from the cache."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assay.corpus.cache import CachedTree, CorpusCache, FetchedTree, cache_dir
from assay.corpus.config import DEFAULT_LIMITS, DEFAULT_WALKING, ArchiveLimits, WalkConfig
from assay.corpus.copying import decode_text, inside
from assay.corpus.ignore import Globs, compile_globs
from assay.corpus.kinds import CorpusRequest, LocatedCorpus, locate
from assay.corpus.spec import is_url, spec_text, without_credentials
from assay.corpus.stat_cache import StatCache
from assay.corpus.walk import WalkResult, walk
from assay.errors import CorpusError, SetupError
from assay.types import Corpus, CorpusSpec


def open_corpus(
    spec: CorpusSpec,
    *,
    base: Path | None = None,
    cache: Path | None = None,
    limits: ArchiveLimits = DEFAULT_LIMITS,
    walking: WalkConfig = DEFAULT_WALKING,
    memory: StatCache | None = None,
) -> Corpus:
    """Bring a corpus onto this machine and list the files that count.

    A memory spares reading what has not changed since it was last used, and then holds what was met this time.
    """
    store = CorpusCache((cache or cache_dir()).absolute())
    request = CorpusRequest(spec, (base or Path.cwd()).absolute(), store, limits)
    opened = _checked(request, _Way(compile_globs(spec), walking, memory))
    located, walked = opened.located, opened.walked
    if not walked.files:
        raise _empty(request, opened)
    notes = (*located.notes, *walked.notes)
    return Corpus(
        root=located.ground.root,
        spec=spec,
        files=walked.files,
        digest=digest(walked.hashes),
        skipped=walked.skipped,
        notes=notes,
        revision=located.revision,
        hashes=walked.hashes,
    )


def digest(hashes: Mapping[str, str]) -> str:
    """Hash paths and contents: the same tree gives the same digest anywhere."""
    sha = hashlib.sha256()
    for path in sorted(hashes):
        sha.update(path.encode("utf-8") + b"\0" + hashes[path].encode("ascii") + b"\n")
    return sha.hexdigest()


@dataclass(frozen=True, slots=True)
class _Way:
    """How to walk."""

    globs: Globs
    walking: WalkConfig
    memory: StatCache | None


def _checked(request: CorpusRequest, way: _Way) -> _Opened:
    opened = _located_and_walked(request, way)
    if opened.intact():
        return opened
    assert opened.located.entry is not None
    request.store.evict(opened.located.entry.content)
    again = _located_and_walked(request, way)
    if again.intact():
        return again
    raise SetupError(
        "a tree changes while it is read", file=request.store.root, hint="set ASSAY_CACHE_DIR to a folder of its own"
    )


def _located_and_walked(request: CorpusRequest, way: _Way) -> _Opened:
    located = locate(request)
    memory = way.memory if located.entry is None else None
    return _Opened(located, walk(located.ground, way.globs, way.walking, request.limits, memory))


@dataclass(frozen=True, slots=True)
class _Opened:
    """A located corpus and what the walk found in it."""

    located: LocatedCorpus
    walked: WalkResult

    def intact(self) -> bool:
        entry = self.located.entry
        if entry is None:
            return True
        if not all(os.path.lexists(f"{entry.tree}/{path}") for path in entry.manifest):
            return False
        tree = os.path.realpath(entry.tree)
        return all(self._recorded(entry, tree, path) == sha for path, sha in self.walked.hashes.items())

    def _recorded(self, entry: CachedTree, tree: str, path: str) -> str | None:
        return entry.manifest.get(os.path.relpath(os.path.realpath(f"{self.located.ground.root}/{path}"), tree))


def _empty(request: CorpusRequest, opened: _Opened) -> CorpusError:
    reasons = Counter(skipped.reason for skipped in opened.walked.skipped)
    left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    hint = "check the include and exclude globs" if request.spec.include or request.spec.exclude else "check the path"
    shown = replace(request.spec, value=without_credentials(request.spec.value), exclude=())
    return CorpusError(
        f"the corpus {spec_text(shown)} is empty" + (f"; left out: {left_out}" if left_out else ""),
        file=opened.located.ground.root,
        hint=hint,
    )


@dataclass(frozen=True, slots=True)
class LocalCorpus:
    """The folder of a corpus; which of its files count is for whoever asks to know."""

    root: str  # real
    revision: str | None

    def text(self, path: str) -> str:
        """Read a file below the root; OSError where it cannot be read."""
        with open(inside(self.root, path), "rb") as stream:
            return decode_text(stream.read())


class _OfflineCache(CorpusCache):
    """A cache that fetches nothing."""

    def obtain(self, request: str, fetch: Callable[[Path], FetchedTree]) -> CachedTree:  # noqa: ARG002 - a cache's signature
        found = self.recall(request)
        if found is None:
            raise CorpusError("it is no longer in the cache", hint="a run, or `assay gold lint`, fetches it again")
        return found

    refresh = obtain


def find_local(
    spec: CorpusSpec, *, base: Path | None = None, cache: Path | None = None, revision: str | None = None
) -> LocalCorpus:
    """Find a corpus on this machine; of a repository here, the revision that was used then."""
    if spec.kind == "git" and revision and not is_url(spec.value):
        spec = CorpusSpec(spec.kind, spec.value, revision, spec.root, spec.include, spec.exclude)
    store = _OfflineCache((cache or cache_dir()).absolute())
    located = locate(CorpusRequest(spec, (base or Path.cwd()).absolute(), store, DEFAULT_LIMITS))
    return LocalCorpus(os.path.realpath(located.ground.root), located.revision)
