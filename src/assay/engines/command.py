"""Command line tools: run once per query, or started once and queried on stdin."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import ClassVar, Literal, cast

from assay.clock import Deadline, min_timeout
from assay.digests import digest_of
from assay.engines.base import Answered, EngineContext, EngineReply, SearchFilter, SessionUsage, TimedSession
from assay.engines.config_files import ConfigSettings, ConfigTemplate, check_config_used, load_config, recorded_config
from assay.engines.fingerprints import EngineInputs, fingerprint_inputs, fingerprint_of
from assay.engines.interactive import (
    InteractiveSession,
    JsonLinesProtocol,
    OutputMarker,
    PromptProtocol,
    UpdatableInteractiveSession,
    WireProtocol,
)
from assay.engines.json_output import parse_selector
from assay.engines.output import OutputLayout, make_layout, parse_output
from assay.engines.presets import PROBE_LIMITS
from assay.engines.secrets import check_literal_secrets, recorded_table, secret_values
from assay.engines.shared_index import (
    INDEX_KEYS_HELP,
    IndexBuilder,
    IndexDeclaration,
    IndexSettings,
    IndexWorkspace,
    SharedIndexEngine,
    index_config,
    index_env,
    make_index_settings,
)
from assay.engines.templates import (
    QUERY_PLACEHOLDERS,
    Filters,
    Template,
    check_template,
    has_placeholder,
    make_filters,
    named_secrets,
)
from assay.engines.text_output import OutputSettings
from assay.engines.tool import (
    RESTARTS,
    STARTUP_SECONDS,
    Argv,
    EngineWorkspace,
    ExternalSession,
    OrphanTracker,
    UsageTracker,
    check_program,
    check_restarts,
    check_startup,
    describe_failure,
    fill_command,
    fixed_placeholders,
    parse_command,
    placeholder_names,
    repro_command,
    run_index_command,
    run_tool,
    stat_files,
)
from assay.errors import ConfigError, EngineError, SetupError
from assay.processes import CompletedProgram, ProgramSpec
from assay.redaction import make_redactor
from assay.settings import read_settings
from assay.store import scratch
from assay.types import Corpus, Role

WHERE = "engine command"
#: Values of `update` that stand for no command.
AGAIN, RESTART = "index", "restart"
#: Settings of some modes only.
_MODES: Mapping[str, tuple[str, ...]] = {
    "ok_codes": ("once",),
    "path_filter": ("once", "lines"),
    "language_filter": ("once", "lines"),
    "request": ("lines", "prompt"),
    "ready": ("lines", "prompt"),
    "answer_id": ("lines",),
    "prompt": ("prompt",),
    "restarts": ("lines", "prompt"),
    "startup_timeout": ("lines", "prompt"),
}

Mode = Literal["once", "lines", "prompt"]
Filter = Argv | Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(OutputSettings):
    """Settings of `kind = "command"`.

    Placeholders of the templates: {query}, {k}, {root} (the corpus), {here} (the directory of assay.toml, else the
    current one), {store} (an empty directory for an index, removed at the end; its size is measured), {preset} (the
    directory of the preset's file), {config} (the file rendered from `config.template`), {env:NAME} (a variable, never
    recorded), {python} (the interpreter that runs Assay) and {python:PROGRAM} (the interpreter of an installed
    program). The program runs in {root}; one with a slash in its name is relative to {here}. No shell is used.

    `mode = "once"` runs the program for each query. Results are used whatever the exit code; a code that is not in
    `ok_codes` is then noted. A program killed by a signal has no results. Without results, an exit code in `ok_codes`
    means that nothing was found, and any other is a failure. By default that is 0, and 1 if the tool printed nothing
    at all on stdout and stderr, as grep and rg do when they find nothing.

    The other modes start the program once, after the index command, and write each `request` to its stdin. With
    `lines` the answer is the next line that holds JSON. With `prompt` it is everything up to the next prompt, which is
    searched at the end of the output, so that an answer may contain similar text. A line break in a query is sent as a
    blank, with a note, if the request is a text; in JSON it is escaped. A program that dies, times out or does not
    stop printing fails that query, is ended, and is restarted before the next one; that time is noted and not counted.
    Such a program has no terminal: some then print no prompt, and need an option for it.
    """

    where: ClassVar[str] = WHERE

    argv: Argv = field(
        metadata={
            "about": "the program and its arguments with {query}; a text is split as a shell would; no shell is used"
        }
    )
    mode: Mode = field(
        default="once",
        metadata={
            "about": "once: run for each query; lines, prompt: started once, queried on stdin, no {query} in argv"
        },
    )
    index: Argv = field(default=(), metadata={"about": "run once when the corpus is opened; without {query} and {k}"})
    update: Argv = field(
        default=(),
        metadata={
            "about": 'run when files changed: a command, or "index" for the index command; an interactive program '
            'is then restarted, and "restart" does only that; a tool without an index needs none'
        },
    )
    version: Argv = field(
        default=(), metadata={"about": "run at the end; the first line of its output is recorded as the version"}
    )
    request: str | Mapping[str, object] = field(
        default="",
        metadata={
            "about": "written to an interactive program: a table is one line of JSON, a text is one line; with "
            "{query}, {k} and {id} (a counter); default of mode prompt: {query}"
        },
    )
    answer_id: str = field(
        default="",
        metadata={"about": "mode lines: where in the answer the {id} of the request is; other lines are skipped"},
    )
    prompt: str = field(
        default="", metadata={"about": "mode prompt: a regular expression for the prompt that the program prints"}
    )
    ready: str = field(
        default="",
        metadata={
            "about": "a regular expression for what an interactive program prints once it has started; default of mode "
            "prompt: the first prompt; without it in mode lines, the first query includes the start"
        },
    )
    path_filter: Filter = field(
        default=(),
        metadata={
            "about": "arguments for each glob that results must match, with {path}, as in --include={path}; they come "
            'before a -- in argv, else last; of mode lines a table that is added to the request, { paths = ["{path}"] }'
        },
    )
    language_filter: Filter = field(
        default=(), metadata={"about": "arguments for each language that results must be in, with {language}; as above"}
    )
    startup_timeout: float = field(
        default=STARTUP_SECONDS,
        metadata={
            "about": "seconds for an interactive program to print ready or its first prompt; more for one that indexes "
            "before that"
        },
    )
    restarts: int = field(
        default=RESTARTS,
        metadata={
            "about": "how often in a row, without an answer in between, a program that died or hung is restarted"
        },
    )
    git: bool = field(default=False, metadata={"about": "whether the tool needs a git repository"})
    ok_codes: tuple[int, ...] | None = field(
        default=None,
        metadata={"about": "exit codes allowed without results; default: 0, and 1 if nothing is printed"},
    )
    env: Mapping[str, str] = field(
        default_factory=dict,
        repr=False,
        metadata={"about": "added to the environment; templates without {query} and {k}; only the names are recorded"},
    )
    config: ConfigSettings | None = field(
        default=None,
        metadata={"about": "a file for the tool, {config}, rendered from template (format, edits, new_keys)"},
    )
    index_keys: tuple[str, ...] | None = field(default=None, metadata={"about": INDEX_KEYS_HELP})

    def __post_init__(self) -> None:
        OutputSettings.__post_init__(self)
        check_restarts(self.where, self.restarts)
        check_startup(self.where, self.startup_timeout)


@dataclass(frozen=True, slots=True)
class CommandTemplates:
    """The templates of the settings, split and checked."""

    argv: tuple[str, ...]
    index: tuple[str, ...]
    update: tuple[str, ...]  # with update = "index" the index command
    version: tuple[str, ...]
    filters: Filters
    request: str | Mapping[str, object] = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """List the commands that are set."""
        return tuple(filter(None, (self.index, self.update, self.argv, self.version)))

    def all(self) -> tuple[object, ...]:
        """List everything that may hold a placeholder."""
        return (*self.commands(), self.filters.paths, self.filters.languages, self.request, self.env)


def read_templates(settings: Settings, folders: Sequence[str]) -> CommandTemplates:
    """Split and check the templates; `folders` are the placeholders that always have a value."""
    _check_mode(settings)
    asked = (*folders, *QUERY_PLACEHOLDERS) if settings.mode == "once" else folders
    by_path, by_language = (
        _read_filter(settings, name, (*folders, *QUERY_PLACEHOLDERS)) for name in ("path_filter", "language_filter")
    )
    templates = CommandTemplates(
        parse_command(settings.argv, asked, f"{WHERE}: argv"),
        parse_command(settings.index, folders, f"{WHERE}: index"),
        _read_update(settings, folders),
        parse_command(settings.version, folders, f"{WHERE}: version"),
        make_filters(by_path, by_language, (*folders, *QUERY_PLACEHOLDERS), WHERE),
        settings.request,
        settings.env,
    )
    _check_argv(templates.argv, settings.mode)
    check_template(settings.env, folders, f"{WHERE}: env")
    check_template(settings.request, (*folders, *QUERY_PLACEHOLDERS, "id"), f"{WHERE}: request")
    named = {name: getattr(templates, name) for name in ("argv", "index", "update", "version", "request", "env")}
    check_literal_secrets(WHERE, {**named, "path_filter": by_path, "language_filter": by_language})
    return templates


def _check_mode(settings: Settings) -> None:
    defaults = {one.name: one.default for one in fields(Settings)}
    for name, modes in _MODES.items():
        if settings.mode not in modes and getattr(settings, name) != defaults[name]:
            raise ConfigError(
                f'{WHERE}: {name} has no meaning with mode = "{settings.mode}"',
                hint=f"take it out, or use mode {' or '.join(modes)}",
            )
    if settings.mode == "prompt" and not settings.prompt:
        raise ConfigError(f"{WHERE}: mode prompt without a prompt", hint='write prompt = "^> "')
    if isinstance(settings.request, str) and len(settings.request.splitlines()) > 1:
        raise ConfigError(f"{WHERE}: request has a line break", hint="a request is one line; use a table for JSON")
    if settings.mode == "lines":
        _check_lines(settings)
    elif settings.mode == "prompt" and settings.request and not has_placeholder(settings.request, "query"):
        raise ConfigError(f"{WHERE}: request has no {{query}}", hint="put {query} where the query goes")


def _check_lines(settings: Settings) -> None:
    if not has_placeholder(settings.request, "query"):
        raise ConfigError(f"{WHERE}: mode lines without a request", hint='write request = { query = "{query}" }')
    if settings.format not in ("auto", "json"):
        raise ConfigError(f'{WHERE}: format = "{settings.format}" with mode lines', hint="its answers are JSON")
    if settings.startup_timeout != STARTUP_SECONDS and not settings.ready:
        raise ConfigError(f"{WHERE}: startup_timeout, but no ready", hint="declare what it prints once it has started")
    if settings.answer_id and not has_placeholder(settings.request, "id"):
        raise ConfigError(f"{WHERE}: answer_id, but no {{id}} in request", hint='write request = { id = "{id}", ... }')


def _check_argv(argv: Sequence[str], mode: Mode) -> None:
    if not argv:
        raise ConfigError(f"{WHERE}: argv is empty", hint='write argv = ["tool", "--", "{query}"]')
    if mode == "once" and not has_placeholder(argv, "query"):
        raise ConfigError(f"{WHERE}: argv has no {{query}}", hint="put {query} where the query goes")


def _read_filter(settings: Settings, name: str, known: Sequence[str]) -> Template:
    template: Filter = getattr(settings, name)
    table = isinstance(template, Mapping)
    if template and table != (settings.mode == "lines"):
        shape, wanted = ("a table", "arguments") if table else ("arguments", "a table that is added to the request")
        raise ConfigError(
            f'{WHERE}: {name} has no meaning as {shape} with mode = "{settings.mode}"', hint=f"write {wanted}"
        )
    if template and table and isinstance(settings.request, str):
        raise ConfigError(f"{WHERE}: {name}, but request is a text", hint="write request as a table")
    if table:
        return cast("Mapping[str, object]", template)
    place = "path" if name == "path_filter" else "language"
    return parse_command(cast(Argv, template), (*known, place), f"{WHERE}: {name}")


def _read_update(settings: Settings, known: Sequence[str]) -> tuple[str, ...]:
    if settings.update == RESTART:
        if settings.mode == "once":
            raise ConfigError(f'{WHERE}: update = "restart" with mode once', hint="no program keeps running")
        return ()
    if settings.update == AGAIN and not settings.index:
        raise ConfigError(f'{WHERE}: update = "index" without an index command', hint="take it out, or add index")
    return parse_command(settings.index if settings.update == AGAIN else settings.update, known, f"{WHERE}: update")


def compile_marker(text: str, name: str) -> re.Pattern[bytes]:
    """Compile a regular expression for output; ^ and $ match at lines."""
    try:
        marker = re.compile(text.encode(), re.MULTILINE)
    except (re.error, ValueError) as problem:
        raise ConfigError(f"{WHERE}: {name}: {problem}", hint="correct the regular expression") from problem
    if marker.search(b""):
        raise ConfigError(f"{WHERE}: {name} = {text!r} matches the empty text", hint="write what is printed there")
    return marker


_MISSED = 1  # what grep, rg and ag exit with when they find nothing
#: Recorded only if they are set.
_SELDOM = ("mode", "request", "answer_id", "prompt", "ready", "git")


def make(settings: Mapping[str, object], context: EngineContext) -> CommandEngine:
    """Make the engine from its settings."""
    read = read_settings(Settings, settings, WHERE)
    placeholders = fixed_placeholders(context)
    config = load_config(read.config, placeholders, WHERE)
    templates = read_templates(read, placeholder_names(placeholders, config))
    check_config_used(config, templates.all(), WHERE)
    secrets = (*secret_values(templates.all(), env=read.env), *(config.secrets if config else ()))
    tool = Tool(read, templates, placeholders, _indexing(read, templates, placeholders, config), secrets, config)
    return CommandEngine(tool, make_layout(read, WHERE), make_protocol(read))


def _indexing(
    settings: Settings, templates: CommandTemplates, placeholders: Mapping[str, str], config: ConfigTemplate | None
) -> IndexSettings:
    texts = (*templates.all(), *(config.said if config else ()))
    starts = settings.mode != "once" and has_placeholder(texts, "store")
    builder: IndexBuilder = "command" if templates.index else "session" if starts else "none"
    always = ("index", "git", "update", "version", *(("argv", "mode") if builder == "session" else ()))
    about = shlex.join(templates.index or templates.argv)
    return make_index_settings(IndexDeclaration(WHERE, settings, always, builder, placeholders, config, about))


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
        inputs = EngineInputs(tool.placeholders, tool.templates.commands(), tool.settings.env, tool.texts)
        return fingerprint_of(self.config, fingerprint_inputs(inputs))

    @property
    def indexing(self) -> IndexSettings:
        """The settings that decide its index."""
        return self.tool.indexing

    @property
    def wants_store(self) -> bool:
        """Whether it names {store}."""
        return has_placeholder(self.tool.texts, "store")

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
                place.tracker.record_stderr(conversation.drop())
        place.close()
        return place.stderr()

    def tool_identity(self, corpus: Corpus) -> list[object]:
        """Return the version of the tool, facts about its files, and a digest of the variables of its index."""
        tool = self.tool.for_index()
        with scratch() as folder:
            place = ToolWorkspace(tool, replace(corpus, root=folder))
            try:
                version = place.version()
            finally:
                place.close()
        named = [tool.templates.index, tool.settings.env, tool.config.said if tool.config else []]
        return [version, stat_files(tool.templates.commands(), tool.placeholders), digest_of(named_secrets(named))]

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
    placeholders: Mapping[str, str]  # {here} and {preset}
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
            tool.placeholders, corpus.root, tool.texts, store=store, config=tool.config, index_config=for_index.config
        )
        self.placeholders = self._folders.placeholders

    def take(self, corpus: Corpus) -> None:
        """Use a corpus, or the same one after files changed."""
        self.corpus = corpus
        self.known = frozenset(file.path for file in corpus.files)

    def task(self, template: Sequence[str], **values: str) -> ProgramSpec:
        """Fill a command."""
        return fill_command(template, {**self.placeholders, **values}, self.tool.settings.env, self.orphans.marker)

    def check_programs(self) -> None:
        """Raise EngineError if a program is missing."""
        for template in self.tool.templates.commands():
            check_program(self.task(template, query="", k="1"))

    def prepare(self, template: Sequence[str], seconds: float | None, what: str) -> None:
        """Run a command that makes or updates an index."""
        task = fill_command(template, self._folders.index_placeholders, self._index_env, self.orphans.marker)
        run_index_command(task, seconds, what, self.tracker.record_index_run)

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
        self.placeholders = place.placeholders
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
        added = self.filtering.arguments(wanted, {**self.place.placeholders, **asked})
        return replace(task, argv=(*task.argv[:cut], *added, *task.argv[cut:]))

    def _run(self, task: ProgramSpec, seconds: float | None) -> EngineReply:
        settings = self.place.tool.settings
        limit = min_timeout(seconds, settings.timeout)
        finished = run_tool(task, limit, hint="raise timeout", seen=self.place.tracker.record_query_run)
        failed = not _may_be_empty(finished, settings.ok_codes)
        if finished.code and not failed and not finished.stdout.strip():
            return EngineReply(())
        try:
            reply = parse_output(finished.stdout, self._layout, self.place.known)
        except EngineError as problem:
            raise (self._failure(task, finished) if failed else problem) from problem
        if failed and not reply.hits:
            raise self._failure(task, finished)
        return self._with_failure(reply, task, finished) if failed else reply

    def _with_failure(self, reply: EngineReply, task: ProgramSpec, finished: CompletedProgram) -> EngineReply:
        self.place.tracker.record_failure(finished.stderr)
        count = "1 result" if len(reply.hits) == 1 else f"{len(reply.hits)} results"
        return replace(reply, notes=(*reply.notes, f"{describe_failure(task, finished)} (after {count})"))

    def _failure(self, task: ProgramSpec, finished: CompletedProgram) -> EngineError:
        self.place.tracker.record_failure(finished.stderr)
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


def make_protocol(settings: Settings) -> WireProtocol | None:
    """Return the protocol of a mode; None for mode "once"."""
    if settings.mode == "lines":
        number = parse_selector(settings.answer_id, f"{WHERE}: answer_id") if settings.answer_id else None
        layout = make_layout(replace(settings, format="json"), WHERE)
        # the rest of the line must not be taken for an answer
        ready = _marker(settings.ready, "ready", after=rb"[^\n]*\n") if settings.ready else None
        return JsonLinesProtocol(settings.request, layout, number, ready)
    if settings.mode == "prompt":
        # blanks and colors may follow a prompt, but nothing that could be more of the answer
        prompt = _marker(settings.prompt, "prompt", after=rb"(?:\x1b\[[0-?]*[ -/]*[@-~]|\s)*\Z")
        ready = _marker(settings.ready, "ready", after=b"") if settings.ready else None
        return PromptProtocol(settings.request or "{query}", make_layout(settings, WHERE), prompt, ready)
    return None


def _marker(text: str, name: str, *, after: bytes) -> OutputMarker:
    pattern = re.compile(b"(?:" + compile_marker(text, name).pattern + b")" + after, re.MULTILINE)
    return OutputMarker(name, text, pattern)
