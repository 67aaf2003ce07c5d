"""Source trees of any size, made of the standard library: pieces of its modules with some of their names changed.

A piece is cut where a top-level definition begins, so that it parses. A fifth of its longer names gets the number of
its folder, so that the vocabulary grows with the tree, as it does in real ones.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

_TOP = re.compile(r"^(?:def|class|async def|@)", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]{6,}")


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree to make."""

    files: int
    characters: int  # about as many a file
    folder: int = 40  # files in one
    changed: float = 0.2  # share of the names that only a folder has
    seed: int = 0


def write_tree(root: Path, tree: Tree) -> Path:
    """Make a tree; the same on every machine with the same standard library."""
    rng = np.random.default_rng(tree.seed)
    pieces = _pieces(tree.characters)
    for number in range(tree.files):
        group = number // tree.folder
        folder = root / f"package{group % 23:02d}" / f"part{group:04d}"
        folder.mkdir(parents=True, exist_ok=True)
        piece = pieces[int(rng.integers(len(pieces)))]
        (folder / f"module_{number:05d}.py").write_text(_renamed(piece, group, tree.changed), encoding="utf-8")
    return root


@cache
def _pieces(characters: int) -> list[str]:
    """Cut the modules of the standard library into pieces of about a size."""
    folder = Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for path in folder.rglob("*.py") if not {"site-packages", "test", "tests"} & set(path.parts))
    return [piece for path in paths for piece in _cut(path.read_text("utf-8", "replace"), characters)]


def _cut(text: str, characters: int) -> Iterator[str]:
    """Cut a module before top-level definitions."""
    start = 0
    for found in _TOP.finditer(text):
        if found.start() - start >= characters:
            yield text[start : found.start()]
            start = found.start()


def _renamed(text: str, group: int, share: float) -> str:
    """Change some names, always the same ones in a folder."""
    chosen = {
        name: f"{name}_{group:04d}"
        for name in sorted(set(_NAME.findall(text)))
        if sum(map(ord, name)) * 31 % 97 < share * 97
    }
    return _NAME.sub(lambda found: chosen.get(found.group(), found.group()), text)
