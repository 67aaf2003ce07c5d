"""Pairs from what a file defines: its comment and its name, each with the rest of the definition."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from assay.search.chunking import Chunk, ChunkConfig, cut_sections
from assay.search.words import runs, stem_name
from assay.syntax.identifiers import parts, split
from assay.syntax.outline import Definition
from assay.syntax.prose import without_markup
from assay.training.config import MiningConfig
from assay.training.repositories import LICENCE_TEXT
from assay.training.sampling import Collection, draw_rank
from assay.training.sources import NONE, SourceFileText
from assay.training.text import ask_comment, is_english, tells

#: What people search for. Fields and keys are left to what they lie in.
_ASKED: Final = frozenset({"function", "method", "class", "interface", "enum", "type", "macro", "module", "constant"})
#: What has a body that says more than its name.
_NAMED: Final = _ASKED - {"type", "constant"}
#: What a comment that stands alone begins with.
_ALONE: Final = re.compile(r"\s*(?://|/\*|#|--|\{-|;|%|<!--|@(?:module|type)?doc\b|=begin|\*|\(\*)")
#: Documentation strings inside of what they document, by language: how they begin, with their quotes.
_STRINGS: Final = {
    "python": re.compile(r"\s*[rRuUbB]{0,2}(\"\"\"|'''|\"|')"),
    "elixir": re.compile(r"\s*@moduledoc\s+(?:~[sS])?(\"\"\"|'''|\")"),
}
_SIGNATURE: Final = 60  # lines that the head of a definition may have before its documentation string
_CLASS_TOO: Final = 3  # every third name is asked with that of the class around it


@dataclass(frozen=True, slots=True)
class DefinitionMiner:
    """A file whose definitions are offered."""

    source: SourceFileText
    config: MiningConfig
    collection: Collection

    def mine(self) -> None:
        """Offer the pairs of each definition that people may search for."""
        definitions = self.source.outline.definitions if self.source.outline else ()
        for one in definitions:
            if one.kind in _ASKED:
                last = min(one.end, one.start - 1 + self.config.pairs.lines)
                lines, comment = range(one.start - 1, last), find_comment(self.source, one)
                self._offer_comment(one, lines, comment)
                parent = definitions[one.parent].name if one.parent >= 0 else ""
                self._offer_name(one, parent, lines, comment)

    def _offer_comment(self, one: Definition, lines: range, comment: range) -> None:
        rank = self._rank("doc", one)
        if not comment or not self.collection.wants("doc", rank):
            return
        text = _unquoted(self.source.lines[comment.start : comment.stop])
        said = ask_comment(text, one.name, self.config.pairs)
        if said is None:
            self.collection.dropped["doc says little"] += 1
            return
        counted = self.source.count(lines, comment)
        self.collection.offer(self.source.candidate("doc", rank, said, counted), self.source.taint(lines))

    def _offer_name(self, one: Definition, parent: str, lines: range, comment: range) -> None:
        rank = self._rank("name", one)
        short = len(lines) - len(comment) < self.config.pairs.body
        if one.kind not in _NAMED or short or not self.collection.wants("name", rank):
            return
        names = runs(f"{parent} {one.name}" if rank % _CLASS_TOO == 0 else one.name)
        words = list(dict.fromkeys(word for name in names for word in split(name)))
        if sum(len(word) > 1 for word in words) < 2:
            self.collection.dropped["name of one word"] += 1
            return
        counted = self.source.count(lines, comment)
        for name in names:
            counted.pop(name, None)
        candidate = self.source.candidate("name", rank, " ".join(words), counted)
        self.collection.offer(candidate, self.source.taint(lines))

    def _rank(self, kind: str, one: Definition) -> int:
        return draw_rank(self.config.seed, kind, self.source.file.entry.path, one.start, one.name)


def find_comment(source: SourceFileText, one: Definition) -> range:
    """Find the lines of the comment on a definition: the string in its body, else the comments directly above."""
    inside = _string(source, one)
    if inside:
        return inside
    first, last = one.start - 1, one.name_line - 1
    while first < last and not source.commented[first]:
        first += 1  # decorators
    stop = first
    while stop < last and source.commented[stop]:
        stop += 1
    return range(first, stop) if stop > first and _ALONE.match(source.lines[first]) else NONE


def _string(source: SourceFileText, one: Definition) -> range:
    pattern = _STRINGS.get(source.file.language)
    if pattern is None:
        return NONE
    python = source.file.language == "python"
    begun = not python  # Python's is the first statement of the body
    for number in range(one.name_line - 1, min(one.end, one.name_line + _SIGNATURE)):
        line = source.lines[number]
        found = pattern.match(line) if begun else None
        if found:
            return range(number, _closing(source.lines, number, found, one.end))
        if python and begun and line.strip():
            return NONE
        begun = begun or line.split("#", 1)[0].rstrip().endswith(":")
    return NONE


def _closing(lines: Sequence[str], number: int, begun: re.Match[str], end: int) -> int:
    if begun[1] in lines[number][begun.end() :]:
        return number + 1
    return next((n + 1 for n in range(number + 1, min(end, len(lines))) if begun[1] in lines[n]), number + 1)


def _unquoted(lines: Sequence[str]) -> str:
    first = re.sub(r"^\s*(?:@\w+\s+)?(?:~[sS])?[rRuUbB]{0,2}(\"\"\"|'''|\"(?=\w)|'(?=\w))", "", lines[0])
    return "\n".join([first, *lines[1:]])


#: Headings that stand in every project.
_IDLE: Final = re.compile(
    r"^\W*(?:licen[cs]e|copyright|contribut\w*|install\w*|credits|authors?|thanks|acknowledge?ments|badges|contents"
    r"|table of contents|changelog|support|donat\w*|contact|community|links|see also|references|index|requirements|faq"
    r"|getting started|quick ?start|usage|overview|introduction|stay in touch|v?\d[\d.]*)\W*$"
    r"|\b(?:sponsor|backer)s?\b",
    re.IGNORECASE,
)
_FEWEST: Final = 2  # telling words of a heading: it has no verb
#: Sections are neither cut nor put together.
_WHOLE: Final = ChunkConfig(longest=1_000_000, shortest=1)


def mine_headings(source: SourceFileText, config: MiningConfig, collection: Collection) -> None:
    """Offer the headings of a document with the sections under them; plain text has none that are sure."""
    for unit in cut_sections(source.lines, _WHOLE) if source.file.language != "text" else ():
        if unit.names:
            _offer(source, unit, config, collection)


def _offer(source: SourceFileText, unit: Chunk, config: MiningConfig, collection: Collection) -> None:
    rank = draw_rank(config.seed, "heading", source.file.entry.path, unit.start, unit.names[0])
    if not collection.wants("heading", rank):
        return
    asked = " ".join(map(without_markup, (*unit.scopes[-1:], unit.names[0])))
    lines = range(unit.start, min(unit.end, unit.start + config.pairs.lines))
    text = "\n".join(source.lines[lines.start : lines.stop])
    if _IDLE.search(unit.names[0]) or not tells(asked, _FEWEST) or not is_english(text) or LICENCE_TEXT.search(text):
        collection.dropped["heading says little"] += 1
        return
    collection.offer(source.candidate("heading", rank, asked, source.count(lines)), source.taint(lines))


# fmt: off
#: Folders that are named after their place in a project, not after what is in them.
_PLAIN: Final = frozenset(
    {
        "app", "cmd", "core", "crates", "include", "internal", "java", "js", "kotlin", "lib", "libs", "main", "modules",
        "packages", "php", "pkg", "python", "scala", "source", "sources", "spec", "src", "test", "tests",
    }
)
# fmt: on


def mine_path(source: SourceFileText, config: MiningConfig, collection: Collection) -> None:
    """Offer the words of a file's path with the beginning of its text."""
    path = source.file.entry.path
    rank = draw_rank(config.seed, "path", path)
    words = path_words(path)
    if len(words) < 2 or not collection.wants("path", rank):
        return
    lines = range(min(source.licensing.stop + config.pairs.file_lines, len(source.lines)))
    if sum(1 for number in lines if source.runs[number]) < config.pairs.body:
        collection.dropped["little code"] += 1
        return
    collection.offer(source.candidate("path", rank, " ".join(words), source.count(lines)), source.taint(lines))


def path_words(path: str) -> tuple[str, ...]:
    """List the words of a file's name and of the nearest folder that says something, each once."""
    name = stem_name(path)
    folders = [folder for folder in PurePosixPath(path).parent.parts if folder.lower() not in _PLAIN and folder != name]
    found = parts(f"{folders[-1] if folders else ''} {name}")
    return tuple(word for word in dict.fromkeys(found) if len(word) > 1 and not word.isdigit())
