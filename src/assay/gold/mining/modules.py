"""What the folders of a corpus define, in few enough words that a model reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from assay.gold.mining.config import PROPOSING
from assay.gold.mining.ground import Ground, Spot
from assay.syntax.prose import sentences
from assay.syntax.secrets import scrub

_INDENT: Final = "  "  # of a definition, below its file


@dataclass(frozen=True, slots=True)
class Module:
    """A folder of a corpus, and what it defines, in lines."""

    folder: str
    digest: str
    cut: int  # definitions that did not fit


def modules(ground: Ground) -> tuple[Module, ...]:
    """Give the folders that have something to ask about, in path order."""
    folders: dict[str, list[Spot]] = {}
    for spot in ground.spots:
        if ground.answers(spot):
            folders.setdefault(str(PurePosixPath(spot.path).parent), []).append(spot)
    return tuple(_module(ground, name, folders[name]) for name in sorted(folders) if _is_worth(folders[name]))


def _is_worth(spots: list[Spot]) -> bool:
    """Tell whether a folder defines enough."""
    return len(spots) >= PROPOSING.fewest


def _module(ground: Ground, folder: str, spots: list[Spot]) -> Module:
    """Write a folder's lines until they fill the budget; every file has its share, the outer definitions come first."""
    by_path: dict[str, list[Spot]] = {}
    for spot in spots:
        by_path.setdefault(spot.path, []).append(spot)
    share = PROPOSING.chars // len(by_path)
    lines: list[str] = []
    count = 0
    for path in sorted(by_path):
        own = list(_lines(ground, sorted(by_path[path], key=lambda s: (len(s.names), s.position))))
        lines += [path, *_within(own, share - len(path) - 1)]
        count += len(own)
    shown = _within(lines, PROPOSING.chars)
    return Module(folder, scrub("\n".join(shown)), count - sum(line.startswith(_INDENT) for line in shown))


def _lines(ground: Ground, spots: list[Spot]) -> Iterator[str]:
    """Write each definition that can be named: its anchor, its signature, what its comment begins with."""
    for spot in spots:
        target = ground.anchor(spot)
        if target is not None:
            doc = next(sentences(spot.definition.doc), "")[: PROPOSING.doc]
            signature = spot.definition.signature[: PROPOSING.signature]
            yield f"{_INDENT}{target.anchor} | {signature}" + (f" | {doc}" if doc else "")


def _within(lines: list[str], chars: int) -> list[str]:
    """Take lines from the front until their characters are used up."""
    kept: list[str] = []
    for line in lines:
        chars -= len(line) + 1
        if chars < 0:
            break
        kept.append(line)
    return kept
