"""Running git safely, and the files that it tracks."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from assay.corpus.config import ArchiveLimits
from assay.corpus.ignore import IgnoreFile, read_level
from assay.corpus.tools import CommandOutput, missing_tool, run
from assay.errors import SetupError

#: `git rev-parse --local-env-vars`: hooks set some of them, and they would select another repository.
_LOCAL_VARIABLES: Final = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT",
        "GIT_OBJECT_DIRECTORY",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_REPLACE_REF_BASE",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_COMMON_DIR",
        "GIT_INTERNAL_SUPER_PREFIX",
    }
)
#: No hook, no file-system monitor: the configuration of a repository must not start a program.
_SAFE: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "gc.auto=0")


def git(*arguments: str, cwd: Path, limits: ArchiveLimits) -> CommandOutput:
    """Run git and return its output."""
    return run(["git", *_SAFE, *arguments], tool="git", seconds=limits.tool_seconds, cwd=cwd, env=git_environment())


def git_environment() -> dict[str, str]:
    """Return an environment that keeps git in its repository, without prompts and unsafe protocols."""
    kept = {name: value for name, value in os.environ.items() if name not in _LOCAL_VARIABLES}
    return kept | {
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
    """Run git and yield its output as a stream, since a tree may not fit into memory."""
    try:
        process = subprocess.Popen(
            ["git", *_SAFE, *arguments],
            cwd=cwd,
            env=git_environment(),
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


@dataclass(frozen=True, slots=True)
class TrackedFiles:
    """The files that git tracks and their directories, as paths of the walk."""

    files: frozenset[str]
    folders: frozenset[str]
    exclude: IgnoreFile | None

    def tracks(self, path: str) -> bool:
        """Return whether git tracks this file, or a file below this directory."""
        return path in self.files or path in self.folders


@dataclass(frozen=True, slots=True)
class GitFailure:
    """A repository that git could not read, with its message."""

    why: str


def find_top(folder: Path) -> Path | None:
    """Return the work tree that contains a directory."""
    for candidate in (folder, *folder.parents):
        if os.path.lexists(candidate / ".git"):
            return candidate
    return None


def is_linked_worktree(folder: str) -> bool:
    """Return whether a directory is a linked work tree, a duplicate of the same source."""
    try:
        with open(os.path.join(folder, ".git"), "rb") as stream:
            text = stream.read(4096)
    except OSError:
        return False
    return text.startswith(b"gitdir:") and b"/worktrees/" in text


def read_repository(top: Path, below: Path, base: str, limits: ArchiveLimits) -> TrackedFiles | GitFailure:
    """Return the tracked files below a directory; `base` is the path of `top` in the walk."""
    try:
        where = git("rev-parse", "--show-toplevel", "--git-path", "info/exclude", cwd=below, limits=limits)
        listed = git("ls-files", "-z", "--full-name", cwd=below, limits=limits)
    except SetupError as error:
        return GitFailure(error.message)
    lines = os.fsdecode(where.out).split("\n")
    if where.code or listed.code or not os.path.isdir(lines[0]) or not os.path.samefile(lines[0], top):
        return GitFailure((where if where.code else listed).last_words if where.code or listed.code else "not its own")
    names = [os.fsdecode(name) for name in listed.out.split(b"\0") if name]
    prefix = f"{base}/" if base else ""
    files = frozenset(prefix + name for name in names)
    folders: set[str] = set()
    for path in files:
        parent = path.rpartition("/")[0]
        while parent and parent not in folders:
            folders.add(parent)
            parent = parent.rpartition("/")[0]
    return TrackedFiles(files, frozenset(folders), read_level(below / lines[1], base))
