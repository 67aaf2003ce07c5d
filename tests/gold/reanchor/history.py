"""Builders of two commits of a small repository for re-anchoring tests."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from assay.gold.reanchor.commits import GitRepository
from assay.gold.reanchor.moves import GoldMoves, RepoCommits, TargetMove, reanchor
from assay.types import CorpusSpec, GoldSet, Query, Span, Target

Files = Mapping[str, str]


def git(folder: Path, *arguments: str) -> str:
    """Run git with a fixed identity."""
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, files: Files) -> str:
    """Make a commit that holds exactly these files."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q", "-b", "main", "--template=")  # without samples of hooks
    for old in sorted(folder.rglob("*"), reverse=True):
        if ".git" not in old.relative_to(folder).parts:
            old.unlink() if old.is_file() else old.rmdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    git(folder, "add", "-A", ".")
    git(folder, "-c", "maintenance.auto=false", "-c", "gc.auto=0", "commit", "-q", "--allow-empty", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


def located(folder: Path, before: Files, after: Files) -> RepoCommits:
    """Create two commits."""
    return RepoCommits(GitRepository(folder), commit(folder, before), commit(folder, after))


def target(anchor: str) -> Target:
    """Parse an anchor."""
    from assay.gold.anchors import parse_target
    from assay.gold.build import GoldLocation

    return parse_target(anchor, GoldLocation("gold.yaml", 1))


def gold_of(*anchors: str) -> GoldSet:
    """Build a set with one query per anchor."""
    queries = tuple(Query(f"q{n}", {"human": "x"}, (target(anchor),)) for n, anchor in enumerate(anchors))
    return GoldSet("small", CorpusSpec("git", ".", "old"), queries)


def moved(folder: Path, before: Files, after: Files, *anchors: str) -> GoldMoves:
    """Move anchors from one state of files to another."""
    return reanchor(gold_of(*anchors), located(folder, before, after))


def move(folder: Path, before: Files, after: Files, anchor: str) -> TargetMove:
    """Move one anchor."""
    return moved(folder, before, after, anchor).rows[0].move


def outcome(done: TargetMove) -> tuple[str | None, str]:
    """Return the new anchor of a target and the confidence."""
    return (done.new.anchor if done.new else None, done.confidence)


def function(name: str, *body: str) -> str:
    """Return the source of a Python function with unique lines."""
    lines = body or tuple(f"step_{n} = {name}_helper({n})" for n in range(4))
    return f"def {name}(value):\n" + "".join(f"    {line}\n" for line in (*lines, f"return {name}_result(value)"))


def module(*names: str) -> str:
    """Return the source of a module of functions."""
    return "\n\n".join(function(name) for name in names)


def lines_of(text: str, span: Span) -> list[str]:
    """Return the lines of a span."""
    assert span.start is not None
    assert span.end is not None
    return text.split("\n")[span.start - 1 : span.end]
