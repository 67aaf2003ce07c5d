"""The code that proposals refer to: definitions with their names and anchors, and word frequencies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from assay.gold.anchors import AnchorIndex, content_digest
from assay.gold.synth.survey import TARGET_KINDS, Survey, innermost_definition, is_peripheral, qualified_name
from assay.syntax.identifiers import parts, split, stem
from assay.syntax.outline import Definition
from assay.syntax.symbols import symbols
from assay.syntax.text import count_lines
from assay.types import PRIMARY, Span, Symbol, Target

#: Names of test modules and functions that stand beside the code, as in Rust.
_TEST: Final = re.compile(r"tests?_|Tests?[A-Z_]|test[A-Z]|[Tt]ests?$")
#: Benchmarks, mocks, and files that only declare.
_NO_TARGET: Final = re.compile(r"(?:^|/)(?:benches|bench|mocks?|stubs?|e2e)/|\.d\.[cm]?ts$|\.pyi$")


@dataclass(frozen=True, slots=True)
class DefinitionRef:
    """A definition of the corpus, by its file and its position there."""

    path: str
    position: int
    names: tuple[str, ...]  # its own name last
    definition: Definition

    @property
    def name(self) -> str:
        """The unqualified name."""
        return self.names[-1]

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.definition.end - self.definition.start + 1

    @property
    def key(self) -> tuple[str, int]:
        """The sort key in path order."""
        return self.path, self.position


def name_key(name: str) -> str:
    """Return a key that fooBar, foo_bar and FooBar share."""
    return "".join(split(name)) or name.lower()


def stems(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of words."""
    return frozenset(stem(word) for word in words)


def is_inside(ref: DefinitionRef, other: DefinitionRef) -> bool:
    """Return whether a definition is part of another."""
    one, whole = ref.definition, other.definition
    return (
        ref.path == other.path and ref.position != other.position and whole.start <= one.start <= one.end <= whole.end
    )


class CodeIndex:
    """A parsed corpus with cached look-ups."""

    def __init__(self, survey: Survey) -> None:
        self.corpus = survey.corpus
        self.files = {file.path: file for file in survey.files}
        self._anchors = AnchorIndex(survey.corpus)
        self._symbols: dict[str, tuple[Symbol, ...]] = {}
        self._lines: dict[str, list[str]] = {}
        self._stems: dict[tuple[str, int], frozenset[str]] = {}

    @cached_property
    def languages(self) -> dict[str, str | None]:
        """The language of every file of the corpus, code or not."""
        return {file.path: file.language for file in self.corpus.files}

    @cached_property
    def definitions(self) -> tuple[DefinitionRef, ...]:
        """All definitions that can be targets by kind, including tests and examples, in path order."""
        return tuple(ref for path in sorted(self.files) for ref in self.definitions_in(path))

    @cached_property
    def by_name(self) -> dict[str, tuple[DefinitionRef, ...]]:
        """The definitions by `name_key`."""
        groups: dict[str, list[DefinitionRef]] = {}
        for ref in self.definitions:
            groups.setdefault(name_key(ref.name), []).append(ref)
        return {name: tuple(group) for name, group in groups.items()}

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that the corpus defines, and the words of its paths."""
        defined = {d.name for file in self.files.values() for d in file.definitions}
        return frozenset(defined.union(*(re.findall(r"\w+", path) for path in self.languages)))

    @cached_property
    def file_counts(self) -> Counter[str]:
        """The number of files that contain each stem."""
        counted: Counter[str] = Counter()
        for file in self.files.values():
            counted.update(stems(parts(file.text)))
        return counted

    def definitions_in(self, path: str) -> Iterator[DefinitionRef]:
        """Yield the definitions of a file that can be targets by kind."""
        for position, definition in enumerate(self.files[path].definitions):
            if definition.kind in TARGET_KINDS:
                yield self.definition(path, position)

    def definition(self, path: str, position: int) -> DefinitionRef:
        """Return the definition at a position of a file."""
        definitions = self.files[path].definitions
        return DefinitionRef(path, position, qualified_name(definitions, position), definitions[position])

    def definition_at(self, path: str, line: int) -> DefinitionRef | None:
        """Return the innermost definition around a line of a file."""
        position = innermost_definition(self.files[path].definitions, line) if path in self.files else -1
        return self.definition(path, position) if position >= 0 else None

    def definitions_of(self, target: Target) -> tuple[DefinitionRef, ...]:
        """Return the definition of a target; for a file its top-level ones, else the one around its first line."""
        found = self.resolve(target)
        if found is None or found.span.path not in self.files:
            return ()
        every = tuple(self.definitions_in(found.span.path))
        if found.span.start is None or found.span.end is None:
            return tuple(ref for ref in every if ref.definition.parent < 0)
        span = found.unit or found.span
        start, end = span.start or 1, span.end or 1
        for ref in every:
            definition = ref.definition
            if definition.start <= start <= definition.name_line <= end and abs(definition.end - end) <= 1:
                return (ref,)
        around = self.definition_at(found.span.path, found.span.start)
        return (around,) if around else ()

    def is_own_code(self, path: str) -> bool:
        """Return whether a path is project code: not a test, an example or vendored."""
        return path in self.files and not is_peripheral(path) and _NO_TARGET.search(path) is None

    def can_be_target(self, ref: DefinitionRef) -> bool:
        """Return whether a definition is project code and no test beside it."""
        return self.is_own_code(ref.path) and not any(_TEST.match(name) for name in ref.names)

    def text(self, ref: DefinitionRef) -> str:
        """Return the source of a definition, including the comments above it."""
        return "\n".join(self._lines_of(ref.path)[ref.definition.start - 1 : ref.definition.end])

    def stems_of(self, ref: DefinitionRef) -> frozenset[str]:
        """Return the stems of all words of a definition and of its qualified name."""
        if ref.key not in self._stems:
            self._stems[ref.key] = stems(parts(f"{self.text(ref)} {' '.join(ref.names)}"))
        return self._stems[ref.key]

    def resolve(self, target: Target) -> Target | None:
        """Return a target with its lines, or None if it does not resolve."""
        found = self._anchors.look_up(target)
        return found if isinstance(found, Target) else None

    def anchor(self, ref: DefinitionRef, grade: int = PRIMARY) -> Target | None:
        """Return a target by symbol if that resolves, else by lines and content hash, else None."""
        for symbol in self._symbols_at(ref):
            target = Target(Span(ref.path), grade, symbol.name)
            if self.resolve(target) is not None:
                return target
        start, end = ref.definition.start, ref.definition.end
        if end > count_lines(self.files[ref.path].text):
            return None
        digest = content_digest(self._lines_of(ref.path)[start - 1 : end])
        target = Target(Span(ref.path, start, end), grade, digest=digest)
        return target if self.resolve(target) is not None else None

    def _lines_of(self, path: str) -> list[str]:
        if path not in self._lines:
            self._lines[path] = self.files[path].text.split("\n")
        return self._lines[path]

    def _symbols_at(self, ref: DefinitionRef) -> list[Symbol]:
        if ref.path not in self._symbols:
            self._symbols[ref.path] = symbols(ref.path, self.files[ref.path].text, self.languages[ref.path])
        line = ref.definition.name_line
        here = [
            s
            for s in self._symbols[ref.path]
            if s.start <= line <= s.end and s.name.partition("~")[0].rpartition(".")[2] == ref.name
        ]
        return sorted(here, key=lambda s: (s.end - s.start, s.start, s.name))
