"""Files as re-anchoring compares them: lines, definitions or sections, and fingerprints of text."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from assay.corpus.languages import detect
from assay.gold.reanchor.records import OldRange
from assay.syntax.identifiers import split
from assay.syntax.prose import DocHeading, headings
from assay.syntax.symbols import symbols
from assay.types import Span

_DOCS: Final = frozenset({"markdown", "rst", "asciidoc", "text"})
_COMMENT: Final = re.compile(r"\s*(?://|#|/\*|\*|--|;|%|@|'''|\"\"\"|<!--)")
_CLOSING: Final = re.compile(r"[\s)\]}>;,]*(?:end)?[\s)\]}>;,]*")
_REPEAT: Final = re.compile(r"~[0-9]+$")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, order=True)
class Section:
    """A definition of a program, or a section of a document with its subsections."""

    start: int
    end: int
    name: str  # with its scopes; a repeated one with ~2
    kind: str

    @property
    def length(self) -> int:
        """Number of lines."""
        return self.end - self.start + 1

    @property
    def plain(self) -> str:
        """Name without the number of a repeated one, which changes when another is added above."""
        return _REPEAT.sub("", self.name)

    @property
    def last(self) -> str:
        """Name without scopes."""
        return self.plain.rpartition("\n" if self.kind == "section" else ".")[2]


class ParsedFile:
    """The lines of a file and the definitions or sections in it."""

    def __init__(self, path: str, lines: Sequence[str]) -> None:
        self.path = path
        self.lines = tuple(lines)
        self.language = detect(path, (lines[0] if lines else "").encode("utf-8", "replace")).language
        self.is_document = self.language in _DOCS

    @cached_property
    def parts(self) -> tuple[Section, ...]:
        """Definitions or sections in file order; empty for unsupported languages."""
        if self.is_document:
            return tuple(_sections(self.lines))
        text = "\n".join(self.lines) + "\n"
        return tuple(Section(s.start, s.end, s.name, s.kind) for s in symbols(self.path, text, self.language))

    @cached_property
    def _places(self) -> dict[Section, int]:
        return {part: place for place, part in enumerate(self.parts)}

    def neighbors(self, part: Section) -> tuple[Section | None, Section | None]:
        """Return the parts that begin before and after one, in file order."""
        place = self._places[part]
        before = self.parts[place - 1] if place else None
        return before, self.parts[place + 1] if place + 1 < len(self.parts) else None

    def enclosing(self, part: Section) -> Section | None:
        """Return the innermost other part that encloses a part."""
        return find_enclosing([one for one in self.parts if one != part], part.start, part.end)

    def text(self, start: int, end: int) -> tuple[str, ...]:
        """Return lines from start to end, both included."""
        return self.lines[start - 1 : end]

    def is_filler(self, start: int, end: int) -> bool:
        """Return whether lines are only blanks, closing brackets or, in programs, comments."""
        return all(
            _CLOSING.fullmatch(line) or (not self.is_document and _COMMENT.match(line))
            for line in self.text(start, end)
        )

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(normalize_blanks(line) for line in self.lines)

    def is_distinct(self, line: int) -> bool:
        """Return whether a line has a word and occurs in the file only once."""
        text = normalize_blanks(self.lines[line - 1])
        return has_word(text) and self._counts[text] == 1

    def distinct(self, start: int, end: int) -> frozenset[str]:
        """Return the lines of a range that occur in the file only once; repeated lines identify nothing."""
        return frozenset(
            normalize_blanks(self.lines[line - 1]) for line in range(start, end + 1) if self.is_distinct(line)
        )


def _sections(lines: Sequence[str]) -> Iterator[Section]:
    found = list(headings(lines))
    outer: list[DocHeading] = []
    seen: Counter[str] = Counter()
    for nth, heading in enumerate(found):
        while outer and outer[-1].level >= heading.level:
            outer.pop()
        outer.append(heading)
        name = "\n".join(_normalize_title(one.title) for one in outer)
        seen[name] += 1
        end = next((later.line - 1 for later in found[nth + 1 :] if later.level <= heading.level), len(lines))
        while end > heading.line and not lines[end - 1].strip():
            end -= 1
        yield Section(heading.line, end, name if seen[name] == 1 else f"{name}~{seen[name]}", "section")


def _normalize_title(title: str) -> str:
    unnumbered = re.sub(r"^[\W_]*(?:\d+[.)]\s+)?", "", title.casefold())
    return " ".join(re.findall(r"\w[\w.'-]*", unnumbered)) or title


@dataclass(frozen=True, slots=True)
class RangePart:
    """Lines of a range: a whole section, lines inside the section `holder`, or lines outside any."""

    start: int
    end: int
    whole: Section | None
    holder: Section | None


def split_range(sheet: ParsedFile, start: int, end: int, slack: int) -> tuple[RangePart, ...]:
    """Split a range into the sections in it and the rest; one part if it is a section or contains none."""
    whole = [part for part in sheet.parts if _is_section(sheet, part, start, end, slack)]
    if whole:
        return (RangePart(start, end, max(whole, key=lambda part: (part.length, part)), None),)
    holder = find_enclosing(sheet.parts, start, end)
    tops: list[Section] = []
    for part in sorted(sheet.parts, key=lambda part: (part.start, -part.end, part.name)):
        inside = part != holder and (holder is None or holder.start <= part.start <= part.end <= holder.end)
        if inside and (not tops or part.start > tops[-1].end):
            tops.append(part)
    tops = [part for part in tops if part.start <= end and start <= part.end]
    pieces = tuple(_split_at(sheet, tops, start, end, slack, holder))
    if holder is not None and not any(piece.whole for piece in pieces):
        return (RangePart(start, end, None, holder),)
    return pieces


def _split_at(
    sheet: ParsedFile, tops: Sequence[Section], start: int, end: int, slack: int, holder: Section | None
) -> Iterator[RangePart]:
    line = start
    for part in tops:
        if part.start > line and not sheet.is_filler(line, part.start - 1):
            yield RangePart(line, part.start - 1, None, holder)
        first, last = max(line, part.start), min(end, part.end)
        if first <= last:
            whole = part if _is_section(sheet, part, first, last, slack) else None
            yield RangePart(first, last, whole, None if whole else part)
        line = max(line, part.end + 1)
    if line <= end and (line == start or not sheet.is_filler(line, end)):
        yield RangePart(line, end, None, holder)


def _is_section(sheet: ParsedFile, part: Section, start: int, end: int, slack: int) -> bool:
    if start <= part.start:
        begins = part.start - start <= slack and sheet.is_filler(start, part.start - 1)
    else:
        begins = start <= part.end and sheet.is_filler(part.start, start - 1)
    if not begins:
        return False
    if end >= part.end:
        return end - part.end <= slack and sheet.is_filler(part.end + 1, end)
    return part.end - end <= slack and end >= part.start and sheet.is_filler(end + 1, part.end)


def find_enclosing(parts: Iterable[Section], start: int, end: int) -> Section | None:
    """Return the innermost part that encloses a range."""
    outer = [part for part in parts if part.start <= start and end <= part.end]
    return min(outer, key=lambda part: (part.length, part), default=None)


class Fingerprint:
    """The counted lines and words that a text is compared by."""

    __slots__ = ("lines", "words")

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = Counter(text for line in lines if has_word(text := normalize_blanks(line)))
        self.words = _count_words(lines)


def normalize_blanks(line: str) -> str:
    """Collapse runs of whitespace, which formatting changes."""
    return " ".join(line.split())


def has_word(line: str) -> bool:
    """Return whether a line has three letters or digits; a lone bracket has none."""
    return re.search(r"(?:[^\W_][\W_]*){3}", line) is not None


def similarity(one: Fingerprint, other: Fingerprint) -> float:
    """Average the Dice coefficients of lines and of words: lines tell copies apart, words survive edits."""
    words = _dice(one.words, other.words)
    return (_dice(one.lines, other.lines) + words) / 2 if one.lines or other.lines else words


def containment(old: Fingerprint, new: Fingerprint) -> float:
    """Average the shares of the old lines and of the old words that the new text contains."""
    words = _share(old.words, new.words)
    return (_share(old.lines, new.lines) + words) / 2 if old.lines else words


def title_similarity(one: str, other: str) -> float:
    """Return the Dice coefficient of the words of two names or titles, ignoring a plural s."""
    first, second = (
        Counter(part.removesuffix("s") for word in _WORD.findall(name) for part in split(word) or (word,))
        for name in (one, other)
    )
    return _dice(first, second) if first and second else 0.0


def _count_words(lines: Sequence[str]) -> Counter[str]:
    return Counter(_WORD.findall("\n".join(lines).casefold()))


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def _share(old: Counter[str], new: Counter[str]) -> float:
    return (old & new).total() / old.total() if old else 1.0


@dataclass(frozen=True, slots=True)
class WordIndex:
    """An inverted index of tf-idf vectors of sections, normalized to length 1."""

    spans: tuple[Span, ...]
    rarity: Mapping[str, float]
    holders: Mapping[str, list[tuple[int, float]]]

    def nearest(self, sheet: ParsedFile, old: OldRange, most: int) -> list[Span]:
        """Return the sections most similar to a range by cosine, best first."""
        scores: dict[int, float] = defaultdict(float)
        for word, weight in _vector(_count_words(sheet.text(old.start, old.end)), self.rarity).items():
            for place, held in self.holders.get(word, ()):
                scores[place] += weight * held
        best = sorted(scores, key=lambda place: (-scores[place], self.spans[place]))
        return [self.spans[place] for place in best[:most]]


def index_words(sheets: Iterable[ParsedFile], most: int) -> WordIndex:
    """Index the sections of files, stopping after the file that reaches `most`."""
    found: list[tuple[Span, Counter[str]]] = []
    for sheet in sheets:
        found += [(Span(sheet.path, p.start, p.end), _count_words(sheet.text(p.start, p.end))) for p in sheet.parts]
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
