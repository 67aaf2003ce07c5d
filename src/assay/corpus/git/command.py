"""Running git so that nothing but git takes part: no hook, no prompt, no pager, no inherited variable."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from assay.corpus.config import Limits
from assay.corpus.tools import Answer, missing, run

#: `git rev-parse --local-env-vars`: a hook sets some of them, and they would point git at another repository.
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
#: No hook, no file-system monitor: a repository's own configuration must not start a program.
_SAFE: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "gc.auto=0")


def git(*arguments: str, cwd: Path, limits: Limits) -> Answer:
    """Run git to its end."""
    return run(["git", *_SAFE, *arguments], tool="git", seconds=limits.tool_seconds, cwd=cwd, env=git_environment())


def git_environment() -> dict[str, str]:
    """Copy the environment without what would point git elsewhere or make it ask, and with the safe protocols only."""
    kept = {name: value for name, value in os.environ.items() if name not in _LOCAL_VARIABLES}
    return kept | {
        "GIT_ALLOW_PROTOCOL": "file:https:ssh:git:http",  # not ext::, which runs a command
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",  # a commit is what its hash says
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }


@contextmanager
def git_stream(*arguments: str, cwd: Path, stdin: IO[bytes]) -> Iterator[IO[bytes]]:
    """Run git and read its output while it comes, since a tree need not fit into memory; end it on the way out."""
    try:
        process = subprocess.Popen(
            ["git", *_SAFE, *arguments],
            cwd=cwd,
            env=git_environment(),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # it cannot ask on the terminal
        )
    except FileNotFoundError as error:
        raise missing("git") from error
    with process:
        assert process.stdout is not None
        try:
            yield process.stdout
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
