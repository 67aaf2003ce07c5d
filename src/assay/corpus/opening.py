"""Open a corpus: locate, walk, hash, and verify cached trees."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assay.corpus.contents import DEFAULT_WALKING, StatCache, WalkConfig
from assay.corpus.copying import decode_text, inside
from assay.corpus.git import locate_git
from assay.corpus.ignore import compile_globs
from assay.corpus.sources import (
    DEFAULT_LIMITS,
    KINDS,
    ArchiveLimits,
    CorpusRequest,
    FetchedTree,
    LocatedCorpus,
    TreeCache,
    locate_path,
    locate_stdlib,
)
from assay.corpus.spec import is_url, spec_text, without_credentials
from assay.corpus.walk import WalkResult, walk
from assay.errors import CorpusError, SetupError
from assay.store import Store, cache_dir
from assay.store.kinds import TREES
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
    """Fetch a corpus if necessary and list its included files.

    `memory` is updated; files that have not changed since its last update are not read again.
    """
    store = Store((cache or cache_dir()).absolute())
    request = CorpusRequest(spec, (base or Path.cwd()).absolute(), TreeCache(store), limits)
    globs = compile_globs(spec)
    for attempt in range(2):
        located = locate(request)
        entry = located.entry
        walked = walk(located, globs, walking, limits, memory if entry is None else None)
        if entry is None or _is_intact(entry, located.root, walked):
            break
        if attempt:
            hint = "set ASSAY_CACHE_DIR to a directory that no other program writes"
            raise SetupError("a cached tree changed while it was read", file=store.root, hint=hint)
        store.remove(TREES.name, entry.content)
    if not walked.files:
        raise _empty_error(spec, located.root, walked)
    return Corpus(
        root=located.root,
        spec=spec,
        files=walked.files,
        digest=digest(walked.hashes),
        skipped=walked.skipped,
        notes=(*located.notes, *walked.notes),
        revision=located.revision,
        hashes=walked.hashes,
    )


def locate(request: CorpusRequest) -> LocatedCorpus:
    """Locate the directory of a corpus, fetching the corpus if necessary."""
    kind = KINDS.get(request.spec.kind)
    if kind is None:
        raise CorpusError(f"unknown kind of corpus {request.spec.kind!r}", hint=f"use one of: {', '.join(KINDS)}")
    if request.spec.rev is not None and not kind.has_revision:
        hint = f"use git:{request.spec.value}@REV for a commit"
        raise CorpusError(f"a corpus of kind {kind.name!r} has no revision", hint=hint)
    match kind.name:
        case "path":
            return locate_path(request)
        case "stdlib":
            return locate_stdlib(request)
        case "git":
            return locate_git(request)
        case "pypi" | "npm":
            from assay.corpus.packages import locate_npm, locate_pypi

            return locate_pypi(request) if kind.name == "pypi" else locate_npm(request)


def digest(hashes: Mapping[str, str]) -> str:
    """Return a digest of paths and contents that is the same on every machine."""
    sha = hashlib.sha256()
    for path in sorted(hashes):
        sha.update(path.encode("utf-8") + b"\0" + hashes[path].encode("ascii") + b"\n")
    return sha.hexdigest()


def _is_intact(entry: FetchedTree, root: Path, walked: WalkResult) -> bool:
    if not all(os.path.lexists(f"{entry.tree}/{path}") for path in entry.manifest):
        return False
    tree = os.path.realpath(entry.tree)
    reals = {os.path.relpath(os.path.realpath(f"{root}/{path}"), tree): sha for path, sha in walked.hashes.items()}
    return reals.items() <= entry.manifest.items()


def _empty_error(spec: CorpusSpec, root: Path, walked: WalkResult) -> CorpusError:
    reasons = Counter(skipped.reason for skipped in walked.skipped)
    left_out = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    shown = replace(spec, value=without_credentials(spec.value), exclude=())
    return CorpusError(
        f"the corpus {spec_text(shown)} is empty" + (f"; skipped: {left_out}" if left_out else ""),
        file=root,
        hint="check the include and exclude globs" if spec.include or spec.exclude else "check the path",
    )


@dataclass(frozen=True, slots=True)
class LocalCorpus:
    root: str  # real
    revision: str | None

    def text(self, path: str) -> str:
        """Read a file of the corpus; raise OSError if the file cannot be read."""
        with open(inside(self.root, path), "rb") as stream:
            return decode_text(stream.read())


def find_local(
    spec: CorpusSpec, *, base: Path | None = None, cache: Path | None = None, revision: str | None = None
) -> LocalCorpus:
    """Locate a corpus without fetching; in a local repository, `revision` selects the commit."""
    if spec.kind == "git" and revision and not is_url(spec.value):
        spec = replace(spec, rev=revision)
    trees = TreeCache(Store((cache or cache_dir()).absolute()), offline=True)
    located = locate(CorpusRequest(spec, (base or Path.cwd()).absolute(), trees, DEFAULT_LIMITS))
    return LocalCorpus(os.path.realpath(located.root), located.revision)
