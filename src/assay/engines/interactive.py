"""Programs that are started once and answer queries on stdin: the wire protocols and the session."""

from __future__ import annotations

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.clock import Deadline, format_duration
from assay.engines.base import EngineCrash, EngineReply, SearchFilter, SearchReply, SessionUsage
from assay.engines.json_output import Documents, Selector, clean, find_documents, parse_json, select, strip_ansi
from assay.engines.output import OutputLayout, parse_document, parse_output
from assay.engines.templates import fill, fill_json, merge
from assay.engines.tool import RestartCost, Restarts, ToolSession, display_name, repro_command, start_tool
from assay.errors import EngineError, EngineTimeoutError
from assay.processes.child import Child, ChildExited, ChildTimeout, OutputLimitExceeded
from assay.processes.running import ANSWER_BYTES, last_line
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.engines.command import CommandEngine
    from assay.engines.shared_index import IndexWorkspace

#: Line breaks as `str.splitlines` defines them; a program may end a request at any of them.
_LINE_BREAKS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_SHOWN = 60  # characters at the end of the output in a message
FLATTENED = "line breaks in the query were replaced by spaces"


class StartupTimeout(ChildTimeout):
    """A program did not print `ready` or its prompt in time."""

    def __init__(self, marker: OutputMarker, printed: str) -> None:
        # cut at a space, because redaction does not recognize a part of a secret
        end = re.sub(r"^\S+", "…", printed[-_SHOWN:]) if len(printed) > _SHOWN else printed
        output = repr(end) if printed.strip() else "no output"
        super().__init__(f"expected {marker.setting} {marker.text!r}, got {output}")
        self.setting = marker.setting


@dataclass(frozen=True, slots=True)
class OutputMarker:
    """Output to wait for: a pattern and the setting that it comes from."""

    setting: str
    text: str  # as written in the settings
    pattern: re.Pattern[bytes]

    def wait(self, child: Child, deadline: float | None) -> None:
        """Wait for the marker; raise StartupTimeout with the output so far."""
        try:
            child.read_until(self.pattern, deadline)
        except ChildTimeout as error:
            raise StartupTimeout(self, strip_ansi(child.skip().decode(errors="replace"))) from error


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One query: the values of all placeholders, the paths of the corpus, and the additions of filters."""

    values: Mapping[str, object]
    known: frozenset[str]
    added: Mapping[str, object]

    def encode(self, template: str | Mapping[str, object]) -> tuple[bytes, tuple[str, ...]]:
        """Encode the query as one line, with notes: JSON from a table, else text without line breaks."""
        if not isinstance(template, str):
            return json.dumps(merge(fill_json(template, self.values), self.added)).encode() + b"\n", ()
        query = str(self.values["query"])
        flat = _LINE_BREAKS.sub(" ", query)
        try:
            line = fill(template, {**self.values, "query": flat}).encode() + b"\n"
        except UnicodeEncodeError as error:
            raise EngineError(f"cannot send the query: {error}", hint="remove the invalid characters") from error
        return line, (FLATTENED,) if flat != query else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WireProtocol(ABC):
    """Exchange of requests and answers with a program; each request is a line."""

    request: str | Mapping[str, object]
    layout: OutputLayout
    ready: OutputMarker | None = None

    @property
    def waits(self) -> bool:
        """Whether the program prints something when it has started."""
        return self.ready is not None

    def begin(self, child: Child, deadline: float | None) -> None:
        """Wait until the program has started."""
        if self.ready is not None:
            self.ready.wait(child, deadline)

    @abstractmethod
    def query(self, child: Child, request: ToolRequest, deadline: float | None) -> EngineReply:
        """Send a request and read the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLinesProtocol(WireProtocol):
    """Each answer is a line of JSON."""

    answer_id: Selector | None = None

    def query(self, child: Child, request: ToolRequest, deadline: float | None) -> EngineReply:
        """Send a request; skip lines without JSON or with the answer to another request."""
        early = () if self.answer_id else _early_output_notes(child.skip())
        line, notes = request.encode(self.request)
        child.write(line, deadline)
        other: list[str] = []
        size = 0
        while True:
            line = child.read_line(deadline)
            found = _find_answers(line)
            values = found.values if found else ()
            if self.answer_id is not None:
                number = str(request.values["id"])
                values = tuple(value for value in values if _read_id(value, self.answer_id) == number)
            if found and values:
                reply = parse_document(values[-1], self.layout)
                skipped = Documents((), tuple(filter(None, other))).notes
                return replace(reply, notes=(*notes, *early, *skipped, *found.notes, *reply.notes))
            size += len(line) + 1
            if size > ANSWER_BYTES:
                raise OutputLimitExceeded(f"more than {ANSWER_BYTES:,} bytes")
            if not (self.answer_id and found):
                other.append(clean(line))


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptProtocol(WireProtocol):
    """Each answer is the output up to the next prompt."""

    prompt: OutputMarker

    @property
    def waits(self) -> bool:
        return True

    def begin(self, child: Child, deadline: float | None) -> None:
        """Wait for `ready`, if it is set, and for the first prompt."""
        WireProtocol.begin(self, child, deadline)
        self.prompt.wait(child, deadline)

    def query(self, child: Child, request: ToolRequest, deadline: float | None) -> EngineReply:
        early = _early_output_notes(child.skip())
        line, notes = request.encode(self.request)
        child.write(line, deadline)
        reply = parse_output(child.read_until(self.prompt.pattern, deadline), self.layout, request.known)
        return replace(reply, notes=(*notes, *early, *reply.notes))


def _find_answers(line: bytes) -> Documents | None:
    text = clean(line)
    try:
        found = parse_json(text)
    except ValueError:
        try:
            found = find_documents(text, anywhere=True)
        except ValueError:
            if text.startswith("{"):
                raise EngineError(
                    f"the answer is not JSON; it starts with {text[:60]!r}", hint="print each document on one line"
                ) from None
            return None
    return found if found.values and isinstance(found.values[0], dict | list) else None


def _read_id(document: object, selector: Selector) -> str | None:
    try:
        rows = list(select(document, (selector,)))
    except EngineError:
        return None
    return None if len(rows) != 1 or rows[0][0] is None else str(rows[0][0])


def _early_output_notes(unread: bytes) -> tuple[str, ...]:
    return (f"ignored {len(unread):,} bytes printed before the query",) if unread.strip() else ()


class InteractiveSession(ToolSession):
    """A running program on one corpus."""

    def __init__(self, engine: CommandEngine, index: IndexWorkspace, protocol: WireProtocol) -> None:
        super().__init__(engine, index)
        self._program = self.fill(engine.templates.argv)
        self._name = display_name(engine.templates.argv, self._program)
        self._protocol = protocol
        self._child: Child | None = None
        self._queries = 0
        self._restarts = Restarts(engine.settings.restarts, self._name)
        self._startup: float | None = None  # seconds of the first start

    def start(self, seconds: float | None) -> None:
        begin = time.monotonic()
        settings = self.engine.settings
        whole = Deadline(seconds, settings.index_timeout)
        clock = whole.within(settings.startup_timeout)
        limit = "startup_timeout" if whole.allows(settings.startup_timeout) else "index_timeout"
        self._child = start_tool(self._program)
        with self._guarded(self._child, clock, f"raise {limit}"):
            self._protocol.begin(self._child, clock.deadline)
        if self._startup is None:
            self._startup = time.monotonic() - begin
            self._restarts.note_start(self._startup)

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> SearchReply:
        """Send a query; if the program is not running, restart it first."""
        with self.redactor.cleaning():
            restart = RestartCost()
            if self._child is None or not self._child.alive:
                if self._child is not None:
                    self._restarts.note_loss()
                    self.drop()
                restart = self._restarts.restart(self.start)
            clock = Deadline(seconds, self.engine.settings.timeout)
            assert self._child is not None
            self._queries += 1
            values = {**self.placeholders, "query": query, "k": k, "id": self._queries}
            with restart.excluded(), self._guarded(self._child, clock, "raise timeout"):
                request = ToolRequest(values, self.known, self.filtering.table(wanted, values))
                reply = self._protocol.query(self._child, request, clock.deadline)
            self._restarts.note_answer()
        notes = tuple(map(self.redactor.text, (*restart.notes, *reply.notes)))
        return replace(reply, notes=notes, waited=restart.seconds)

    def usage(self) -> SessionUsage:
        if self._child is not None:
            self.tracker.record_peak(self._child.peak_bytes())
            self.tracker.record_stderr(self._child.stderr)
        return replace(super().usage(), startup_seconds=self._startup if self._protocol.waits else None)

    def close(self) -> None:
        try:
            self.drop()
        finally:
            super().close()

    def drop(self) -> bytes:
        """End the program, if it runs, and return its stderr."""
        child, self._child = self._child, None
        if child is None:
            return b""
        child.end()
        self.tracker.record_peak(child.peak_bytes())
        return child.stderr

    @contextmanager
    def _guarded(self, child: Child, clock: Deadline, hint: str) -> Iterator[None]:
        """Convert errors to EngineError and end the program, so that no late answer is read."""
        try:
            yield
        except EngineError:  # the answer was read, but cannot be parsed
            raise
        except StartupTimeout as error:
            suffix = self._fail()
            raise EngineTimeoutError(
                f"{self._name} is not ready after {format_duration(clock.limit)}: {error}{suffix}",
                hint=f"correct {error.setting}, or {hint}",
            ) from error
        except ChildTimeout as error:
            suffix = self._fail()
            raise EngineTimeoutError(f"no answer after {format_duration(clock.limit)}{suffix}", hint=hint) from error
        except OutputLimitExceeded as error:
            self._fail()
            raise EngineError(f"{self._name} printed {error}", hint="limit its output, as with {k}") from error
        except ChildExited as error:
            end, exited = child.describe_end(), not child.alive
            message = f"{self._name} {end}{self._fail()}"
            raise (EngineCrash if exited else EngineError)(message, hint=repro_command(self._program)) from error
        except BaseException:  # such as KeyboardInterrupt during an answer
            self._fail()
            raise

    def _fail(self) -> str:
        stderr = self.drop()
        self._restarts.note_loss()
        self.tracker.record_failure(stderr)
        last = last_line(stderr)
        return f": {last}" if last else ""


class UpdatableInteractiveSession(InteractiveSession):
    """A program that is restarted after files change."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Run the update command and restart the program, both within the shorter of the two time limits."""
        clock = Deadline(seconds, self.engine.settings.index_timeout)
        self.use_corpus(corpus)
        with self.redactor.cleaning():
            self.drop()
            if self.engine.templates.update:
                self.run_index_command(self.engine.templates.update, clock.rest(), "updating")
            self.start(clock.rest())
