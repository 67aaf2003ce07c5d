"""Run git safely, list tracked files, and unpack commits as corpora.

Files of a commit are read as blobs, without a checkout: no hooks, smudge filters, newline conversion or submodules, and
the work tree of a local repository is never touched.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Final, NamedTuple

from assay.corpus.contents import StatCache
from assay.corpus.ignore import IgnoreFile, read_level
from assay.corpus.sources import (
    CommandOutput,
    CorpusRequest,
    LocatedCorpus,
    locate_tree,
    missing_tool,
    named_directory,
    run_fetch_tool,
)
from assay.corpus.spec import is_url
from assay.corpus.unpack import DEFAULT_LIMITS, ArchiveLimits, FetchedTree, TreeWriter
from assay.errors import CorpusError, SetupError
from assay.files import open_regular
from assay.redaction import strip_credentials
from assay.store.kinds import MIRRORS
from assay.store.store import Store

#: `git rev-parse --local-env-vars`: hooks set some of these variables, which select another repository.
_LOCAL_VARIABLES: Final = """
    GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_OBJECT_DIRECTORY
    GIT_DIR GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_INDEX_FILE GIT_NO_REPLACE_OBJECTS
    GIT_REPLACE_REF_BASE GIT_PREFIX GIT_SHALLOW_FILE GIT_COMMON_DIR GIT_INTERNAL_SUPER_PREFIX
"""
#: No hook, no file-system monitor: the configuration of a repository must not start a program.
_SAFE: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "gc.auto=0")


def git(*arguments: str, cwd: Path, limits: ArchiveLimits = DEFAULT_LIMITS) -> CommandOutput:
    return run_fetch_tool(
        ["git", *_SAFE, *arguments], tool="git", seconds=limits.tool_seconds, cwd=cwd, env=_environment()
    )


def _environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in _LOCAL_VARIABLES.split()}
    return inherited | {
        "GIT_ALLOW_PROTOCOL": "file:https:ssh:git:http",  # not ext::, which runs a command
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",  # commits must match their hashes
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }


@contextmanager
def git_stream(*arguments: str, cwd: Path, stdin: IO[bytes]) -> Iterator[IO[bytes]]:
    import signal
    import subprocess

    try:
        process = subprocess.Popen(
            ["git", *_SAFE, *arguments],
            cwd=cwd,
            env=_environment(),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # no prompts on the terminal
        )
    except FileNotFoundError as error:
        raise missing_tool("git") from error
    with process:
        assert process.stdout is not None
        try:
            yield process.stdout
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise


def read_blobs(names: Iterable[str], *options: str, cwd: Path) -> Iterator[bytes | None]:
    """Yield the content of each named git object, or None if the object is missing or not a blob."""
    names = list(names)
    with _write_lines(names) as lines, git_stream(*options, "cat-file", "--batch", cwd=cwd, stdin=lines) as stream:
        for _ in names:
            header = stream.readline().split()
            exists = len(header) == 3 and header[2].isdigit()
            data = stream.read(int(header[2]) + 1) if exists else b""
            yield data[:-1] if exists and header[1] == b"blob" else None


@contextmanager
def _write_lines(lines: Iterable[str]) -> Iterator[IO[bytes]]:
    import tempfile

    with tempfile.TemporaryFile() as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
        stream.seek(0)
        yield stream


def is_linked_worktree(directory: str) -> bool:
    """Return whether a directory is a linked work tree, which duplicates the source of its repository."""
    with suppress(OSError), open_regular(os.path.realpath(os.path.join(directory, ".git"))) as stream:
        text = stream.read(4096)
        return text.startswith(b"gitdir:") and b"/worktrees/" in text
    return False


def read_repository(
    top: Path, below: Path, base: str, limits: ArchiveLimits, memory: StatCache
) -> tuple[frozenset[str], IgnoreFile | None] | str:
    """Return the tracked paths in `below` (files and directories) and the rules of info/exclude, or an error message.

    `base` is the path of the work tree `top` relative to the start of the walk; the returned paths begin with it.
    `memory` has the answer of git as long as git's index is unchanged.
    """
    failure = ""

    def ask_git() -> str | None:
        nonlocal failure
        try:
            where = git("rev-parse", "--show-toplevel", "--git-path", "info/exclude", cwd=below, limits=limits)
            listed = git("ls-files", "-z", "--full-name", cwd=below, limits=limits)
        except SetupError as error:
            failure = error.message
            return None
        if where.code or listed.code:
            failure = (where if where.code else listed).last_error_line
            return None
        top_level, exclude, *_ = os.fsdecode(where.out).split("\n")
        if not os.path.isdir(top_level) or not os.path.samefile(top_level, top):
            failure = "the directory belongs to another repository"
            return None
        return f"{exclude}\0{os.fsdecode(listed.out)}"

    directory = f"{top}/.git"
    if os.path.isdir(directory):  # not the file of a linked work tree, whose index is elsewhere
        decisive = [f"{directory}/{name}" for name in ("index", "config", "HEAD")]
        answer = memory.derive(f"git {top}\0{below}", decisive, ask_git)
    else:
        answer = ask_git()
    if answer is None:
        return failure
    exclude, *names = answer.split("\0")
    prefix = f"{base}/" if base else ""
    paths: set[str] = set()
    for name in filter(None, names):
        path = prefix + name
        while path and path not in paths:
            paths.add(path)
            path = path.rpartition("/")[0]
    return frozenset(paths), read_level(below / exclude, base)


#: Seconds to look up a commit; the first of 100,000 commits takes about one.
_LOOKUP_LIMITS: Final = replace(DEFAULT_LIMITS, tool_seconds=20.0)


def read_head(directory: Path) -> str | None:
    """Return the commit that is checked out in a directory; None outside of a repository."""
    return _read_commit(directory, "rev-parse", "--verify", "HEAD")


def read_root_commit(directory: Path) -> str | None:
    """Return the first commit of a repository, which all clones share; None if it is unknown, as in a shallow clone."""
    with suppress(SetupError):
        shallow = git("rev-parse", "--is-shallow-repository", cwd=directory, limits=_LOOKUP_LIMITS)
        if shallow.out.strip() == b"false":
            return _read_commit(directory, "rev-list", "--first-parent", "--max-parents=0", "HEAD")
    return None


def _read_commit(directory: Path, *arguments: str) -> str | None:
    with suppress(SetupError):
        found = git(*arguments, cwd=directory, limits=_LOOKUP_LIMITS)
        commit = os.fsdecode(found.out).strip()
        return commit if not found.code and COMMIT.fullmatch(commit) else None
    return None


_HUNK: Final = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@")


class DiffHunk(NamedTuple):
    """The line ranges of a diff hunk; if a count is 0, the start is the preceding line."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int


def parse_hunk(line: str | bytes) -> DiffHunk | None:
    """Parse a hunk header such as `@@ -1,2 +3,4 @@`; return None for any other line."""
    match = _HUNK.match(line if isinstance(line, str) else line.decode("latin-1"))
    if match is None:
        return None
    counts = [1 if count is None else int(count) for count in (match[2], match[4])]
    return DiffHunk(int(match[1]), counts[0], int(match[3]), counts[1])


#: A full hash, which always names the same content.
COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
#: Marks a mirror with a running or killed fetch, which is not reused.
_BUSY: Final = "assay-busy"
_ALL_REFS: Final = ("+HEAD:refs/assay/head", "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
_NO_REPOSITORY: Final = re.compile(
    r"not found|does not exist|does not appear to be a git repository|could not read Username|authentication failed"
    r"|permission denied|access denied|not a git repository",
    re.IGNORECASE,
)
_NO_REVISION: Final = re.compile(
    r"couldn't find remote ref|not our ref|unadvertised object|invalid refspec|no such ref|not a valid|bad object",
    re.IGNORECASE,
)
_BAD_REVISION: Final = re.compile(r"^-|[\x00-\x20\x7f:\\?*\[]|\.\.|@\{|^$")
_URL: Final = re.compile(r"(?:https?|ssh|git|file)://.|(?:[\w.-]+@)?[\w.-]+:(?![:/]/?/).+\Z", re.IGNORECASE)


def locate_git(request: CorpusRequest) -> LocatedCorpus:
    spec, rev, limits = request.spec, request.spec.rev or "HEAD", request.limits
    if _BAD_REVISION.search(rev):
        raise CorpusError(f"invalid revision {rev!r}", hint="use a commit, tag or branch")
    if is_url(spec.value):
        return locate_tree(request, _obtain_remote(request, spec.value, rev), built_in=False)
    repository = named_directory(request)
    inside = git("rev-parse", "--git-dir", cwd=repository, limits=limits)
    if inside.code:
        raise CorpusError(
            f"cannot read this repository: {inside.last_error_line}",
            file=repository,
            hint="use the directory of a git repository, or remove `git:` to use the files on disk",
        )
    commit = _resolve(rev, cwd=repository, limits=limits)
    if commit is None:
        hint = "list revisions with `git log` or `git tag`, or run `git fetch` first"
        raise CorpusError(f"revision {rev!r} not found", file=repository, hint=hint)
    entry = request.trees.obtain(
        f"git-commit {commit}", lambda work: _unpack(repository, commit, work, spec.value, limits)
    )
    return locate_tree(request, entry, built_in=False)


def _obtain_remote(request: CorpusRequest, url: str, rev: str) -> FetchedTree:
    shown = strip_credentials(url)
    if url.startswith("-") or not _URL.match(url):
        hint = "use https://, ssh://, git://, file:// or user@host:path"
        raise CorpusError(f"expected a git URL, got {shown!r}", hint=hint)

    def fetch(work: Path) -> FetchedTree:
        with open_mirror(request.trees.store, url) as mirror:
            commit = fetch_commit(mirror, url, rev, request.limits)
            return _unpack(mirror, commit, work, shown, request.limits)

    tail = re.search(r"[?#].*", url, re.DOTALL)
    secret = f"?{hashlib.sha256(os.fsencode(tail[0])).hexdigest()}" if tail else ""
    key = f"git-remote {shown}{secret} {rev}"
    try:
        return request.trees.obtain(key, fetch, refresh=not COMMIT.fullmatch(rev))
    except SetupError as error:
        last = request.trees.recall(key)
        if last is None:
            raise
        note = f"{error.message}; using the last fetched {rev}, commit {last.revision}"
        return replace(last, notes=(*last.notes, note))


@contextmanager
def open_mirror(store: Store, url: str) -> Iterator[Path]:
    with store.workspace(MIRRORS.name, url) as workspace:
        yield workspace / "repository"


def fetch_commit(mirror: Path, url: str, rev: str, limits: ArchiveLimits) -> str:
    """Return the commit of a revision; fetch it unless `rev` is a full hash that the mirror contains."""
    shown, busy = strip_credentials(url), mirror / _BUSY
    if busy.exists() or not (mirror / "HEAD").exists():
        import shutil

        shutil.rmtree(mirror, ignore_errors=True)
        mirror.mkdir(parents=True)
        made = git("init", "--quiet", "--bare", "--template=", ".", cwd=mirror, limits=limits)
        if made.code:
            hint = "check that git works and that the cache directory is writable"
            raise SetupError(f"git init failed: {made.last_error_line}", file=mirror, hint=hint)
    busy.touch()

    def resolve(name: str) -> str | None:
        return _resolve(name, "--git-dir=.", cwd=mirror, limits=limits)

    def fetch(*arguments: str) -> CommandOutput:
        fetched = git("--git-dir=.", "fetch", "--quiet", *arguments, cwd=mirror, limits=limits)
        if fetched.code and not _NO_REVISION.search(fetched.err) and _NO_REPOSITORY.search(fetched.err):
            raise CorpusError(
                f"{shown} is not a readable git repository: {strip_credentials(fetched.last_error_line)}",
                hint="check the URL; private repositories need git credentials (git-credential, ssh)",
            )
        return fetched

    commit = resolve(rev) if COMMIT.fullmatch(rev) else None
    if commit is None and not re.search(r"[~^]", rev) and not fetch("--no-tags", "--depth=1", "--", url, rev).code:
        commit = resolve("FETCH_HEAD")
    if commit is None:  # the server does not offer a single commit under this name
        deepen = ("--unshallow",) if (mirror / "shallow").exists() else ()
        fetched = fetch("--prune", "--update-head-ok", *deepen, "--", url, *_ALL_REFS)
        if fetched.code and not _NO_REVISION.search(fetched.err):
            reason = strip_credentials(fetched.last_error_line)
            raise SetupError(f"cannot fetch {shown}: {reason}", hint="check the network and the URL")
        commit = resolve(re.sub(r"^HEAD(?=[~^]|$)", "refs/assay/head", rev))
    busy.unlink()
    if commit is None:
        raise CorpusError(f"revision {rev!r} not found in {shown}", hint=f"list revisions with `git ls-remote {shown}`")
    return commit


def _resolve(rev: str, *options: str, cwd: Path, limits: ArchiveLimits) -> str | None:
    resolved = git(*options, "rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}", cwd=cwd, limits=limits)
    return None if resolved.code else resolved.out.decode().strip()


def _unpack(repository: Path, commit: str, work: Path, source: str, limits: ArchiveLimits) -> FetchedTree:
    listed = git("ls-tree", "-r", "-z", "--full-tree", commit, cwd=repository, limits=limits)
    if listed.code:
        raise CorpusError(f"cannot list commit {commit}: {listed.last_error_line}", file=repository)
    blobs: list[tuple[str, str, str]] = []  # mode, object and path
    modules: list[str] = []
    for line in filter(None, listed.out.split(b"\0")):
        about, _, name = line.partition(b"\t")
        mode, kind, oid = about.decode("ascii").split()
        path = name.decode("utf-8", "surrogateescape")
        if kind == "blob":
            blobs.append((mode, oid, path))
        elif kind == "commit":
            modules.append(path)
    with (
        TreeWriter(work / "tree", source=f"{source}@{commit[:12]}", limits=limits) as writer,
        _write_lines(oid for _, oid, _ in blobs) as names,
        git_stream("cat-file", "--batch", cwd=repository, stdin=names) as stream,
    ):
        for mode, _, path in blobs:
            header = stream.readline().split()
            if len(header) != 3 or header[1] != b"blob":
                message = f"cannot read {path} of the commit: the clone is partial or damaged"
                raise CorpusError(message, hint="run `git fsck`, then fetch all objects")
            content = _read_exactly(stream, int(header[2]))
            if mode == "120000":
                writer.add_link(path, b"".join(content).decode("utf-8", "surrogateescape"))
            else:
                writer.add_file(path, content)
            stream.read(1)
        writer.finish(outside_links=True)
    notes = (f"submodules are excluded: {', '.join(sorted(modules))}",) if modules else ()
    return FetchedTree(writer.root, f"git-{commit}", commit, notes=notes)


def _read_exactly(stream: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0:
        chunk = stream.read(min(size, 1 << 20))
        if not chunk:
            raise CorpusError("git output ended in the middle of a file", hint="run `git fsck` on the repository")
        size -= len(chunk)
        yield chunk
