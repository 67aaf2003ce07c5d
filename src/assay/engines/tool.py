"""What templates name: {here} and {preset}, known with the settings; {root}, {store} and {config} with a corpus."""

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
from assay.engines.filters import Filters
from assay.engines.templates import INTERPRETER, check_template, fill, names_place
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

#: What the names of stores begin with, and of the folders of rendered files.
STORE, CONFIG = "assay-store-", "assay-config-"


class ExternalSession(ABC):
    """A session of a tool or server, in which every search takes a filter."""

    filtering: Filters
    places: Mapping[str, str]  # values of placeholders

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


@dataclass(frozen=True, slots=True)
class EngineFiles:
    """What an engine may have beside its folders: a store that is there already, and configuration to render."""

    store: Path | None = None
    config: ConfigTemplate | None = None
    index_config: ConfigTemplate | None = None  # what making an index sees of it; None: the same


def settled_places(context: EngineContext) -> dict[str, str]:
    """Give what is known before any corpus is, our own Python too; {preset} has a value in a preset only."""
    preset = {} if context.preset is None else {"preset": os.path.abspath(context.preset)}
    return {"here": os.path.abspath(context.folder), **INTERPRETER, **preset}


def place_names(settled: Mapping[str, str], config: ConfigTemplate | None = None) -> tuple[str, ...]:
    """Name what templates of an engine may name besides the question."""
    return (*settled, "root", "store", *(() if config is None else ("config",)))


class EngineWorkspace:
    """The folders of an engine on one corpus; {store} is there only where a template names it."""

    def __init__(
        self, settled: Mapping[str, str], root: Path, templates: object, files: EngineFiles | None = None
    ) -> None:
        files = files or EngineFiles()
        self.root = Path(os.path.abspath(root))
        self._owned = ExitStack()
        self._store = files.store
        if self._store is None and names_place(templates, "store"):
            self._store = self._folder(STORE)
        store = {} if self._store is None else {"store": str(self._store)}
        self.places: Mapping[str, str] = {**settled, "root": str(self.root), **store}
        self.index_places = self.places  # what making an index is told
        if files.config is not None:
            self._render(files.config, files.index_config or files.config)

    def store_bytes(self) -> int | None:
        """Tell the size of what lies in the store, where there is one."""
        return None if self._store is None else folder_bytes(self._store)

    def close(self) -> None:
        """Remove what is the engine's own."""
        self._owned.close()

    def _render(self, config: ConfigTemplate, for_index: ConfigTemplate) -> None:
        plain = self.places
        try:
            written = config.write(self._folder(CONFIG), plain)
            apart = written if for_index == config else for_index.write(self._folder(CONFIG), plain)
        except BaseException:
            self.close()
            raise
        self.places = {**plain, "config": str(written)}
        self.index_places = {**plain, "config": str(apart)}

    def _folder(self, prefix: str) -> Path:
        """Make an empty folder; what a tool left there without the right to remove it must not fail a run."""
        return self._owned.enter_context(scratch(prefix))


def run_tool(
    task: ProgramSpec,
    seconds: float | None,
    *,
    hint: str,
    limits: ProcessLimits = PROCESS_LIMITS,
    seen: Callable[[CompletedProgram], None] | None = None,
) -> CompletedProgram:
    """Run a program to its end and give it back whatever its exit code; `hint` is the way out of a timeout.

    `seen` is shown every run, those too that end in an error.
    """
    with _started(task):
        finished = run_process(task, seconds, limits)
    if seen is not None:
        seen(finished)
    if finished.end == "timeout":
        raise EngineTimeoutError(f"no answer after {format_duration(seconds)}{_said(finished)}", hint=hint)
    if finished.end == "flood":
        raise EngineError(
            f"{task.argv[0]} printed more than {limits.stdout:,} bytes", hint="ask it for less, as with {k}"
        )
    if finished.end == "signal":
        raise EngineCrash(f"{task.argv[0]} died by {finished.signal_name}{_said(finished)}", hint=repro_command(task))
    return finished


def start_tool(task: ProgramSpec) -> Child:
    """Start a program that stays."""
    with _started(task):
        return Child(task)


@contextmanager
def _started(task: ProgramSpec) -> Iterator[None]:
    """Say it when a program cannot be started because the corpus is no longer there."""
    try:
        yield
    except SetupError as problem:
        if task.cwd is not None and not task.cwd.is_dir():
            raise CorpusError(f"the corpus folder is gone: {task.cwd}", hint="do not move it during a run") from problem
        raise


def repro_command(task: ProgramSpec) -> str:
    """Say how to see for oneself; our copy of the corpus and the store are gone by then."""
    root = str(task.cwd)
    argv = [re.sub(rf"\S*/{STORE}\w+", "../store", part.replace(root, ".")) for part in task.argv]
    argv = [re.sub(rf"\S*/{CONFIG}\w+/", "../", part) for part in argv]
    return f"run it by hand in the folder of your code: {shlex.join(argv)}"


def describe_failure(task: ProgramSpec, finished: CompletedProgram) -> str:
    """Say that a program failed, with the last thing it said."""
    return f"{task.argv[0]} ended with exit code {finished.code}{_said(finished)}"


def _said(finished: CompletedProgram) -> str:
    return f": {finished.last_words}" if finished.last_words else ""


@dataclass(frozen=True, slots=True)
class RestartLimits:
    """How long a restart may take, on top of what the settings say of a start."""

    patience: float = 3.0  # times what the first start took: the machine may be busy with what was lost
    least: float = 60.0  # seconds that it always has: the first may have found everything in a warm cache


RESTART_LIMITS = RestartLimits()
RESTARTS = 5  # where the settings do not say; enough for a bad moment, and one that dies at every query is told of


STARTUP_SECONDS = 60.0  # where the settings do not say; a Python program that imports a neural library takes ten


def check_startup(where: str, seconds: float) -> None:
    """Refuse a time to start in which nothing can."""
    if not seconds > 0:
        raise ConfigError(f"{where}: startup_timeout = {seconds:g}", hint="it must be more than 0 seconds")


def check_restarts(where: str, restarts: int) -> None:
    """Refuse a number without a meaning."""
    if restarts < 0:
        raise ConfigError(f"{where}: restarts = {restarts}", hint="it must be 0 or more")


@dataclass(frozen=True, slots=True)
class RestartCost:
    """What a restart took; nothing where none was needed."""

    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Keep its seconds out of the time of an answer that fails."""
        try:
            yield
        except EngineError as problem:
            problem.waited += self.seconds
            raise


class Restarts:
    """The restarts of one program on one corpus."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._lost = 0
        self._first: float | None = None  # seconds

    def started(self, seconds: float) -> None:
        """Know how long the first start took."""
        self._first = seconds if self._first is None else self._first

    def lose(self) -> None:
        """Count a program that is of no use any more."""
        self._lost += 1

    def answered(self) -> None:
        """Count anew: it works."""
        self._lost = 0

    def again(self, start: Callable[[float], None]) -> RestartCost:
        """Start the program again in a time of its own, unless it was lost too often."""
        if self._lost > self._most:
            raise EngineError(
                f"{self._name} was lost {self._lost} times in a row and is not started again",
                hint="correct it, or raise restarts",
            )
        begin = time.monotonic()
        try:
            start(self._limit())
        except EngineError as problem:
            problem.waited = time.monotonic() - begin
            raise
        seconds = time.monotonic() - begin
        note = f"{self._name} was started again before this query; the {seconds:.1f} s are no part of its time"
        return RestartCost(seconds, (note,))

    def _limit(self) -> float:
        return max(RESTART_LIMITS.least, RESTART_LIMITS.patience * (self._first or 0.0))


class UsageTracker:
    """Keeps the most memory that any program took, and the end of what each last said on stderr."""

    def __init__(self) -> None:
        self.peak_bytes: int | None = None
        self._indexed = self._failed = self._said = ""

    def see_index(self, finished: CompletedProgram) -> None:
        """Keep what making the index took, and what was said."""
        self._indexed = _text(finished.stderr)
        self.note_peak(finished.peak_bytes)

    def see_query(self, finished: CompletedProgram) -> None:
        """Keep what a query took; what was said of one that did not come to its end is a failure's."""
        self.note_peak(finished.peak_bytes)
        if finished.end != "exit":
            self.note_failure(finished.stderr)
        else:
            self.note_words(finished.stderr)

    def note_peak(self, peak: int | None) -> None:
        """Keep the most memory that anything took."""
        self.peak_bytes = max((value for value in (peak, self.peak_bytes) if value is not None), default=None)

    def note_words(self, stderr: bytes) -> None:
        """Keep what a program said last that did nothing wrong; silence is no news."""
        self._said = _text(stderr) or self._said

    def note_failure(self, stderr: bytes) -> None:
        """Keep what a program complained of when it failed last."""
        self._failed = _text(stderr)
        self._said = "" if self._said == self._failed else self._said  # it was taken for no failure at first

    def stderr(self) -> str:
        """Give all that was said, under who said it."""
        said = (("index", self._indexed), ("last failure", self._failed), ("program", self._said))
        return "\n".join(f"[{who}]\n{text}" for who, text in said if text)


def _text(stderr: bytes) -> str:
    return stderr.decode("utf-8", "replace").strip()


class OrphanTracker:
    """Processes that outlive the programs of one session; they are known by its marker."""

    def __init__(self) -> None:
        self.marker = new_marker()
        self._ended = 0

    def end(self) -> None:
        """End what is left, once every program of the session has ended."""
        self._ended += kill_orphans(self.marker)

    def remarks(self) -> tuple[str, ...]:
        """Tell how many there were."""
        if not self._ended:
            return ()
        things = "1 process" if self._ended == 1 else f"{self._ended} processes"
        return (f"left {things} running, which {'was' if self._ended == 1 else 'were'} ended",)


Argv = str | tuple[str, ...]

_SHELL = re.compile(r"\|\|?|&&?|;|<|\d?>>?(?:&\d|/dev/null)?|\$\(.*", re.DOTALL)
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})  # of find, whose own ; ends them


def read_argv(template: Argv, known: Sequence[str], where: str) -> tuple[str, ...]:
    """Split a command that is one text, as a shell would; refuse placeholders and signs that mean nothing here."""
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


def make_task(
    template: Sequence[str], places: Mapping[str, str], env: Mapping[str, str], marker: str = ""
) -> ProgramSpec:
    """Fill a command in; it runs in {root}, with some variables more. By a marker its leavings are known."""
    program, *arguments = (fill(part, places) for part in template)
    added = {name: fill(value, places) for name, value in env.items()}
    argv = (_locate(program, Path(places["here"])), *arguments)
    return ProgramSpec(argv, Path(places["root"]), {**os.environ, **added}, marker)


def shown_program(template: Sequence[str], task: ProgramSpec) -> str:
    """Name a program in messages: the tool whose Python is run, else what is run."""
    tool = re.fullmatch(r"\{python:(?P<name>[^{}]+)\}", template[0])
    return tool["name"] if tool else task.argv[0]


def check_program(task: ProgramSpec) -> None:
    """Say before the first query that a program is missing."""
    program = task.argv[0]
    if shutil.which(program, path=(task.environment or {}).get("PATH")) is None:
        hint = "check that it is there and executable" if "/" in program else "install it, or give its full path"
        raise EngineError(f"no program {program}", hint=hint)


def prepare(task: ProgramSpec, seconds: float | None, what: str, seen: Callable[[CompletedProgram], None]) -> None:
    """Run a command that makes or mends an index to its end; any exit code but 0 is a failure."""
    finished = run_tool(task, seconds, hint="raise index_timeout or choose a smaller corpus", seen=seen)
    if finished.code:
        raise EngineError(f"{what} failed: {describe_failure(task, finished)}", hint=repro_command(task))


def file_facts(commands: Sequence[Sequence[str]], places: Mapping[str, str]) -> list[object]:
    """Tell programs, and the files that they are given, from what will lie there after the next installation."""
    named = {fill(part, places) for command in commands for part in command[1:]}
    programs = {_locate(fill(command[0], places), Path(places["here"])) for command in commands}
    files = {os.path.realpath(path) for path in (*named, *map(shutil.which, programs)) if path and os.path.isfile(path)}
    return [[path, os.stat(path).st_size, os.stat(path).st_mtime_ns] for path in sorted(files)]


def _locate(program: str, folder: Path) -> str:
    return os.path.abspath(folder / program) if "/" in program else program
