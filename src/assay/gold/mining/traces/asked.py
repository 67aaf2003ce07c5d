"""Intents from what people and agents did: a question or a search, and what was opened next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from assay.gold.mining.config import TRACES
from assay.gold.mining.ground import Ground
from assay.gold.mining.privacy import private_names, private_part
from assay.gold.mining.proposals import Found, Intent, Refused, Unplaced, folded, speaks
from assay.gold.mining.traces.commands import Opened, Search, deeds
from assay.gold.mining.traces.locating import Locator
from assay.gold.mining.traces.shell import History, read_shell
from assay.gold.mining.traces.transcripts import Said, Step, read_transcript
from assay.gold.review.items import How, Origin
from assay.types import Target

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
    opened: list[Opened] = field(default_factory=list)
    steps: int = 0


def mine_shell(ground: Ground, path: Path) -> Found:
    """Propose what a shell history searched for, where what it opened next, or the name itself, says where it is."""
    history = read_shell(path)
    names = private_names("\n".join(command.text for command in history.commands))
    found = _placed(Locator(ground), _asked_in_shell(history), _Source("shell", path.name, names))
    return _told(found, path, _too_long(history.too_long), empty=not history.commands)


def mine_transcript(ground: Ground, path: Path) -> Found:
    """Propose what a user asked and an agent searched for, where the files opened next say where it is."""
    transcript = read_transcript(path)
    said = [step.what.path for step in transcript.steps if isinstance(step.what, Opened)]
    names = private_names("\n".join(said))
    found = _placed(Locator(ground), _asked_in_transcript(transcript.steps), _Source("transcript", path.name, names))
    torn = (f"{transcript.torn} lines are no JSON",) if transcript.torn else ()
    return _told(found, path, (*_too_long(transcript.too_long), *torn), empty=not transcript.steps)


def _told(found: Found, path: Path, notes: Sequence[str], *, empty: bool) -> Found:
    """Add what is to be known of the file."""
    unknown = ("no command, message or call of a tool is in it that is known here; its shape may be a new one",)
    every = (*notes, *(unknown if empty else ()))
    return Found(found.intents, found.unplaced, found.refused, tuple(f"{path.name}: {note}" for note in every))


def _too_long(count: int) -> tuple[str, ...]:
    """Say how many lines were too long."""
    return (f"{count} lines are too long and were left out",) if count else ()


def _asked_in_shell(history: History) -> Iterator[_Asked]:
    """Yield each search with what was opened in the next commands, up to the next search."""
    current: _Asked | None = None
    for command in history.commands:
        if current is not None:
            current.steps += 1
        for deed in deeds(command.text):
            if isinstance(deed, Search):
                yield from [current] if current else []
                current = _Asked(deed.text, deed.form, command.line, deed.raw)
            elif current is not None and current.steps <= TRACES.after:
                current.opened.append(deed)
    yield from [current] if current else []


def _asked_in_transcript(steps: Sequence[Step]) -> Iterator[_Asked]:
    """Yield each question with what was opened up to the next, and each search with what was opened right after."""
    question: list[_Asked] = []
    search: _Asked | None = None
    for step in steps:
        if isinstance(step.what, Said):
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
            one.opened += [step.what] if one.steps <= TRACES.steps else []
        if search and search.steps <= TRACES.after:
            search.opened.append(step.what)
    yield from [*question, *([search] if search else [])]


def _questions(text: str, line: int) -> Iterator[_Asked]:
    """Yield the questions of a message, each with the line of the message around it: a secret may hold a full stop."""
    for paragraph in text.split("\n") if not _MARKED.search(text) else ():
        yield from (_Asked(asked, "human", line, paragraph) for asked in questions(paragraph))


def questions(paragraph: str) -> Iterator[str]:
    """Yield the questions about code that a paragraph asks."""
    for sentence in _SENTENCE.findall(paragraph):
        plain = _POLITE.sub("", " ".join(sentence.split()))
        if _ASKING.search(plain) and speaks(plain):
            yield plain.rstrip(".!")


@dataclass(frozen=True, slots=True)
class _Source:
    """Which file of the user's is read, and whose it is."""

    how: How
    name: str
    private: frozenset[str]


def _placed(locator: Locator, asked: Iterable[_Asked], source: _Source) -> Found:
    """Find where the answers are; each text is asked once, at the first place that has an answer."""
    intents: dict[str, Intent] = {}
    unplaced: dict[str, Unplaced] = {}
    refused: list[Refused] = []
    for one in asked:
        where = f"line {one.line} of {source.name}"
        private = private_part(f"{one.raw}\n{one.text}", source.private, locator.ground.known)
        if private is not None:
            refused.append(Refused(where, f"it holds {private}"))
            continue
        targets = _locate(locator, one)
        if targets:
            intents.setdefault(folded(one.text), Intent(one.text, targets, Origin(source.how, where), one.form))
        else:
            unplaced.setdefault(folded(one.text), Unplaced(one.text, where))
    lost = tuple(one for text, one in unplaced.items() if text not in intents)
    return Found(tuple(intents.values()), lost, tuple(refused))


def _locate(locator: Locator, asked: _Asked) -> tuple[Target, ...]:
    """Find the answer in what was opened, else by the name; a file on its own answers no single word."""
    if not locator.speaks_of_code(asked.text):
        return ()
    opened = locator.opened(asked.text, asked.opened)
    if any(target.symbol or target.span.start is not None for target in opened) or (opened and speaks(asked.text)):
        return opened
    return locator.named(asked.text)
