"""Local and remote git repositories at a revision.

Files are read as blobs of the commit: no checkout, so no hooks, smudge filters, line-end conversion or submodules, and
the work tree of a local repository is never touched.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NoReturn

from assay.corpus.config import ArchiveLimits
from assay.corpus.folder import named_folder
from assay.corpus.git import git, git_stream
from assay.corpus.kinds import CorpusRequest, LocatedCorpus, from_entry
from assay.corpus.spec import is_url, without_credentials
from assay.corpus.tools import CommandOutput
from assay.corpus.tree_cache import FetchedTree
from assay.corpus.writer import TreeWriter
from assay.errors import CorpusError, SetupError
from assay.store import Store
from assay.store.kinds import MIRRORS

#: A full hash, whose content never changes.
COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
#: Marks a mirror with a running or killed fetch, which is not reused.
_BUSY: Final = "assay-busy"
_ALL: Final = ("+HEAD:refs/assay/head", "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_NO_REPOSITORY: Final = re.compile(
    r"not found|does not exist|does not appear to be a git repository|could not read Username|authentication failed"
    r"|permission denied|access denied|not a git repository",
    re.IGNORECASE,
)
_NO_REVISION: Final = re.compile(
    r"couldn't find remote ref|not our ref|unadvertised object|invalid refspec|no such ref|not a valid|bad object",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mirror:
    """A bare repository with the commit."""

    folder: Path
    commit: str


@contextmanager
def open_mirror(store: Store, url: str) -> Iterator[Path]:
    """Lock the mirror of a URL and yield its directory."""
    with store.workspace(MIRRORS.name, url) as workspace:
        yield workspace / "repository"


def fetch_commit(folder: Path, url: str, rev: str, limits: ArchiveLimits) -> Mirror:
    """Fetch a revision into a mirror."""
    if (folder / _BUSY).exists() or not (folder / "HEAD").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        made = git("init", "--quiet", "--bare", "--template=", ".", cwd=folder, limits=limits)
        if made.code:
            raise SetupError(f"git init failed: {made.last_words}", file=folder, hint="check `git --version`")
    (folder / _BUSY).touch()
    here = _commit(folder, rev, limits) if COMMIT.fullmatch(rev) else None
    commit = here or _shallow(folder, url, rev, limits) or _whole(folder, url, rev, limits)
    (folder / _BUSY).unlink()
    return Mirror(folder, commit)


def _shallow(folder: Path, url: str, rev: str, limits: ArchiveLimits) -> str | None:
    # None when the server does not offer a single commit under this name
    if re.search(r"[~^]", rev):
        return None
    fetched = _git(folder, "fetch", "--quiet", "--no-tags", "--depth=1", "--", url, rev, limits=limits)
    if fetched.code == 0:
        return _commit(folder, "FETCH_HEAD", limits)
    if not _NO_REVISION.search(fetched.err) and _NO_REPOSITORY.search(fetched.err):
        _no_repository(url, fetched)
    return None


def _whole(folder: Path, url: str, rev: str, limits: ArchiveLimits) -> str:
    deepen = ("--unshallow",) if (folder / "shallow").exists() else ()
    options = ("--quiet", "--prune", "--update-head-ok", *deepen)
    fetched = _git(folder, "fetch", *options, "--", url, *_ALL, limits=limits)
    if fetched.code and not _NO_REVISION.search(fetched.err):
        if _NO_REPOSITORY.search(fetched.err):
            _no_repository(url, fetched)
        raise SetupError(
            f"{without_credentials(url)} cannot be fetched: {without_credentials(fetched.last_words)}",
            hint="check the network and the URL",
        )
    name = re.sub(r"^HEAD(?=[~^]|$)", "refs/assay/head", rev)
    commit = _commit(folder, name, limits)
    if commit is None:
        (folder / _BUSY).unlink()
        raise CorpusError(
            f"revision {rev!r} is not found in {without_credentials(url)}",
            hint=f"see `git ls-remote {without_credentials(url)}`",
        )
    return commit


def _commit(folder: Path, rev: str, limits: ArchiveLimits) -> str | None:
    found = _git(folder, "rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}", limits=limits)
    return None if found.code else found.out.decode().strip()


def _no_repository(url: str, fetched: CommandOutput) -> NoReturn:
    raise CorpusError(
        f"{without_credentials(url)} is not a readable git repository: {without_credentials(fetched.last_words)}",
        hint="check the URL; for a private repository set up git's own credentials (git-credential, ssh)",
    )


def _git(folder: Path, *arguments: str, limits: ArchiveLimits) -> CommandOutput:
    return git("--git-dir=.", *arguments, cwd=folder, limits=limits)


_BAD_REVISION: Final = re.compile(r"^-|[\x00-\x20\x7f:\\?*\[]|\.\.|@\{|^$")
_PROTOCOL: Final = re.compile(r"(https?|ssh|git|file)://.", re.IGNORECASE)
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Blob:
    """A line of `git ls-tree`."""

    mode: str
    kind: str
    oid: str
    path: str


def locate(request: CorpusRequest) -> LocatedCorpus:
    """Resolve the commit and unpack it into the cache."""
    spec = request.spec
    rev = spec.rev or "HEAD"
    if _BAD_REVISION.search(rev):
        raise CorpusError(f"{rev!r} is not a revision", hint="name a commit, a tag or a branch")
    if is_url(spec.value):
        return _locate_remote(request, spec.value, rev)
    repository = named_folder(request)
    commit = _resolve(repository, rev, request)
    entry = request.trees.obtain(
        f"git-commit {commit}", lambda work: _unpack(repository, commit, work, request, spec.value)
    )
    return from_entry(request, entry, built_in=False)


def _locate_remote(request: CorpusRequest, url: str, rev: str) -> LocatedCorpus:
    scp = re.fullmatch(r"([\w.-]+@)?[\w.-]+:(?![:/]/?/).+", url)
    if url.startswith("-") or not (_PROTOCOL.match(url) or scp):
        raise CorpusError(
            f"{without_credentials(url)!r} is not a URL of a git repository",
            hint="use https://, ssh://, git://, file:// or user@host:path",
        )

    def fetch(work: Path) -> FetchedTree:
        with open_mirror(request.trees.store, url) as folder:
            mirror = fetch_commit(folder, url, rev, request.limits)
            return _unpack(mirror.folder, mirror.commit, work, request, without_credentials(url))

    tail = re.search(r"[?#].*", url, re.DOTALL)
    secret = f"?{hashlib.sha256(tail[0].encode('utf-8', 'surrogateescape')).hexdigest()}" if tail else ""
    key = f"git-remote {without_credentials(url)}{secret} {rev}"
    if COMMIT.fullmatch(rev):
        return from_entry(request, request.trees.obtain(key, fetch), built_in=False)
    try:
        return from_entry(request, request.trees.obtain(key, fetch, refresh=True), built_in=False)
    except SetupError as error:
        entry = request.trees.recall(key)
        if entry is None:
            raise
        note = f"{error.message}; {rev} is used as it was last fetched, commit {entry.revision}"
        return from_entry(request, entry, built_in=False, notes=(note,))


def _resolve(repository: Path, rev: str, request: CorpusRequest) -> str:
    inside = git("rev-parse", "--git-dir", cwd=repository, limits=request.limits)
    if inside.code:
        raise CorpusError(
            f"git cannot read this repository: {inside.last_words}",
            file=repository,
            hint="name the folder of a git repository; to use its files as they are, leave out `git:`",
        )
    found = git("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}", cwd=repository, limits=request.limits)
    if found.code:
        raise CorpusError(
            f"revision {rev!r} is not found", file=repository, hint="see `git log` and `git tag`, or fetch it first"
        )
    return found.out.decode().strip()


def _unpack(repository: Path, commit: str, work: Path, request: CorpusRequest, source: str) -> FetchedTree:
    blobs = list(_list(repository, commit, request))
    with TreeWriter(work / "tree", source=f"{source}@{commit[:12]}", limits=request.limits) as writer:
        _write(repository, [blob for blob in blobs if blob.kind == "blob"], work, writer)
        writer.finish(outside_links=True)
    modules = sorted(blob.path for blob in blobs if blob.kind == "commit")
    notes = (f"submodules are not part of the corpus: {', '.join(modules)}",) if modules else ()
    return FetchedTree(writer.root, f"git-{commit}", commit, notes=notes)


def _list(repository: Path, commit: str, request: CorpusRequest) -> Iterator[_Blob]:
    listed = git("ls-tree", "-r", "-z", "--full-tree", commit, cwd=repository, limits=request.limits)
    if listed.code:
        raise CorpusError(f"commit {commit} cannot be listed: {listed.last_words}", file=repository)
    for line in listed.out.split(b"\0"):
        if line:
            about, _, path = line.partition(b"\t")
            mode, kind, oid = about.decode("ascii").split()
            yield _Blob(mode, kind, oid, path.decode("utf-8", "surrogateescape"))


def _write(repository: Path, blobs: list[_Blob], work: Path, writer: TreeWriter) -> None:
    wanted = work / "objects"
    wanted.write_text("".join(f"{blob.oid}\n" for blob in blobs), encoding="ascii")
    with open(wanted, "rb") as names, git_stream("cat-file", "--batch", cwd=repository, stdin=names) as stream:
        for blob in blobs:
            _write_blob(stream, blob, writer)


def _write_blob(stream: IO[bytes], blob: _Blob, writer: TreeWriter) -> None:
    header = stream.readline().split()
    if len(header) != 3 or header[1] != b"blob":
        raise CorpusError(
            f"git has no content for {blob.path}", hint="the clone is partial or damaged: run `git fsck`, fetch it all"
        )
    content = _chunks(stream, int(header[2]))
    if blob.mode == "120000":
        writer.link(blob.path, b"".join(content).decode("utf-8", "surrogateescape"))
    else:
        writer.file(blob.path, content)
    stream.read(1)


def _chunks(stream: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0:
        chunk = stream.read(min(size, _CHUNK))
        if not chunk:
            raise CorpusError("git stopped in the middle of a file", hint="run `git fsck` on the repository")
        size -= len(chunk)
        yield chunk
