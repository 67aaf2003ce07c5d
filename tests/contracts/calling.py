"""Run the CLI in this process, isolated from the user's environment and files."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from assay.cli.main import main

# 2023-11-14, which `assay` uses as the current date.
SOURCE_DATE_EPOCH = "1700000000"
_DROPPED = ("ASSAY_", "GITHUB_", "XDG_")
_DROPPED_NAMES = {"CI", "COLUMNS", "LINES", "FORCE_COLOR", "NETRC", "PIP_CONFIG_FILE"}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Workspace:
    """A directory to run commands in, with a separate home and cache."""

    root: Path
    home: Path

    def call(self, *argv: str | Path, env: Mapping[str, str] | None = None) -> Outcome:
        return call([str(word) for word in argv], self.root, home=self.home, env=env)


def call(argv: Sequence[str], cwd: Path, *, home: Path, env: Mapping[str, str] | None = None) -> Outcome:
    """Run `assay ARGV` in a directory and return its exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict(os.environ, {**isolated_environment(home), **(env or {})}, clear=True),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main(argv)
        except SystemExit as end:  # argparse
            code = end.code if isinstance(end.code, int) else 1
    return Outcome(code, out.getvalue(), err.getvalue())


def isolated_environment(home: Path) -> dict[str, str]:
    """Return the environment for a command: that of this process without variables that affect the output."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_DROPPED) and name not in _DROPPED_NAMES
    }
    own = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
        "ASSAY_CACHE_DIR": str(home / "assay"),
        "NO_COLOR": "1",
        "SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH,
    }
    return kept | own
