"""Programs that are started once and receive queries on stdin: wire protocols and sessions."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.clock import Deadline, format_duration
from assay.engines.base import RAISE_TIMEOUT, EngineCrash, EngineReply, SearchFilter, SearchReply, SessionUsage
from assay.engines.json_output import Documents, Selector, clean, find_documents, parse_json, select, strip_ansi
from assay.engines.output import OutputLayout, parse_document, parse_output
from assay.engines.templates import fill, fill_json, merge
from assay.engines.tool import ProgramSession, RestartCost, Restarts, corpus_checked, display_name, repro_command
from assay.errors import EngineError, EngineTimeoutError
from assay.patterns import UserPattern
from assay.processes.child import Child, ChildExited, ChildTimeout, OutputLimitExceeded
from assay.processes.running import ANSWER_BYTES, last_line
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.engines.command import CommandEngine
    from assay.engines.workspace import IndexWorkspace

#: Line breaks of `str.splitlines`; a program may end a request at any of these characters.
_LINE_BREAKS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_SHOWN = 60  # characters of output that a message quotes
FLATTENED = "line breaks in the query were replaced by spaces"


@dataclass(frozen=True, slots=True)
class OutputMarker:
    setting: str
    text: str  # as written in the settings
    pattern: UserPattern  # of bytes


class StartupTimeout(ChildTimeout):
    def __init__(self, marker: OutputMarker, output: bytes) -> None:
        printed = strip_ansi(output.decode(errors="replace"))
        # cut at a space, because redaction does not recognize a part of a secret
        end = re.sub(r"^\S+", "…", printed[-_SHOWN:]) if len(printed) > _SHOWN else printed
        got = repr(end) if printed.strip() else "no output"
        super().__init__(f"expected {marker.setting} {marker.text!r}, got {got}")
        self.setting = marker.setting


@dataclass(frozen=True, slots=True, kw_only=True)
class WireProtocol:
    """The format of requests (one line each) and of answers (a line of JSON, or the output up to the next prompt)."""

    request: str | Mapping[str, object]
    layout: OutputLayout
    ready: OutputMarker | None = None
    prompt: OutputMarker | None = None
    answer_id: Selector | None = None

    @property
    def markers(self) -> tuple[OutputMarker, ...]:
        return tuple(marker for marker in (self.ready, self.prompt) if marker)

    def encode(self, values: Mapping[str, object], added: Mapping[str, object]) -> tuple[bytes, tuple[str, ...]]:
        """Return the line to send, as JSON merged with `added` or as text, and notes on replaced line breaks."""
        if not isinstance(self.request, str):
            return json.dumps(merge(fill_json(self.request, values), added)).encode() + b"\n", ()
        query = str(values["query"])
        flat = _LINE_BREAKS.sub(" ", query)
        try:
            line = fill(self.request, {**values, "query": flat}).encode() + b"\n"
        except UnicodeEncodeError as error:
            raise EngineError(
                f"cannot send the query: {error}", hint="remove the invalid characters from the query"
            ) from error
        return line, (FLATTENED,) if flat != query else ()

    def read(self, child: Child, number: str, known: frozenset[str], deadline: float | None) -> EngineReply:
        """Read the output up to the prompt, or the next JSON line; with `answer_id`, the next with the id `number`."""
        if self.prompt:
            return parse_output(child.read_until(self.prompt.pattern.fresh(), deadline), self.layout, known)
        other, size = list[str](), 0
        while True:
            line = child.read_line(deadline)
            documents = _find_answers(line)
            values = documents.values if documents else ()
            if self.answer_id is not None:
                values = tuple(value for value in values if _read_ids(value, self.answer_id) == [number])
            if documents and values:
                reply = parse_document(values[-1], self.layout)
                skipped = Documents((), tuple(filter(None, other))).notes
                return replace(reply, notes=(*skipped, *documents.notes, *reply.notes))
            size += len(line) + 1
            if size > ANSWER_BYTES:
                raise OutputLimitExceeded(f"more than {ANSWER_BYTES:,} bytes")
            if not (self.answer_id and documents):
                other.append(clean(line))


def _find_answers(line: bytes) -> Documents | None:
    text = clean(line)
    try:
        documents = parse_json(text)
    except ValueError:
        try:
            documents = find_documents(text, anywhere=True)
        except ValueError:
            if text.startswith("{"):
                raise EngineError(
                    f"the answer is not JSON; it starts with {text[:60]!r}",
                    hint="print each answer as JSON on one line",
                ) from None
            return None
    return documents if documents.values and isinstance(documents.values[0], dict | list) else None


def _read_ids(document: object, selector: Selector) -> list[str]:
    with suppress(EngineError):
        return [str(row[0]) for row in select(document, (selector,))]
    return []


class InteractiveSession(ProgramSession):
    def __init__(self, engine: CommandEngine, index: IndexWorkspace, protocol: WireProtocol) -> None:
        super().__init__(engine, index)
        self._program = self.fill(engine.templates.argv)
        self._name = display_name(engine.templates.argv, self._program)
        self._protocol = protocol
        self._child: Child | None = None
        self._queries = 0
        self._restarts = Restarts(engine.settings.restarts, self._name)

    def start(self, seconds: float | None) -> None:
        begin = time.monotonic()
        settings = self.engine.settings
        whole = Deadline(seconds, settings.index_timeout)
        deadline = whole.within(settings.startup_timeout)
        limit = "startup_timeout" if whole.allows(settings.startup_timeout) else "index_timeout"
        with corpus_checked(self._program):
            self._child = Child(self._program)
        with self._guarded(self._child, deadline, f"raise `{limit}`"):
            for marker in self._protocol.markers:
                try:
                    self._child.read_until(marker.pattern.fresh(), deadline.at)
                except ChildTimeout as error:
                    raise StartupTimeout(marker, self._child.skip()) from error
        if self._restarts.first_start is None:
            self._restarts.first_start = time.monotonic() - begin

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> SearchReply:
        protocol, restart = self._protocol, RestartCost()
        with self.redactor.cleaning():
            if self._child is None or not self._child.alive:
                if self._child is not None:
                    self._restarts.losses += 1
                    self.drop()
                restart = self._restarts.restart(self.start)
            deadline = Deadline(seconds, self.engine.settings.timeout)
            child = self._child
            assert child is not None
            self._queries += 1
            values = {**self.placeholders, "query": query, "k": k, "id": self._queries}
            with restart.excluded(), self._guarded(child, deadline, RAISE_TIMEOUT):
                early = b"" if protocol.answer_id else child.skip()
                line, notes = protocol.encode(values, self.filtering.table(wanted, values))
                child.write(line, deadline.at)
                reply = protocol.read(child, str(self._queries), self.known, deadline.at)
            self._restarts.losses = 0
        if early.strip():
            notes = (*notes, f"ignored {len(early):,} bytes printed before the query")
        notes = tuple(map(self.redactor.text, (*restart.notes, *notes, *reply.notes)))
        return replace(reply, notes=notes, waited=restart.seconds)

    def usage(self) -> SessionUsage:
        if self._child is not None:
            self.tracker.record_peak(self._child.peak_bytes())
            self.tracker.record_stderr(self._child.stderr)
        return replace(super().usage(), startup_seconds=self._restarts.first_start if self._protocol.markers else None)

    def close(self) -> None:
        try:
            self.drop()
        finally:
            super().close()

    def drop(self) -> bytes:
        child, self._child = self._child, None
        if child is None:
            return b""
        child.end()
        self.tracker.record_peak(child.peak_bytes())
        return child.stderr

    @contextmanager
    def _guarded(self, child: Child, deadline: Deadline, hint: str) -> Iterator[None]:
        """Convert a failure of the program to EngineError, and stop the program to prevent late answers."""
        try:
            yield
        except EngineError:  # the answer was read, but cannot be parsed
            raise
        except ChildTimeout as error:
            message = f"no answer after {format_duration(deadline.limit)}"
            if isinstance(error, StartupTimeout):
                message = f"{self._name} is not ready after {format_duration(deadline.limit)}: {error}"
                hint = f"correct `{error.setting}`, or {hint}"
            raise EngineTimeoutError(f"{message}{self._fail()}", hint=hint) from error
        except OutputLimitExceeded as error:
            self._fail()
            raise EngineError(f"{self._name} printed {error}", hint="reduce the output of the program") from error
        except ChildExited as error:
            end, exited = child.describe_end(), not child.alive
            message = f"{self._name} {end}{self._fail()}"
            raise (EngineCrash if exited else EngineError)(message, hint=repro_command(self._program)) from error
        except BaseException:  # for example KeyboardInterrupt during an answer
            self._fail()
            raise

    def _fail(self) -> str:
        stderr = self.drop()
        self._restarts.losses += 1
        self.tracker.record_failure(stderr)
        last = last_line(stderr)
        return f": {last}" if last else ""


class UpdatableInteractiveSession(InteractiveSession):
    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        deadline = Deadline(seconds, self.engine.settings.index_timeout)
        self.use_corpus(corpus)
        with self.redactor.cleaning():
            self.drop()
            if self.engine.templates.update:
                self.run_index_command(self.engine.templates.update, deadline.remaining(), "updating")
            self.start(deadline.remaining())
