"""Running the user's own git, pip and npm: no shell, no terminal, a time limit, nothing left running."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from assay.errors import EnvironmentFailure

_INSTALL: Final = {
    "git": "install git (https://git-scm.com/downloads), or point the corpus at a folder",
    "npm": "install Node.js, which brings npm (https://nodejs.org), or unpack the package and point at its folder",
    "pip": "run `python -m ensurepip`, or `uv pip install pip` in an environment made by uv",
}


@dataclass(frozen=True, slots=True)
class Finished:
    """How a tool ended and what it said."""

    code: int
    out: bytes
    err: str

    @property
    def last_words(self) -> str:
        """The line of the error output that says most: the last one marked as an error, or the last one."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip() and "complete log of" not in line]
        marked = [line for line in lines if line.lower().startswith(("error", "fatal", "npm err", "npm error"))]
        return (marked or lines or [f"exit code {self.code}"])[-1]


def run(
    argv: Sequence[str],
    *,
    tool: str,
    seconds: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """Run a tool to its end; a missing tool or one that hangs is an EnvironmentFailure."""
    with started(argv, tool=tool, cwd=cwd, env=env, stderr=subprocess.PIPE) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise EnvironmentFailure(
                f"{tool} did not finish within {seconds:.0f} s", hint="check the network, then try again"
            ) from error
        return Finished(process.returncode, out, err.decode("utf-8", "replace"))


@contextmanager
def started(
    argv: Sequence[str],
    *,
    tool: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: IO[bytes] | None = None,
    stderr: int | None = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a tool in a session of its own, so that it cannot ask on the terminal; end all of it on the way out."""
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=stdin or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise missing(tool) from error
    with process:
        try:
            yield process
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise


def missing(tool: str) -> EnvironmentFailure:
    """Say that a tool is not there and how to get it."""
    return EnvironmentFailure(f"{tool} is not installed or not on PATH", hint=_INSTALL[tool])
