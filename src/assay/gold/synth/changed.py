"""Which definitions did commits change, and where are these now? By their names, where a name stands for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.gold.history import Change, changes, old_texts
from assay.gold.synth.survey import ASKED, Parsed
from assay.syntax.outline import Definition, outline

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Touched:
    """A definition that a commit changed, and its place among those that the file has now."""

    path: str
    names: tuple[str, ...]  # its own last, those around it before
    position: int | None  # None when it is gone, when several go by its names, or when nothing is known
    written: int = 0  # lines of it that the commit wrote
    lines: int = 0  # that it had then


def touched(root: Path, ids: Sequence[str], now: Mapping[str, Parsed]) -> dict[str, tuple[Touched, ...]]:
    """Find, commit by commit, the definitions it changed in the files there are now."""
    written = [change for change in changes(root, ids) if change.path in now]
    then = old_texts(root, written)
    found: dict[str, tuple[Touched, ...]] = {}
    for change in written:
        here = now[change.path]
        places = tuple(_touched(change, then[change], here)) if change in then else (Touched(change.path, (), None),)
        found[change.commit] = (*found.get(change.commit, ()), *places)
    return found


def qualified(definitions: Sequence[Definition], position: int) -> tuple[str, ...]:
    """Name a definition with those around it, the outermost first."""
    names: list[str] = []
    while position >= 0:
        names.append(definitions[position].name)
        position = definitions[position].parent
    return tuple(reversed(names))


def innermost(definitions: Sequence[Definition], line: int) -> int:
    """Find the definition that a line belongs to; -1 when it is in none."""
    around = [i for i, d in enumerate(definitions) if d.kind in ASKED and d.start <= line <= d.end]
    return around[-1] if around else -1


def _touched(change: Change, text: str, file: Parsed) -> Iterator[Touched]:
    """Yield the definitions that the lines of a change lay in."""
    before = outline(text, file.language).definitions
    lines: dict[tuple[str, ...], int] = {}
    sizes: dict[tuple[str, ...], int] = {}
    for line in change.lines:
        position = innermost(before, line)
        if position >= 0:
            name = qualified(before, position)
            lines[name] = lines.get(name, 0) + 1
            sizes[name] = before[position].end - before[position].start + 1
    names = [qualified(file.definitions, i) for i in range(len(file.definitions))]
    for name in sorted(lines):
        here = [i for i, known in enumerate(names) if known == name]
        yield Touched(file.path, name, here[0] if len(here) == 1 else None, lines[name], sizes[name])
