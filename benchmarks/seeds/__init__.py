"""Every feature of the five documents that Assay started from, as a command with the output it must have.

A TOML file per document: `setup` writes the files of its rows, each `[[row]]` has the feature, the sentence of the
document (`seed`), the commands (`run`), their exit code and patterns that the output must match (`prints`). Rows with
`needs` use published gold sets and repositories, which are found as in `benchmarks.quality.sources`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.pages import Unavailable
from benchmarks.quality.sources import gold_folder, mirror_of

FOLDER: Final = Path(__file__).parent
#: Features of each document, in the order of the documents.
COUNTS: Final = {"octocode": 39, "colgrep": 37, "pyckle": 20, "sia-code": 16, "karta": 26}
_MIRRORS: Final = {"octocode": "Muvon/octocode", "kafka": "apache/kafka"}
_PARTIAL: Final = ("ktor",)  # repositories whose clone lacks files outside of the indexed directory
_SECONDS: Final = 1800  # per row; reached only by a command that hangs


@dataclass(frozen=True, slots=True)
class Row:
    """One feature of a document."""

    document: str
    number: int
    feature: str
    seed: str  # the sentence of the document
    run: str
    prints: tuple[str, ...]
    code: int = 0
    needs: tuple[str, ...] = ()  # octocode, kafka, semble: what must be on this machine
    limit: str = ""  # which part cannot be run, and why


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the commands of a row printed."""

    row: Row
    code: int
    output: str

    @property
    def missing(self) -> list[str]:
        """List the patterns that the output does not match."""
        return [pattern for pattern in self.row.prints if not re.search(pattern, self.output, re.M)]

    @property
    def works(self) -> bool:
        """Return whether exit code and output are as the row says."""
        return self.code == self.row.code and not self.missing

    def evidence(self) -> list[str]:
        """List the lines of the output that the patterns match."""
        lines: list[str] = []
        for pattern in self.row.prints:
            if found := re.search(pattern, self.output, re.M):
                start = self.output.rfind("\n", 0, found.start()) + 1
                end = self.output.find("\n", found.end())
                lines += self.output[start : end if end >= 0 else None].splitlines()
        return list(dict.fromkeys(" ".join(line.split()) for line in lines if line.strip()))


def setup(document: str) -> str:
    """Return the commands that write the files of a document's rows."""
    return str(_read(document)["setup"])


def rows(document: str) -> list[Row]:
    """Read the rows of a document."""
    found = []
    for number, row in enumerate(_read(document)["row"], 1):
        lists = {key: tuple(row.pop(key, ())) for key in ("prints", "needs")}
        found.append(Row(document, number, **{**row, **lists}))
    return found


def _read(document: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{document}.toml").read_text("utf-8"))


class Workspace:
    """A scratch directory in which rows run, each in a copy of its document's files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = _environment(folder)

    def run(self, row: Row) -> Outcome:
        """Run the commands of a row; raise Unavailable if something it needs is not on this machine."""
        variables = {**self._environment, **_needed(row.needs, self.folder)}
        work = self.folder / f"{row.document}-{row.number}"
        shutil.copytree(self.prepare(row.document), work, symlinks=True)
        done = _shell(row.run, work, variables)
        output = re.sub(rf"(/private)?{re.escape(str(self.folder))}\S*?{row.document}-{row.number}", ".", done.stdout)
        return Outcome(row, done.returncode, output)

    def prepare(self, document: str) -> Path:
        """Write the files of a document, once."""
        ready, begun = self.folder / f"{document}.ready", self.folder / f"{document}.begun"
        if not ready.exists():
            begun.mkdir()
            done = _shell(f"set -e\n{setup(document)}", begun, self._environment)
            if done.returncode:
                raise RuntimeError(f"the files of {document} cannot be written:\n{done.stdout}")
            begun.rename(ready)
        return ready


def _shell(script: str, work: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", script],
        cwd=work,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
        check=False,
    )


def _environment(folder: Path) -> dict[str, str]:
    """Return the variables of a shell that has assay and python3, and a cache that rows share."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    for name, arguments in {"assay": " -m assay", "python3": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        (programs / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "PYCKLE_"))}
    (folder / "home").mkdir()
    return {
        **kept,
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "ASSAY_CACHE_DIR": str(folder / "cache"),
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "ada",
        "GIT_CONFIG_KEY_1": "user.email",
        "GIT_CONFIG_VALUE_1": "ada@example.org",
    }


def _needed(needs: tuple[str, ...], folder: Path) -> dict[str, str]:
    """Return the variables GOLD, SEMBLE, OCTOCODE and KAFKA, as far as they are needed."""
    if needs and not gold_folder().is_dir():
        raise Unavailable("the published gold sets are not on this machine: set ASSAY_BENCH_GOLD")
    found = {"GOLD": str(gold_folder())} if needs else {}
    for name in needs:
        if name == "semble":
            found["SEMBLE"] = str(_visible(folder))
            continue
        mirror = mirror_of(_MIRRORS[name])
        if not mirror.is_dir():
            raise Unavailable(f"{mirror.parent.name} is not on this machine: set ASSAY_BENCH_MIRRORS")
        found[name.upper()] = str(mirror)
    return found


def _visible(folder: Path) -> Path:
    """Copy the visible half of semble's benchmark without partial clones, and redirect git to the clones."""
    copy = folder / "semble"
    if copy.exists():
        return copy
    source, config = gold_folder() / "semble", []
    listed = json.loads((source / "repos.json").read_text("utf-8"))
    kept = [entry for entry in listed if entry["name"] not in _PARTIAL and mirror_of(entry["url"]).is_dir()]
    if not kept:
        raise Unavailable("no clone of a visible repository is on this machine: set ASSAY_BENCH_MIRRORS")
    begun = folder / "semble.begun"
    (begun / "annotations").mkdir(parents=True)
    (begun / "repos.json").write_text(json.dumps(kept))
    for entry in kept:
        shutil.copy(source / "annotations" / f"{entry['name']}.json", begun / "annotations")
        config += [f'[url "file://{mirror_of(entry["url"])}"]', f"\tinsteadOf = {entry['url']}"]
    (folder / "home" / ".gitconfig").write_text("\n".join(config) + "\n")
    begun.rename(copy)
    return copy
