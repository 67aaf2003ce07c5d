"""Programs that are started once and answer queries on stdin: protocols and the session."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from assay.clock import Deadline, format_duration
from assay.engines.base import Answered, EngineCrash, EngineReply, SearchFilter, SessionUsage
from assay.engines.json_output import (
    Documents,
    Selector,
    clean,
    find_documents,
    parse_json,
    select,
    strip_ansi,
)
from assay.engines.output import OutputLayout, parse_document, parse_output
from assay.engines.templates import fill, fill_json, merge
from assay.engines.tool import ExternalSession, RestartCost, Restarts, display_name, repro_command, start_tool
from assay.errors import EngineError, EngineTimeoutError
from assay.processes import CHILD_LIMITS, Child, ChildExited, ChildTimeout, OutputLimitExceeded, last_line
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.engines.command import ToolWorkspace


#: What a program may take for the end of a line: all that Python's splitlines does.
_BREAKS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_SHOWN = 60  # characters of what a program printed, at its end, that a message shows
FLATTENED = "line breaks in the query were sent as blanks"


class StartupTimeout(ChildTimeout):
    """A program did not print `ready` or its prompt in time."""

    def __init__(self, setting: str, wanted: str, printed: str) -> None:
        # from a blank on: half a secret would not be known as one
        end = re.sub(r"^\S+", "…", printed[-_SHOWN:]) if len(printed) > _SHOWN else printed
        super().__init__(f"it printed {end!r}" if printed.strip() else "it printed nothing")
        self.setting = setting
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class OutputMarker:
    """Output to wait for, from a setting."""

    setting: str
    text: str  # as it is written
    pattern: re.Pattern[bytes]

    def await_in(self, child: Child, deadline: float | None) -> None:
        """Wait for it; raise StartupTimeout with what was printed instead."""
        try:
            child.read_until(self.pattern, deadline)
        except ChildTimeout as problem:
            printed = strip_ansi(child.skip().decode(errors="replace"))
            raise StartupTimeout(self.setting, self.text, printed) from problem


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One query, with the values of all placeholders of a request."""

    placeholders: Mapping[str, str]
    query: str
    k: int
    id: int
    known: frozenset[str]  # the paths of the corpus
    added: Mapping[str, object] = field(default_factory=dict)  # to the request, by filters


class WireProtocol(Protocol):
    """How requests and answers are exchanged with a program."""

    @property
    def waits(self) -> bool:
        """Whether the program prints something when it has started."""

    def begin(self, child: Child, deadline: float | None) -> None:
        """Wait until the program has started."""

    def ask(self, child: Child, question: ToolRequest, deadline: float | None) -> EngineReply:
        """Send a request and read the answer."""


@dataclass(frozen=True, slots=True)
class JsonLinesProtocol:
    """A line for each request, and a line of JSON for each answer."""

    request: str | Mapping[str, object]
    layout: OutputLayout
    answer_id: Selector | None
    ready: OutputMarker | None

    @property
    def waits(self) -> bool:
        """Whether `ready` is set."""
        return self.ready is not None

    def begin(self, child: Child, deadline: float | None) -> None:
        """Wait for `ready`."""
        if self.ready is not None:
            self.ready.await_in(child, deadline)

    def ask(self, child: Child, question: ToolRequest, deadline: float | None) -> EngineReply:
        """Send a request; skip lines without JSON or with the answer to another request."""
        unasked = () if self.answer_id else _unasked_notes(child.skip())
        request, notes = encode_request(self.request, question)
        child.write(request, deadline)
        talk: list[str] = []
        size = 0
        while True:
            line = child.read_line(deadline)
            found = _documents(line)
            answer = None if found is None else self._pick(found, question.id)
            if answer is not None:
                reply = parse_document(answer.values[0], self.layout)
                return replace(reply, notes=(*notes, *unasked, *_talk_notes(talk), *answer.notes, *reply.notes))
            size += len(line) + 1
            if size > CHILD_LIMITS.line:
                raise OutputLimitExceeded(f"more than {CHILD_LIMITS.line:,} bytes")
            talk += [] if self.answer_id and found else [clean(line)]

    def _pick(self, found: Documents, number: int) -> Documents | None:
        if self.answer_id is None:
            return replace(found, values=found.values[-1:])
        mine = [value for value in found.values if _id_of(value, self.answer_id) == str(number)]
        return replace(found, values=tuple(mine[-1:])) if mine else None


@dataclass(frozen=True, slots=True)
class PromptProtocol:
    """A line for each request, and all that is printed up to the next prompt for each answer."""

    request: str | Mapping[str, object]
    layout: OutputLayout
    prompt: OutputMarker
    ready: OutputMarker | None
    waits: bool = True

    def begin(self, child: Child, deadline: float | None) -> None:
        """Wait for the first prompt."""
        if self.ready is not None:
            self.ready.await_in(child, deadline)
        self.prompt.await_in(child, deadline)

    def ask(self, child: Child, question: ToolRequest, deadline: float | None) -> EngineReply:
        """Send a request and read all up to the next prompt."""
        unasked = _unasked_notes(child.skip())
        request, notes = encode_request(self.request, question)
        child.write(request, deadline)
        answer = child.read_until(self.prompt.pattern, deadline)
        reply = parse_output(answer, self.layout, question.known)
        return replace(reply, notes=(*notes, *unasked, *reply.notes))


def encode_request(template: str | Mapping[str, object], question: ToolRequest) -> tuple[bytes, tuple[str, ...]]:
    """Encode a query as one line, with notes: JSON from a table, else text with line breaks replaced by blanks."""
    if not isinstance(template, str):
        values = {**question.placeholders, "query": question.query, "k": question.k, "id": question.id}
        return json.dumps(merge(fill_json(template, values), question.added)).encode() + b"\n", ()
    flat = _BREAKS.sub(" ", question.query)
    text = fill(template, {**question.placeholders, "query": flat, "k": str(question.k), "id": str(question.id)})
    try:
        return text.encode() + b"\n", (FLATTENED,) if flat != question.query else ()
    except UnicodeEncodeError as problem:
        raise EngineError(f"the query cannot be sent: {problem}", hint="clean the query") from problem


def _documents(line: bytes) -> Documents | None:
    text = clean(line)
    for find in (parse_json, lambda talk: find_documents(talk, anywhere=True)):
        try:
            found = find(text)
        except (ValueError, RecursionError):
            continue
        return found if found.values and isinstance(found.values[0], dict | list) else None
    if text.startswith("{"):
        raise EngineError(f"the answer is not JSON; it begins {text[:60]!r}", hint="let the tool print whole documents")
    return None


def _id_of(document: object, selector: Selector) -> str | None:
    try:
        rows = list(select(document, (selector,)))
    except EngineError:
        return None
    return None if len(rows) != 1 or rows[0].values[0] is None else str(rows[0].values[0])


def _unasked_notes(unread: bytes) -> tuple[str, ...]:
    return (f"{len(unread):,} bytes that came before it was asked were left out",) if unread.strip() else ()


def _talk_notes(talk: list[str]) -> tuple[str, ...]:
    return Documents((), tuple(filter(None, talk))).notes


class InteractiveSession(ExternalSession):
    """A program on one corpus that answers one query after the other."""

    def __init__(self, place: ToolWorkspace, dialogue: WireProtocol) -> None:
        self.place = place
        self.placeholders = place.placeholders
        self.filtering = place.tool.templates.filters
        self._task = place.task(place.tool.templates.argv)
        self._name = display_name(place.tool.templates.argv, self._task)
        self._dialogue = dialogue
        self._child: Child | None = None
        self._asked = 0
        self._restarts = Restarts(place.tool.settings.restarts, self._name)
        self._startup: float | None = None  # seconds of the first start

    def start(self, seconds: float | None) -> None:
        """Start the program and wait until it is ready."""
        begin = time.monotonic()
        settings = self.place.tool.settings
        whole = Deadline(seconds, settings.index_timeout)
        clock = whole.within(settings.startup_timeout)
        limit = "startup_timeout" if whole.allows(settings.startup_timeout) else "index_timeout"
        self._child = start_tool(self._task)
        with self._watched(self._child, clock, f"raise {limit}"):
            self._dialogue.begin(self._child, clock.deadline)
        self._startup = time.monotonic() - begin if self._startup is None else self._startup
        self._restarts.note_start(self._startup)

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Send a query with the additions of the filters; restart a lost program first."""
        with self.place.redactor.cleaning():
            again = self._restore()
            with again.excluded():
                reply = self._ask(query, k, wanted, Deadline(seconds, self.place.tool.settings.timeout))
        notes = tuple(map(self.place.redactor.text, (*again.notes, *reply.notes)))
        return replace(reply, notes=notes, waited=again.seconds)

    def usage(self) -> SessionUsage:
        """Return what the program used."""
        if self._child is not None:
            self.place.tracker.record_peak(self._child.peak_bytes())
            self.place.tracker.record_stderr(self._child.stderr)
        return self.place.usage(self._startup if self._dialogue.waits else None)

    def close(self) -> None:
        """End the program and remove its directories."""
        try:
            self.drop()
        finally:
            self.place.close()

    def remarks(self) -> tuple[str, ...]:
        """Return a note on orphans."""
        return self.place.orphans.remarks()

    def drop(self) -> bytes:
        """End the program, if there is one, and return its stderr."""
        child, self._child = self._child, None
        if child is None:
            return b""
        child.end()
        self.place.tracker.record_peak(child.peak_bytes())
        return child.stderr

    def _restore(self) -> RestartCost:
        if self._child is not None and self._child.alive:
            return RestartCost()
        if self._child is not None:
            self._restarts.note_loss()
            self.drop()
        return self._restarts.restart(self.start)

    def _ask(self, query: str, k: int, wanted: SearchFilter, clock: Deadline) -> EngineReply:
        assert self._child is not None
        self._asked += 1
        added = self.filtering.table(wanted, {**self.place.placeholders, "query": query, "k": k, "id": self._asked})
        question = ToolRequest(self.place.placeholders, query, k, self._asked, self.place.known, added)
        with self._watched(self._child, clock, "raise timeout"):
            reply = self._dialogue.ask(self._child, question, clock.deadline)
        self._restarts.note_answer()
        return reply

    @contextmanager
    def _watched(self, child: Child, clock: Deadline, hint: str) -> Iterator[None]:
        """Convert errors to EngineError and end the program, so that no late answer is read."""
        try:
            yield
        except EngineError:  # it answered, but the answer cannot be read
            raise
        except StartupTimeout as problem:
            said = self._fail()
            message = (
                f"{self._name} is not ready after {format_duration(clock.limit)}: {problem}; {problem.setting} is "
            )
            raise EngineTimeoutError(
                f"{message}{problem.wanted!r}{said}", hint=f"correct {problem.setting} to what it prints, or {hint}"
            ) from problem
        except ChildTimeout as problem:
            said = self._fail()
            raise EngineTimeoutError(f"no answer after {format_duration(clock.limit)}{said}", hint=hint) from problem
        except OutputLimitExceeded as problem:
            self._fail()
            raise EngineError(f"{self._name} printed {problem}", hint="ask it for less, as with {k}") from problem
        except ChildExited as problem:
            words, gone = child.describe_end(), not child.alive
            message = f"{self._name} {words}{self._fail()}"
            raise (EngineCrash if gone else EngineError)(message, hint=repro_command(self._task)) from problem
        except BaseException:  # an interrupt in the middle of an answer
            self._fail()
            raise

    def _fail(self) -> str:
        stderr = self.drop()
        self._restarts.note_loss()
        self.place.tracker.record_failure(stderr)
        words = last_line(stderr)
        return f": {words}" if words else ""


class UpdatableInteractiveSession(InteractiveSession):
    """A program that is restarted when files changed."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Run the update command and restart the program; the shorter of the two time limits holds for both."""
        clock = Deadline(seconds, self.place.tool.settings.index_timeout)
        self.place.take(corpus)
        with self.place.redactor.cleaning():
            self.drop()
            if self.place.tool.templates.update:
                self.place.prepare(self.place.tool.templates.update, clock.rest(), "updating")
            self.start(clock.rest())
