"""Helpers for the gold set contracts: run `assay gold`, describe sets as JSON, create reproducible repositories."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assay.gold import gold_hash, query_hash
from assay.types import CorpusSpec, GoldSet, Query, Suite
from tests.contracts.calling import call, isolated_environment

SAMPLES = Path(__file__).parent / "samples" / "gold"


@dataclass(frozen=True)
class Called:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)

    @property
    def transcript(self) -> str:
        """Exit code, stdout and stderr as one text to record."""
        return "".join([f"exit {self.code}\n", self.out, *(["--- stderr\n", self.err] if self.err else [])])


def isolate(monkeypatch: pytest.MonkeyPatch, base: Path) -> Path:
    """Change to an empty directory below `base`, with separate home and caches; Git cannot use the network."""
    folder = base / "work"
    folder.mkdir()
    for name in set(os.environ) - set(isolated_environment(base)):
        monkeypatch.delenv(name)
    for name, value in isolated_environment(base).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")
    monkeypatch.chdir(folder)
    return folder


def gold(*arguments: str, env: Mapping[str, str] | None = None) -> Called:
    """Run `assay gold ARGUMENTS` in the current directory."""
    own = {"GIT_ALLOW_PROTOCOL": "file", **(env or {})}
    return Called(*call(["gold", *arguments], Path.cwd(), home=Path.cwd().parent, env=own))


def transcripts(calls: Iterable[tuple[str, ...]]) -> str:
    """Run commands in order and return each command line followed by its output."""
    return "\n".join(f"$ assay gold {' '.join(call)}\n{gold(*call).transcript}" for call in calls)


def failure(called: Called) -> dict[str, Any]:
    """Return exit code, location, message and hint of a failed `--json` call."""
    data = called.data
    assert data["schema"] == "assay/error/1"
    assert called.code == data["exit_code"]
    return {key: data[key] for key in ("exit_code", "file", "line", "message", "hint")}


def write_tree(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")


class Repository:
    """A Git repository with reproducible commit ids: fixed author, dates, contents and settings."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._commits = 0
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, on: int = 0) -> str:
        date = f"2024-01-{1 + on:02d}T12:00:00+00:00"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
            **{f"GIT_{role}_NAME": "Ann Author" for role in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{role}_EMAIL": "ann@example.org" for role in ("AUTHOR", "COMMITTER")},
        }
        command = ["git", "-c", "core.autocrlf=false", *arguments]
        done = subprocess.run(command, cwd=self.root, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str, files: Mapping[str, str | None]) -> str:
        """Commit files (None deletes one), dated one day after the previous commit, and return the commit id."""
        for name, text in files.items():
            if text is None:
                (self.root / name).unlink()
            else:
                write_tree(self.root, {name: text})
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message, on=self._commits)
        self._commits += 1
        return self.git("rev-parse", "HEAD")


def described(suite: Suite) -> list[dict[str, Any]]:
    """Return the full contents of a suite as JSON, one entry per gold set; empty fields are omitted."""
    return [_set(gold) for gold in suite.golds]


def _set(gold: GoldSet) -> dict[str, Any]:
    return {
        "name": gold.name,
        "corpus": _corpus(gold.corpus),
        "repository": gold.corpus.repository,
        "source": gold.source,
        "synthetic": gold.synthetic,
        "provenance": dict(gold.provenance),
        "hash": gold_hash(gold),
        "queries": [_query(query, gold.corpus) for query in gold.queries],
    }


def _corpus(spec: CorpusSpec) -> dict[str, Any]:
    fields = {key: getattr(spec, key) for key in ("kind", "value", "rev", "root", "include", "exclude")}
    return {key: value for key, value in fields.items() if value}


def _query(query: Query, corpus: CorpusSpec) -> dict[str, Any]:
    rationale = query.rationale and {key: getattr(query.rationale, key) for key in ("owner", "reason", "boundary")}
    fields = {
        "forms": dict(query.forms),
        "targets": [f"{target.anchor} = {target.grade}" for target in (*query.targets, *query.irrelevant)],
        "adversaries": [
            {
                "target": adversary.target.anchor,
                **{key: getattr(adversary, key) for key in ("relationship", "strength", "confusion")},
            }
            for adversary in query.adversaries
        ],
        "rationale": rationale,
        "measures": list(query.measures),
        "tags": dict(query.tags),
        "labels": [
            {key: getattr(label, key) for key in ("target", "by", "on", "commit", "shown_by") if getattr(label, key)}
            for label in query.labels
        ],
    }
    kept = {key: value for key, value in fields.items() if value}
    return {"id": query.id, "line": query.line, "hash": query_hash(query, corpus), **kept}
