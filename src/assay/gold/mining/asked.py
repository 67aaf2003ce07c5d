"""Intents from what people and agents did: a question or a search, and what was opened next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from assay.gold.mining.codebase import CodeIndex, DefinitionRef, is_inside, name_key, stems
from assay.gold.mining.config import COMMITS, LOGS
from assay.gold.mining.intake import Intent, MinedItems, Rejection, UnlocatedQuery, is_query_length, normalize
from assay.gold.mining.privacy import private_names, private_part
from assay.gold.mining.traces import (
    OpenedFile,
    Search,
    ShellHistory,
    TranscriptStep,
    UserMessage,
    parse_command,
    read_shell,
    read_transcript,
)
from assay.gold.review.items import How, Origin
from assay.syntax.identifiers import parts, split
from assay.syntax.prose import content
from assay.types import PRIMARY, SECONDARY, Span, Target

_WORDS_OF_A_NAME: Final = 2  # a name of one word is a word of the language too: nothing says which was meant


class Locator:
    """Finds files by how people write them, and definitions by what is asked."""

    def __init__(self, code: CodeIndex) -> None:
        self.code = code
        self._by_base: dict[str, list[str]] = {}
        for path in sorted(code.languages):
            self._by_base.setdefault(PurePosixPath(path).name, []).append(path)

    def path(self, written: str) -> str | None:
        """Find the file of the corpus that a written path means: from its root, from below, or from anywhere above."""
        plain = written.replace("\\", "/").strip("'\"").removeprefix("./")
        if plain in self.code.languages:
            return plain
        same = self._by_base.get(PurePosixPath(plain).name, ()) if plain else ()
        above = [path for path in same if plain.endswith(f"/{path}")]
        if above:
            return max(above, key=len)
        below = [path for path in same if path.endswith(f"/{plain}")]
        return below[0] if len(below) == 1 else None

    def speaks_of_code(self, text: str) -> bool:
        """Tell whether a text has a word that the code has: without one, what was opened next is a chance."""
        return not stems(parts(text)).isdisjoint(self.code.file_counts)

    def opened(self, text: str, files: Sequence[OpenedFile]) -> tuple[Target, ...]:
        """Anchor what was asked in the files that were opened next; none when these are too many to mean anything."""
        places = {path: one for one in files if (path := self.path(one.path)) and self.code.is_own_code(path)}
        if not 0 < len(places) <= LOGS.opened:
            return ()
        found = [self._in_file(text, path, one.line) for path, one in places.items()]
        sure = [target for target in found if target.symbol or target.span.start is not None]
        return _graded(sure or found)

    def named(self, text: str) -> tuple[Target, ...]:
        """Anchor a name of several words that stands for a few definitions."""
        if len(split(text.replace(" ", "_"))) < _WORDS_OF_A_NAME:
            return ()
        own = [ref for ref in self.code.by_name.get(name_key(text), ()) if self.code.can_be_target(ref)]
        if not 0 < len(own) <= LOGS.matches:
            return ()
        return _all(target for ref in own if (target := self.code.anchor(ref)) is not None)

    def _in_file(self, text: str, path: str, line: int | None) -> Target:
        ref = self._called(text, path) or (self.code.definition_at(path, line) if line else None)
        if ref is None or ref.lines > COMMITS.longest:
            ref = self._calling(text, path) or self._fitting(text, path)
        return (self.code.anchor(ref) if ref else None) or Target(Span(path))

    def _called(self, text: str, path: str) -> DefinitionRef | None:
        own = [ref for ref in self.code.by_name.get(name_key(text), ()) if ref.path == path]
        return min(own, key=lambda ref: (-ref.lines, ref.key), default=None)

    def _calling(self, text: str, path: str) -> DefinitionRef | None:
        """Find the definition of a file whose name has the words in a row; its body need not say them, a caller's does.

        Of several the one with the fewest other words is meant.
        """
        asked = split(text.replace(" ", "_"))
        own = [
            ref for ref in self.code.definitions_in(path) if ref.lines <= COMMITS.longest and _holds(ref.name, asked)
        ]
        return min(own, key=lambda ref: (len(split(ref.name)), ref.lines, ref.key), default=None)

    def _fitting(self, text: str, path: str) -> DefinitionRef | None:
        asked = stems(parts(" ".join(content(text))))
        if not asked:
            return None
        shares = {ref: len(asked & self.code.stems_of(ref)) / len(asked) for ref in self.code.definitions_in(path)}
        fitting = [ref for ref, share in shares.items() if share >= LOGS.fitting and ref.lines <= COMMITS.longest]
        best = min(fitting, key=lambda ref: (-shares[ref], ref.lines, ref.key), default=None)
        inside = [ref for ref in fitting if best and is_inside(ref, best)]
        near = [ref for ref in inside if best and shares[ref] >= LOGS.inner * shares[best]]
        return min(near, key=lambda ref: (-shares[ref], ref.lines, ref.key), default=best)


def _holds(name: str, asked: Sequence[str]) -> bool:
    has = split(name)
    return bool(asked) and any(has[i : i + len(asked)] == asked for i in range(len(has) - len(asked) + 1))


def _graded(targets: Sequence[Target]) -> tuple[Target, ...]:
    first, *others = targets
    return _all([first, *(Target(t.span, SECONDARY, t.symbol, digest=t.digest) for t in others)])


def _all(targets: Iterable[Target]) -> tuple[Target, ...]:
    kept: dict[str, Target] = {}
    for target in targets:
        kept.setdefault(target.anchor, target)
    assert not kept or next(iter(kept.values())).grade == PRIMARY
    return tuple(kept.values())


_SENTENCE: Final = re.compile(r"[^.?!\n]+(?:[.](?=\w)[^.?!\n]*)*[?!.]?")
_ASKING: Final = re.compile(
    r"\b(?:where|how|which|what|why)\b[^?\n]*\??$|^\s*(?:please\s+)?(?:find|locate)\b.+$", re.IGNORECASE
)
#: What begins a question without being part of it.
_POLITE: Final = re.compile(
    r"^(?:(?:so|ok|okay|hi|hey|now|and|but|please|also|well|thanks|first)[,\s]+|(?:can|could|would) you\s+"
    r"|(?:tell|show|explain(?: to)?|help|let) me\s+"
    r"|(?:find(?: out)?|explain|understand|know|see|check|look up|figure out)\s+"
    r"(?=where|how|which|what|why)|i(?:'d| would)? (?:want|need|like) to\s+)+",
    re.IGNORECASE,
)
_MARKED: Final = re.compile(r"^\s*<|```")


@dataclass(slots=True)
class _Asked:
    """A question while what follows it is read."""

    text: str
    form: str
    line: int
    raw: str  # what it was taken from
    opened: list[OpenedFile] = field(default_factory=list)
    steps: int = 0


def mine_shell(code: CodeIndex, path: Path) -> MinedItems:
    """Propose what a shell history searched for, where what it opened next, or the name itself, says where it is."""
    history = read_shell(path)
    names = private_names("\n".join(command.text for command in history.commands))
    found = _placed(Locator(code), _asked_in_shell(history), _Source("shell", path.name, names))
    return _told(found, path, _too_long(history.too_long), empty=not history.commands)


def mine_transcript(code: CodeIndex, path: Path) -> MinedItems:
    """Propose what a user asked and an agent searched for, where the files opened next say where it is."""
    transcript = read_transcript(path)
    said = [step.what.path for step in transcript.steps if isinstance(step.what, OpenedFile)]
    names = private_names("\n".join(said))
    found = _placed(Locator(code), _asked_in_transcript(transcript.steps), _Source("transcript", path.name, names))
    torn = (f"{transcript.torn} lines are no JSON",) if transcript.torn else ()
    return _told(found, path, (*_too_long(transcript.too_long), *torn), empty=not transcript.steps)


def _told(found: MinedItems, path: Path, notes: Sequence[str], *, empty: bool) -> MinedItems:
    unknown = ("no command, message or call of a tool is in it that is known here; its shape may be a new one",)
    every = (*notes, *(unknown if empty else ()))
    return MinedItems(found.intents, found.unplaced, found.refused, tuple(f"{path.name}: {note}" for note in every))


def _too_long(count: int) -> tuple[str, ...]:
    return (f"{count} lines are too long and were left out",) if count else ()


def _asked_in_shell(history: ShellHistory) -> Iterator[_Asked]:
    current: _Asked | None = None
    for command in history.commands:
        if current is not None:
            current.steps += 1
        for deed in parse_command(command.text):
            if isinstance(deed, Search):
                yield from [current] if current else []
                current = _Asked(deed.text, deed.form, command.line, deed.raw)
            elif current is not None and current.steps <= LOGS.after:
                current.opened.append(deed)
    yield from [current] if current else []


def _asked_in_transcript(steps: Sequence[TranscriptStep]) -> Iterator[_Asked]:
    question: list[_Asked] = []
    search: _Asked | None = None
    for step in steps:
        if isinstance(step.what, UserMessage):
            yield from [*question, *([search] if search else [])]
            question, search = list(_questions(step.what.text, step.line)), None
            continue
        for one in (*question, *([search] if search else [])):
            one.steps += 1
        if isinstance(step.what, Search):
            yield from [search] if search else []
            search = _Asked(step.what.text, step.what.form, step.line, step.what.raw)
            continue
        for one in question:
            one.opened += [step.what] if one.steps <= LOGS.steps else []
        if search and search.steps <= LOGS.after:
            search.opened.append(step.what)
    yield from [*question, *([search] if search else [])]


def _questions(text: str, line: int) -> Iterator[_Asked]:
    for paragraph in text.split("\n") if not _MARKED.search(text) else ():
        yield from (_Asked(asked, "human", line, paragraph) for asked in questions(paragraph))


def questions(paragraph: str) -> Iterator[str]:
    """Yield the questions about code that a paragraph asks."""
    for sentence in _SENTENCE.findall(paragraph):
        plain = _POLITE.sub("", " ".join(sentence.split()))
        if _ASKING.search(plain) and is_query_length(plain):
            yield plain.rstrip(".!")


@dataclass(frozen=True, slots=True)
class _Source:
    """Which file of the user's is read, and whose it is."""

    how: How
    name: str
    private: frozenset[str]


def _placed(locator: Locator, asked: Iterable[_Asked], source: _Source) -> MinedItems:
    intents: dict[str, Intent] = {}
    unplaced: dict[str, UnlocatedQuery] = {}
    refused: list[Rejection] = []
    for one in asked:
        where = f"line {one.line} of {source.name}"
        private = private_part(f"{one.raw}\n{one.text}", source.private, locator.code.names)
        if private is not None:
            refused.append(Rejection(where, f"it holds {private}"))
            continue
        targets = _locate(locator, one)
        if targets:
            intents.setdefault(normalize(one.text), Intent(one.text, targets, Origin(source.how, where), one.form))
        else:
            unplaced.setdefault(normalize(one.text), UnlocatedQuery(one.text, where))
    lost = tuple(one for text, one in unplaced.items() if text not in intents)
    return MinedItems(tuple(intents.values()), lost, tuple(refused))


def _locate(locator: Locator, asked: _Asked) -> tuple[Target, ...]:
    if not locator.speaks_of_code(asked.text):
        return ()
    opened = locator.opened(asked.text, asked.opened)
    if any(target.symbol or target.span.start is not None for target in opened) or (
        opened and is_query_length(asked.text)
    ):
        return opened
    return locator.named(asked.text)
