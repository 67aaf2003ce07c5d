"""Where is the answer to something that was asked? In what was opened next, else where a name says it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final

from assay.gold.mining.config import CHANGES, TRACES
from assay.gold.mining.ground import Ground, Spot, joined, lies_in, stems
from assay.gold.mining.traces.commands import Opened
from assay.syntax.identifiers import parts, split
from assay.syntax.prose import content
from assay.types import PRIMARY, SECONDARY, Span, Target

_WORDS_OF_A_NAME: Final = 2  # a name of one word is a word of the language too: nothing says which was meant


class Locator:
    """Finds files by how people write them, and definitions by what is asked."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._by_base: dict[str, list[str]] = {}
        for path in sorted(ground.languages):
            self._by_base.setdefault(PurePosixPath(path).name, []).append(path)

    def path(self, written: str) -> str | None:
        """Find the file of the corpus that a written path means: from its root, from below, or from anywhere above."""
        plain = written.replace("\\", "/").strip("'\"").removeprefix("./")
        if plain in self.ground.languages:
            return plain
        same = self._by_base.get(PurePosixPath(plain).name, ()) if plain else ()
        above = [path for path in same if plain.endswith(f"/{path}")]
        if above:
            return max(above, key=len)
        below = [path for path in same if path.endswith(f"/{plain}")]
        return below[0] if len(below) == 1 else None

    def speaks_of_code(self, text: str) -> bool:
        """Tell whether a text has a word that the code has: without one, what was opened next is a chance."""
        return not stems(parts(text)).isdisjoint(self.ground.rarity)

    def opened(self, text: str, files: Sequence[Opened]) -> tuple[Target, ...]:
        """Anchor what was asked in the files that were opened next; none when these are too many to mean anything."""
        places = {path: one for one in files if (path := self.path(one.path)) and self.ground.own(path)}
        if not 0 < len(places) <= TRACES.opened:
            return ()
        found = [self._in_file(text, path, one.line) for path, one in places.items()]
        sure = [target for target in found if target.symbol or target.span.start is not None]
        return _graded(sure or found)

    def named(self, text: str) -> tuple[Target, ...]:
        """Anchor a name of several words that stands for a few definitions."""
        if len(split(text.replace(" ", "_"))) < _WORDS_OF_A_NAME:
            return ()
        own = [spot for spot in self.ground.by_name.get(joined(text), ()) if self.ground.answers(spot)]
        if not 0 < len(own) <= TRACES.matches:
            return ()
        return _all(target for spot in own if (target := self.ground.anchor(spot)) is not None)

    def _in_file(self, text: str, path: str, line: int | None) -> Target:
        """Anchor the definition that was asked for by name, looked at, or that fits; else the whole file."""
        spot = self._called(text, path) or (self.ground.at_line(path, line) if line else None)
        if spot is None or spot.lines > CHANGES.longest:
            spot = self._calling(text, path) or self._fitting(text, path)
        return (self.ground.anchor(spot) if spot else None) or Target(Span(path))

    def _called(self, text: str, path: str) -> Spot | None:
        """Find the definition of a file that bears the name asked for; of several the longest, others are overloads."""
        own = [spot for spot in self.ground.by_name.get(joined(text), ()) if spot.path == path]
        return min(own, key=lambda spot: (-spot.lines, spot.key), default=None)

    def _calling(self, text: str, path: str) -> Spot | None:
        """Find the definition of a file whose name has the words in a row; its body need not say them, a caller's does.

        Of several the one with the fewest other words is meant.
        """
        asked = split(text.replace(" ", "_"))
        own = [spot for spot in self.ground.in_file(path) if spot.lines <= CHANGES.longest and _holds(spot.name, asked)]
        return min(own, key=lambda spot: (len(split(spot.name)), spot.lines, spot.key), default=None)

    def _fitting(self, text: str, path: str) -> Spot | None:
        """Find the definition that holds most of the words; a part of it that holds nearly as many is what is meant."""
        asked = stems(parts(" ".join(content(text))))
        if not asked:
            return None
        shares = {spot: len(asked & self.ground.stems_of(spot)) / len(asked) for spot in self.ground.in_file(path)}
        fitting = [spot for spot, share in shares.items() if share >= TRACES.fitting and spot.lines <= CHANGES.longest]
        best = min(fitting, key=lambda spot: (-shares[spot], spot.lines, spot.key), default=None)
        inside = [spot for spot in fitting if best and lies_in(spot, best)]
        near = [spot for spot in inside if best and shares[spot] >= TRACES.inner * shares[best]]
        return min(near, key=lambda spot: (-shares[spot], spot.lines, spot.key), default=best)


def _holds(name: str, asked: Sequence[str]) -> bool:
    """Tell whether a name has some words in a row."""
    has = split(name)
    return bool(asked) and any(has[i : i + len(asked)] == asked for i in range(len(has) - len(asked) + 1))


def _graded(targets: Sequence[Target]) -> tuple[Target, ...]:
    """Take the file that was opened first for the answer, the others for what belongs to it."""
    first, *others = targets
    return _all([first, *(Target(t.span, SECONDARY, t.symbol, digest=t.digest) for t in others)])


def _all(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Keep each anchor once."""
    kept: dict[str, Target] = {}
    for target in targets:
        kept.setdefault(target.anchor, target)
    assert not kept or next(iter(kept.values())).grade == PRIMARY
    return tuple(kept.values())
