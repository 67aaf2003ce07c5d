"""Running the user's own git, pip and npm: to the end, or an error that says what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.errors import EnvironmentFailure
from assay.processes import ProcessLimits, Task, run_process

_INSTALL: Final = {
    "git": "install git (https://git-scm.com/downloads), or point the corpus at a folder",
    "npm": "install Node.js, which brings npm (https://nodejs.org), or unpack the package and point at its folder",
    "pip": "run `python -m ensurepip`, or `uv pip install pip` in an environment made by uv",
}
#: The longest answer is a list of the files of a commit: the most members a corpus may have, with paths of 500 bytes.
#: What a tool complains of is searched for marks, so all that it reasonably says is kept.
_LIMITS: Final = ProcessLimits(stdout=200_000_000, stderr=1_000_000)


@dataclass(frozen=True, slots=True)
class Answer:
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
) -> Answer:
    """Run a tool to its end; one that is missing, hangs or does not stop printing is an EnvironmentFailure."""
    try:
        done = run_process(Task(tuple(argv), cwd, env), seconds, _LIMITS)
    except EnvironmentFailure as error:
        if isinstance(error.__cause__, FileNotFoundError) and (cwd is None or cwd.is_dir()):
            raise missing(tool) from error
        raise
    if done.end == "timeout":
        raise EnvironmentFailure(
            f"{tool} did not finish within {seconds:.0f} s", hint="check the network, then try again"
        )
    if done.end == "flood":
        raise EnvironmentFailure(
            f"{tool} printed more than {_LIMITS.stdout:,} bytes", hint="name a smaller repository or a package"
        )
    return Answer(done.code, done.stdout, done.stderr.decode("utf-8", "replace"))


def missing(tool: str) -> EnvironmentFailure:
    """Say that a tool is not there and how to get it."""
    return EnvironmentFailure(f"{tool} is not installed or not on PATH", hint=_INSTALL[tool])
