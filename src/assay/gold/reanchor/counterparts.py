"""Which definition or section of the new commit is the one of the old? By name, else by what it says and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from assay.gold.reanchor.config import Reanchoring
from assay.gold.reanchor.likeness import squeezed, title_likeness
from assay.gold.reanchor.pair import Pair
from assay.gold.reanchor.sheets import Part, Sheet
from assay.types import Span

#: A function may become a method and a class an enum; a class never becomes a function.
_FAMILY: Final = {
    "method": "function",
    "macro": "function",
    "interface": "class",
    "enum": "class",
    "type": "class",
    "module": "class",
    "property": "constant",
}


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A part of a new file, how alike it is, and whether it still has its name."""

    path: str
    part: Part
    likeness: float
    named: bool
    reason: str


def in_file(pair: Pair, path: str, part: Part, other: str) -> Counterpart | None:
    """Find a part in the file that follows its own: same scopes and name, same name, else a renamed one."""
    sheet = pair.after(other)
    full = [new for new in sheet.parts if new.plain == part.plain]
    own = full or [new for new in sheet.parts if new.last == part.last and _kin(new, part)]
    if own:
        best = _best(_scored(pair, path, part, other, new) for new in own)
        if full or best.likeness >= pair.config.moved:
            reason = "same name" if full else "same name in another scope"
            return Counterpart(other, best.part, best.likeness, True, reason)
    return _renamed(pair, path, part, other)


def elsewhere(pair: Pair, path: str, part: Part) -> Counterpart | None:
    """Find a part of the same name in another changed file."""
    successors = pair.successors(path)
    found = [
        place for place in pair.by_name.get(part.last, ()) if place.path not in successors and _kin(place.part, part)
    ]
    if not found:
        return None
    best = _best(_scored(pair, path, part, place.path, place.part) for place in found)
    if best.likeness < pair.config.moved:
        return None
    return Counterpart(best.path, best.part, best.likeness, True, "same name in another file")


def _renamed(pair: Pair, path: str, part: Part, other: str) -> Counterpart | None:
    """Find the part of no known name that says most of it; a like name and the same neighbours speak for it too."""
    before, after = pair.before(path), pair.after(other)
    free = [new for new in unknown(before, after) if _kin(new, part) and _near(new, part, pair.config.grown)]
    scored = [_scored(pair, path, part, other, new) for new in free]
    sums = {one.part: one.likeness + _signs(pair, before, part, after, one.part) for one in scored}
    best = max(scored, key=lambda one: (sums[one.part], *_order(one)), default=None)
    if best is None or not _is_enough(best, sums[best.part], part, pair.config):
        return None
    if not title_likeness(part.last, best.part.last) and not _share_a_line(before, part, after, best.part):
        return None
    return Counterpart(other, best.part, best.likeness, False, f"renamed to {shown(best.part)}")


def _share_a_line(before: Sheet, part: Part, after: Sheet, new: Part) -> bool:
    """Tell whether two parts have a line in common that the old file has only there."""
    return not before.distinct(part.start, part.end).isdisjoint(map(squeezed, after.text(new.start, new.end)))


def unknown(before: Sheet, after: Sheet) -> list[Part]:
    """List the parts of a new file whose names the old one does not know."""
    known = {old.plain for old in before.parts}
    return [new for new in after.parts if new.plain not in known]


def _is_enough(best: Counterpart, total: float, part: Part, config: Reanchoring) -> bool:
    """Tell whether a part of another name is alike enough to be the same."""
    if part.kind != "section":
        return best.likeness >= config.renamed and total >= config.renamed_sum
    entitled = title_likeness(part.last, best.part.last) > 0 or best.likeness >= config.retitled
    return entitled and best.likeness >= config.section and total >= config.section_sum


def _signs(pair: Pair, before: Sheet, part: Part, after: Sheet, new: Part) -> float:
    """Weigh what speaks for a new name: words it shares with the old, and neighbours that are the same."""
    titles = pair.config.title * title_likeness(part.last, new.last)
    old_near, new_near = before.neighbours(part), after.neighbours(new)
    same = sum(a is not None and b is not None and a.plain == b.plain for a, b in zip(old_near, new_near, strict=True))
    return titles + pair.config.neighbour * same


def shown(part: Part) -> str:
    """Name a part to a reader."""
    return part.name.replace("\n", " > ")


def _near(one: Part, other: Part, factor: float) -> bool:
    """Tell whether two parts are of about the same length; short ones grow faster."""
    short, long = sorted((one.length, other.length))
    return long <= factor * short + 2 * factor


def _best(scored: Iterable[Counterpart]) -> Counterpart:
    """Choose the part that is most alike; the first of those that are equally so."""
    return max(scored, key=_order)


def _scored(pair: Pair, path: str, part: Part, other: str, new: Part) -> Counterpart:
    """Compare a part with one of the new commit."""
    alike = pair.alike(Span(path, part.start, part.end), Span(other, new.start, new.end))
    return Counterpart(other, new, alike, named=new.name == part.name, reason="")


def _order(one: Counterpart) -> tuple[float, bool, str, int]:
    """Order by likeness, then by the very name, number and all, then by path, then the first in the file."""
    return (one.likeness, one.named, one.path, -one.part.start)


def _kin(one: Part, other: Part) -> bool:
    """Tell whether two parts may be the same by what kind of thing they are."""
    return _FAMILY.get(one.kind, one.kind) == _FAMILY.get(other.kind, other.kind)
