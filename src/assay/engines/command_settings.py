"""Settings of command line tools, and their checks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal, cast

from assay.engines.config_files import ConfigSettings
from assay.engines.filters import Filters, Template, read_filters
from assay.engines.index_keys import ABOUT
from assay.engines.secrets import check_written_out
from assay.engines.templates import ASKED, check_template, names_place
from assay.engines.text_answers import ReadingSettings
from assay.engines.tool import RESTARTS, STARTUP_SECONDS, Argv, check_restarts, check_startup, read_argv
from assay.errors import ConfigError

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
class Settings(ReadingSettings):
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
    index_keys: tuple[str, ...] | None = field(default=None, metadata={"about": ABOUT})

    def __post_init__(self) -> None:
        ReadingSettings.__post_init__(self)
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
    asked = (*folders, *ASKED) if settings.mode == "once" else folders
    by_path, by_language = (
        _read_filter(settings, name, (*folders, *ASKED)) for name in ("path_filter", "language_filter")
    )
    templates = CommandTemplates(
        read_argv(settings.argv, asked, f"{WHERE}: argv"),
        read_argv(settings.index, folders, f"{WHERE}: index"),
        _read_update(settings, folders),
        read_argv(settings.version, folders, f"{WHERE}: version"),
        read_filters(by_path, by_language, (*folders, *ASKED), WHERE),
        settings.request,
        settings.env,
    )
    _check_argv(templates.argv, settings.mode)
    check_template(settings.env, folders, f"{WHERE}: env")
    check_template(settings.request, (*folders, *ASKED, "id"), f"{WHERE}: request")
    named = {name: getattr(templates, name) for name in ("argv", "index", "update", "version", "request", "env")}
    check_written_out(WHERE, {**named, "path_filter": by_path, "language_filter": by_language})
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
    elif settings.mode == "prompt" and settings.request and not names_place(settings.request, "query"):
        raise ConfigError(f"{WHERE}: request has no {{query}}", hint="put {query} where the query goes")


def _check_lines(settings: Settings) -> None:
    if not names_place(settings.request, "query"):
        raise ConfigError(f"{WHERE}: mode lines without a request", hint='write request = { query = "{query}" }')
    if settings.format not in ("auto", "json"):
        raise ConfigError(f'{WHERE}: format = "{settings.format}" with mode lines', hint="its answers are JSON")
    if settings.startup_timeout != STARTUP_SECONDS and not settings.ready:
        raise ConfigError(f"{WHERE}: startup_timeout, but no ready", hint="declare what it prints once it has started")
    if settings.answer_id and not names_place(settings.request, "id"):
        raise ConfigError(f"{WHERE}: answer_id, but no {{id}} in request", hint='write request = { id = "{id}", ... }')


def _check_argv(argv: Sequence[str], mode: Mode) -> None:
    if not argv:
        raise ConfigError(f"{WHERE}: argv is empty", hint='write argv = ["tool", "--", "{query}"]')
    if mode == "once" and not names_place(argv, "query"):
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
    return read_argv(cast(Argv, template), (*known, place), f"{WHERE}: {name}")


def _read_update(settings: Settings, known: Sequence[str]) -> tuple[str, ...]:
    if settings.update == RESTART:
        if settings.mode == "once":
            raise ConfigError(f'{WHERE}: update = "restart" with mode once', hint="no program keeps running")
        return ()
    if settings.update == AGAIN and not settings.index:
        raise ConfigError(f'{WHERE}: update = "index" without an index command', hint="take it out, or add index")
    return read_argv(settings.index if settings.update == AGAIN else settings.update, known, f"{WHERE}: update")


def compile_marker(text: str, name: str) -> re.Pattern[bytes]:
    """Compile a regular expression for output; ^ and $ match at lines."""
    try:
        marker = re.compile(text.encode(), re.MULTILINE)
    except (re.error, ValueError) as problem:
        raise ConfigError(f"{WHERE}: {name}: {problem}", hint="correct the regular expression") from problem
    if marker.search(b""):
        raise ConfigError(f"{WHERE}: {name} = {text!r} matches the empty text", hint="write what is printed there")
    return marker
