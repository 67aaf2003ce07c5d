"""What git remembers of a folder: subjects, changed lines, and files as they were. Nothing is fetched."""

from __future__ import annotations

import getpass
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from assay.corpus.config import ArchiveLimits
from assay.corpus.git import find_top, git, git_stream
from assay.errors import AssayError, SetupError
from assay.types import Corpus

#: Begins a commit in what git prints: no path begins with it, and a line of source has a sign before it.
_BEGIN: Final = "\x01"
_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
#: Paths as they are, whatever the user's configuration says; a renamed file is one that went and one that came.
_PLAIN: Final = ("-c", "core.quotePath=false")
_DIFF: Final = ("--relative", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--submodule=short")
#: Of a merge, what it brought to its first parent.
_BROUGHT: Final = ("-m", "--first-parent")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its subject, and the files below the folder that it changed."""

    id: str
    subject: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """Who wrote a commit, and what they said below the subject."""

    author: str
    body: str


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """The lines of a file that a commit wrote; where it only took lines away, the line before."""

    commit: str
    path: str
    lines: tuple[int, ...] = field(default=())


def list_commits(folder: Path, most: int, revision: str = "HEAD") -> tuple[Commit, ...]:
    """List the newest commits that changed something below a folder, without merges."""
    return _listed(folder, most, "--no-merges", revision)


def list_merges(folder: Path, most: int, revision: str = "HEAD") -> tuple[Commit, ...]:
    """List the newest merges into what is checked out, or into a revision, each with all that it brought."""
    return _listed(folder, most, "--merges", *_BROUGHT, revision)


def changes(folder: Path, ids: Sequence[str]) -> tuple[ChangedLines, ...]:
    """List which lines commits wrote, file by file; a merge wrote what it brought."""
    if not ids:
        return ()
    prefixes = ("--src-prefix=a/", "--dst-prefix=b/")
    printed = _run(folder, "show", "-U0", f"--format={_BEGIN}%H", *_BROUGHT, *_DIFF, *prefixes, *ids, "--", ".")
    return tuple(change for part in _parts(printed) for change in _changes(part))


def messages(folder: Path, ids: Sequence[str]) -> Mapping[str, Message]:
    """Read who wrote commits and what they said below the subject; a message cannot hold a NUL."""
    if not ids:
        return {}
    printed = _run(folder, "log", "--no-walk", "-z", "--format=%H%x00%an%x00%b", *ids)
    fields = printed.split("\0")
    rows = zip(fields[::3], fields[1::3], fields[2::3], strict=False)
    return {commit.strip(): Message(author, body.strip()) for commit, author, body in rows}


def old_texts(folder: Path, wanted: Sequence[ChangedLines]) -> Mapping[ChangedLines, str]:
    """Read the files that commits changed as they were then."""
    found: dict[ChangedLines, str] = {}
    with tempfile.TemporaryFile() as names:
        names.write("".join(f"{one.commit}:./{one.path}\n" for one in wanted).encode("utf-8", "surrogateescape"))
        names.seek(0)
        with git_stream("cat-file", "--batch", cwd=folder, stdin=names) as stream:
            for one in wanted:
                header = stream.readline().split()
                if len(header) == 3 and header[1] == b"blob":
                    found[one] = stream.read(int(header[2])).decode("utf-8", "replace").removeprefix("\ufeff")
                    stream.read(1)
    return found


def _listed(folder: Path, most: int, *which: str) -> tuple[Commit, ...]:
    printed = _run(folder, "log", *which, f"-n{most}", f"--format={_BEGIN}%H %s", "--name-only", *_DIFF, "--", ".")
    return tuple(_commit(part) for part in _parts(printed))


def _run(folder: Path, *arguments: str) -> str:
    answer = git(*_PLAIN, *arguments, cwd=folder, limits=ArchiveLimits())
    if answer.code:
        raise SetupError(f"git cannot read the history of {folder}: {answer.last_words}")
    return answer.out.decode("utf-8", "surrogateescape")


def _parts(printed: str) -> list[str]:
    return f"\n{printed}".split(f"\n{_BEGIN}")[1:]


def _commit(printed: str) -> Commit:
    head, *names = printed.split("\n")
    commit, _, subject = head.partition(" ")
    return Commit(commit, subject.strip(), tuple(name for name in names if name and not name.startswith('"')))


def _changes(printed: str) -> Iterator[ChangedLines]:
    lines = iter(printed.split("\n"))
    commit, path, written = next(lines), "", list[int]()
    for line in lines:
        hunk = _HUNK.match(line)
        if line.startswith("+++ "):
            yield from [ChangedLines(commit, path, tuple(written))] if written else []
            path, written = line.removeprefix("+++ ").removeprefix("b/").rstrip("\t"), []
        elif hunk is not None:
            removed, start, added = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
            written += range(start, start + added) if added else [max(start, 1)]
            _pass(lines, removed + added)
    yield from [ChangedLines(commit, path, tuple(written))] if written else []


def _pass(lines: Iterator[str], count: int) -> None:
    while count > 0:
        count -= not next(lines, "").startswith("\\ ")


def now() -> str:
    """Give the time in UTC, to the millisecond: votes of one reviewer follow each other within a second."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def commit_of(corpus: Corpus) -> str:
    """Name the commit or version of a corpus: what was checked out, or where the work tree of a folder stands."""
    if corpus.revision:
        return corpus.revision
    top = find_top(corpus.root)
    return _said("rev-parse", "--verify", "--quiet", "HEAD", folder=top) if top else ""


def user_name(folder: Path) -> str:
    """Name who sits here: git's user.name, else the login."""
    name = _said("config", "user.name", folder=folder)
    try:
        return name or getpass.getuser()
    except (KeyError, OSError):  # a container may have no entry for its user
        return "unknown"


def _said(*arguments: str, folder: Path) -> str:
    try:
        answer = git(*arguments, cwd=folder, limits=ArchiveLimits())
    except (AssayError, OSError):
        return ""
    return answer.out.decode("utf-8", "replace").strip() if answer.code == 0 else ""
