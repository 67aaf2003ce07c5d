"""The code that proposals are about: every definition with its names, its anchor, and how rare words are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from assay.gold.anchors import AnchorIndex, content_digest
from assay.gold.synth.sets import ASKED, Survey, innermost, is_aside, qualified
from assay.syntax.identifiers import parts, split, stem
from assay.syntax.outline import Definition
from assay.syntax.symbols import symbols
from assay.syntax.text import count_lines
from assay.types import PRIMARY, Span, Symbol, Target

#: Rust and others keep tests beside the code, in a module of this name, and measurements in a folder of this one.
_TEST: Final = re.compile(r"tests?_|Tests?[A-Z_]|test[A-Z]|[Tt]ests?$")
_MEASURES: Final = re.compile(r"(?:^|/)(?:benches|bench|mocks?|stubs?|e2e)/|\.d\.[cm]?ts$|\.pyi$")  # or only declares


@dataclass(frozen=True, slots=True)
class DefinitionRef:
    """A definition of the corpus, by its file and its place in it."""

    path: str
    position: int
    names: tuple[str, ...]  # its own last
    definition: Definition

    @property
    def name(self) -> str:
        """Its own name."""
        return self.names[-1]

    @property
    def lines(self) -> int:
        """How many it has."""
        return self.definition.end - self.definition.start + 1

    @property
    def key(self) -> tuple[str, int]:
        """Its place in path order."""
        return self.path, self.position


def joined(name: str) -> str:
    """Give a name as it is however its words are joined: fooBar, foo_bar and FooBar are one."""
    return "".join(split(name)) or name.lower()


def lies_in(spot: DefinitionRef, other: DefinitionRef) -> bool:
    """Tell whether a definition is a part of another."""
    one, whole = spot.definition, other.definition
    return (
        spot.path == other.path and spot.position != other.position and whole.start <= one.start <= one.end <= whole.end
    )


class CodeIndex:
    """A corpus that was parsed once; what is looked up in it is remembered."""

    def __init__(self, survey: Survey) -> None:
        self.corpus = survey.corpus
        self.files = {file.path: file for file in survey.files}
        self.library = AnchorIndex(survey.corpus)
        self._symbols: dict[str, tuple[Symbol, ...]] = {}
        self._lines: dict[str, list[str]] = {}
        self._stems: dict[tuple[str, int], frozenset[str]] = {}

    @cached_property
    def languages(self) -> dict[str, str | None]:
        """The language of every file of the corpus, code or not."""
        return {file.path: file.language for file in self.corpus.files}

    @cached_property
    def spots(self) -> tuple[DefinitionRef, ...]:
        """Every definition that can be asked for, tests and examples too, in path order."""
        return tuple(spot for path in sorted(self.files) for spot in self.in_file(path))

    @cached_property
    def by_name(self) -> dict[str, tuple[DefinitionRef, ...]]:
        """The definitions of each name, however its words are joined."""
        groups: dict[str, list[DefinitionRef]] = {}
        for spot in self.spots:
            groups.setdefault(joined(spot.name), []).append(spot)
        return {name: tuple(group) for name, group in groups.items()}

    @cached_property
    def known(self) -> frozenset[str]:
        """Every name that the corpus defines, and those of its folders and files."""
        defined = {d.name for file in self.files.values() for d in file.definitions}
        return frozenset(defined.union(*(re.findall(r"\w+", path) for path in self.languages)))

    @cached_property
    def rarity(self) -> Counter[str]:
        """In how many files each stem stands."""
        counted: Counter[str] = Counter()
        for file in self.files.values():
            counted.update(stems(parts(file.text)))
        return counted

    def in_file(self, path: str) -> Iterator[DefinitionRef]:
        """Yield the definitions of a file that can be asked for."""
        definitions = self.files[path].definitions
        for position, definition in enumerate(definitions):
            if definition.kind in ASKED:
                yield DefinitionRef(path, position, qualified(definitions, position), definition)

    def own(self, path: str) -> bool:
        """Tell whether a path is code of the project that may answer: no test, example or copy of other people's."""
        return path in self.files and not is_aside(path) and _MEASURES.search(path) is None

    def answers(self, spot: DefinitionRef) -> bool:
        """Tell whether a definition may answer: code of the project, and no test that lies beside it."""
        return self.own(spot.path) and not any(_TEST.match(name) for name in spot.names)

    def spot(self, path: str, position: int) -> DefinitionRef:
        """Give the definition at a place of a file."""
        definitions = self.files[path].definitions
        return DefinitionRef(path, position, qualified(definitions, position), definitions[position])

    def at_line(self, path: str, line: int) -> DefinitionRef | None:
        """Find the definition that a line of a file belongs to."""
        if path not in self.files:
            return None
        position = innermost(self.files[path].definitions, line)
        return self.spot(path, position) if position >= 0 else None

    def text(self, spot: DefinitionRef) -> str:
        """Read a definition with what is written above it."""
        if spot.path not in self._lines:
            self._lines[spot.path] = self.files[spot.path].text.split("\n")
        return "\n".join(self._lines[spot.path][spot.definition.start - 1 : spot.definition.end])

    def stems_of(self, spot: DefinitionRef) -> frozenset[str]:
        """Give the stems of all words of a definition, and of the names around it."""
        if spot.key not in self._stems:
            self._stems[spot.key] = stems(parts(f"{self.text(spot)} {' '.join(spot.names)}"))
        return self._stems[spot.key]

    def anchor(self, spot: DefinitionRef, grade: int = PRIMARY) -> Target | None:
        """Anchor a definition to its symbol where that holds, else to its lines; None for one that cannot be named."""
        for symbol in self._symbols_at(spot):
            target = Target(Span(spot.path), grade, symbol.name)
            if isinstance(self.library.look_up(target), Target):
                return target
        return self.lines(spot.path, spot.definition.start, spot.definition.end, grade)

    def lines(self, path: str, start: int, end: int, grade: int = PRIMARY) -> Target | None:
        """Anchor lines with a hash of what they say."""
        if path not in self.files or end > count_lines(self.files[path].text):
            return None
        said = self.files[path].text.split("\n")[start - 1 : end]
        target = Target(Span(path, start, end), grade, digest=content_digest(said))
        return target if isinstance(self.library.look_up(target), Target) else None

    def resolved(self, target: Target) -> Target | None:
        """Give a target with its lines, if it is there."""
        found = self.library.look_up(target)
        return found if isinstance(found, Target) else None

    def spots_of(self, target: Target) -> tuple[DefinitionRef, ...]:
        """Give the definition that a target is, or those that it holds or lies in."""
        found = self.resolved(target)
        if found is None or found.span.path not in self.files:
            return ()
        every = tuple(self.in_file(found.span.path))
        if found.span.start is None or found.span.end is None:
            return tuple(spot for spot in every if spot.definition.parent < 0)
        span = found.unit or found.span
        start, end = span.start or 1, span.end or 1
        same = [s for s in every if s.definition.start <= start and start <= s.definition.name_line <= end]
        exact = [s for s in same if abs(s.definition.end - end) <= 1]
        if exact:
            return (exact[0],)
        around = self.at_line(found.span.path, found.span.start)
        return (around,) if around else ()

    def _symbols_at(self, spot: DefinitionRef) -> list[Symbol]:
        if spot.path not in self._symbols:
            language = self.languages[spot.path]
            self._symbols[spot.path] = symbols(spot.path, self.files[spot.path].text, language)
        line = spot.definition.name_line
        here = [
            s
            for s in self._symbols[spot.path]
            if s.start <= line <= s.end and s.name.partition("~")[0].rpartition(".")[2] == spot.name
        ]
        return sorted(here, key=lambda s: (s.end - s.start, s.start, s.name))


def stems(words: Iterable[str]) -> frozenset[str]:
    """Give the roots of words."""
    return frozenset(stem(word) for word in words)
