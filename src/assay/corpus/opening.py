"""Open corpora, locate local ones without fetching, and read, find and copy their files."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

from assay.corpus.contents import DEFAULT_WALKING, StatCache, WalkConfig, decode_text
from assay.corpus.git import git, locate_git
from assay.corpus.ignore import compile_globs
from assay.corpus.sources import KINDS, CorpusRequest, LocatedCorpus, TreeCache, locate_path, locate_stdlib
from assay.corpus.spec import is_url, spec_text
from assay.corpus.unpack import DEFAULT_LIMITS, ArchiveLimits, FetchedTree
from assay.corpus.walk import WalkResult, walk
from assay.errors import CorpusError, SetupError
from assay.files import is_inside, open_regular
from assay.records import dataclass
from assay.redaction import strip_credentials
from assay.store.kinds import TREES, cache_dir
from assay.store.store import Store
from assay.types import Corpus, CorpusSpec

#: Author of the commit that `copy_corpus` creates.
_IDENTITY = ("-c", "user.name=assay", "-c", "user.email=assay@localhost", "-c", "commit.gpgsign=false")


def open_corpus(
    spec: CorpusSpec,
    *,
    base: Path | None = None,
    cache: Path | None = None,
    limits: ArchiveLimits = DEFAULT_LIMITS,
    walking: WalkConfig = DEFAULT_WALKING,
    memory: StatCache | None = None,
) -> Corpus:
    """Fetch a corpus if necessary and list its included files; raise CorpusError if there are none.

    `memory` caches file hashes between calls, so unchanged files are not read again. Fetched corpora do not use it.
    """
    store = Store((cache or cache_dir()).absolute())
    request = CorpusRequest(spec, (base or Path.cwd()).absolute(), TreeCache(store), limits)
    globs = compile_globs(spec)
    for attempt in range(2):
        located = locate_corpus(request)
        entry = located.entry
        walked = walk(located, globs, walking, limits, memory if entry is None else None)
        if entry is None or _is_intact(entry, located.root, walked):
            break
        if attempt:
            hint = "set ASSAY_CACHE_DIR to a directory that no other program writes to"
            raise SetupError("a cached tree changed while it was read", file=store.root, hint=hint)
        store.remove(TREES.name, entry.content)
    if not walked.files:
        raise _empty_error(spec, located.root, walked)
    return Corpus(
        root=located.root,
        spec=spec,
        files=walked.files,
        digest=corpus_digest(walked.hashes),
        skipped=walked.skipped,
        notes=(*located.notes, *walked.notes),
        revision=located.revision,
        hashes=walked.hashes,
    )


def locate_corpus(request: CorpusRequest) -> LocatedCorpus:
    kind = KINDS.get(request.spec.kind)
    if kind is None:
        raise CorpusError(f"unknown corpus kind {request.spec.kind!r}", hint=f"use one of: {', '.join(KINDS)}")
    if request.spec.rev is not None and not kind.has_revision:
        hint = "remove the revision, or use git:URL@REV"
        raise CorpusError(f"a corpus of kind {kind.name!r} cannot have a revision", hint=hint)
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


def corpus_digest(hashes: Mapping[str, str]) -> str:
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
    shown = replace(spec, value=strip_credentials(spec.value), exclude=())
    rules = "globs and ignore files" if spec.include or spec.exclude else "ignore files"
    return CorpusError(
        f"the corpus {spec_text(shown)} is empty" + (f"; skipped: {left_out}" if left_out else ""),
        file=root,
        hint=f"check that the directory has source files that the {rules} do not exclude",
    )


@dataclass(frozen=True, slots=True)
class LocalCorpus:
    root: str  # real
    revision: str | None

    def text(self, path: str) -> str:
        """Read and decode a file; raise OSError if it is unreadable, CorpusError if it is outside the corpus."""
        with open_regular(resolve_inside(self.root, path)) as stream:
            return decode_text(stream.read())


def find_local(
    spec: CorpusSpec, *, base: Path | None = None, cache: Path | None = None, revision: str | None = None
) -> LocalCorpus:
    """Locate a corpus on disk or in the cache without fetching; `revision` selects a commit of a local repository."""
    if spec.kind == "git" and revision and not is_url(spec.value):
        spec = replace(spec, rev=revision)
    trees = TreeCache(Store((cache or cache_dir()).absolute()), offline=True)
    located = locate_corpus(CorpusRequest(spec, (base or Path.cwd()).absolute(), trees, DEFAULT_LIMITS))
    return LocalCorpus(os.path.realpath(located.root), located.revision)


def read_text(corpus: Corpus, path: str) -> str:
    return decode_text(read_bytes(corpus, path))


def read_bytes(corpus: Corpus, path: str, resolve: Callable[[str], str] | None = None) -> bytes:
    """Read a file; `resolve` returns its real path, for callers that read many files."""
    real = resolve(path) if resolve else resolve_inside(os.path.realpath(corpus.root), path)
    try:
        with open_regular(real) as stream:
            return stream.read()
    except OSError as error:
        if not corpus.root.is_dir():
            message, hint = "the corpus directory was removed during use", "restore the directory and run again"
            raise CorpusError(message, file=corpus.root, hint=hint) from error
        message = f"cannot read the file: {error.strerror or error}"
        hint = "check that the file exists and is readable, then run again"
        raise CorpusError(message, file=corpus.root / path, hint=hint) from error


def resolve_inside(root: str, path: str) -> str:
    """Return the real path of `path` in the real directory `root`; raise CorpusError for a path outside `root`."""
    if path and "\0" not in path and not path.startswith("/") and ".." not in path.split("/"):
        real = os.path.realpath(os.path.join(root, path))
        if is_inside(real, root):
            return real
    raise CorpusError(f"{path!r} is outside the corpus", file=root, hint="use paths relative to the corpus root")


def path_resolver(corpus: Corpus) -> Callable[[str], str]:
    """Return a `resolve_inside` for the files of a corpus that resolves each directory once."""
    root = os.path.realpath(corpus.root)
    resolve_directory = cache(lambda directory: resolve_inside(root, directory) if directory else root)

    def resolve(path: str) -> str:
        directory, _, name = path.rpartition("/")
        real = os.path.join(resolve_directory(directory), name)
        return resolve_inside(root, path) if os.path.islink(real) else real

    return resolve


class ListedPaths:
    def __init__(self, corpus: Corpus, root: Path | None = None) -> None:
        self._known = frozenset(file.path for file in corpus.files)
        self._root = os.path.realpath(root or corpus.root)
        self._found: dict[str, str | None] = {}

    def find(self, path: str) -> str | None:
        """Return the corpus path of a file, following links, or None if the corpus does not include the file."""
        if path in self._known:
            return path
        if path not in self._found:
            self._found[path] = None
            with suppress(CorpusError, ValueError):  # outside, or an invalid file name
                real = resolve_inside(self._root, path)
                direct = os.path.relpath(real, self._root)
                if os.path.isfile(real):
                    self._found[path] = direct if direct in self._known else self._listed_links.get(real)
        return self._found[path]

    @cached_property
    def _listed_links(self) -> dict[str, str]:
        reals = {os.path.realpath(os.path.join(self._root, path)): path for path in sorted(self._known)}
        return {real: path for real, path in reals.items() if real != os.path.join(self._root, path)}


def copy_corpus(corpus: Corpus, directory: Path, *, commit: bool = False) -> Corpus:
    """Copy a corpus to a subdirectory named like its root; with `commit`, commit the copy to a new git repository."""
    root = directory / (corpus.root.resolve().name or "corpus")
    root.mkdir(parents=True)
    for file in corpus.files:
        data = read_bytes(corpus, file.path)
        known = corpus.hashes.get(file.path)
        if known is not None and hashlib.sha256(data).hexdigest() != known:
            hint = "do not edit the corpus during a run"
            raise CorpusError(f"{file.path} changed during the run", file=corpus.root, hint=hint)
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as stream:
            stream.write(data)
    steps = (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "--all", "--force"),
        (*_IDENTITY, "commit", "--quiet", "--allow-empty", "--no-verify", "--message=corpus"),
    )
    for arguments in steps if commit else ():
        answer = git(*arguments, cwd=root)
        if answer.code:
            hint = "check that `git init` works in an empty directory"
            raise SetupError(f"git failed in a copy of the corpus: {answer.last_error_line}", hint=hint)
    return replace(corpus, root=root)


def directory_size(directory: Path) -> int:
    """Return the total size in bytes of all files below a directory; links are not followed."""
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total
