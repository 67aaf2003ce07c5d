"""Helpers for the contracts of visible output: deterministic runs, and commands at a given width."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from assay import __version__
from assay.cli.main import main
from tests.contracts.calling import Outcome, Workspace, isolated_environment
from tests.contracts.snapshot import substituted

WIDTHS = (60, 80, 160)
VERSION = re.escape(__version__)

# Variables that would make a preset in `assay engines list` ready, or change colors.
_DROPPED = re.compile(r".*_(API_KEY|TOKEN)|COLORTERM|NO_COLOR|TERM")

ENVIRONMENT = {
    "python": "3.11.0",
    "implementation": "cpython",
    "os": "Linux 6.0",
    "machine": "x86_64",
    "cpu": "Example CPU",
    "cores": 4,
    "packages": {"numpy": "2.0.0"},
    "threads": {"OMP_NUM_THREADS": "2"},
    "pinned": 2,
    "interleaved": True,
}

# The name is unusual because the module stays in sys.modules for the rest of the test session.
SKILL_MODULE = "assay_seen_engine"
SKILL = '''\
"""Right answers to a number of the questions of gold/shop.yaml, and errors on some others."""

ANSWERS = {
    "total of all": "shop/cart.py",
    "into the cart": "shop/cart.py",
    "percentage": "shop/tax.py",
    "VAT": "shop/tax.py",
    "payment provider": "shop/retry.py",
    "on paper": "shop/receipt.py",
    "nothing left": "shop/stock.py",
    "back on the shelf": "shop/stock.py",
    "voucher": "shop/coupons.py",
    "survive": "shop/storage.py",
    "currency": "shop/settings.py",
    "browser": "web/checkout.js",
}


def answer(query, right, broken=0):
    number = next(at for at, words in enumerate(ANSWERS) if words in query)
    if number >= len(ANSWERS) - broken:
        raise RuntimeError("index is locked")
    path = list(ANSWERS.values())[number]
    return [path if number < right else "README.md"]


def all_right(query, k):
    return answer(query, 12)


def one_wrong(query, k):
    return answer(query, 11)


def mostly_wrong(query, k):
    return answer(query, 3)


def often_broken(query, k):
    return answer(query, 12, broken=4)


def lawless(query, k):
    """Break the laws that `assay audit` looks at."""
    hits = [{"path": "shop/cart.py", "start": 1, "end": 99, "score": 1.0}, {"path": "shop/cart.py", "score": 2.0}]
    return hits + [{"path": f"/somewhere/{k}.py", "score": 3.0}] * k
'''


@cache
def settled_workspace(workspace: Workspace) -> Workspace:
    """Return a copy of the workspace for commands that write, with fixed timings in its run.

    Its path is longer than the widest terminal, so that output containing it wraps the same way everywhere.
    """
    base = workspace.root.parent.resolve() / ("x" * max(WIDTHS))
    root = base / "work"
    shutil.copytree(workspace.root, root)
    settle(root / "results")
    (root / f"{SKILL_MODULE}.py").write_text(SKILL)
    (base / "home").mkdir()
    return Workspace(root, base / "home")


@cache
def gated_workspace(place: Workspace) -> Workspace:
    """Add runs of one engine to a workspace, each named after its results on the shop queries."""
    gold = (place.root / "gold/shop.yaml").read_text()
    (place.root / "gold/asked_otherwise.yaml").write_text(gold.replace("human: ", "human: please tell me "))
    for name in ("all_right", "one_wrong", "mostly_wrong", "often_broken"):
        _run(place, name, "gold/shop.yaml", name)
    _run(place, "all_right", "gold/asked_otherwise.yaml", "asked_otherwise")
    return place


def _run(place: Workspace, function: str, gold: str, folder: str) -> None:
    engine = f"ours=python:{SKILL_MODULE}:{function}"
    flags = ["--phrasings", "human", "--no-references", "--baseline", "ours", "--quiet"]
    outcome = place.call("run", "--gold", gold, "--engine", engine, *flags, "--out", folder)
    assert outcome.code == 0, outcome.err
    settle(place.root / folder)


def settle(run: Path) -> None:
    """Replace the timings and environment of a run with fixed ones, as if measured with `--times`."""
    manifest = json.loads((run / "run.json").read_text())
    made = {"assay": "1.2.3", "environment": ENVIRONMENT}
    manifest["header"] |= {**made, "date": "2023-11-14T22:13:20+00:00", "timed": True}
    for number, name in enumerate(manifest["engines"], 1):
        path = run / "engines" / f"{name}.jsonl"
        head, *answers = map(json.loads, path.read_text().splitlines())
        golds = list(head["corpora"])
        head |= {
            **made,
            "date": "2023-11-14",
            "index_seconds": dict.fromkeys(golds, number * 1.25),
            "resources": {gold: _resources(number) for gold in golds},
            "code": "c0de" * 4,
            "fingerprint": "f1" * 32,
        }
        for at, one in enumerate(answers):
            one["seconds"] = round(number * 0.01 + at % 7 * 0.001, 6)
        path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in (head, *answers)))
        manifest["members"][f"engines/{name}.jsonl"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (run / "run.json").write_text(json.dumps(manifest, indent=1))


def _resources(number: int) -> dict[str, Any]:
    return {"startup_seconds": None, "index_bytes": number * 1_000_000, "peak_bytes": number * 25_000_000}


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def see(place: Workspace, *argv: str, columns: int = 80, env: Mapping[str, str] | None = None) -> Outcome:
    """Run a command with piped output, COLUMNS wide."""
    return place.call(*argv, env={"COLUMNS": str(columns), **(env or {})})


def see_on(place: Workspace, stream: io.TextIOBase, *argv: str, env: Mapping[str, str] | None = None) -> int:
    """Run a command with stdout redirected to `stream`, without NO_COLOR, and return its exit code."""
    kept = {name: text for name, text in isolated_environment(place.home).items() if not _DROPPED.fullmatch(name)}
    with (
        mock.patch.dict(os.environ, {**kept, "COLUMNS": "80", "TERM": "xterm-256color", **(env or {})}, clear=True),
        contextlib.chdir(place.root),
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        return main(list(argv))


def see_at_widths(place: Workspace, *argv: str, env: Mapping[str, str] | None = None) -> dict[int, Outcome]:
    return {columns: see(place, *argv, columns=columns, env=env) for columns in WIDTHS}


def transcripts(place: Workspace, argv: Sequence[str], outcomes: Mapping[int, Outcome]) -> str:
    """Format the output of a command at several widths as a terminal transcript."""
    parts = [f"=== {columns} columns ===\n{transcript(argv, outcome)}" for columns, outcome in outcomes.items()]
    return without_place("\n".join(parts), place)


def transcript(argv: Sequence[str], outcome: Outcome) -> str:
    words = [f'"{word}"' if " " in word else word for word in argv]
    parts = [f"$ assay {' '.join(words)}\n", outcome.out]
    if outcome.err:
        parts += ["--- stderr ---\n", outcome.err]
    return "".join([*parts, f"--- exit {outcome.code} ---\n"])


def without_place(text: str, place: Workspace) -> str:
    """Mask the workspace directory and the Assay version."""
    hidden = "#" * len(__version__)
    return substituted(text, {folded(str(place.root.parent)): "<base>", rf"([Aa]ssay\s+){VERSION}\b": rf"\1{hidden}"})


def folded(path: str) -> str:
    """Return a regular expression for a path that may be wrapped across lines."""
    return r"(?:\n *)?".join(map(re.escape, path))
