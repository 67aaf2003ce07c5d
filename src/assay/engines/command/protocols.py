"""How a program that stays is asked, and where its answer begins and ends."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from assay.engines.base import Reply
from assay.engines.command.settings import WHERE, Settings, compile_marker
from assay.engines.filtering import merge
from assay.engines.reading.documents import Documents, clean, documents_among_talk, strip_ansi, whole_document
from assay.engines.reading.output import Layout, make_layout, read_document, read_output
from assay.engines.reading.selectors import Selector, parse_selector, select
from assay.engines.templates import fill, fill_json
from assay.errors import EngineError
from assay.processes import CHILD_LIMITS, Child, ChildFlood, ChildTimeout

#: What some program may take for the end of a line: all that Python's splitlines does.
_BREAKS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_SHOWN = 60  # characters of what a program printed, at its end, that a message shows
FLATTENED = "line breaks in the query were sent as blanks"


class Unready(ChildTimeout):
    """A program did not say in time that it has started."""

    def __init__(self, setting: str, wanted: str, printed: str) -> None:
        """Know which setting was waited for, its value, and what the program printed instead."""
        # from a blank on: half a secret would not be known as one
        end = re.sub(r"^\S+", "…", printed[-_SHOWN:]) if len(printed) > _SHOWN else printed
        super().__init__(f"it printed {end!r}" if printed.strip() else "it printed nothing")
        self.setting = setting
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class Marker:
    """What is waited for, by the setting that says so."""

    setting: str
    text: str  # as it is written
    pattern: re.Pattern[bytes]

    def await_in(self, child: Child, deadline: float | None) -> None:
        """Wait for it; what a program printed instead is told."""
        try:
            child.read_until(self.pattern, deadline)
        except ChildTimeout as problem:
            printed = strip_ansi(child.skip().decode(errors="replace"))
            raise Unready(self.setting, self.text, printed) from problem


@dataclass(frozen=True, slots=True)
class Question:
    """One question, with everything that its request may name."""

    places: Mapping[str, str]
    query: str
    k: int
    id: int
    known: frozenset[str]  # the paths of the corpus
    added: Mapping[str, object] = field(default_factory=dict)  # to the request, by filters


class Dialogue(Protocol):
    """A way of talking to a program."""

    @property
    def waits(self) -> bool:
        """Whether the program says when it has started."""

    def begin(self, child: Child, deadline: float | None) -> None:
        """Wait until the program has started."""

    def ask(self, child: Child, question: Question, deadline: float | None) -> Reply:
        """Write a request and read its answer."""


@dataclass(frozen=True, slots=True)
class LineDialogue:
    """A line for each request, and a line of JSON for each answer."""

    request: str | Mapping[str, object]
    layout: Layout
    answer_id: Selector | None
    ready: Marker | None

    @property
    def waits(self) -> bool:
        """Whether there is something to wait for."""
        return self.ready is not None

    def begin(self, child: Child, deadline: float | None) -> None:
        """Wait for the line that says so."""
        if self.ready is not None:
            self.ready.await_in(child, deadline)

    def ask(self, child: Child, question: Question, deadline: float | None) -> Reply:
        """Ask; lines before the answer that hold no JSON, or that of another request, are passed over."""
        unasked = () if self.answer_id else _tell_unasked(child.skip())
        request = encode_request(self.request, question)
        child.write(request.line, deadline)
        talk: list[str] = []
        size = 0
        while True:
            line = child.read_line(deadline)
            found = _documents(line)
            answer = None if found is None else self._pick(found, question.id)
            if answer is not None:
                reply = read_document(answer.values[0], self.layout)
                return replace(reply, notes=(*request.notes, *unasked, *_tell_talk(talk), *answer.notes, *reply.notes))
            size += len(line) + 1
            if size > CHILD_LIMITS.line:
                raise ChildFlood(f"more than {CHILD_LIMITS.line:,} bytes")
            talk += [] if self.answer_id and found else [clean(line)]

    def _pick(self, found: Documents, number: int) -> Documents | None:
        """Take the document that answers; None when it is another's."""
        if self.answer_id is None:
            return replace(found, values=found.values[-1:])
        mine = [value for value in found.values if _id_of(value, self.answer_id) == str(number)]
        return replace(found, values=tuple(mine[-1:])) if mine else None


@dataclass(frozen=True, slots=True)
class PromptDialogue:
    """A line for each request, and all that is printed up to the next prompt for each answer."""

    request: str | Mapping[str, object]
    layout: Layout
    prompt: Marker
    ready: Marker | None
    waits: bool = True

    def begin(self, child: Child, deadline: float | None) -> None:
        """Wait for the first prompt."""
        if self.ready is not None:
            self.ready.await_in(child, deadline)
        self.prompt.await_in(child, deadline)

    def ask(self, child: Child, question: Question, deadline: float | None) -> Reply:
        """Ask, and read all up to the next prompt."""
        unasked = _tell_unasked(child.skip())
        request = encode_request(self.request, question)
        child.write(request.line, deadline)
        answer = child.read_until(self.prompt.pattern, deadline)
        reply = read_output(answer, self.layout, question.known)
        return replace(reply, notes=(*request.notes, *unasked, *reply.notes))


def make_dialogue(settings: Settings) -> Dialogue | None:
    """Make the way of talking that the settings ask for; None when the program does not stay."""
    if settings.mode == "lines":
        number = parse_selector(settings.answer_id, f"{WHERE}: answer_id") if settings.answer_id else None
        layout = make_layout(replace(settings, format="json"), WHERE)
        # the rest of the line must not be taken for an answer
        ready = _marker(settings.ready, "ready", after=rb"[^\n]*\n") if settings.ready else None
        return LineDialogue(settings.request, layout, number, ready)
    if settings.mode == "prompt":
        # blanks and colours may follow a prompt, but nothing that could be more of the answer
        prompt = _marker(settings.prompt, "prompt", after=rb"(?:\x1b\[[0-?]*[ -/]*[@-~]|\s)*\Z")
        ready = _marker(settings.ready, "ready", after=b"") if settings.ready else None
        return PromptDialogue(settings.request or "{query}", make_layout(settings, WHERE), prompt, ready)
    return None


def _marker(text: str, name: str, *, after: bytes) -> Marker:
    """Read a regular expression, and add what is taken after it."""
    pattern = re.compile(b"(?:" + compile_marker(text, name).pattern + b")" + after, re.MULTILINE)
    return Marker(name, text, pattern)


@dataclass(frozen=True, slots=True)
class _Request:
    """A line to write, and what had to be done to it."""

    line: bytes
    notes: tuple[str, ...] = ()


def encode_request(template: str | Mapping[str, object], question: Question) -> _Request:
    """Write a question as one line: JSON from a table, else text in which line breaks have become blanks."""
    if not isinstance(template, str):
        values = {**question.places, "query": question.query, "k": question.k, "id": question.id}
        return _Request(json.dumps(merge(fill_json(template, values), question.added)).encode() + b"\n")
    flat = _BREAKS.sub(" ", question.query)
    text = fill(template, {**question.places, "query": flat, "k": str(question.k), "id": str(question.id)})
    try:
        return _Request(text.encode() + b"\n", (FLATTENED,) if flat != question.query else ())
    except UnicodeEncodeError as problem:
        raise EngineError(f"the query cannot be sent: {problem}", hint="clean the query") from problem


def _documents(line: bytes) -> Documents | None:
    """Find the JSON of a line; None when there is none, which makes it talk."""
    text = clean(line)
    for find in (whole_document, lambda talk: documents_among_talk(talk, anywhere=True)):
        try:
            found = find(text)
        except (ValueError, RecursionError):
            continue
        return found if found.values and isinstance(found.values[0], dict | list) else None
    if text.startswith("{"):
        raise EngineError(f"the answer is no JSON; it begins {text[:60]!r}", hint="let the tool print whole documents")
    return None


def _id_of(document: object, selector: Selector) -> str | None:
    """Read whose answer it is."""
    try:
        rows = list(select(document, (selector,)))
    except EngineError:
        return None
    return None if len(rows) != 1 or rows[0].values[0] is None else str(rows[0].values[0])


def _tell_unasked(unread: bytes) -> tuple[str, ...]:
    """Say that a program spoke before it was asked."""
    return (f"{len(unread):,} bytes that came before it was asked were left out",) if unread.strip() else ()


def _tell_talk(talk: list[str]) -> tuple[str, ...]:
    """Say which lines were no answer."""
    return Documents((), tuple(filter(None, talk))).notes
