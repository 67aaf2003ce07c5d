"""A tool at one corpus: its folders and environment, the commands it runs there, and what they took."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from assay.clock import Deadline, format_duration
from assay.engines.answers import OutputLayout, make_layout, read_document, read_output
from assay.engines.base import Answered, EngineCrash, EngineReply, SearchFilter, SessionUsage
from assay.engines.command_settings import WHERE, CommandTemplates, Settings, compile_marker
from assay.engines.config_files import ConfigTemplate
from assay.engines.filters import merge
from assay.engines.index_keys import IndexSettings, index_config, index_env
from assay.engines.json_answers import (
    Documents,
    Selector,
    clean,
    documents_among_talk,
    parse_selector,
    select,
    strip_ansi,
    whole_document,
)
from assay.engines.presets import PROBE_LIMITS
from assay.engines.templates import fill, fill_json
from assay.engines.tool import (
    EngineFiles,
    EngineWorkspace,
    ExternalSession,
    OrphanTracker,
    RestartCost,
    Restarts,
    UsageTracker,
    check_program,
    make_task,
    prepare,
    repro_command,
    run_tool,
    shown_program,
    start_tool,
)
from assay.errors import EngineError, EngineTimeoutError, SetupError
from assay.processes import CHILD_LIMITS, Child, ChildExited, ChildTimeout, OutputLimitExceeded, ProgramSpec, last_line
from assay.redaction import make_redactor
from assay.types import Corpus


@dataclass(frozen=True, slots=True)
class Tool:
    """What a command line tool is, wherever it works."""

    settings: Settings
    templates: CommandTemplates
    places: Mapping[str, str]  # {here} and {preset}
    indexing: IndexSettings
    secrets: tuple[str, ...] = field(default=(), repr=False)
    config: ConfigTemplate | None = None

    @property
    def index_env(self) -> Mapping[str, str]:
        """The environment that making an index sees."""
        return index_env(self.settings.env, self.indexing.named)

    @property
    def index_config(self) -> ConfigTemplate | None:
        """The configuration that making an index sees."""
        return index_config(self.config, self.indexing.named)

    @property
    def texts(self) -> tuple[object, ...]:
        """Everything that may hold a placeholder."""
        return (*self.templates.all(), *(self.config.said if self.config else ()))

    def for_index(self) -> Tool:
        """Give the tool with what belongs to its index alone."""
        settings = replace(self.settings, env=self.index_env)
        return replace(self, settings=settings, config=self.index_config)


class ToolWorkspace:
    """One tool at one corpus."""

    def __init__(self, tool: Tool, corpus: Corpus, store: Path | None = None) -> None:
        self.tool = tool
        self.take(corpus)
        self.witness = UsageTracker()
        self.leftovers = OrphanTracker()
        self.redactor = make_redactor(tool.secrets)
        files = EngineFiles(store, tool.config, tool.index_config)
        self._folders = EngineWorkspace(tool.places, corpus.root, tool.texts, files)
        self.places = self._folders.places

    def take(self, corpus: Corpus) -> None:
        """Know a corpus, or the same after files changed."""
        self.corpus = corpus
        self.known = frozenset(file.path for file in corpus.files)

    def task(self, template: Sequence[str], **values: str) -> ProgramSpec:
        """Fill a command in."""
        return make_task(template, {**self.places, **values}, self.tool.settings.env, self.leftovers.marker)

    def check_programs(self) -> None:
        """Say before the first query that a program is missing."""
        for template in self.tool.templates.commands():
            check_program(self.task(template, query="", k="1"))

    def prepare(self, template: Sequence[str], seconds: float | None, what: str) -> None:
        """Run a command that makes or mends an index."""
        task = make_task(template, self._folders.index_places, self.tool.index_env, self.leftovers.marker)
        prepare(task, seconds, what, self.witness.see_index)

    def usage(self, startup_seconds: float | None = None) -> SessionUsage:
        """Tell what was taken up to now and what was said, and ask for the version."""
        store, peak = self._folders.store_bytes(), self.witness.peak_bytes
        return SessionUsage(startup_seconds, store, peak, self.version(), self.said())

    def said(self) -> str:
        """Give the end of what its programs said on stderr."""
        return self.redactor.text(self.witness.stderr())

    def version(self) -> str:
        """Ask the tool for its version; one that fails at that has none."""
        if not self.tool.templates.version:
            return ""
        try:
            finished = run_tool(self.task(self.tool.templates.version), PROBE_LIMITS.seconds, hint="")
        except (EngineError, SetupError):
            return ""
        lines = (finished.stdout + b"\n" + finished.stderr).decode(errors="replace").split("\n")
        return self.redactor.text(next((line.strip() for line in lines if line.strip()), ""))

    def close(self) -> None:
        """End what the tool left running, and remove its own folder."""
        try:
            self.leftovers.end()
        finally:
            self._folders.close()


#: What some program may take for the end of a line: all that Python's splitlines does.
_BREAKS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_SHOWN = 60  # characters of what a program printed, at its end, that a message shows
FLATTENED = "line breaks in the query were sent as blanks"


class StartupTimeout(ChildTimeout):
    """A program did not say in time that it has started."""

    def __init__(self, setting: str, wanted: str, printed: str) -> None:
        # from a blank on: half a secret would not be known as one
        end = re.sub(r"^\S+", "…", printed[-_SHOWN:]) if len(printed) > _SHOWN else printed
        super().__init__(f"it printed {end!r}" if printed.strip() else "it printed nothing")
        self.setting = setting
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class OutputMarker:
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
            raise StartupTimeout(self.setting, self.text, printed) from problem


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One question, with everything that its request may name."""

    places: Mapping[str, str]
    query: str
    k: int
    id: int
    known: frozenset[str]  # the paths of the corpus
    added: Mapping[str, object] = field(default_factory=dict)  # to the request, by filters


class WireProtocol(Protocol):
    """A way of talking to a program."""

    @property
    def waits(self) -> bool:
        """Whether the program says when it has started."""

    def begin(self, child: Child, deadline: float | None) -> None:
        """Wait until the program has started."""

    def ask(self, child: Child, question: ToolRequest, deadline: float | None) -> EngineReply:
        """Write a request and read its answer."""


@dataclass(frozen=True, slots=True)
class JsonLinesProtocol:
    """A line for each request, and a line of JSON for each answer."""

    request: str | Mapping[str, object]
    layout: OutputLayout
    answer_id: Selector | None
    ready: OutputMarker | None

    @property
    def waits(self) -> bool:
        """Whether there is something to wait for."""
        return self.ready is not None

    def begin(self, child: Child, deadline: float | None) -> None:
        """Wait for the line that says so."""
        if self.ready is not None:
            self.ready.await_in(child, deadline)

    def ask(self, child: Child, question: ToolRequest, deadline: float | None) -> EngineReply:
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
                raise OutputLimitExceeded(f"more than {CHILD_LIMITS.line:,} bytes")
            talk += [] if self.answer_id and found else [clean(line)]

    def _pick(self, found: Documents, number: int) -> Documents | None:
        """Take the document that answers; None when it is another's."""
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
        """Ask, and read all up to the next prompt."""
        unasked = _tell_unasked(child.skip())
        request = encode_request(self.request, question)
        child.write(request.line, deadline)
        answer = child.read_until(self.prompt.pattern, deadline)
        reply = read_output(answer, self.layout, question.known)
        return replace(reply, notes=(*request.notes, *unasked, *reply.notes))


def make_dialogue(settings: Settings) -> WireProtocol | None:
    """Make the way of talking that the settings ask for; None when the program does not stay."""
    if settings.mode == "lines":
        number = parse_selector(settings.answer_id, f"{WHERE}: answer_id") if settings.answer_id else None
        layout = make_layout(replace(settings, format="json"), WHERE)
        # the rest of the line must not be taken for an answer
        ready = _marker(settings.ready, "ready", after=rb"[^\n]*\n") if settings.ready else None
        return JsonLinesProtocol(settings.request, layout, number, ready)
    if settings.mode == "prompt":
        # blanks and colours may follow a prompt, but nothing that could be more of the answer
        prompt = _marker(settings.prompt, "prompt", after=rb"(?:\x1b\[[0-?]*[ -/]*[@-~]|\s)*\Z")
        ready = _marker(settings.ready, "ready", after=b"") if settings.ready else None
        return PromptProtocol(settings.request or "{query}", make_layout(settings, WHERE), prompt, ready)
    return None


def _marker(text: str, name: str, *, after: bytes) -> OutputMarker:
    pattern = re.compile(b"(?:" + compile_marker(text, name).pattern + b")" + after, re.MULTILINE)
    return OutputMarker(name, text, pattern)


@dataclass(frozen=True, slots=True)
class _Request:
    """A line to write, and what had to be done to it."""

    line: bytes
    notes: tuple[str, ...] = ()


def encode_request(template: str | Mapping[str, object], question: ToolRequest) -> _Request:
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
    try:
        rows = list(select(document, (selector,)))
    except EngineError:
        return None
    return None if len(rows) != 1 or rows[0].values[0] is None else str(rows[0].values[0])


def _tell_unasked(unread: bytes) -> tuple[str, ...]:
    return (f"{len(unread):,} bytes that came before it was asked were left out",) if unread.strip() else ()


def _tell_talk(talk: list[str]) -> tuple[str, ...]:
    return Documents((), tuple(filter(None, talk))).notes


class InteractiveSession(ExternalSession):
    """A program on one corpus, asked one query after the other."""

    def __init__(self, place: ToolWorkspace, dialogue: WireProtocol) -> None:
        self.place = place
        self.places = place.places
        self.filtering = place.tool.templates.filters
        self._task = place.task(place.tool.templates.argv)
        self._name = shown_program(place.tool.templates.argv, self._task)
        self._dialogue = dialogue
        self._child: Child | None = None
        self._asked = 0
        self._restarts = Restarts(place.tool.settings.restarts, self._name)
        self._startup: float | None = None  # seconds of the first start

    def start(self, seconds: float | None) -> None:
        """Start the program and wait until it says that it is ready."""
        begin = time.monotonic()
        settings = self.place.tool.settings
        whole = Deadline(seconds, settings.index_timeout)
        clock = whole.within(settings.startup_timeout)
        limit = "startup_timeout" if whole.allows(settings.startup_timeout) else "index_timeout"
        self._child = start_tool(self._task)
        with self._watched(self._child, clock, f"raise {limit}"):
            self._dialogue.begin(self._child, clock.deadline)
        self._startup = time.monotonic() - begin if self._startup is None else self._startup
        self._restarts.started(self._startup)

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Ask with what the filters add to the request; a program that was lost is started again first."""
        with self.place.redactor.cleaning():
            again = self._restore()
            with again.apart():
                reply = self._ask(query, k, wanted, Deadline(seconds, self.place.tool.settings.timeout))
        notes = tuple(map(self.place.redactor.text, (*again.notes, *reply.notes)))
        return replace(reply, notes=notes, waited=again.seconds)

    def usage(self) -> SessionUsage:
        """Tell what it took."""
        if self._child is not None:
            self.place.witness.note_peak(self._child.peak_bytes())
            self.place.witness.note_words(self._child.stderr)
        return self.place.usage(self._startup if self._dialogue.waits else None)

    def close(self) -> None:
        """End the program, and remove what it kept."""
        try:
            self.drop()
        finally:
            self.place.close()

    def remarks(self) -> tuple[str, ...]:
        """Tell what it left running."""
        return self.place.leftovers.remarks()

    def drop(self) -> bytes:
        """End the program, if there is one, and give what it said on stderr."""
        child, self._child = self._child, None
        if child is None:
            return b""
        child.end()
        self.place.witness.note_peak(child.peak_bytes())
        return child.stderr

    def _restore(self) -> RestartCost:
        if self._child is not None and self._child.alive:
            return RestartCost()
        if self._child is not None:
            self._restarts.lose()
            self.drop()
        return self._restarts.again(self.start)

    def _ask(self, query: str, k: int, wanted: SearchFilter, clock: Deadline) -> EngineReply:
        assert self._child is not None
        self._asked += 1
        added = self.filtering.table(wanted, {**self.place.places, "query": query, "k": k, "id": self._asked})
        question = ToolRequest(self.place.places, query, k, self._asked, self.place.known, added)
        with self._watched(self._child, clock, "raise timeout"):
            reply = self._dialogue.ask(self._child, question, clock.deadline)
        self._restarts.answered()
        return reply

    @contextmanager
    def _watched(self, child: Child, clock: Deadline, hint: str) -> Iterator[None]:
        """Say in the engines' own errors what happened to the program; then it is ended, so that nothing comes late."""
        try:
            yield
        except EngineError:  # it answered, only not in a way that can be read
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
        self._restarts.lose()
        self.place.witness.note_failure(stderr)
        words = last_line(stderr)
        return f": {words}" if words else ""


class UpdatableInteractiveSession(InteractiveSession):
    """A program that is started again when files changed."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Run the update command and start the program anew, in the shorter of the two times together."""
        clock = Deadline(seconds, self.place.tool.settings.index_timeout)
        self.place.take(corpus)
        with self.place.redactor.cleaning():
            self.drop()
            if self.place.tool.templates.update:
                self.place.prepare(self.place.tool.templates.update, clock.rest(), "updating")
            self.start(clock.rest())
