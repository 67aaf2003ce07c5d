from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, cast

from assay.clock import Deadline, min_timeout
from assay.digests import digest_of
from assay.engines.base import RAISE_TIMEOUT, EngineContext, EngineReply, SearchFilter, SearchReply
from assay.engines.config_files import ConfigSettings, check_config_used, load_config_template, recorded_config
from assay.engines.interactive import InteractiveSession, OutputMarker, UpdatableInteractiveSession, WireProtocol
from assay.engines.json_output import parse_selector
from assay.engines.output import OutputSettings, make_layout, parse_output
from assay.engines.secrets import check_literal_secrets, recorded_table, secret_values
from assay.engines.shared_index import INDEX_KEYS_HELP, IndexBuilder, SharedIndexEngine, make_index_settings
from assay.engines.templates import (
    QUERY_PLACEHOLDERS,
    Filters,
    check_template,
    has_placeholder,
    make_filters,
    named_secrets,
)
from assay.engines.tool import (
    RESTARTS,
    STARTUP_SECONDS,
    Argv,
    ProgramSession,
    describe_failure,
    parse_command,
    repro_command,
    run_engine_command,
    stat_files,
)
from assay.engines.workspace import IndexWorkspace, fixed_placeholders, placeholder_names
from assay.errors import ConfigError, EngineError
from assay.patterns import UserPattern
from assay.processes.running import ProgramSpec
from assay.settings import read_settings, setting
from assay.store.scratch import scratch
from assay.types import Corpus

WHERE = "engine command"
Mode = Literal["once", "lines", "prompt"]
_MODES: Mapping[str, tuple[Mode, ...]] = {
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
#: Settings that are recorded only if set.
_OPTIONAL = ("mode", "request", "answer_id", "prompt", "ready", "git")
_NO_MATCH = 1  # exit code of grep, rg and ag when they find nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSettings(OutputSettings):
    """Settings of `kind = "command"`.

    The program runs in {root}, without a shell; a program path with a slash is relative to {here}.

    `mode = "once"` runs the program for each query. Printed results are used regardless of the exit code. Without
    output, an exit code in `ok_codes` means no results; without results, any other exit code is a failure. The other
    modes start the program once, after the index command, and write each `request` to stdin. An answer is the next line
    of JSON (`lines`), or the output up to a prompt at the end of the output (`prompt`). If the program dies, times out
    or prints too much, the query fails; the restart before the next query is excluded from query times.
    """

    argv: Argv = field(
        metadata={"about": "program and arguments, with {query}; a string is split like a shell command"}
    )
    mode: Mode = setting("once", "once: run for each query; lines, prompt: start once and send each request to stdin")
    index: Argv = setting((), "command that builds the index, without {query} and {k}")
    update: Argv = setting(
        (),
        'command to run after files change, or "index" for the index command; interactive programs are '
        'also restarted; "restart" restarts them without a command',
    )
    version: Argv = setting((), "command whose first output line is recorded as the version")
    request: str | Mapping[str, object] = setting(
        "",
        "line sent to an interactive program, with {query}, {k} and {id} (a counter); a table is sent as "
        "JSON; default in mode prompt: {query}",
    )
    answer_id: str = setting("", "mode lines: selector of the {id} in an answer; answers with another id are skipped")
    prompt: str = setting("", "mode prompt: regular expression that matches the prompt")
    ready: str = setting(
        "",
        "regular expression that matches the line that an interactive program prints when it is ready; by "
        "default, startup ends at the first prompt; in mode lines, startup is part of the first query",
    )
    path_filter: Argv | Mapping[str, object] = setting(
        (),
        "arguments added for each path glob, such as --include={path}, before a -- in argv; mode lines: "
        'table merged into the request, such as { paths = ["{path}"] }',
    )
    language_filter: Argv | Mapping[str, object] = setting((), "like path_filter, for each language, with {language}")
    startup_timeout: float = setting(
        STARTUP_SECONDS, "maximum seconds until an interactive program is ready, including indexing at startup", above=0
    )
    restarts: int = setting(RESTARTS, "maximum consecutive restarts without a successful query between them", least=0)
    git: bool = setting(False, "make the copy of the corpus a Git repository with one commit")
    ok_codes: tuple[int, ...] | None = setting(
        None, "exit codes that mean no results; default: 0, and 1 without any output"
    )
    env: Mapping[str, str] = setting(
        {}, "environment variables, without {query} and {k}; only the names and a digest are recorded", repr=False
    )
    config: ConfigSettings | None = setting(None, "configuration file {config} rendered from a template")
    index_keys: tuple[str, ...] | None = setting(None, INDEX_KEYS_HELP)


@dataclass(frozen=True, slots=True)
class CommandTemplates:
    argv: tuple[str, ...]
    index: tuple[str, ...]
    update: tuple[str, ...]  # the index command if update = "index"
    version: tuple[str, ...]
    filters: Filters
    request: str | Mapping[str, object] = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        return tuple(filter(None, (self.index, self.update, self.argv, self.version)))

    def all(self) -> tuple[object, ...]:
        return (*self.commands, self.filters.paths, self.filters.languages, self.request, self.env)


def make(settings: Mapping[str, object], context: EngineContext) -> CommandEngine:
    read = read_settings(CommandSettings, settings, WHERE)
    fixed = fixed_placeholders(context)
    template = load_config_template(read.config, fixed, WHERE)
    templates = _parse_templates(read, placeholder_names(fixed, template))
    check_config_used(template, templates.all(), WHERE)
    texts = (*templates.all(), *(template.texts if template else ()))
    indexes_at_start = read.mode != "once" and has_placeholder(texts, "store")
    builder: IndexBuilder = "command" if templates.index else "session" if indexes_at_start else "none"
    always = ("index", "git", "update", "version", *(("argv", "mode") if builder == "session" else ()))
    about = shlex.join(templates.index or templates.argv)
    indexing = make_index_settings(
        WHERE, read, fixed, template, index_keys=read.index_keys, always=always, builder=builder, about=about
    )
    return CommandEngine(
        settings=read,
        placeholders=fixed,
        template=template,
        indexing=indexing,
        layout=make_layout(read, WHERE),
        filters=templates.filters,
        templates=templates,
        protocol=_make_protocol(read),
        git=read.git,
        secrets=(*secret_values(templates.all(), env=read.env), *(template.secrets if template else ())),
    )


def _parse_templates(settings: CommandSettings, known: Sequence[str]) -> CommandTemplates:
    _check_modes(settings)
    with_query = (*known, *QUERY_PLACEHOLDERS)
    once = settings.mode == "once"
    update = {"index": settings.index, "restart": ()}.get(cast(str, settings.update), settings.update)
    argv = parse_command(settings.argv, with_query if once else known, WHERE, "argv")
    if not argv:
        example = '["tool", "--", "{query}"]' if once else '["tool"]'
        raise ConfigError(f"{WHERE}: `argv` is empty", hint=f"set argv = {example}", keys=["argv"])
    if once and not has_placeholder(argv, "query"):
        raise ConfigError(f"{WHERE}: `argv` has no {{query}}", hint="add {query} as an argument", keys=["argv"])
    commands = {"index": settings.index, "update": update, "version": settings.version}
    index, update, version = (parse_command(command, known, WHERE, name) for name, command in commands.items())
    by_path, by_language = (
        template if isinstance(template, Mapping) else parse_command(template, (*with_query, value), WHERE, name)
        for name, template, value in (
            ("path_filter", settings.path_filter, "path"),
            ("language_filter", settings.language_filter, "language"),
        )
    )
    filters = make_filters(by_path, by_language, with_query, WHERE)
    templates = CommandTemplates(argv, index, update, version, filters, settings.request, settings.env)
    check_template(settings.env, known, WHERE, "env")
    check_template(settings.request, (*with_query, "id"), WHERE, "request")
    named = {name: getattr(templates, name) for name in ("argv", "index", "update", "version", "request", "env")}
    check_literal_secrets(WHERE, {**named, "path_filter": by_path, "language_filter": by_language})
    return templates


def _check_modes(settings: CommandSettings) -> None:
    mode, request, update = settings.mode, settings.request, settings.update
    lines = mode == "lines"
    defaults = {field.name: field.default for field in fields(CommandSettings)}
    for name, modes in _MODES.items():
        if mode not in modes and getattr(settings, name) != defaults[name]:
            hint = f"remove `{name}`, or set `mode` to {' or '.join(modes)}"
            message = f'{WHERE}: `{name}` cannot be used with mode "{mode}"'
            raise ConfigError(message, hint=hint, keys=[name, "mode"])
    for name in ("path_filter", "language_filter"):
        template = getattr(settings, name)
        is_table = isinstance(template, Mapping)
        given, expected = ("a table", "arguments") if is_table else ("arguments", "a table")
        if template and is_table != lines:
            message = f'{WHERE}: {name}: expected {expected} with mode "{mode}", got {given}'
            raise ConfigError(message, keys=[name, "mode"])
        if template and is_table and isinstance(request, str):
            hint = 'set request = { query = "{query}" }'
            raise ConfigError(f"{WHERE}: {name} requires a table as `request`", hint=hint, keys=[name, "request"])
    if update == "index" and not settings.index:
        raise ConfigError(f'{WHERE}: update = "index" requires `index`', hint="set `index`", keys=["update"])
    if update == "restart" and mode == "once":
        message = f'{WHERE}: update = "restart" cannot be used with mode "once"'
        raise ConfigError(message, hint="remove `update`", keys=["update", "mode"])
    if mode == "prompt" and not settings.prompt:
        raise ConfigError(f'{WHERE}: mode "prompt" requires `prompt`', hint='set prompt = "^> "', keys=["mode"])
    if isinstance(request, str) and len(request.splitlines()) > 1:
        hint = "write `request` on one line, or as a table"
        raise ConfigError(f"{WHERE}: `request` contains a line break", hint=hint, keys=["request"])
    if (lines or request) and not has_placeholder(request, "query"):
        message = f"{WHERE}: `request` has no {{query}}"
        raise ConfigError(message, hint="add {query} to `request`", keys=["request"])
    if lines and settings.format in ("jsonl", "text"):
        message = f'{WHERE}: mode "lines" requires format "json"'
        raise ConfigError(message, hint="remove `format`", keys=["mode", "format"])
    if lines and settings.startup_timeout != STARTUP_SECONDS and not settings.ready:
        message = f"{WHERE}: `startup_timeout` requires `ready`"
        raise ConfigError(message, hint='set ready = "^READY"', keys=["startup_timeout"])
    if settings.answer_id and not has_placeholder(request, "id"):
        message = f"{WHERE}: `answer_id` requires {{id}} in `request`"
        raise ConfigError(message, hint='add id = "{id}" to `request`', keys=["answer_id", "request"])


def _make_protocol(settings: CommandSettings) -> WireProtocol | None:
    if settings.mode == "once":
        return None
    lines = settings.mode == "lines"
    after = r"[^\n]*\n" if lines else ""  # in mode lines, the rest of the line is not an answer
    # spaces and colors may follow a prompt; anything else belongs to the answer
    end = r"(?:\x1b\[[0-?]*[ -/]*[@-~]|\s)*\Z"
    return WireProtocol(
        request=settings.request or "{query}",
        layout=make_layout(replace(settings, format="json") if lines else settings, WHERE),
        ready=_make_marker(settings.ready, "ready", after) if settings.ready else None,
        prompt=_make_marker(settings.prompt, "prompt", end) if settings.prompt else None,
        answer_id=parse_selector(settings.answer_id, WHERE, "answer_id") if settings.answer_id else None,
    )


def _make_marker(text: str, name: str, after: str) -> OutputMarker:
    pattern = UserPattern(text, f"{WHERE}: {name}: ", (name,), after="")
    if pattern.search(b""):
        message = f"{WHERE}: {name}: {text!r} matches the empty string"
        raise ConfigError(message, hint='use a pattern of printed text, such as "^> "', keys=[name])
    return OutputMarker(name, text, replace(pattern, after=after))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEngine(SharedIndexEngine):
    settings: CommandSettings
    templates: CommandTemplates
    protocol: WireProtocol | None  # None: the program runs once per query
    git: bool
    secrets: tuple[str, ...] = field(default=(), repr=False)
    private: bool = True  # a tool may write its index anywhere

    @property
    def env(self) -> Mapping[str, str]:
        return self.settings.env

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        return self.templates.commands

    @property
    def written(self) -> tuple[object, ...]:
        return self.templates.all()

    @property
    def config(self) -> Mapping[str, object]:
        settings, templates = self.settings, self.templates
        codes = None if settings.ok_codes is None else sorted(settings.ok_codes)
        return {
            "kind": "command",
            "argv": list(templates.argv),
            "index": list(templates.index),
            **{name: value for name in _OPTIONAL if (value := getattr(settings, name)) not in ("", "once", False)},
            **recorded_table("env", settings.env),
            **templates.filters.recorded(),
            "ok_codes": codes,
            **recorded_config(self.template, settings.index_keys),
            **settings.recorded(),
        }

    def open_at(self, index: IndexWorkspace, seconds: float | None, *, indexed: bool) -> ProgramSession:
        deadline = Deadline(seconds, self.settings.index_timeout)
        session = self._make_session(index)
        with session.closed_on_failure():
            session.check_programs()
            if self.templates.index and not indexed:
                session.run_index_command(self.templates.index, deadline.remaining(), "indexing")
            session.start(deadline.remaining())
        return session

    def build_index(self, index: IndexWorkspace, seconds: float | None) -> str:
        deadline = Deadline(seconds, self.settings.index_timeout)
        session = self.for_index()._make_session(index)
        with session.closed_on_failure():
            session.check_programs()
            if self.templates.index:
                session.run_index_command(self.templates.index, deadline.remaining(), "indexing")
            elif isinstance(session, InteractiveSession):  # the program indexes when it starts
                session.start(deadline.remaining())
                session.tracker.record_stderr(session.drop())
        session.close()
        return session.stderr()

    def tool_identity(self, corpus: Corpus) -> list[object]:
        engine = self.for_index()
        with scratch() as directory:
            session = engine._make_session(IndexWorkspace(replace(corpus, root=directory)))
            try:
                version = session.version()
            finally:
                session.close()
        named = [engine.templates.index, engine.env, engine.template.texts if engine.template else []]
        return [version, stat_files(engine.commands, engine.placeholders), digest_of(named_secrets(named))]

    def _make_session(self, index: IndexWorkspace) -> ProgramSession:
        if self.protocol is None:
            follows = self.templates.update or not self.templates.index
            return (UpdatableCommandSession if follows else CommandSession)(self, index)
        kind = UpdatableInteractiveSession if self.settings.update else InteractiveSession
        return kind(self, index, self.protocol)


class CommandSession(ProgramSession):
    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> SearchReply:
        argv, values = self.engine.templates.argv, {"query": query, "k": str(k)}
        with self.redactor.cleaning():
            program = self.fill(argv, **values)
            added = self.filtering.arguments(wanted, {**self.placeholders, **values})
            cut = argv.index("--") if "--" in argv else len(argv)  # filters are options, which go before --
            reply = self._run(replace(program, argv=(*program.argv[:cut], *added, *program.argv[cut:])), seconds)
        return replace(reply, notes=tuple(map(self.redactor.text, reply.notes)))

    def _run(self, program: ProgramSpec, seconds: float | None) -> EngineReply:
        ok_codes, limit = self.engine.settings.ok_codes, min_timeout(seconds, self.engine.settings.timeout)
        finished = run_engine_command(program, limit, hint=RAISE_TIMEOUT, record=self.tracker.record_query_run)
        silent = not finished.stdout.strip()
        if ok_codes is None:
            ok_codes = (0, _NO_MATCH) if silent and not finished.stderr.strip() else (0,)
        if finished.code in ok_codes:
            is_empty = silent and finished.code != 0
            return EngineReply(()) if is_empty else parse_output(finished.stdout, self.engine.layout, self.known)
        self.tracker.record_failure(finished.stderr)
        failure = describe_failure(program, finished)
        problem: EngineError | None = None
        try:
            reply = parse_output(finished.stdout, self.engine.layout, self.known)
        except EngineError as error:
            reply, problem = EngineReply(()), error
        if not reply.hits:
            hint = f"if this means no results, add {finished.code} to `ok_codes`; {repro_command(program)}"
            raise EngineError(failure, hint=hint) from problem
        count = len(reply.hits)
        note = f"{failure} (after {count} {'result' if count == 1 else 'results'})"
        return replace(reply, notes=(*reply.notes, note))


class UpdatableCommandSession(CommandSession):
    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        self.use_corpus(corpus)
        if self.engine.templates.update:
            limit = min_timeout(seconds, self.engine.settings.index_timeout)
            with self.redactor.cleaning():
                self.run_index_command(self.engine.templates.update, limit, "updating")
