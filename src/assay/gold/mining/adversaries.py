"""Propose adversaries: definitions that are related to a target, or that engines rank above all targets."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from assay.gold.code_index import CodeIndex, DefinitionRef, is_peripheral, name_key, stem_all
from assay.gold.formats.native import STRENGTHS
from assay.gold.mining.intake import Intake, IntakeResult
from assay.gold.mining.questions import ADDED, word_set
from assay.gold.review.items import ItemOrigin, ReviewItem
from assay.syntax.identifiers import parts, split
from assay.syntax.prose import content_words
from assay.types import Adversary, GoldSet, Hit, Query, Ranking, Run, Span, Target


class AdversaryRules:
    each: int = 3  # maximum per relationship and query; a set needs a few good ones, not a list
    total: int = 6  # maximum per query
    alike: float = 0.6  # minimum share of common words in two similar names
    siblings: int = 6  # maximum subclasses of a base; a base with more is a mixin, whose subclasses are not related
    rank: int = 5  # maximum best rank of a confusion over all rankings
    engines: int = 2  # minimum count of engines that rank a confusion above the target, if the run has enough
    strong: int = 3  # minimum count of engines for a strong confusion
    callers: int = 8  # maximum callers of a target; a function with more is used everywhere
    longest: int = 150  # maximum lines; a longer definition matches almost any query


_JUDGE: Final = "the engines may be right: check first whether this code is relevant to the query"
#: Minimum share of the query's words in an adversary, by strength: code without common words is not plausible.
_LEAST_SHARE: Final = {"strong": 0.2, "medium": 0.4, "weak": 0.6}


@dataclass(frozen=True, slots=True)
class SimilarCode:
    ref: DefinitionRef
    relationship: str
    strength: str
    confusion: str


def mine_adversaries(intake: Intake, gold: GoldSet, run: Run | None = None) -> IntakeResult:
    """Propose adversaries for the queries of a set; none overlaps a target or another adversary."""
    code, items = intake.code, list[ReviewItem]()
    relations = CodeRelations(code)
    for query in gold.queries:
        labels = [*query.targets, *(adversary.target for adversary in query.adversaries)]
        spans = [resolved.span for target in labels if (resolved := code.resolve(target)) is not None]
        counts = Counter(adversary.relationship for adversary in query.adversaries)
        names: set[tuple[str, tuple[str, ...]]] = set()  # a type and its impl blocks count once
        for similar, origin, notes in _candidates(relations, gold, query, run):
            ref, kind = similar.ref, similar.relationship
            full = counts.total() >= AdversaryRules.total or counts[kind] >= AdversaryRules.each
            span = Span(ref.path, ref.definition.start, ref.definition.end)
            if full or (ref.path, ref.names) in names or ref.lines > AdversaryRules.longest:
                continue
            if not any(span.common_lines(other) for other in spans) and (target := code.anchor(ref)) is not None:
                counts[kind] += 1
                spans.append(span)
                names.add((ref.path, ref.names))
                adversary = Adversary(target, kind, similar.strength, similar.confusion)
                items.append(intake.item("adversary", replace(query, adversaries=(adversary,)), origin, notes))
    return IntakeResult(tuple(items))


def _candidates(
    relations: CodeRelations, gold: GoldSet, query: Query, run: Run | None
) -> Iterator[tuple[SimilarCode, ItemOrigin, tuple[str, ...]]]:
    code = relations.code
    for similar, engines in find_confusions(code, run, gold.name, query) if run else ():
        yield similar, ItemOrigin("confusion", "run results", engines), (_JUDGE,)
    words = stem_all(parts(" ".join(word for word in content_words(query.headline) if word not in ADDED)))
    for right in (ref for target in query.primaries for ref in code.definitions_of(target)):
        for similar in relations.find_similar(right):
            if len(words & code.stems_of(similar.ref)) >= _LEAST_SHARE[similar.strength] * len(words):
                yield similar, ItemOrigin("names", f"beside {right.name}"), ()


_CLASSES: Final = frozenset({"class", "interface", "enum", "type"})
_STAND_IN: Final = re.compile(r"^(?:mock|fake|stub|dummy|spy|noop|null)|(?:mock|fake|stub|dummy|spy)$", re.IGNORECASE)
_CONSTRUCTORS: Final = frozenset({"__init__", "new", "constructor", "init", "__new__", "__repr__", "__str__"})
_COMMON: Final = re.compile(r"^(?:__\w+__|new|get|set|run|main|init|default|clone|drop|from|into|next|poll|fmt|build)$")


class CodeRelations:
    def __init__(self, code: CodeIndex) -> None:
        self.code = code
        self.tests: list[DefinitionRef] = []  # definitions named like tests
        self.directories: dict[str, list[DefinitionRef]] = defaultdict(list)
        self.subclasses: dict[str, list[DefinitionRef]] = defaultdict(list)  # and impl blocks, by the name of a base
        for ref in code.definitions:
            self.directories[str(PurePosixPath(ref.path).parent)].append(ref)
            if code.can_be_target(ref):
                for base in _bases(ref):
                    self.subclasses[base].append(ref)
            elif name_key(ref.name).startswith("test"):
                self.tests.append(ref)

    def find_similar(self, target: DefinitionRef) -> list[SimilarCode]:
        similar = [*self._namesakes(target), *self._relatives(target), *self._similar_names(target)]
        similar += [*self._tests(target), *self._callers(target)]
        return sorted(similar, key=lambda code: STRENGTHS.index(code.strength))

    def _namesakes(self, target: DefinitionRef) -> Iterator[SimilarCode]:
        if _COMMON.match(target.name):
            return
        every = self.code.by_name.get(name_key(target.name), ())
        plain = len(split(target.name)) < 2 or len(every) > AdversaryRules.siblings
        for ref in every:
            if (ref.path, ref.names) == (target.path, target.names) or not self.code.can_be_target(ref):
                continue
            same = ref.definition.kind == target.definition.kind
            strength = "weak" if plain else "strong" if same else "medium"
            where = f"same name: {ref.definition.kind} {ref.name} in {PurePosixPath(ref.path).name}"
            yield SimilarCode(ref, "mock" if _is_stand_in(ref) else "namesake", strength, where)

    def _relatives(self, target: DefinitionRef) -> Iterator[SimilarCode]:
        if target.name in _CONSTRUCTORS:
            return
        if target.definition.kind in _CLASSES:
            for ref, relationship, text in self._related_classes(target):
                yield SimilarCode(ref, relationship, "medium", f"{ref.name} is {text} {target.name}")
        elif target.definition.parent >= 0:
            owner = self.code.definition(target.path, target.definition.parent)
            for relative, relationship, text in self._related_classes(owner):
                for ref in self.code.by_name.get(name_key(target.name), ()):
                    if ref.path == relative.path and ref.definition.parent == relative.position:
                        confusion = f"{'.'.join(ref.names[-2:])}: {relative.name} is {text} {owner.name}"
                        yield SimilarCode(ref, relationship, "strong", confusion)

    def _related_classes(self, owner: DefinitionRef) -> Iterator[tuple[DefinitionRef, str, str]]:
        for base in _bases(owner):
            for ref in self._classes(base):
                interface = ref.definition.kind == "interface" or "Protocol" in ref.definition.signature
                yield ref, "interface" if interface else "parent", "a base of"
            siblings = self.subclasses.get(base, ())
            if len(siblings) <= AdversaryRules.siblings:
                yield from ((ref, "sibling", f"another {base}, like") for ref in siblings if ref.key != owner.key)
        if len({ref.path for ref in self._classes(owner.name)}) == 1:  # else the base is ambiguous
            for child in self.subclasses.get(owner.name, ()):
                yield child, "mock" if _is_stand_in(child) else "child", "a subclass of"

    def _classes(self, name: str) -> list[DefinitionRef]:
        same = self.code.by_name.get(name_key(name), ())
        return [s for s in same if s.name == name and s.definition.kind in _CLASSES and self.code.can_be_target(s)]

    def _similar_names(self, target: DefinitionRef) -> Iterator[SimilarCode]:
        own = set(split(target.name))
        similar: list[tuple[float, DefinitionRef]] = []
        for ref in self.directories[str(PurePosixPath(target.path).parent)]:
            words = set(split(ref.name))
            share = len(own & words) / len(own | words) if own | words else 0.0
            other = name_key(ref.name) != name_key(target.name) and not _overlaps(ref, target)
            if share >= AdversaryRules.alike and other and self.code.can_be_target(ref):
                similar.append((share, ref))
        for share, ref in sorted(similar, key=lambda pair: (-pair[0], pair[1].key)):
            text = f"{ref.name} and {target.name} share {share:.0%} of their words and are in the same directory"
            yield SimilarCode(ref, "sibling", "medium", text)

    def _tests(self, target: DefinitionRef) -> Iterator[SimilarCode]:
        own, stem = name_key(target.name), PurePosixPath(target.path).stem
        for ref in self.tests:
            tested = name_key(ref.name).removeprefix("test")
            if not tested.startswith(own):
                continue
            if len(split(target.name)) < 2 and stem.lower() not in PurePosixPath(ref.path).stem.lower():
                continue  # many test names begin with a name of one word, so the file name must match too
            if not any(tested[:end] in self.code.by_name for end in range(len(own) + 1, len(tested) + 1)):
                yield SimilarCode(ref, "test", "medium", f"{ref.name} tests {target.name} and contains its name")

    def _callers(self, target: DefinitionRef) -> Iterator[SimilarCode]:
        if len(self.code.by_name.get(name_key(target.name), ())) != 1 or len(split(target.name)) < 2:
            return
        call = re.compile(rf"\b{re.escape(target.name)}\s*\(")
        outer_callers: list[DefinitionRef] = []
        for path in sorted(self.code.files):
            if target.name not in self.code.files[path].text or not self.code.is_own_code(path):
                continue
            refs = [ref for ref in self.code.definitions_in(path) if ref.definition.kind not in _CLASSES]
            callers = [ref for ref in refs if call.search(self.code.text(ref))]
            for ref in callers:
                inner = any(o is not ref and _overlaps(ref, o) and o.lines < ref.lines for o in callers)
                if not inner and not _overlaps(ref, target) and self.code.can_be_target(ref):
                    outer_callers.append(ref)
        for ref in outer_callers if len(outer_callers) <= AdversaryRules.callers else ():
            yield SimilarCode(ref, "caller", "weak", f"{ref.name} calls {target.name} but does not implement it")


def _is_stand_in(ref: DefinitionRef) -> bool:
    return any(_STAND_IN.search(name) for name in ref.names)


def _overlaps(ref: DefinitionRef, other: DefinitionRef) -> bool:
    first, two = ref.definition, other.definition
    return ref.path == other.path and first.start <= two.end and two.start <= first.end


#: Bases of a class in a signature: Python's parentheses, then the syntax of other languages.
_PYTHON: Final = re.compile(r"^\s*class\s+\w+\s*(?:\[[^\]]*\])?\s*\(([^)]*)\)")
_OTHERS: Final = re.compile(
    r"\b(?:extends|implements|with)\b\s*([^{]+)"
    r"|\b(?:class|struct|interface|enum|protocol)\s+\w+[^:{]*:\s*([^{]+)"
)
_IMPL: Final = re.compile(r"\bimpl\b(?:<[^>]*>)?\s+([\w:]+)(?:<[^>]*>)?\s+for\s+(\w+)")
_BETWEEN: Final = re.compile(r",|\b(?:extends|implements|with)\b")
_NO_BASE: Final = word_set("object public private protected virtual implements extends with ABC Generic Protocol")


def _bases(ref: DefinitionRef) -> tuple[str, ...]:
    impl = _IMPL.search(ref.definition.signature)
    if impl:
        return (impl[1].rpartition("::")[2],)
    return tuple(base_names(ref.definition.signature)) if ref.definition.kind in _CLASSES else ()


def base_names(signature: str) -> list[str]:
    """Return the names of the bases in a class signature, without general ones such as `object` and `ABC`."""
    python = _PYTHON.match(signature)
    lists = [python[1]] if python else [" ".join(filter(None, groups)) for groups in _OTHERS.findall(signature)]
    bases = [re.split(r"[<\[]", base)[0] for text in lists for base in _BETWEEN.split(text) if "=" not in base]
    last_names = [names[-1] for base in bases if (names := re.findall(r"[A-Za-z_]\w*", base))]
    return [name for name in last_names if name not in _NO_BASE]


def find_confusions(
    code: CodeIndex, run: Run, gold: str, query: Query
) -> Iterator[tuple[SimilarCode, tuple[str, ...]]]:
    """Yield the definitions that enough engines rank above all targets, each with these engines; most engines first."""
    # The key is the results, so that engines with identical results count once.
    engines: dict[tuple[tuple[Hit, ...], ...], tuple[str, list[Ranking]]] = {}
    for engine in run.engines:
        if engine.role in ("candidate", "reference"):
            rankings = [ranking for ranking in engine.rankings if ranking.gold == gold and ranking.query == query.id]
            hits = tuple(tuple(Hit(hit.path, hit.start, hit.end) for hit in ranking.hits) for ranking in rankings)
            engines.setdefault(hits, (engine.name, rankings))
    targets = tuple(resolved for target in query.targets if (resolved := code.resolve(target)) is not None)
    ranks: dict[DefinitionRef, dict[str, int]] = {}  # engine -> best rank
    for engine_name, rankings in engines.values():
        for ranking in rankings:
            for rank, hit in enumerate(ranking.hits, 1):
                if any(hit.span.common_lines(target.span) for target in targets):
                    break
                if (ref := _definition_of(code, hit)) is not None:
                    best = ranks.setdefault(ref, {})
                    best[engine_name] = min(rank, best.get(engine_name, rank))
    needed = min(AdversaryRules.engines, len(engines))
    for ref, best in sorted(ranks.items(), key=lambda entry: (-len(entry[1]), min(entry[1].values()), entry[0].key)):
        top = min(best.values())
        if len(best) >= needed and top <= AdversaryRules.rank:
            strength = "strong" if len(best) >= AdversaryRules.strong else "medium" if len(best) > 1 else "weak"
            text = f"{len(best)} of {len(engines)} engines rank this code above the target, at best at rank {top}"
            yield SimilarCode(ref, _relationship(code, ref, targets), strength, text), tuple(sorted(best))


def _definition_of(code: CodeIndex, hit: Hit) -> DefinitionRef | None:
    if hit.path not in code.files or hit.start is None or hit.end is None:
        return None
    start, end = hit.start, hit.end
    inside = [ref for ref in code.definitions_in(hit.path) if start <= ref.definition.name_line <= end]
    around = code.definition_at(hit.path, start)
    small = [ref for ref in (*inside, around) if ref and ref.lines <= AdversaryRules.longest]

    def common(ref: DefinitionRef) -> int:
        return min(ref.definition.end, end) - max(ref.definition.start, start)

    return max(small, key=lambda ref: (common(ref), -ref.lines, ref.key), default=None)


def _relationship(code: CodeIndex, ref: DefinitionRef, targets: Sequence[Target]) -> str:
    right = [definition for target in targets for definition in code.definitions_of(target)]
    if is_peripheral(ref.path) or not code.can_be_target(ref):
        return "test"
    if any(name_key(ref.name) == name_key(definition.name) for definition in right):
        return "namesake"
    return "caller" if any(f"{definition.name}(" in code.text(ref) for definition in right) else "sibling"
