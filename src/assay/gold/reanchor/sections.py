"""Definitions in code, sections in documents, and the similarity of their texts."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from assay.corpus.file_types import detect_type
from assay.syntax.identifiers import split
from assay.syntax.symbols import extract_symbols
from assay.syntax.text import DocHeading, find_headings
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
_DOCS: Final = frozenset({"markdown", "rst", "asciidoc", "text"})
_COMMENT: Final = re.compile(r"\s*(?://|#|/\*|\*|--|;|%|@|'''|\"\"\"|<!--)")
_CLOSING: Final = re.compile(r"[\s)\]}>;,]*(?:end)?[\s)\]}>;,]*")
_REPEAT: Final = re.compile(r"~[0-9]+$")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, order=True)
class FileRange:
    path: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.path, self.start, self.end)

    @property
    def length(self) -> int:
        return self.end - self.start + 1


@dataclass(frozen=True, slots=True, order=True)
class Section(FileRange):
    """A definition in code, or a section of a document with its subsections."""

    name: str  # qualified; a repeated name ends in ~2, ~3
    kind: str

    @property
    def plain(self) -> str:
        """The name without a suffix such as `~2`, which depends on the sections above."""
        return _REPEAT.sub("", self.name)

    @property
    def last(self) -> str:
        return self.plain.rpartition("\n" if self.kind == "section" else ".")[2]

    @property
    def title(self) -> str:
        return self.name.replace("\n", " > ")

    @property
    def family(self) -> str:
        return _FAMILY.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True)
class RangePart(FileRange):
    """Lines of a range: a whole section, lines inside the section `holder`, or lines outside any section."""

    whole: Section | None
    holder: Section | None


class ParsedFile:
    def __init__(self, path: str, lines: Sequence[str]) -> None:
        self.path = path
        self.lines = tuple(lines)
        self.language = detect_type(path, (lines[0] if lines else "").encode("utf-8", "replace")).language
        self.is_document = self.language in _DOCS
        self._fingerprint = cache(lambda start, end: Fingerprint(self.lines[start - 1 : end]))

    @cached_property
    def parts(self) -> tuple[Section, ...]:
        """Definitions or sections in file order; empty for unsupported languages."""
        if self.is_document:
            return tuple(self._document_sections())
        symbols = extract_symbols(self.path, "\n".join(self.lines) + "\n", self.language)
        return tuple(Section(self.path, symbol.start, symbol.end, symbol.name, symbol.kind) for symbol in symbols)

    def _document_sections(self) -> Iterator[Section]:
        all_headings = list(find_headings(self.lines))
        outer: list[DocHeading] = []
        counts: Counter[str] = Counter()
        for nth, heading in enumerate(all_headings):
            while outer and outer[-1].level >= heading.level:
                outer.pop()
            outer.append(heading)
            names: list[str] = []
            for enclosing in outer:
                unnumbered = re.sub(r"^[\W_]*(?:\d+[.)]\s+)?", "", enclosing.title.casefold())
                names.append(" ".join(re.findall(r"\w[\w.'-]*", unnumbered)) or enclosing.title)
            name = "\n".join(names)
            counts[name] += 1
            later = (other.line - 1 for other in all_headings[nth + 1 :] if other.level <= heading.level)
            end = next(later, len(self.lines))
            while end > heading.line and not self.lines[end - 1].strip():
                end -= 1
            unique = name if counts[name] == 1 else f"{name}~{counts[name]}"
            yield Section(self.path, heading.line, end, unique, "section")

    @cached_property
    def neighbors(self) -> dict[Section, tuple[Section | None, Section | None]]:
        padded = (None, *self.parts, None)
        return {part: (padded[position], padded[position + 2]) for position, part in enumerate(self.parts)}

    @property
    def whole(self) -> FileRange:
        return FileRange(self.path, 1, len(self.lines))

    def text(self, lines: FileRange) -> tuple[str, ...]:
        return self.lines[lines.start - 1 : lines.end]

    def fingerprint(self, lines: FileRange) -> Fingerprint:
        return self._fingerprint(lines.start, lines.end)

    def is_filler(self, start: int, end: int) -> bool:
        """Return whether lines consist only of blanks, closing brackets or, in code, comments."""
        return all(
            _CLOSING.fullmatch(line) or (not self.is_document and _COMMENT.match(line))
            for line in self.lines[start - 1 : end]
        )

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(normalize_blanks(line) for line in self.lines)

    def is_distinct(self, line: int) -> bool:
        """Return whether a line contains a word and occurs only once in the file."""
        text = normalize_blanks(self.lines[line - 1])
        return has_word(text) and self._counts[text] == 1

    def distinct(self, lines: FileRange) -> frozenset[str]:
        numbers = filter(self.is_distinct, range(lines.start, lines.end + 1))
        return frozenset(normalize_blanks(self.lines[number - 1]) for number in numbers)

    def enclosing(self, lines: FileRange, besides: Section | None = None) -> Section | None:
        outer = [p for p in self.parts if p.start <= lines.start and lines.end <= p.end and p != besides]
        return min(outer, key=lambda part: (part.length, part), default=None)

    def split(self, lines: FileRange, slack: int) -> tuple[RangePart, ...]:
        """Split a range into its sections and the remaining lines."""
        path, start, end = lines.path, lines.start, lines.end
        whole = [part for part in self.parts if self._is_section(part, start, end, slack)]
        if whole:
            return (RangePart(path, start, end, max(whole, key=lambda part: (part.length, part)), None),)
        holder = self.enclosing(lines)
        tops: list[Section] = []
        for part in sorted(self.parts, key=lambda part: (part.start, -part.end, part.name)):
            inside = part != holder and (holder is None or holder.start <= part.start <= part.end <= holder.end)
            if inside and (not tops or part.start > tops[-1].end):
                tops.append(part)
        pieces: list[RangePart] = []
        line = start
        for part in tops:
            if part.start > end or start > part.end:
                continue
            if part.start > line and not self.is_filler(line, part.start - 1):
                pieces.append(RangePart(path, line, part.start - 1, None, holder))
            first, last = max(line, part.start), min(end, part.end)
            if first <= last:
                is_whole = self._is_section(part, first, last, slack)
                pieces.append(RangePart(path, first, last, part if is_whole else None, None if is_whole else part))
            line = max(line, part.end + 1)
        if line <= end and (line == start or not self.is_filler(line, end)):
            pieces.append(RangePart(path, line, end, None, holder))
        if holder is not None and not any(piece.whole for piece in pieces):
            return (RangePart(path, start, end, None, holder),)
        return tuple(pieces)

    def _is_section(self, part: Section, start: int, end: int, slack: int) -> bool:
        """Return whether a range equals a section, apart from filler lines."""
        if start > part.end or end < part.start or max(part.start - start, abs(part.end - end)) > slack:
            return False
        begins = self.is_filler(min(start, part.start), max(start, part.start) - 1)
        return begins and self.is_filler(min(end, part.end) + 1, max(end, part.end))


class Fingerprint:
    __slots__ = ("lines", "words")

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = Counter(text for line in lines if has_word(text := normalize_blanks(line)))
        self.words = _count_words(lines)

    def similarity(self, other: Fingerprint) -> float:
        """Return the mean Dice coefficient of lines and of words, or that of words if neither text has lines."""
        words = _dice(self.words, other.words)
        return (_dice(self.lines, other.lines) + words) / 2 if self.lines or other.lines else words

    def share_in(self, new: Fingerprint) -> float:
        """Return the mean share of lines and of words that `new` contains, or that of words if there are no lines."""
        words = _share(self.words, new.words)
        return (_share(self.lines, new.lines) + words) / 2 if self.lines else words


def normalize_blanks(line: str) -> str:
    """Collapse runs of whitespace, so that reformatting has no effect."""
    return " ".join(line.split())


def has_word(line: str) -> bool:
    return re.search(r"(?:[^\W_][\W_]*){3}", line) is not None


def title_similarity(first_name: str, other: str) -> float:
    """Return the Dice coefficient of the words of two names or titles, ignoring a plural s."""
    first, second = (
        Counter(part.removesuffix("s") for word in _WORD.findall(name) for part in split(word) or (word,))
        for name in (first_name, other)
    )
    return _dice(first, second) if first and second else 0.0


def _count_words(lines: Sequence[str]) -> Counter[str]:
    return Counter(_WORD.findall("\n".join(lines).casefold()))


def _share(before: Counter[str], after: Counter[str]) -> float:
    return (before & after).total() / before.total() if before else 1.0


def _dice(first: Counter[str], other: Counter[str]) -> float:
    total = first.total() + other.total()
    return 2 * (first & other).total() / total if total else 1.0


class WordIndex:
    """An inverted index of tf-idf vectors of sections, normalized to length 1."""

    def __init__(self, files: Iterable[ParsedFile], most: int) -> None:
        """Index the sections of files, stopping after the file with which the index reaches `most` sections."""
        sections: list[tuple[Section, Counter[str]]] = []
        for file in files:
            sections += [(part, _count_words(file.text(part))) for part in file.parts]
            if len(sections) >= most:
                break
        counts = Counter(word for _, words in sections for word in words)
        self._sections = [section for section, _ in sections]
        self._rarity = {word: math.log(len(sections) / count) for word, count in counts.items()}
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for position, (_, words) in enumerate(sections):
            for word, weight in self._vector(words).items():
                self._postings[word].append((position, weight))

    def find_nearest(self, lines: Sequence[str], most: int) -> list[Section]:
        """Return at most `most` sections with the highest cosine similarity to a text, best first."""
        scores: dict[int, float] = defaultdict(float)
        for word, weight in self._vector(_count_words(lines)).items():
            for position, other in self._postings.get(word, ()):
                scores[position] += weight * other
        best = sorted(scores, key=lambda position: (-scores[position], self._sections[position]))
        return [self._sections[position] for position in best[:most]]

    def _vector(self, words: Mapping[str, int]) -> dict[str, float]:
        rarity = self._rarity
        raw = {word: (1 + math.log(count)) * rarity[word] for word, count in words.items() if rarity.get(word)}
        norm = math.sqrt(sum(weight * weight for weight in raw.values()))
        return {word: weight / norm for word, weight in raw.items()} if norm else {}
