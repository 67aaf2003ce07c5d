"""A file as re-anchoring sees it: lines, and the definitions or sections they form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from assay.corpus.walking.languages import detect
from assay.gold.reanchor.likeness import says, squeezed
from assay.syntax.headings import Heading, headings
from assay.syntax.symbols import symbols

_DOCS: Final = frozenset({"markdown", "rst", "asciidoc", "text"})
_COMMENT: Final = re.compile(r"\s*(?://|#|/\*|\*|--|;|%|@|'''|\"\"\"|<!--)")
_CLOSING: Final = re.compile(r"[\s)\]}>;,]*(?:end)?[\s)\]}>;,]*")
_BEFORE: Final = re.compile(r"^[\W_]*(?:\d+[.)]\s+)?")
_WORD: Final = re.compile(r"\w[\w.'-]*")
_REPEAT: Final = re.compile(r"~[0-9]+$")


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """A definition of a program, or a section of a document with all below it."""

    start: int
    end: int
    name: str  # with its scopes; a repeated one with ~2
    kind: str

    @property
    def length(self) -> int:
        """Count its lines."""
        return self.end - self.start + 1

    @property
    def plain(self) -> str:
        """Its name without the number of a repeated one, which another definition above it changes."""
        return _REPEAT.sub("", self.name)

    @property
    def last(self) -> str:
        """Its own name, without scopes."""
        return self.plain.rpartition("\n" if self.kind == "section" else ".")[2]


class Sheet:
    """The lines of a file with what they form."""

    def __init__(self, path: str, lines: Sequence[str]) -> None:
        self.path = path
        self.lines = tuple(lines)
        found = detect(path, (lines[0] if lines else "").encode("utf-8", "replace"))
        self.language = found.language
        self.is_document = found.language in _DOCS

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What the file defines, or its sections; none when neither can be read."""
        if self.is_document:
            return tuple(_sections(self.lines))
        text = "\n".join(self.lines) + "\n"
        return tuple(Part(s.start, s.end, s.name, s.kind) for s in symbols(self.path, text, self.language))

    @cached_property
    def _places(self) -> dict[Part, int]:
        """The position of each part among all."""
        return {part: place for place, part in enumerate(self.parts)}

    def neighbours(self, part: Part) -> tuple[Part | None, Part | None]:
        """Give the part that begins before and the one that begins after one, in file order."""
        place = self._places[part]
        before = self.parts[place - 1] if place else None
        return before, self.parts[place + 1] if place + 1 < len(self.parts) else None

    def around(self, part: Part) -> Part | None:
        """Give the innermost part that holds a part."""
        outer = [one for one in self.parts if one != part and one.start <= part.start and part.end <= one.end]
        return min(outer, key=lambda one: (one.length, one), default=None)

    def text(self, start: int, end: int) -> tuple[str, ...]:
        """Give some lines."""
        return self.lines[start - 1 : end]

    def is_filler(self, start: int, end: int) -> bool:
        """Tell whether lines say nothing of their own: blanks, closing brackets, and in programs comments."""
        return all(
            _CLOSING.fullmatch(line) or (not self.is_document and _COMMENT.match(line))
            for line in self.text(start, end)
        )

    @cached_property
    def _counts(self) -> Counter[str]:
        """How often each line stands in the file, blanks aside."""
        return Counter(squeezed(line) for line in self.lines)

    def is_distinct(self, line: int) -> bool:
        """Tell whether a line says something and stands in the file only once."""
        said = squeezed(self.lines[line - 1])
        return says(said) and self._counts[said] == 1

    def distinct(self, start: int, end: int) -> frozenset[str]:
        """Give the lines of a range that stand in the file only once: what is said twice tells no part by itself."""
        return frozenset(squeezed(self.lines[line - 1]) for line in range(start, end + 1) if self.is_distinct(line))


def _sections(lines: Sequence[str]) -> list[Part]:
    """Give each heading with all up to the next of its level or above, blanks at the end left out."""
    found = list(headings(lines))
    around: list[Heading] = []
    seen: Counter[str] = Counter()
    parts: list[Part] = []
    for nth, heading in enumerate(found):
        while around and around[-1].level >= heading.level:
            around.pop()
        around.append(heading)
        name = "\n".join(_title(outer.title) for outer in around)
        seen[name] += 1
        after = next((later.line - 1 for later in found[nth + 1 :] if later.level <= heading.level), len(lines))
        parts.append(Part(heading.line, _trimmed(lines, heading.line, after), _numbered(name, seen[name]), "section"))
    return parts


def _title(title: str) -> str:
    """Give the words of a title: pictures, marks and the number of a step before it come and go."""
    return " ".join(_WORD.findall(_BEFORE.sub("", title.casefold()))) or title


def _numbered(name: str, count: int) -> str:
    """Give a repeated name its number."""
    return name if count == 1 else f"{name}~{count}"


def _trimmed(lines: Sequence[str], start: int, end: int) -> int:
    """Give the last line that is not blank."""
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end
