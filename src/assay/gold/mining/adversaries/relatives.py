"""Wrong answers by name and by structure: what looks like the right one, belongs to it, tests it or calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from assay.gold.mining.config import NEIGHBOURS
from assay.gold.mining.ground import Ground, Spot, joined
from assay.gold.schema import STRENGTHS
from assay.syntax.identifiers import split

_CLASSES: Final = frozenset({"class", "interface", "enum", "type"})
#: Where the bases of a class stand in a signature: Python's brackets, then words and signs of other languages.
_PYTHON: Final = re.compile(r"^\s*class\s+\w+\s*(?:\[[^\]]*\])?\s*\(([^)]*)\)")
_OTHERS: Final = re.compile(
    r"\b(?:extends|implements|with)\b\s*([^{]+)"
    r"|\b(?:class|struct|interface|enum|protocol)\s+\w+[^:{]*:\s*([^{]+)"
)
_IMPL: Final = re.compile(r"\bimpl\b(?:<[^>]*>)?\s+([\w:]+)(?:<[^>]*>)?\s+for\s+(\w+)")
_BETWEEN: Final = re.compile(r",|\b(?:extends|implements|with)\b")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_NO_BASE: Final = frozenset(
    {
        "object",
        "public",
        "private",
        "protected",
        "virtual",
        "implements",
        "extends",
        "with",
        "ABC",
        "Generic",
        "Protocol",
    }
)
_STAND_IN: Final = re.compile(r"^(?:mock|fake|stub|dummy|spy|noop|null)|(?:mock|fake|stub|dummy|spy)$", re.IGNORECASE)
_BEGIN: Final = frozenset({"__init__", "new", "constructor", "init", "__new__", "__repr__", "__str__"})
_COMMON: Final = re.compile(r"^(?:__\w+__|new|get|set|run|main|init|default|clone|drop|from|into|next|poll|fmt|build)$")


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A definition that may be taken for the right one."""

    spot: Spot
    relationship: str
    strength: str
    confusion: str


class Family:
    """Who is made from whom, and where names are used; built when it is first asked for."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    @cached_property
    def made_from(self) -> dict[str, tuple[Spot, ...]]:
        """The classes, and blocks that implement something for a class, by the name of each base."""
        found: dict[str, list[Spot]] = {}
        for spot in self.ground.spots:
            if self.ground.answers(spot):
                for base in bases_of(spot):
                    found.setdefault(base, []).append(spot)
        return {name: tuple(spots) for name, spots in found.items()}

    @cached_property
    def folders(self) -> dict[str, list[Spot]]:
        """The definitions of each folder."""
        found: dict[str, list[Spot]] = {}
        for spot in self.ground.spots:
            found.setdefault(str(PurePosixPath(spot.path).parent), []).append(spot)
        return found

    @cached_property
    def tests(self) -> tuple[Spot, ...]:
        """The definitions that are tests, and are called so."""
        every = self.ground.spots
        return tuple(s for s in every if joined(s.name).startswith("test") and not self.ground.answers(s))

    def neighbours(self, target: Spot) -> Iterator[Neighbour]:
        """Yield what may be taken for a definition, the most confusing first."""
        found = [*self._namesakes(target), *self._kin(target), *self._alike(target)]
        found += [*self._tests(target), *self._callers(target)]
        yield from sorted(found, key=lambda one: STRENGTHS.index(one.strength))

    def _namesakes(self, target: Spot) -> Iterator[Neighbour]:
        """Yield definitions of the same name elsewhere; a name of one word, or one that many have, says little."""
        if _COMMON.match(target.name):
            return
        every = self.ground.by_name.get(joined(target.name), ())
        plain = len(split(target.name)) < 2 or len(every) > NEIGHBOURS.siblings
        for spot in every:
            if (spot.path, spot.names) == (target.path, target.names) or not self.ground.answers(spot):
                continue
            same = spot.definition.kind == target.definition.kind
            strength = "weak" if plain else "strong" if same else "medium"
            where = f"{PurePosixPath(spot.path).name} has a {spot.definition.kind} of the same name, {spot.name}"
            yield Neighbour(spot, "mock" if _is_stand_in(spot) else "namesake", strength, where)

    def _kin(self, target: Spot) -> Iterator[Neighbour]:
        """Yield bases, subclasses and other subclasses of the same base; of a method, the methods of its name there."""
        owner = target if target.definition.kind in _CLASSES else self._owner(target)
        if owner is None or target.name in _BEGIN:
            return
        for relative, relationship, said in self._relatives(owner):
            spots = [relative] if owner is target else self._members(relative, target.name)
            for spot in spots:
                what = ".".join(spot.names[-2:]) if owner is not target else spot.name
                strength = "medium" if owner is target else "strong"
                yield Neighbour(spot, relationship, strength, f"{what}: {relative.name} is {said} {owner.name}")

    def _relatives(self, owner: Spot) -> Iterator[tuple[Spot, str, str]]:
        """Yield the classes around a class, with how they are related."""
        for base in bases_of(owner):
            for spot in self._classes(base):
                interface = spot.definition.kind == "interface" or "Protocol" in spot.definition.signature
                yield spot, "interface" if interface else "parent", "a base of"
            siblings = self.made_from.get(base, ())
            if len(siblings) <= NEIGHBOURS.siblings:
                yield from ((one, "sibling", f"another {base} like") for one in siblings if one.key != owner.key)
        alone = len({spot.path for spot in self._classes(owner.name)}) == 1  # else nobody knows whose child it is
        for child in self.made_from.get(owner.name, ()) if alone else ():
            yield child, "mock" if _is_stand_in(child) else "child", "made from"

    def _classes(self, name: str) -> list[Spot]:
        """Give the classes of a name."""
        same = self.ground.by_name.get(joined(name), ())
        return [s for s in same if s.name == name and s.definition.kind in _CLASSES and self.ground.answers(s)]

    def _owner(self, target: Spot) -> Spot | None:
        """Give the class that a method is in."""
        parent = target.definition.parent
        return self.ground.spot(target.path, parent) if parent >= 0 else None

    def _members(self, owner: Spot, name: str) -> list[Spot]:
        """Give the definitions of a name inside a class."""
        same = self.ground.by_name.get(joined(name), ())
        return [spot for spot in same if spot.path == owner.path and spot.definition.parent == owner.position]

    def _alike(self, target: Spot) -> Iterator[Neighbour]:
        """Yield definitions of the same folder whose names share most of their words with the target's."""
        own = set(split(target.name))
        found: list[tuple[float, Spot]] = []
        for spot in self.folders[str(PurePosixPath(target.path).parent)]:
            if joined(spot.name) == joined(target.name):
                continue
            words = set(split(spot.name))
            share = len(own & words) / len(own | words) if own | words else 0.0
            if share >= NEIGHBOURS.alike and self.ground.answers(spot) and not _holds(spot, target):
                found.append((share, spot))
        for share, spot in sorted(found, key=lambda one: (-one[0], one[1].key)):
            said = f"{spot.name} has {share:.0%} of its words in common with {target.name}, and lies in the same folder"
            yield Neighbour(spot, "sibling", "medium", said)

    def _tests(self, target: Spot) -> Iterator[Neighbour]:
        """Yield tests that are called after the target: they hold its words, and nothing of how it works."""
        own, stem = joined(target.name), PurePosixPath(target.path).stem
        for spot in self.tests:
            tested = joined(spot.name).removeprefix("test")
            if not tested.startswith(own):
                continue
            if len(split(target.name)) < 2 and stem.lower() not in PurePosixPath(spot.path).stem.lower():
                continue  # a name of one word is tested in many places
            if not any(tested[:end] in self.ground.by_name for end in range(len(own) + 1, len(tested) + 1)):
                yield Neighbour(spot, "test", "medium", f"{spot.name} tests {target.name} and uses its words")

    def _callers(self, target: Spot) -> Iterator[Neighbour]:
        """Yield definitions that call a target whose name stands for it alone, where these are few."""
        if len(self.ground.by_name.get(joined(target.name), ())) != 1 or len(split(target.name)) < 2:
            return
        used = re.compile(rf"\b{re.escape(target.name)}\s*\(")
        paths = [path for path in sorted(self.ground.files) if target.name in self.ground.files[path].text]
        found = [
            spot
            for path in paths
            if self.ground.own(path)
            for spot in _innermost_users(list(self.ground.in_file(path)), used, self.ground)
            if spot.key != target.key and not _holds(spot, target) and self.ground.answers(spot)
        ]
        if len(found) <= NEIGHBOURS.callers:
            for spot in found:
                yield Neighbour(spot, "caller", "weak", f"{spot.name} calls {target.name}, and does not do its work")


def bases_of(spot: Spot) -> tuple[str, ...]:
    """Give the bases of a class, or what a block implements for one."""
    impl = _IMPL.search(spot.definition.signature)
    if impl:
        return (impl[1].rpartition("::")[2],)
    return tuple(base_names(spot.definition.signature)) if spot.definition.kind in _CLASSES else ()


def _is_stand_in(spot: Spot) -> bool:
    """Tell whether something is called a mock, or lies in one."""
    return any(_STAND_IN.search(name) for name in spot.names)


def base_names(signature: str) -> list[str]:
    """Read the bases of a class from its signature, in the ways that languages write them."""
    python = _PYTHON.match(signature)
    said = [python[1]] if python else [" ".join(filter(None, found)) for found in _OTHERS.findall(signature)]
    parts = [re.split(r"[<\[]", part)[0] for text in said for part in _BETWEEN.split(text) if "=" not in part]
    found = [names[-1] for part in parts if (names := _NAME.findall(part))]
    return [name for name in found if name not in _NO_BASE]


def _holds(spot: Spot, target: Spot) -> bool:
    """Tell whether one of two definitions lies in the other."""
    if spot.path != target.path:
        return False
    one, other = spot.definition, target.definition
    return one.start <= other.end and other.start <= one.end


def _innermost_users(spots: Sequence[Spot], used: re.Pattern[str], ground: Ground) -> list[Spot]:
    """Give the definitions that hold a call, without those that only hold another of them."""
    users = [spot for spot in spots if used.search(ground.text(spot)) and spot.definition.kind not in _CLASSES]
    return [s for s in users if not any(o is not s and _holds(s, o) and o.lines < s.lines for o in users)]
