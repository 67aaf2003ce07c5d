"""A file as re-anchoring sees it: lines, and the definitions or sections they form."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from assay.corpus.languages import detect
from assay.gold.reanchor.records import OldRange
from assay.syntax.prose import DocHeading, headings
from assay.syntax.symbols import symbols
from assay.types import Span

_WORD = re.compile(r"\w+")
_SAYS = re.compile(r"(?:[^\W_][\W_]*){3}")
_BLANKS = re.compile(r"\s+")


class Fingerprint:
    """What a piece of text is compared by: its lines that say something, and its words, each counted."""

    __slots__ = ("lines", "words")

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = Counter(said for line in lines if has_word(said := squeezed(line)))
        self.words = count_words(lines)


def count_words(lines: Sequence[str]) -> Counter[str]:
    """Count the words of some lines, whatever their case."""
    return Counter(_WORD.findall("\n".join(lines).casefold()))


def squeezed(line: str) -> str:
    """Give a line without the blanks that formatting changes."""
    return _BLANKS.sub(" ", line.strip())


def has_word(line: str) -> bool:
    """Tell whether a line has a word of its own: three letters or digits; a bracket has none."""
    return _SAYS.search(line) is not None


def similarity(one: Fingerprint, other: Fingerprint) -> float:
    """Average the Dice coefficients of lines and of words: lines tell copies apart, words survive edits."""
    words = _dice(one.words, other.words)
    return (_dice(one.lines, other.lines) + words) / 2 if one.lines or other.lines else words


def kept(old: Fingerprint, new: Fingerprint) -> float:
    """Give the share of the old lines and words that the new text has, however much it has besides."""
    words = _share(old.words, new.words)
    return (_share(old.lines, new.lines) + words) / 2 if old.lines else words


def title_likeness(one: str, other: str) -> float:
    """Compare two names or titles by their words, a plural taken for its singular."""
    first, second = (Counter(word.removesuffix("s") for word in _title_words(name)) for name in (one, other))
    return _dice(first, second) if first and second else 0.0


def _title_words(name: str) -> list[str]:
    from assay.syntax.identifiers import split

    return [part for word in _WORD.findall(name) for part in split(word) or (word,)]


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def _share(old: Counter[str], new: Counter[str]) -> float:
    return (old & new).total() / old.total() if old else 1.0


_DOCS: Final = frozenset({"markdown", "rst", "asciidoc", "text"})
_COMMENT: Final = re.compile(r"\s*(?://|#|/\*|\*|--|;|%|@|'''|\"\"\"|<!--)")
_CLOSING: Final = re.compile(r"[\s)\]}>;,]*(?:end)?[\s)\]}>;,]*")
_BEFORE: Final = re.compile(r"^[\W_]*(?:\d+[.)]\s+)?")
_SHEETS_WORD: Final = re.compile(r"\w[\w.'-]*")
_REPEAT: Final = re.compile(r"~[0-9]+$")


@dataclass(frozen=True, slots=True, order=True)
class Section:
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


class ParsedFile:
    """The lines of a file with what they form."""

    def __init__(self, path: str, lines: Sequence[str]) -> None:
        self.path = path
        self.lines = tuple(lines)
        found = detect(path, (lines[0] if lines else "").encode("utf-8", "replace"))
        self.language = found.language
        self.is_document = found.language in _DOCS

    @cached_property
    def parts(self) -> tuple[Section, ...]:
        """What the file defines, or its sections; none when neither can be read."""
        if self.is_document:
            return tuple(_sections(self.lines))
        text = "\n".join(self.lines) + "\n"
        return tuple(Section(s.start, s.end, s.name, s.kind) for s in symbols(self.path, text, self.language))

    @cached_property
    def _places(self) -> dict[Section, int]:
        return {part: place for place, part in enumerate(self.parts)}

    def neighbours(self, part: Section) -> tuple[Section | None, Section | None]:
        """Give the part that begins before and the one that begins after one, in file order."""
        place = self._places[part]
        before = self.parts[place - 1] if place else None
        return before, self.parts[place + 1] if place + 1 < len(self.parts) else None

    def around(self, part: Section) -> Section | None:
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
        return Counter(squeezed(line) for line in self.lines)

    def is_distinct(self, line: int) -> bool:
        """Tell whether a line says something and stands in the file only once."""
        said = squeezed(self.lines[line - 1])
        return has_word(said) and self._counts[said] == 1

    def distinct(self, start: int, end: int) -> frozenset[str]:
        """Give the lines of a range that stand in the file only once: what is said twice tells no part by itself."""
        return frozenset(squeezed(self.lines[line - 1]) for line in range(start, end + 1) if self.is_distinct(line))


def _sections(lines: Sequence[str]) -> list[Section]:
    found = list(headings(lines))
    around: list[DocHeading] = []
    seen: Counter[str] = Counter()
    parts: list[Section] = []
    for nth, heading in enumerate(found):
        while around and around[-1].level >= heading.level:
            around.pop()
        around.append(heading)
        name = "\n".join(_title(outer.title) for outer in around)
        seen[name] += 1
        after = next((later.line - 1 for later in found[nth + 1 :] if later.level <= heading.level), len(lines))
        parts.append(
            Section(heading.line, _trimmed(lines, heading.line, after), _numbered(name, seen[name]), "section")
        )
    return parts


def _title(title: str) -> str:
    return " ".join(_SHEETS_WORD.findall(_BEFORE.sub("", title.casefold()))) or title


def _numbered(name: str, count: int) -> str:
    return name if count == 1 else f"{name}~{count}"


def _trimmed(lines: Sequence[str], start: int, end: int) -> int:
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


@dataclass(frozen=True, slots=True)
class RangePart:
    """Some lines of a range: a whole part, lines inside the part `holder`, or lines in none."""

    start: int
    end: int
    whole: Section | None
    holder: Section | None


def frame(sheet: ParsedFile, start: int, end: int, slack: int) -> tuple[RangePart, ...]:
    """Take a range apart: one piece where it is a part or holds none, else one for each part in it, and the rest."""
    whole = _whole(sheet, sheet.parts, start, end, slack)
    if whole is not None:
        return (RangePart(start, end, whole, None),)
    holder = holder_of(sheet.parts, start, end)
    tops = [part for part in _tops(sheet.parts, holder) if part.start <= end and start <= part.end]
    pieces = list(_pieces(sheet, tops, start, end, slack, holder))
    if not any(piece.whole for piece in pieces) and holder is not None:
        return (RangePart(start, end, None, holder),)
    return tuple(pieces)


def _pieces(
    sheet: ParsedFile, tops: Sequence[Section], start: int, end: int, slack: int, holder: Section | None
) -> Iterator[RangePart]:
    line = start
    for part in tops:
        if part.start > line and not sheet.is_filler(line, part.start - 1):
            yield RangePart(line, part.start - 1, None, holder)
        first, last = max(line, part.start), min(end, part.end)
        if first <= last:
            whole = part if _is(sheet, part, first, last, slack) else None
            yield RangePart(first, last, whole, None if whole else part)
        line = max(line, part.end + 1)
    if line <= end and (line == start or not sheet.is_filler(line, end)):
        yield RangePart(line, end, None, holder)


def _whole(sheet: ParsedFile, parts: Sequence[Section], start: int, end: int, slack: int) -> Section | None:
    found = [part for part in parts if _is(sheet, part, start, end, slack)]
    return max(found, key=lambda part: (part.length, part), default=None)


def _is(sheet: ParsedFile, part: Section, start: int, end: int, slack: int) -> bool:
    return _begins(sheet, part, start, slack) and _ends(sheet, part, end, slack)


def holder_of(parts: Sequence[Section], start: int, end: int) -> Section | None:
    """Find the innermost part that holds a range."""
    holders = [part for part in parts if part.start <= start and end <= part.end]
    return min(holders, key=lambda part: (part.length, part), default=None)


def _tops(parts: Sequence[Section], holder: Section | None) -> list[Section]:
    inside = [p for p in parts if p != holder and (holder is None or holder.start <= p.start <= p.end <= holder.end)]
    tops: list[Section] = []
    for part in sorted(inside, key=lambda part: (part.start, -part.end, part.name)):
        if not tops or part.start > tops[-1].end:
            tops.append(part)
    return tops


def _begins(sheet: ParsedFile, part: Section, start: int, slack: int) -> bool:
    if start <= part.start:
        return part.start - start <= slack and sheet.is_filler(start, part.start - 1)
    return start <= part.end and sheet.is_filler(part.start, start - 1)


def _ends(sheet: ParsedFile, part: Section, end: int, slack: int) -> bool:
    if end >= part.end:
        return end - part.end <= slack and sheet.is_filler(part.end + 1, end)
    return part.end - end <= slack and end >= part.start and sheet.is_filler(end + 1, part.end)


@dataclass(frozen=True, slots=True)
class WordIndex:
    """Which parts hold which words, weighted by how rare the word is; vectors have length 1."""

    spans: tuple[Span, ...]
    rarity: Mapping[str, float]
    holders: Mapping[str, list[tuple[int, float]]]

    def nearest(self, sheet: ParsedFile, old: OldRange, most: int) -> list[Span]:
        """List the parts whose words are most like a range's, best first (cosine of tf-idf vectors)."""
        scores: dict[int, float] = defaultdict(float)
        for word, weight in _vector(count_words(sheet.text(old.start, old.end)), self.rarity).items():
            for place, held in self.holders.get(word, ()):
                scores[place] += weight * held
        best = sorted(scores, key=lambda place: (-scores[place], self.spans[place]))
        return [self.spans[place] for place in best[:most]]


def index_words(sheets: Iterator[ParsedFile], most: int) -> WordIndex:
    """Index the parts of some files; of more than `most` the first are taken."""
    found: list[tuple[Span, Counter[str]]] = []
    for sheet in sheets:
        found += [
            (Span(sheet.path, part.start, part.end), count_words(sheet.text(part.start, part.end)))
            for part in sheet.parts
        ]
        if len(found) >= most:
            break
    counts = Counter(word for _, words in found for word in words)
    rarity = {word: math.log(len(found) / count) for word, count in counts.items()}
    holders: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for place, (_, words) in enumerate(found):
        for word, weight in _vector(words, rarity).items():
            holders[word].append((place, weight))
    return WordIndex(tuple(span for span, _ in found), rarity, holders)


def _vector(words: Counter[str], rarity: Mapping[str, float]) -> dict[str, float]:
    raw = {word: (1 + math.log(count)) * rarity[word] for word, count in words.items() if rarity.get(word)}
    norm = math.sqrt(sum(weight * weight for weight in raw.values()))
    return {word: weight / norm for word, weight in raw.items()} if norm else {}
