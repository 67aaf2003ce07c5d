"""Plausible wrong answers: what is near the right one, and what engines take for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from assay.gold.mining.codebase import CodeIndex, DefinitionRef, joined, stems
from assay.gold.mining.config import NEIGHBOURS
from assay.gold.mining.intake import Intake, IntakeResult
from assay.gold.mining.questions import ADDED
from assay.gold.native.nodes import STRENGTHS
from assay.gold.review.items import Item, Origin
from assay.gold.synth.sets import is_aside
from assay.syntax.identifiers import parts, split
from assay.syntax.prose import content
from assay.types import Adversary, EngineRun, GoldSet, Hit, Query, Ranking, Run, Span, Target

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
class SimilarCode:
    """A definition that may be taken for the right one."""

    spot: DefinitionRef
    relationship: str
    strength: str
    confusion: str


class CodeRelations:
    """Who is made from whom, and where names are used; built when it is first asked for."""

    def __init__(self, ground: CodeIndex) -> None:
        self.ground = ground

    @cached_property
    def made_from(self) -> dict[str, tuple[DefinitionRef, ...]]:
        """The classes, and blocks that implement something for a class, by the name of each base."""
        found: dict[str, list[DefinitionRef]] = {}
        for spot in self.ground.spots:
            if self.ground.answers(spot):
                for base in bases_of(spot):
                    found.setdefault(base, []).append(spot)
        return {name: tuple(spots) for name, spots in found.items()}

    @cached_property
    def folders(self) -> dict[str, list[DefinitionRef]]:
        """The definitions of each folder."""
        found: dict[str, list[DefinitionRef]] = {}
        for spot in self.ground.spots:
            found.setdefault(str(PurePosixPath(spot.path).parent), []).append(spot)
        return found

    @cached_property
    def tests(self) -> tuple[DefinitionRef, ...]:
        """The definitions that are tests, and are called so."""
        every = self.ground.spots
        return tuple(s for s in every if joined(s.name).startswith("test") and not self.ground.answers(s))

    def neighbours(self, target: DefinitionRef) -> Iterator[SimilarCode]:
        """Yield what may be taken for a definition, the most confusing first."""
        found = [*self._namesakes(target), *self._kin(target), *self._alike(target)]
        found += [*self._tests(target), *self._callers(target)]
        yield from sorted(found, key=lambda one: STRENGTHS.index(one.strength))

    def _namesakes(self, target: DefinitionRef) -> Iterator[SimilarCode]:
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
            yield SimilarCode(spot, "mock" if _is_stand_in(spot) else "namesake", strength, where)

    def _kin(self, target: DefinitionRef) -> Iterator[SimilarCode]:
        owner = target if target.definition.kind in _CLASSES else self._owner(target)
        if owner is None or target.name in _BEGIN:
            return
        for relative, relationship, said in self._relatives(owner):
            spots = [relative] if owner is target else self._members(relative, target.name)
            for spot in spots:
                what = ".".join(spot.names[-2:]) if owner is not target else spot.name
                strength = "medium" if owner is target else "strong"
                yield SimilarCode(spot, relationship, strength, f"{what}: {relative.name} is {said} {owner.name}")

    def _relatives(self, owner: DefinitionRef) -> Iterator[tuple[DefinitionRef, str, str]]:
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

    def _classes(self, name: str) -> list[DefinitionRef]:
        same = self.ground.by_name.get(joined(name), ())
        return [s for s in same if s.name == name and s.definition.kind in _CLASSES and self.ground.answers(s)]

    def _owner(self, target: DefinitionRef) -> DefinitionRef | None:
        parent = target.definition.parent
        return self.ground.spot(target.path, parent) if parent >= 0 else None

    def _members(self, owner: DefinitionRef, name: str) -> list[DefinitionRef]:
        same = self.ground.by_name.get(joined(name), ())
        return [spot for spot in same if spot.path == owner.path and spot.definition.parent == owner.position]

    def _alike(self, target: DefinitionRef) -> Iterator[SimilarCode]:
        own = set(split(target.name))
        found: list[tuple[float, DefinitionRef]] = []
        for spot in self.folders[str(PurePosixPath(target.path).parent)]:
            if joined(spot.name) == joined(target.name):
                continue
            words = set(split(spot.name))
            share = len(own & words) / len(own | words) if own | words else 0.0
            if share >= NEIGHBOURS.alike and self.ground.answers(spot) and not _holds(spot, target):
                found.append((share, spot))
        for share, spot in sorted(found, key=lambda one: (-one[0], one[1].key)):
            said = f"{spot.name} has {share:.0%} of its words in common with {target.name}, and lies in the same folder"
            yield SimilarCode(spot, "sibling", "medium", said)

    def _tests(self, target: DefinitionRef) -> Iterator[SimilarCode]:
        own, stem = joined(target.name), PurePosixPath(target.path).stem
        for spot in self.tests:
            tested = joined(spot.name).removeprefix("test")
            if not tested.startswith(own):
                continue
            if len(split(target.name)) < 2 and stem.lower() not in PurePosixPath(spot.path).stem.lower():
                continue  # a name of one word is tested in many places
            if not any(tested[:end] in self.ground.by_name for end in range(len(own) + 1, len(tested) + 1)):
                yield SimilarCode(spot, "test", "medium", f"{spot.name} tests {target.name} and uses its words")

    def _callers(self, target: DefinitionRef) -> Iterator[SimilarCode]:
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
                yield SimilarCode(spot, "caller", "weak", f"{spot.name} calls {target.name}, and does not do its work")


def bases_of(spot: DefinitionRef) -> tuple[str, ...]:
    """Give the bases of a class, or what a block implements for one."""
    impl = _IMPL.search(spot.definition.signature)
    if impl:
        return (impl[1].rpartition("::")[2],)
    return tuple(base_names(spot.definition.signature)) if spot.definition.kind in _CLASSES else ()


def _is_stand_in(spot: DefinitionRef) -> bool:
    return any(_STAND_IN.search(name) for name in spot.names)


def base_names(signature: str) -> list[str]:
    """Read the bases of a class from its signature, in the ways that languages write them."""
    python = _PYTHON.match(signature)
    said = [python[1]] if python else [" ".join(filter(None, found)) for found in _OTHERS.findall(signature)]
    parts = [re.split(r"[<\[]", part)[0] for text in said for part in _BETWEEN.split(text) if "=" not in part]
    found = [names[-1] for part in parts if (names := _NAME.findall(part))]
    return [name for name in found if name not in _NO_BASE]


def _holds(spot: DefinitionRef, target: DefinitionRef) -> bool:
    if spot.path != target.path:
        return False
    one, other = spot.definition, target.definition
    return one.start <= other.end and other.start <= one.end


def _innermost_users(spots: Sequence[DefinitionRef], used: re.Pattern[str], ground: CodeIndex) -> list[DefinitionRef]:
    users = [spot for spot in spots if used.search(ground.text(spot)) and spot.definition.kind not in _CLASSES]
    return [s for s in users if not any(o is not s and _holds(s, o) and o.lines < s.lines for o in users)]


@dataclass(slots=True)
class _Seen:
    """How high engines ranked a definition above the right answer."""

    spot: DefinitionRef
    ranks: dict[str, int] = field(default_factory=dict)  # engine -> best rank


@dataclass(frozen=True, slots=True)
class Confusion:
    """A neighbour that engines prefer, and which."""

    neighbour: SimilarCode
    engines: tuple[str, ...]


def confusions(ground: CodeIndex, run: Run, gold: str, query: Query) -> Iterator[Confusion]:
    """Yield what engines rank above the right answer, by how many do and how high."""
    engines = _distinct(run, gold, query.id)
    needed = min(NEIGHBOURS.engines, len(engines))
    resolved = tuple(found for target in query.targets if (found := ground.resolved(target)) is not None)
    seen: dict[tuple[str, int], _Seen] = {}
    for engine in engines:
        for ranking in _rankings(engine, gold, query.id):
            _note(ground, engine.name, ranking, resolved, seen)
    often = [one for one in seen.values() if len(one.ranks) >= needed and min(one.ranks.values()) <= NEIGHBOURS.rank]
    for one in sorted(often, key=lambda one: (-len(one.ranks), min(one.ranks.values()), one.spot.key)):
        yield Confusion(_neighbour(ground, one, resolved, len(engines)), tuple(sorted(one.ranks)))


def _distinct(run: Run, gold: str, query: str) -> list[EngineRun]:
    kept: dict[tuple[tuple[Hit, ...], ...], EngineRun] = {}
    for engine in run.engines:
        if engine.role in ("contestant", "yardstick"):
            answers = tuple(tuple(_bare(hit) for hit in one.hits) for one in _rankings(engine, gold, query))
            kept.setdefault(answers, engine)
    return list(kept.values())


def _bare(hit: Hit) -> Hit:
    return Hit(hit.path, hit.start, hit.end)


def _rankings(engine: EngineRun, gold: str, query: str) -> list[Ranking]:
    return [ranking for ranking in engine.rankings if ranking.gold == gold and ranking.query == query]


def _note(
    ground: CodeIndex, engine: str, ranking: Ranking, targets: Sequence[Target], seen: dict[tuple[str, int], _Seen]
) -> None:
    for rank, hit in enumerate(ranking.hits, 1):
        if any(hit.span.common_lines(target.span) for target in targets):
            return
        spot = _spot(ground, hit)
        if spot is not None:
            one = seen.setdefault(spot.key, _Seen(spot))
            one.ranks[engine] = min(rank, one.ranks.get(engine, rank))


def _spot(ground: CodeIndex, hit: Hit) -> DefinitionRef | None:
    if hit.path not in ground.files or hit.start is None or hit.end is None:
        return None
    inside = [s for s in ground.in_file(hit.path) if hit.start <= s.definition.name_line <= hit.end]
    around = ground.at_line(hit.path, hit.start)
    small = [s for s in (*inside, *([around] if around else [])) if s.lines <= NEIGHBOURS.longest]
    return max(small, key=lambda s: (_common(s, hit), -s.lines, s.key), default=None)


def _common(spot: DefinitionRef, hit: Hit) -> int:
    return min(spot.definition.end, hit.end or 0) - max(spot.definition.start, hit.start or 0)


def _neighbour(ground: CodeIndex, seen: _Seen, targets: Sequence[Target], engines: int) -> SimilarCode:
    count, best = len(seen.ranks), min(seen.ranks.values())
    strength = "strong" if count >= NEIGHBOURS.strong else "medium" if count > 1 else "weak"
    said = f"{count} of {engines} engines rank it above the right answer, at best on rank {best}"
    return SimilarCode(seen.spot, _relationship(ground, seen.spot, targets), strength, said)


def _relationship(ground: CodeIndex, spot: DefinitionRef, targets: Sequence[Target]) -> str:
    answers = [right for target in targets for right in ground.spots_of(target)]
    if is_aside(spot.path) or not ground.answers(spot):
        return "test"
    if any(joined(spot.name) == joined(right.name) for right in answers):
        return "namesake"
    return "caller" if any(f"{right.name}(" in ground.text(spot) for right in answers) else "sibling"


_JUDGE = "an engine may be right: say first whether it answers the query"


def mine_adversaries(intake: Intake, gold: GoldSet, run: Run | None = None) -> IntakeResult:
    """Propose wrong answers for every query of a set."""
    family = CodeRelations(intake.ground)
    items = [item for query in gold.queries for item in _of_query(intake, family, gold, query, run)]
    return IntakeResult(tuple(items))


def _of_query(intake: Intake, family: CodeRelations, gold: GoldSet, query: Query, run: Run | None) -> Iterator[Item]:
    taken = _Taken(intake.ground, query)
    for one in confusions(intake.ground, run, gold.name, query) if run else ():
        target = taken.take(one.neighbour)
        if target is not None:
            origin = Origin("confusion", "run results", one.engines)
            yield _item(intake, query, target, one.neighbour, origin)
    for right in (spot for target in query.primaries for spot in intake.ground.spots_of(target)):
        for neighbour in family.neighbours(right):
            target = taken.take(neighbour) if _is_plausible(intake.ground, query, neighbour) else None
            if target is not None:
                yield _item(intake, query, target, neighbour, Origin("names", f"beside {right.name}"))


def _is_plausible(ground: CodeIndex, query: Query, neighbour: SimilarCode) -> bool:
    least = {
        "strong": NEIGHBOURS.strong_share,
        "medium": NEIGHBOURS.medium_share,
        "weak": NEIGHBOURS.weak_share,
    }
    headline = query.headline
    asked = stems(parts(" ".join(word for word in content(headline) if word not in ADDED)))
    shared = len(asked & ground.stems_of(neighbour.spot))
    return shared >= least[neighbour.strength] * len(asked)


def _item(intake: Intake, query: Query, target: Target, neighbour: SimilarCode, origin: Origin) -> Item:
    adversary = Adversary(target, neighbour.relationship, neighbour.strength, neighbour.confusion)
    notes = (_JUDGE,) if origin.shown_by else ()
    return intake.item("adversary", replace(query, adversaries=(adversary,)), origin, notes)


class _Taken:
    """What a query has already, and how much more may be proposed for it."""

    def __init__(self, ground: CodeIndex, query: Query) -> None:
        self._ground = ground
        there = [*query.targets, *(adversary.target for adversary in query.adversaries)]
        self._spans = [found.span for target in there if (found := ground.resolved(target)) is not None]
        self._counts = Counter(adversary.relationship for adversary in query.adversaries)
        self._names: set[tuple[str, tuple[str, ...]]] = set()  # a type and its blocks are one to a reader

    def take(self, neighbour: SimilarCode) -> Target | None:
        """Give the anchor of a neighbour that can be proposed, and remember it; None when it cannot."""
        full = self._counts.total() >= NEIGHBOURS.total or self._counts[neighbour.relationship] >= NEIGHBOURS.each
        named = (neighbour.spot.path, neighbour.spot.names)
        if full or named in self._names or neighbour.spot.lines > NEIGHBOURS.longest:
            return None
        definition = neighbour.spot.definition
        span = Span(neighbour.spot.path, definition.start, definition.end)
        if any(span.common_lines(other) for other in self._spans):
            return None
        target = self._ground.anchor(neighbour.spot)
        if target is not None:
            self._counts[neighbour.relationship] += 1
            self._spans.append(span)
            self._names.add(named)
        return target
