"""Command line tools: run once per query, or started once and queried on stdin."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.clock import Deadline, min_timeout
from assay.digests import digest_of
from assay.engines.answers import OutputLayout, make_layout, read_output
from assay.engines.base import Answered, EngineContext, EngineReply, SearchFilter, SessionUsage, TimedSession
from assay.engines.command_settings import WHERE, CommandTemplates, Settings, read_templates
from assay.engines.config_files import ConfigTemplate, check_config_is_used, read_config, recorded_config
from assay.engines.dialogue import InteractiveSession, UpdatableInteractiveSession, WireProtocol, make_dialogue
from assay.engines.fingerprints import EngineInputs, fingerprint_inputs, fingerprint_of
from assay.engines.index_keys import IndexDeclaration, IndexSettings, Maker, index_config, index_env, read_indexing
from assay.engines.presets import PROBE_LIMITS
from assay.engines.secrets import recorded_table, secret_values
from assay.engines.shared_index import IndexWorkspace, SharedIndexEngine
from assay.engines.templates import named_secrets, names_place
from assay.engines.tool import (
    EngineWorkspace,
    ExternalSession,
    OrphanTracker,
    UsageTracker,
    check_program,
    describe_failure,
    file_facts,
    make_task,
    place_names,
    prepare,
    repro_command,
    run_tool,
    settled_places,
)
from assay.errors import EngineError, SetupError
from assay.processes import CompletedProgram, ProgramSpec
from assay.redaction import make_redactor
from assay.settings import read_settings
from assay.store import scratch
from assay.types import Corpus, Role

__all__ = ["CommandEngine", "Settings", "make"]

_MISSED = 1  # what grep, rg and ag exit with when they find nothing
#: Recorded only if they are set.
_SELDOM = ("mode", "request", "answer_id", "prompt", "ready", "git")


def make(settings: Mapping[str, object], context: EngineContext) -> CommandEngine:
    """Make the engine from its settings."""
    read = read_settings(Settings, settings, WHERE)
    places = settled_places(context)
    config = read_config(read.config, places, WHERE)
    templates = read_templates(read, place_names(places, config))
    check_config_is_used(config, templates.all(), WHERE)
    secrets = (*secret_values(templates.all(), env=read.env), *(config.secrets if config else ()))
    tool = Tool(read, templates, places, _indexing(read, templates, places, config), secrets, config)
    return CommandEngine(tool, make_layout(read, WHERE), make_dialogue(read))


def _indexing(
    settings: Settings, templates: CommandTemplates, places: Mapping[str, str], config: ConfigTemplate | None
) -> IndexSettings:
    texts = (*templates.all(), *(config.said if config else ()))
    starts = settings.mode != "once" and names_place(texts, "store")
    maker: Maker = "program" if templates.index else "itself" if starts else "nobody"
    always = ("index", "git", "update", "version", *(("argv", "mode") if maker == "itself" else ()))
    about = shlex.join(templates.index or templates.argv)
    return read_indexing(IndexDeclaration(WHERE, settings, always, maker, places, config, about))


@dataclass(frozen=True, slots=True)
class CommandEngine(SharedIndexEngine):
    """A command line tool with its templates."""

    tool: Tool
    layout: OutputLayout
    dialogue: WireProtocol | None  # None: the program is run once for each query
    role: Role = "contestant"
    notes: tuple[str, ...] = ()
    identity: str | None = None  # a program may change unseen
    private: bool = True  # a tool may write its index anywhere
    parallel: int = 1  # a second run would slow the first one down

    @property
    def oversample(self) -> int:
        """The setting."""
        return self.tool.settings.oversample

    @property
    def git(self) -> bool:
        """The setting."""
        return self.tool.settings.git

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values of variables that templates name or that are set for the tool."""
        return self.tool.secrets

    @property
    def fingerprint(self) -> str:
        """The templates, and the programs, files and variables that they name."""
        tool = self.tool
        inputs = EngineInputs(tool.places, tool.templates.commands(), tool.settings.env, tool.texts)
        return fingerprint_of(self.config, fingerprint_inputs(inputs))

    @property
    def indexing(self) -> IndexSettings:
        """The settings that decide its index."""
        return self.tool.indexing

    @property
    def wants_store(self) -> bool:
        """Whether it names {store}."""
        return names_place(self.tool.texts, "store")

    @property
    def config(self) -> Mapping[str, object]:
        """The templates and the output format; of the environment only names and a digest."""
        settings, templates = self.tool.settings, self.tool.templates
        own: dict[str, object] = {"kind": "command", "argv": list(templates.argv), "index": list(templates.index)}
        own |= {name: value for name in _SELDOM if (value := getattr(settings, name)) not in ("", "once", False)}
        codes = None if settings.ok_codes is None else sorted(settings.ok_codes)
        own |= {**recorded_table("env", settings.env), **templates.filters.recorded(), "ok_codes": codes}
        own |= recorded_config(self.tool.config, settings.index_keys)
        return {**own, **settings.recorded()}

    def open(self, corpus: Corpus) -> TimedSession:
        """Index the corpus, with the time limits of the settings."""
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Check the programs, index, and start an interactive one; the shorter of the two time limits holds."""
        return self.open_at(IndexWorkspace(corpus), seconds, indexed=False)

    def open_at(
        self, spot: IndexWorkspace, seconds: float | None, *, indexed: bool
    ) -> CommandSession | InteractiveSession:
        """Open on an index, or make it first."""
        place = ToolWorkspace(self.tool, spot.corpus, spot.store)
        with _closed_on_failure(place):
            return self._open(place, Deadline(seconds, self.tool.settings.index_timeout), indexed)

    def make_index(self, spot: IndexWorkspace, seconds: float | None) -> str:
        """Make the index with the settings that belong to it, and return stderr."""
        place = ToolWorkspace(self.tool.for_index(), spot.corpus, spot.store)
        with _closed_on_failure(place):
            clock = Deadline(seconds, self.tool.settings.index_timeout)
            place.check_programs()
            if self.tool.templates.index:
                place.prepare(self.tool.templates.index, clock.rest(), "indexing")
            elif self.dialogue is not None:  # it indexes when it starts
                conversation = InteractiveSession(place, self.dialogue)
                conversation.start(clock.rest())
                place.tracker.note_words(conversation.drop())
        place.close()
        return place.stderr()

    def tool_facts(self, corpus: Corpus) -> list[object]:
        """Return the version of the tool, facts about its files, and a digest of the variables of its index."""
        tool = self.tool.for_index()
        with scratch() as folder:
            place = ToolWorkspace(tool, replace(corpus, root=folder))
            try:
                version = place.version()
            finally:
                place.close()
        named = [tool.templates.index, tool.settings.env, tool.config.said if tool.config else []]
        return [version, file_facts(tool.templates.commands(), tool.places), digest_of(named_secrets(named))]

    def _open(self, place: ToolWorkspace, clock: Deadline, indexed: bool) -> CommandSession | InteractiveSession:
        place.check_programs()
        if self.tool.templates.index and not indexed:
            place.prepare(self.tool.templates.index, clock.rest(), "indexing")
        if self.dialogue is None:
            follows = self.tool.templates.update or not self.tool.templates.index
            return (UpdatableCommandSession if follows else CommandSession)(place, self.layout)
        conversation = (UpdatableInteractiveSession if self.tool.settings.update else InteractiveSession)(
            place, self.dialogue
        )
        conversation.start(clock.rest())
        return conversation


@contextmanager
def _closed_on_failure(place: ToolWorkspace) -> Iterator[None]:
    try:
        with place.redactor.cleaning():
            yield
    except BaseException as problem:
        place.close()
        if isinstance(problem, EngineError):
            problem.stderr = place.stderr()
        raise


@dataclass(frozen=True, slots=True)
class Tool:
    """A command line tool with its settings, independent of a corpus."""

    settings: Settings
    templates: CommandTemplates
    places: Mapping[str, str]  # {here} and {preset}
    indexing: IndexSettings
    secrets: tuple[str, ...] = field(default=(), repr=False)
    config: ConfigTemplate | None = None

    @property
    def texts(self) -> tuple[object, ...]:
        """Everything that may hold a placeholder."""
        return (*self.templates.all(), *(self.config.said if self.config else ()))

    def for_index(self) -> Tool:
        """Return the tool with only those settings that belong to its index."""
        env, config = index_env(self.settings.env, self.indexing.named), index_config(self.config, self.indexing.named)
        return replace(self, settings=replace(self.settings, env=env), config=config)


class ToolWorkspace:
    """A tool on one corpus: its directories, the commands it runs there, and what they used."""

    def __init__(self, tool: Tool, corpus: Corpus, store: Path | None = None) -> None:
        self.tool = tool
        self.take(corpus)
        self.tracker = UsageTracker()
        self.orphans = OrphanTracker()
        self.redactor = make_redactor(tool.secrets)
        for_index = tool.for_index()
        self._index_env = for_index.settings.env
        self._folders = EngineWorkspace(
            tool.places, corpus.root, tool.texts, store=store, config=tool.config, index_config=for_index.config
        )
        self.places = self._folders.places

    def take(self, corpus: Corpus) -> None:
        """Use a corpus, or the same one after files changed."""
        self.corpus = corpus
        self.known = frozenset(file.path for file in corpus.files)

    def task(self, template: Sequence[str], **values: str) -> ProgramSpec:
        """Fill a command."""
        return make_task(template, {**self.places, **values}, self.tool.settings.env, self.orphans.marker)

    def check_programs(self) -> None:
        """Raise EngineError if a program is missing."""
        for template in self.tool.templates.commands():
            check_program(self.task(template, query="", k="1"))

    def prepare(self, template: Sequence[str], seconds: float | None, what: str) -> None:
        """Run a command that makes or updates an index."""
        task = make_task(template, self._folders.index_places, self._index_env, self.orphans.marker)
        prepare(task, seconds, what, self.tracker.see_index)

    def usage(self, startup_seconds: float | None = None) -> SessionUsage:
        """Return what was used so far, and ask the tool for its version."""
        store, peak = self._folders.store_bytes(), self.tracker.peak_bytes
        return SessionUsage(startup_seconds, store, peak, self.version(), self.stderr())

    def stderr(self) -> str:
        """Return the end of stderr of its programs, redacted."""
        return self.redactor.text(self.tracker.stderr())

    def version(self) -> str:
        """Ask the tool for its version; empty if that fails."""
        if not self.tool.templates.version:
            return ""
        try:
            finished = run_tool(self.task(self.tool.templates.version), PROBE_LIMITS.seconds, hint="")
        except (EngineError, SetupError):
            return ""
        lines = (finished.stdout + b"\n" + finished.stderr).decode(errors="replace").split("\n")
        return self.redactor.text(next((line.strip() for line in lines if line.strip()), ""))

    def close(self) -> None:
        """End orphans and remove its directories."""
        try:
            self.orphans.end()
        finally:
            self._folders.close()


class CommandSession(ExternalSession):
    """A tool on one corpus that is run once per query."""

    def __init__(self, place: ToolWorkspace, layout: OutputLayout) -> None:
        self.place = place
        self.places = place.places
        self.filtering = place.tool.templates.filters
        self._layout = layout

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Run the command with the arguments of the filters."""
        with self.place.redactor.cleaning():
            reply = self._run(self._task(query, k, wanted), seconds)
        return replace(reply, notes=tuple(map(self.place.redactor.text, reply.notes)))

    def usage(self) -> SessionUsage:
        """Return what the runs used."""
        return self.place.usage()

    def close(self) -> None:
        """End orphans and remove the directories."""
        self.place.close()

    def remarks(self) -> tuple[str, ...]:
        """Return a note on orphans."""
        return self.place.orphans.remarks()

    def _task(self, query: str, k: int, wanted: SearchFilter) -> ProgramSpec:
        argv, asked = self.place.tool.templates.argv, {"query": query, "k": str(k)}
        cut = argv.index("--") if "--" in argv else len(argv)  # filters are options: they go before a --
        task = self.place.task(argv, **asked)
        added = self.filtering.arguments(wanted, {**self.place.places, **asked})
        return replace(task, argv=(*task.argv[:cut], *added, *task.argv[cut:]))

    def _run(self, task: ProgramSpec, seconds: float | None) -> EngineReply:
        settings = self.place.tool.settings
        limit = min_timeout(seconds, settings.timeout)
        finished = run_tool(task, limit, hint="raise timeout", seen=self.place.tracker.see_query)
        failed = not _may_be_empty(finished, settings.ok_codes)
        if finished.code and not failed and not finished.stdout.strip():
            return EngineReply(())
        try:
            reply = read_output(finished.stdout, self._layout, self.place.known)
        except EngineError as problem:
            raise (self._failure(task, finished) if failed else problem) from problem
        if failed and not reply.hits:
            raise self._failure(task, finished)
        return self._with_failure(reply, task, finished) if failed else reply

    def _with_failure(self, reply: EngineReply, task: ProgramSpec, finished: CompletedProgram) -> EngineReply:
        self.place.tracker.note_failure(finished.stderr)
        count = "1 result" if len(reply.hits) == 1 else f"{len(reply.hits)} results"
        return replace(reply, notes=(*reply.notes, f"{describe_failure(task, finished)} (after {count})"))

    def _failure(self, task: ProgramSpec, finished: CompletedProgram) -> EngineError:
        self.place.tracker.note_failure(finished.stderr)
        hint = f"if that means no results, add {finished.code} to ok_codes; else {repro_command(task)}"
        return EngineError(describe_failure(task, finished), hint=hint)


class UpdatableCommandSession(CommandSession):
    """A tool that follows changed files: it has an update command, or no index."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Run the update command, if any; the shorter of the two time limits holds."""
        self.place.take(corpus)
        template = self.place.tool.templates.update
        if template:
            with self.place.redactor.cleaning():
                self.place.prepare(template, min_timeout(seconds, self.place.tool.settings.index_timeout), "updating")


def _may_be_empty(finished: CompletedProgram, ok_codes: Sequence[int] | None) -> bool:
    if ok_codes is not None:
        return finished.code in ok_codes
    silent = not finished.stdout.strip() and not finished.stderr.strip()
    return finished.code == 0 or (finished.code == _MISSED and silent)
