"""The Git history of a directory (commits, changed lines, old files) and the name of the current user."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from assay.corpus.git import git, parse_hunk, read_blobs
from assay.corpus.sources import find_work_tree
from assay.corpus.unpack import ArchiveLimits
from assay.errors import AssayError, SetupError
from assay.types import Corpus

#: Starts a commit in the output of git; paths and diff lines never start with it.
_BEGIN: Final = "\x01"
#: Paths are not quoted; a rename is a removed and an added file.
_PLAIN: Final = ("-c", "core.quotePath=false")
_DIFF: Final = ("--relative", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--submodule=short")
#: Merges are compared to their first parent.
_FIRST_PARENT: Final = ("-m", "--first-parent")


class Commit(NamedTuple):
    id: str
    subject: str
    paths: tuple[str, ...]


class CommitMessage(NamedTuple):
    author: str
    body: str


class ChangedLines(NamedTuple):
    """The lines of the new file that a commit changed; a pure removal counts as the line before it, or as line 1."""

    commit: str
    path: str
    lines: tuple[int, ...] = ()


def list_commits(directory: Path, most: int, revision: str = "HEAD") -> tuple[Commit, ...]:
    """List up to `most` of the newest commits that changed a file below a directory, without merge commits."""
    return _list(directory, most, "--no-merges", revision)


def list_merges(directory: Path, most: int, revision: str = "HEAD") -> tuple[Commit, ...]:
    """List up to `most` of the newest merges along first parents, with the files of a directory that each changed."""
    return _list(directory, most, "--merges", *_FIRST_PARENT, revision)


def _list(directory: Path, most: int, *which: str) -> tuple[Commit, ...]:
    printed = _run(directory, "log", *which, f"-n{most}", f"--format={_BEGIN}%H %s", "--name-only", *_DIFF, "--", ".")
    commits = []
    for part in _split_commits(printed):
        head, *names = part.split("\n")
        commit, _, subject = head.partition(" ")
        paths = tuple(name for name in names if name and not name.startswith('"'))
        commits.append(Commit(commit, subject.strip(), paths))
    return tuple(commits)


def _run(directory: Path, *arguments: str) -> str:
    answer = git(*_PLAIN, *arguments, cwd=directory, limits=ArchiveLimits())
    if answer.code:
        raise SetupError(f"cannot read the git history of {directory}: {answer.last_error_line}")
    return answer.out.decode("utf-8", "surrogateescape")


def _split_commits(printed: str) -> list[str]:
    return f"\n{printed}".split(f"\n{_BEGIN}")[1:]


def list_changes(directory: Path, ids: Sequence[str]) -> tuple[ChangedLines, ...]:
    if not ids:
        return ()
    prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
    printed = _run(directory, "show", "-U0", f"--format={_BEGIN}%H", *_FIRST_PARENT, *_DIFF, *prefixes, *ids, "--", ".")
    return tuple(change for part in _split_commits(printed) for change in _parse_changes(part))


def _parse_changes(printed: str) -> Iterator[ChangedLines]:
    lines = iter(printed.split("\n"))
    commit, path, written = next(lines), "", list[int]()
    for line in lines:
        hunk = parse_hunk(line)
        if line.startswith("+++ "):
            yield from [ChangedLines(commit, path, tuple(written))] if written else []
            path, written = line.removeprefix("+++ ").removeprefix("b/").rstrip("\t"), []
        elif hunk is not None:
            start, added = hunk.new_start, hunk.new_count
            written += range(start, start + added) if added else [max(start, 1)]
            left = hunk.old_count + added
            while left > 0:  # skip the hunk, whose lines may resemble headers
                left -= not next(lines, "").startswith("\\ ")
    yield from [ChangedLines(commit, path, tuple(written))] if written else []


def read_messages(directory: Path, ids: Sequence[str]) -> Mapping[str, CommitMessage]:
    if not ids:
        return {}
    printed = _run(directory, "log", "--no-walk", "-z", "--format=%H%x00%an%x00%b", *ids)
    fields = printed.split("\0")
    rows = zip(fields[::3], fields[1::3], fields[2::3], strict=False)
    return {commit.strip(): CommitMessage(author, body.strip()) for commit, author, body in rows}


def read_old_texts(directory: Path, wanted: Sequence[ChangedLines]) -> Mapping[ChangedLines, str]:
    texts = read_blobs((f"{change.commit}:./{change.path}" for change in wanted), cwd=directory)
    pairs = ((change, data) for change, data in zip(wanted, texts, strict=True) if data is not None)
    return {change: data.decode("utf-8", "replace").removeprefix("\ufeff") for change, data in pairs}


def commit_of(corpus: Corpus) -> str:
    """Return the revision of a corpus, or else the HEAD of its work tree, or an empty string."""
    if corpus.revision:
        return corpus.revision
    top = find_work_tree(corpus.root)
    return _try_git("rev-parse", "--verify", "--quiet", "HEAD", directory=top) if top else ""


def user_name(directory: Path) -> str:
    """Return Git's user.name, or else the login name, or "unknown"."""
    name = _try_git("config", "user.name", directory=directory)
    try:
        return name or getpass.getuser()
    except (KeyError, OSError):  # containers may have no user entry
        return "unknown"


def _try_git(*arguments: str, directory: Path) -> str:
    try:
        answer = git(*arguments, cwd=directory, limits=ArchiveLimits())
    except (AssayError, OSError):
        return ""
    return answer.out.decode("utf-8", "replace").strip() if answer.code == 0 else ""
