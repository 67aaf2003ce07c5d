"""Running git, pip and npm, and fingerprints of their configuration."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.errors import SetupError
from assay.processes import ProcessLimits, ProgramSpec, run_process

_INSTALL: Final = {
    "git": "install git (https://git-scm.com/downloads), or point the corpus at a folder",
    "npm": "install Node.js, which brings npm (https://nodejs.org), or unpack the package and point at its folder",
    "pip": "run `python -m ensurepip`, or `uv pip install pip` in an environment made by uv",
}
#: The longest output lists the files of a commit: 350,000 members with paths of 500 bytes.
#: stderr is searched for known messages, so most of it is retained.
_LIMITS: Final = ProcessLimits(stdout=200_000_000, stderr=1_000_000)


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """Exit code and output of a tool."""

    code: int
    out: bytes
    err: str

    @property
    def last_words(self) -> str:
        """The most informative line of stderr: the last one marked as an error, or else the last one."""
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
) -> CommandOutput:
    """Run a tool; raise SetupError if it is missing, times out or prints too much."""
    try:
        done = run_process(ProgramSpec(tuple(argv), cwd, env), seconds, _LIMITS)
    except SetupError as error:
        if isinstance(error.__cause__, FileNotFoundError) and (cwd is None or cwd.is_dir()):
            raise missing_tool(tool) from error
        raise
    if done.end == "timeout":
        raise SetupError(f"{tool} did not finish within {seconds:.0f} s", hint="check the network, then try again")
    if done.end == "flood":
        raise SetupError(
            f"{tool} printed more than {_LIMITS.stdout:,} bytes", hint="name a smaller repository or a package"
        )
    return CommandOutput(done.code, done.stdout, done.stderr.decode("utf-8", "replace"))


def missing_tool(tool: str) -> SetupError:
    """Return the error for a missing tool, with how to install it."""
    return SetupError(f"{tool} is not installed or not on PATH", hint=_INSTALL[tool])


_PIP_VARIABLES: Final = (
    "PIP_CONFIG_FILE",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "PIP_NO_INDEX",
    "XDG_CONFIG_DIRS",
)


def pip_fingerprint() -> str:
    """Return a hash of pip's index variables and configuration files (listed by `pip config debug`)."""
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    shared = (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    files = [
        *(Path(folder) / "pip" / "pip.conf" for folder in shared),
        Path("/etc/pip.conf"),
        home / ".pip" / "pip.conf",
        config / "pip" / "pip.conf",
        home / "Library" / "Application Support" / "pip" / "pip.conf",
        Path(sys.prefix) / "pip.conf",
        *(Path(name) for name in (os.environ.get("PIP_CONFIG_FILE"),) if name),
    ]
    return _hash((f"{name}={os.environ.get(name)}" for name in _PIP_VARIABLES), files)


def npm_fingerprint() -> str:
    """Return a hash of npm's registry variables and of .npmrc in the home and parent directories."""
    wanted = re.compile(r"npm_config_.*(registry|userconfig|globalconfig)", re.IGNORECASE | re.DOTALL)
    variables = sorted(item for item in os.environ.items() if wanted.fullmatch(item[0]))
    here = Path.cwd()
    named = [value for name, value in variables if name.lower() == "npm_config_userconfig"]
    files = [Path.home() / ".npmrc", *(folder / ".npmrc" for folder in (here, *here.parents)), *map(Path, named)]
    return _hash((f"{name}={value}" for name, value in variables), files)


def _hash(values: Iterable[str], files: Iterable[Path]) -> str:
    sha = hashlib.sha256("\n".join(values).encode("utf-8", "surrogateescape"))
    for file in files:
        try:
            sha.update(b"\0" + file.read_bytes())
        except OSError:
            sha.update(b"\0\0")
    return sha.hexdigest()[:16]
