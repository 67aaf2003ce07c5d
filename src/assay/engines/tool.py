"""Programs of tools: their directories and commands, how they are run and restarted, and what they used."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.clock import format_duration
from assay.corpus.copying import folder_bytes
from assay.engines.base import Answered, EngineContext, EngineCrash, SearchFilter
from assay.engines.config_files import ConfigTemplate
from assay.engines.templates import INTERPRETER, Filters, check_template, fill, has_placeholder
from assay.errors import ConfigError, CorpusError, EngineError, EngineTimeoutError, SetupError
from assay.processes import (
    PROCESS_LIMITS,
    Child,
    CompletedProgram,
    ProcessLimits,
    ProgramSpec,
    kill_orphans,
    new_marker,
    run_process,
)
from assay.store import scratch

Argv = str | tuple[str, ...]
#: Prefixes of the directories of stores and of rendered configuration files.
STORE, CONFIG = "assay-store-", "assay-config-"
RESTARTS = 5  # default; enough for a bad moment, and a program that dies at every query is reported
STARTUP_SECONDS = 60.0  # default; a Python program that imports a neural library takes ten
_SHELL = re.compile(r"\|\|?|&&?|;|<|\d?>>?(?:&\d|/dev/null)?|\$\(.*", re.DOTALL)
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})  # of find, whose own ; ends them


class ExternalSession(ABC):
    """A session of a tool or server, in which every search takes a filter."""

    filtering: Filters
    placeholders: Mapping[str, str]  # values of placeholders

    @abstractmethod
    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Search only what the filter selects; the shorter of the two time limits holds."""

    @abstractmethod
    def close(self) -> None:
        """Release everything."""

    @property
    def filters(self) -> frozenset[str]:
        """The fields of `SearchFilter` that are declared."""
        return self.filtering.names

    def search(self, query: str, k: int) -> Answered:
        """Search with the session's own time limit."""
        return self.search_within(query, k, None)

    def search_within(self, query: str, k: int, seconds: float | None) -> Answered:
        """Search the whole corpus."""
        return self.search_filtered(query, k, SearchFilter(), seconds)


# ---------------------------------------------------------------------------------------------- directories


def fixed_placeholders(context: EngineContext) -> dict[str, str]:
    """Return the placeholders whose values need no corpus; {preset} has a value only in a preset."""
    preset = {} if context.preset is None else {"preset": os.path.abspath(context.preset)}
    return {"here": os.path.abspath(context.folder), **INTERPRETER, **preset}


def placeholder_names(settled: Mapping[str, str], config: ConfigTemplate | None = None) -> tuple[str, ...]:
    """Return the placeholders that templates may use besides those of the query."""
    return (*settled, "root", "store", *(() if config is None else ("config",)))


class EngineWorkspace:
    """Directories of an engine on one corpus; {store} exists only if a template names it."""

    def __init__(
        self,
        settled: Mapping[str, str],
        root: Path,
        templates: object,
        *,
        store: Path | None = None,  # an existing one
        config: ConfigTemplate | None = None,
        index_config: ConfigTemplate | None = None,  # what indexing gets; None: the same
    ) -> None:
        self.root = Path(os.path.abspath(root))
        self._owned = ExitStack()
        self._store = store
        if self._store is None and has_placeholder(templates, "store"):
            self._store = self._owned.enter_context(scratch(STORE))
        named = {} if self._store is None else {"store": str(self._store)}
        self.placeholders: Mapping[str, str] = {**settled, "root": str(self.root), **named}
        self.index_placeholders = self.placeholders  # what indexing gets
        if config is not None:
            self._render(config, index_config or config)

    def store_bytes(self) -> int | None:
        """Return the size of the store, None if there is none."""
        return None if self._store is None else folder_bytes(self._store)

    def close(self) -> None:
        """Remove the directories that were made here."""
        self._owned.close()

    def _render(self, config: ConfigTemplate, index_config: ConfigTemplate) -> None:
        plain = self.placeholders
        try:
            file = config.write(self._owned.enter_context(scratch(CONFIG)), plain)
            same = index_config == config
            other = file if same else index_config.write(self._owned.enter_context(scratch(CONFIG)), plain)
        except BaseException:
            self.close()
            raise
        self.placeholders = {**plain, "config": str(file)}
        self.index_placeholders = {**plain, "config": str(other)}


# ---------------------------------------------------------------------------------------------- commands


def parse_command(template: Argv, known: Sequence[str], where: str) -> tuple[str, ...]:
    """Split a command as a shell would; raise ConfigError for unknown placeholders and shell operators."""
    try:
        parts = tuple(shlex.split(template)) if isinstance(template, str) else template
    except ValueError as problem:
        raise ConfigError(f"{where}: {problem}", hint="balance the quotes, or write a list") from problem
    check_template(parts, known, where)
    for part in parts:
        if _SHELL.fullmatch(part) and not (part == ";" and _EXEC.intersection(parts)):
            raise ConfigError(
                f"{where} has {part!r}, but no shell is used",
                hint='if you want one, write ["sh", "-c", "tool \\"$1\\" | head", "sh", "{query}"]',
            )
    return parts


def fill_command(
    template: Sequence[str], placeholders: Mapping[str, str], env: Mapping[str, str], marker: str = ""
) -> ProgramSpec:
    """Fill a command, to be run in {root} with additional variables; the marker identifies its orphans."""
    program, *arguments = (fill(part, placeholders) for part in template)
    added = {name: fill(value, placeholders) for name, value in env.items()}
    argv = (_locate(program, placeholders), *arguments)
    return ProgramSpec(argv, Path(placeholders["root"]), {**os.environ, **added}, marker)


def _locate(program: str, placeholders: Mapping[str, str]) -> str:
    return os.path.abspath(Path(placeholders["here"], program)) if "/" in program else program


def display_name(template: Sequence[str], task: ProgramSpec) -> str:
    """Return the name of a program for messages: of a tool's Python the name of the tool."""
    tool = re.fullmatch(r"\{python:(?P<name>[^{}]+)\}", template[0])
    return tool["name"] if tool else task.argv[0]


def check_program(task: ProgramSpec) -> None:
    """Raise EngineError if a program is missing, before the first query."""
    program = task.argv[0]
    if shutil.which(program, path=(task.environment or {}).get("PATH")) is None:
        hint = "check that it is there and executable" if "/" in program else "install it, or give its full path"
        raise EngineError(f"no program {program}", hint=hint)


def stat_files(commands: Sequence[Sequence[str]], placeholders: Mapping[str, str]) -> list[object]:
    """Return path, size and time of programs and of the files in their arguments."""
    named = {fill(part, placeholders) for command in commands for part in command[1:]}
    programs = {_locate(fill(command[0], placeholders), placeholders) for command in commands}
    files = {os.path.realpath(path) for path in (*named, *map(shutil.which, programs)) if path and os.path.isfile(path)}
    return [[path, os.stat(path).st_size, os.stat(path).st_mtime_ns] for path in sorted(files)]


def run_tool(
    task: ProgramSpec,
    seconds: float | None,
    *,
    hint: str,
    limits: ProcessLimits = PROCESS_LIMITS,
    seen: Callable[[CompletedProgram], None] | None = None,
) -> CompletedProgram:
    """Run a program to its end, whatever its exit code; `hint` is for a timeout.

    `seen` gets every run, also those that end in an error.
    """
    with _corpus_checked(task):
        finished = run_process(task, seconds, limits)
    if seen is not None:
        seen(finished)
    if finished.end == "timeout":
        raise EngineTimeoutError(f"no answer after {format_duration(seconds)}{_last_words(finished)}", hint=hint)
    if finished.end == "flood":
        raise EngineError(
            f"{task.argv[0]} printed more than {limits.stdout:,} bytes", hint="ask it for less, as with {k}"
        )
    if finished.end == "signal":
        raise EngineCrash(
            f"{task.argv[0]} died by {finished.signal_name}{_last_words(finished)}", hint=repro_command(task)
        )
    return finished


def run_index_command(
    task: ProgramSpec, seconds: float | None, what: str, seen: Callable[[CompletedProgram], None]
) -> None:
    """Run a command that makes or updates an index; raise EngineError for any exit code but 0."""
    finished = run_tool(task, seconds, hint="raise index_timeout or choose a smaller corpus", seen=seen)
    if finished.code:
        raise EngineError(f"{what} failed: {describe_failure(task, finished)}", hint=repro_command(task))


def start_tool(task: ProgramSpec) -> Child:
    """Start a program that answers several queries."""
    with _corpus_checked(task):
        return Child(task)


@contextmanager
def _corpus_checked(task: ProgramSpec) -> Iterator[None]:
    try:
        yield
    except SetupError as problem:
        if task.cwd is not None and not task.cwd.is_dir():
            raise CorpusError(f"the corpus folder is gone: {task.cwd}", hint="do not move it during a run") from problem
        raise


def describe_failure(task: ProgramSpec, finished: CompletedProgram) -> str:
    """Return a message with the exit code and the last line of stderr."""
    return f"{task.argv[0]} ended with exit code {finished.code}{_last_words(finished)}"


def _last_words(finished: CompletedProgram) -> str:
    return f": {finished.last_words}" if finished.last_words else ""


def repro_command(task: ProgramSpec) -> str:
    """Return a hint with the command to run by hand; the temporary directories no longer exist by then."""
    root = str(task.cwd)
    argv = [re.sub(rf"\S*/{STORE}\w+", "../store", part.replace(root, ".")) for part in task.argv]
    argv = [re.sub(rf"\S*/{CONFIG}\w+/", "../", part) for part in argv]
    return f"run it by hand in the folder of your code: {shlex.join(argv)}"


# ---------------------------------------------------------------------------------------------- restarts and usage


@dataclass(frozen=True, slots=True)
class RestartLimits:
    """Time limit of a restart."""

    factor: float = 3.0  # times what the first start took: the machine may be busy with what was lost
    minimum: float = 60.0  # seconds: the first start may have had a warm cache


RESTART_LIMITS = RestartLimits()


def check_startup(where: str, seconds: float) -> None:
    """Raise ConfigError unless startup_timeout is positive."""
    if not seconds > 0:
        raise ConfigError(f"{where}: startup_timeout = {seconds:g}", hint="it must be more than 0 seconds")


def check_restarts(where: str, restarts: int) -> None:
    """Raise ConfigError for a negative number of restarts."""
    if restarts < 0:
        raise ConfigError(f"{where}: restarts = {restarts}", hint="it must be 0 or more")


@dataclass(frozen=True, slots=True)
class RestartCost:
    """Time and notes of a restart; zero if none was needed."""

    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @contextmanager
    def excluded(self) -> Iterator[None]:
        """Exclude the restart from the time of a query that fails."""
        try:
            yield
        except EngineError as problem:
            problem.waited += self.seconds
            raise


class Restarts:
    """Restarts of one program on one corpus."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._lost = 0
        self._first: float | None = None  # seconds

    def note_start(self, seconds: float) -> None:
        """Remember how long the first start took."""
        self._first = seconds if self._first is None else self._first

    def note_loss(self) -> None:
        """Count a program that died or was ended."""
        self._lost += 1

    def note_answer(self) -> None:
        """Reset the count."""
        self._lost = 0

    def restart(self, start: Callable[[float], None]) -> RestartCost:
        """Start the program again with a time limit of its own; raise EngineError if it was lost too often."""
        if self._lost > self._most:
            raise EngineError(
                f"{self._name} was lost {self._lost} times in a row and is not started again",
                hint="correct it, or raise restarts",
            )
        begin = time.monotonic()
        try:
            start(max(RESTART_LIMITS.minimum, RESTART_LIMITS.factor * (self._first or 0.0)))
        except EngineError as problem:
            problem.waited = time.monotonic() - begin
            raise
        seconds = time.monotonic() - begin
        note = f"{self._name} was started again before this query; the {seconds:.1f} s are no part of its time"
        return RestartCost(seconds, (note,))


class UsageTracker:
    """Peak memory of the programs of a session, and the end of their stderr."""

    def __init__(self) -> None:
        self.peak_bytes: int | None = None
        self._index = self._failure = self._latest = ""

    def record_index_run(self, finished: CompletedProgram) -> None:
        """Record a run that made the index."""
        self._index = _decode(finished.stderr)
        self.record_peak(finished.peak_bytes)

    def record_query_run(self, finished: CompletedProgram) -> None:
        """Record a run for a query; one that was ended is a failure."""
        self.record_peak(finished.peak_bytes)
        (self.record_stderr if finished.end == "exit" else self.record_failure)(finished.stderr)

    def record_peak(self, peak: int | None) -> None:
        """Record peak memory."""
        self.peak_bytes = max((value for value in (peak, self.peak_bytes) if value is not None), default=None)

    def record_stderr(self, stderr: bytes) -> None:
        """Record stderr of a program that did not fail, unless it is empty."""
        self._latest = _decode(stderr) or self._latest

    def record_failure(self, stderr: bytes) -> None:
        """Record stderr of a program that failed."""
        self._failure = _decode(stderr)
        self._latest = "" if self._latest == self._failure else self._latest  # it was recorded as no failure at first

    def stderr(self) -> str:
        """Return all recorded stderr, under headings."""
        named = (("index", self._index), ("last failure", self._failure), ("program", self._latest))
        return "\n".join(f"[{name}]\n{text}" for name, text in named if text)


def _decode(stderr: bytes) -> str:
    return stderr.decode("utf-8", "replace").strip()


class OrphanTracker:
    """Processes that outlive the programs of one session, identified by its marker."""

    def __init__(self) -> None:
        self.marker = new_marker()
        self._ended = 0

    def end(self) -> None:
        """End them, once every program of the session has ended."""
        self._ended += kill_orphans(self.marker)

    def remarks(self) -> tuple[str, ...]:
        """Return a note with their number."""
        if not self._ended:
            return ()
        things = "1 process" if self._ended == 1 else f"{self._ended} processes"
        return (f"left {things} running, which {'was' if self._ended == 1 else 'were'} ended",)
