"""Cut code by its syntax: definitions, their heads, and what lies between, so that every line is in one unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.search.chunking.config import ChunkConfig
from assay.search.chunking.unit import Unit
from assay.syntax.outline import Definition, Lines, Outline

_FUNCTIONS = frozenset({"function", "method", "macro"})
Depths = Mapping[int, int]  # how deep the parts of a long node lie that begin at a line


def cut_definitions(lines: Sequence[str], outline: Outline, config: ChunkConfig) -> tuple[Unit, ...]:
    """Cut a file of at least one line."""
    children: dict[int, list[int]] = {}
    for position, definition in enumerate(outline.definitions):
        children.setdefault(definition.parent, []).append(position)
    layout = _Layout(outline.definitions, children, config)
    pieces = _settle(list(layout.fill(-1, 1, len(lines), ())), lines)
    depths = {each.line: each.depth for each in reversed(outline.breaks)}  # the shallowest comes first
    sized = [part for unit in pieces for part in _split(unit, lines, depths, config)]
    return tuple(_pack(sized, config))


@dataclass(frozen=True, slots=True)
class _Layout:
    """The tree of definitions, being laid over the lines."""

    definitions: tuple[Definition, ...]
    children: dict[int, list[int]]
    config: ChunkConfig

    def fill(self, parent: int, start: int, end: int, scopes: tuple[str, ...]) -> Iterator[Unit]:
        """Fill lines start to end with the definitions in them and the gaps between."""
        here = start
        for position in self.children.get(parent, ()):
            child = self.definitions[position]
            first, last = max(child.start, here), min(child.end, end)
            if last < first:
                continue
            if first > here:
                yield Unit(here, first - 1, "gap", (), scopes)
            yield from self.place(position, first, last, scopes)
            here = last + 1
        if here <= end:
            yield Unit(here, end, "gap", (), scopes)

    def place(self, position: int, start: int, end: int, scopes: tuple[str, ...]) -> Iterator[Unit]:
        """Lay one definition: whole, or its head and then what is in it."""
        one = self.definitions[position]
        members = [m for m in self.children.get(position, ()) if start < self.definitions[m].start <= end]
        most = self.config.longest if one.kind in _FUNCTIONS else self.config.whole_class
        if not members or end - start + 1 <= most:
            named = self._named(position, one)
            yield Unit(start, end, one.kind, tuple(named), scopes, one.signature, one.doc, tuple(named.values()))
            return
        first = self.definitions[members[0]].start
        kind = one.kind if one.kind in _FUNCTIONS else "head"
        yield Unit(start, first - 1, kind, (one.name,), scopes, one.signature, one.doc, (_lines(one),))
        yield from self.fill(position, first, end, (*scopes, one.name))

    def _named(self, position: int, one: Definition) -> dict[str, Lines]:
        """Name a unit after its definition and, unless that is a function, after what is in it."""
        named = {one.name: _lines(one)}
        for member in () if one.kind in _FUNCTIONS else self.children.get(position, ()):
            for name, lines in self._named(member, self.definitions[member]).items():
                named.setdefault(name, lines)
        return named


def _lines(one: Definition) -> Lines:
    """Give the lines of a definition."""
    return Lines(one.start, one.end)


def _settle(units: list[Unit], lines: Sequence[str]) -> list[Unit]:
    """Give gaps that hold no word, blank lines and closing brackets, to the unit before them."""
    settled: list[Unit] = []
    for unit in units:
        if unit.kind == "gap" and settled and not any(_says(line) for line in lines[unit.start - 1 : unit.end]):
            settled[-1] = replace(settled[-1], end=unit.end)
        else:
            settled.append(unit)
    return settled


def _says(line: str) -> bool:
    """Tell whether a line holds a word other than `end`."""
    word = line.strip(" \t\r\n{}()[];,")
    return bool(word) and word != "end"


def _split(unit: Unit, lines: Sequence[str], depths: Depths, config: ChunkConfig) -> Iterator[Unit]:
    """Cut an oversized unit into parts of about equal length, between statements where there are any near."""
    if unit.lines <= config.longest:
        yield unit
        return
    parts = -(-unit.lines // config.part)
    start = unit.start
    for nth in range(1, parts):
        wanted = unit.start + round(nth * unit.lines / parts)
        at = _best_cut(wanted, start, unit.end, lines, depths, config)
        yield _part(unit, start, at - 1)
        start = at
    yield _part(unit, start, unit.end)


def _part(unit: Unit, start: int, end: int) -> Unit:
    """Take lines of a unit; only its first part has the signature and the comment."""
    if start == unit.start:
        return replace(unit, end=end)
    return replace(unit, start=start, end=end, signature="", doc="")


def _best_cut(wanted: int, start: int, end: int, lines: Sequence[str], depths: Depths, config: ChunkConfig) -> int:
    """Choose the line to begin the next part at: the shallowest statement near, else the least indented line."""
    near = range(max(wanted - config.slack, start + 1), min(wanted + config.slack, end) + 1)
    if not near:  # parts of a line or two: there is no choice
        return min(max(wanted, start + 1), end)
    begun = [line for line in near if line in depths]
    if begun:
        return min(begun, key=lambda line: (depths[line], abs(line - wanted), line))
    return min(near, key=lambda line: (_indent(lines[line - 1]), abs(line - wanted), line))


def _indent(line: str) -> int:
    """Measure how far a line is indented; a blank one is a good place to cut after."""
    stripped = line.strip()
    return len(line) - len(line.lstrip()) if stripped else 0


def _pack(units: list[Unit], config: ChunkConfig) -> list[Unit]:
    """Put small neighbours of one scope together."""
    packed: list[Unit] = []
    for unit in units:
        if packed and _fits(packed[-1], unit, config):
            packed[-1] = _joined(packed[-1], unit)
        else:
            packed.append(unit)
    return packed


def _fits(one: Unit, other: Unit, config: ChunkConfig) -> bool:
    """Tell whether two neighbours go together: at least one is small, and both have the same things around them."""
    small = min(one.lines, other.lines) < config.shortest
    head = one.kind == "head" and other.scopes[:-1] == one.scopes and other.scopes[-1:] == one.names[:1]
    room = config.longest if head and one.lines < config.shortest else config.packed  # a bare head says nothing
    return small and one.lines + other.lines <= room and (one.scopes == other.scopes or head)


def _joined(one: Unit, other: Unit) -> Unit:
    """Make one unit of two neighbours."""
    kind = other.kind if one.kind == "gap" else one.kind
    named = dict(zip(other.names + one.names, other.places + one.places, strict=True))  # the first of a name stays
    names = tuple(dict.fromkeys(one.names + other.names))
    return Unit(
        one.start,
        other.end,
        kind,
        names,
        one.scopes,
        " ".join(filter(None, (one.signature, other.signature))),
        " ".join(filter(None, (one.doc, other.doc))),
        tuple(named[name] for name in names),
    )
