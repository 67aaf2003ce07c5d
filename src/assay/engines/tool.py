from __future__ import annotations

import filecmp
import os
import re
import shlex
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from assay.clock import format_duration
from assay.engines.base import EngineCrash, SearchFilter, SearchReply, SessionUsage
from assay.engines.templates import check_template, fill
from assay.engines.workspace import CONFIG, STORE, IndexWorkspace
from assay.errors import ConfigError, CorpusError, EngineError, EngineTimeoutError, SetupError
from assay.processes.descendants import new_marker
from assay.processes.running import (
    PROCESS_LIMITS,
    CompletedProgram,
    ProcessLimits,
    ProgramSpec,
    kill_orphans,
    run_process,
)
from assay.redaction import make_redactor
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.engines.command import CommandEngine  # noqa: F401 - quoted in a base class
    from assay.engines.shared_index import SharedIndexEngine

Argv = str | tuple[str, ...]
RESTARTS = 5  # default; tolerates a temporary problem, but not a program that dies at every query
STARTUP_SECONDS = 60.0  # default; a Python program that imports a neural library takes 10 s
RESTART_FACTOR = 3.0  # multiple of the first start's time, because the lost program may still load the machine
RESTART_SECONDS = 60.0  # minimum seconds, because the first start may have had a warm cache
_SHELL = re.compile(r"\|\|?|&&?|;|<|\d?>>?(?:&\d|/dev/null)?|\$\(.*", re.DOTALL)
_INTERPRETER = re.compile(r"(python|node|ruby|perl|bash|sh)[\d.]*")
_SCRIPT = re.compile(r"[^-].*\.(py|js|mjs|rb|pl|sh)")
_FIND_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})  # options of find that end with ;


@dataclass(frozen=True, slots=True)
class ProbeLimits:
    seconds: float = 20.0  # a Python tool that imports a tensor library takes 10 s
    shown: int = 60  # characters to show of output without a version


PROBE_LIMITS = ProbeLimits()


class ExternalSession(ABC):
    def __init__(self, engine: SharedIndexEngine, index: IndexWorkspace) -> None:
        self.filtering = engine.filters
        self.redactor = make_redactor(engine.secrets)
        self.use_corpus(index.corpus)
        self.workspace = engine.make_workspace(index)
        self.placeholders = self.workspace.placeholders

    def use_corpus(self, corpus: Corpus) -> None:
        self.known = frozenset(file.path for file in corpus.files)

    @abstractmethod
    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> SearchReply:
        """Search the files that match the filter within the shorter of `seconds` and `timeout`."""

    def usage(self) -> SessionUsage:
        return SessionUsage(store_bytes=self.workspace.store_bytes())

    def close(self) -> None:
        self.workspace.close()

    def session_notes(self) -> tuple[str, ...]:
        return ()

    @property
    def filters(self) -> frozenset[str]:
        return self.filtering.names

    def search(self, query: str, k: int) -> SearchReply:
        return self.search_within(query, k, None)

    def search_within(self, query: str, k: int, seconds: float | None) -> SearchReply:
        return self.search_filtered(query, k, SearchFilter(), seconds)


def parse_command(template: Argv, known: Sequence[str], where: str, key: str) -> tuple[str, ...]:
    """Split the command of a setting like a shell; raise ConfigError for unknown placeholders and shell operators."""
    try:
        parts = tuple(shlex.split(template)) if isinstance(template, str) else template
    except ValueError as error:
        message = f"{where}: {key}: cannot split the command: {error}"
        raise ConfigError(message, hint="close the quotes, or use a list", keys=[key]) from error
    check_template(parts, known, where, key)
    for part in parts:
        if _SHELL.fullmatch(part) and not (part == ";" and _FIND_EXEC.intersection(parts)):
            example = '"tool \\"$1\\" | head", "sh", "{query}"' if "query" in known else '"tool | head"'
            hint = f'to use a shell, write ["sh", "-c", {example}]'
            raise ConfigError(f"{where}: {key}: shell operator {part!r} is not supported", hint=hint, keys=[key])
    return parts


def fill_command(
    template: Sequence[str], values: Mapping[str, str], env: Mapping[str, str], marker: str = ""
) -> ProgramSpec:
    """Fill the template of a command that runs in {root}; the marker identifies leftover processes."""
    root = Path(values["root"])
    program, *arguments = template
    added = {name: fill(value, values) for name, value in env.items()}
    beside = ("" if (root / part).exists() else file_beside(part, values) for part in arguments)
    filled = [path or fill(part, values) for path, part in zip(beside, arguments, strict=True)]
    argv = (_locate(fill(program, values), values), *filled)
    return ProgramSpec(argv, root, {**os.environ, **added}, marker)


def file_beside(part: str, values: Mapping[str, str]) -> str:
    """Return the path of a file in {here} that an argument names; empty if there is none."""
    path = os.path.abspath(Path(values["here"], part))
    return path if os.path.isfile(path) else ""


def _locate(program: str, values: Mapping[str, str]) -> str:
    return os.path.abspath(Path(values["here"], program)) if "/" in program else program


def display_name(template: Sequence[str], program: ProgramSpec) -> str:
    match = re.fullmatch(r"\{python:(?P<name>[^{}]+)\}", template[0])
    return match["name"] if match else program.argv[0]


def check_program(program: ProgramSpec) -> None:
    name = program.argv[0]
    if shutil.which(name, path=(program.environment or {}).get("PATH")) is None:
        is_path = "/" in name
        hint = "check that the file exists and is executable" if is_path else f"install {name}, or use its full path"
        raise EngineError(f"program {name} not found", hint=hint)
    script = program.argv[1] if len(program.argv) > 1 and _INTERPRETER.fullmatch(Path(name).name) else ""
    if _SCRIPT.fullmatch(script) and not Path(program.cwd or "", script).exists():
        hint = "write its path relative to assay.toml (without one, to the working directory), or the full path"
        raise EngineError(f"script {script} not found", hint=hint)


def stat_files(commands: Sequence[Sequence[str]], values: Mapping[str, str]) -> list[object]:
    arguments = {file_beside(part, values) or fill(part, values) for command in commands for part in command[1:]}
    programs = {_locate(fill(command[0], values), values) for command in commands}
    paths = (*arguments, *map(shutil.which, programs))
    files = {os.path.realpath(path) for path in paths if path and os.path.isfile(path)}
    return [[path, os.stat(path).st_size, os.stat(path).st_mtime_ns] for path in sorted(files)]


def run_engine_command(
    program: ProgramSpec,
    seconds: float | None,
    *,
    hint: str,
    limits: ProcessLimits = PROCESS_LIMITS,
    record: Callable[[CompletedProgram], None] | None = None,
) -> CompletedProgram:
    """Run a program and return its result for any exit code; `record` gets the result even if an error follows.

    Raise EngineError after a timeout (with `hint`), a signal, or too much output.
    """
    name = program.argv[0]
    with corpus_checked(program):
        finished = run_process(program, seconds, limits)
    if record is not None:
        record(finished)
    if finished.end == "timeout":
        raise EngineTimeoutError(f"no answer after {format_duration(seconds)}{_stderr_suffix(finished)}", hint=hint)
    if finished.end == "flood":
        raise EngineError(f"{name} printed more than {limits.stdout:,} bytes", hint="reduce the output of the program")
    if finished.end == "signal":
        raise EngineCrash(
            f"{name} was killed by {finished.signal_name}{_stderr_suffix(finished)}", hint=repro_command(program)
        )
    return finished


def run_index_command(
    program: ProgramSpec, seconds: float | None, action: str, record: Callable[[CompletedProgram], None]
) -> None:
    finished = run_engine_command(
        program, seconds, hint="raise `index_timeout` or choose a smaller corpus", record=record
    )
    if finished.code:
        raise EngineError(f"{action} failed: {describe_failure(program, finished)}", hint=repro_command(program))


@contextmanager
def corpus_checked(program: ProgramSpec) -> Iterator[None]:
    """Raise CorpusError instead of SetupError if the corpus was removed."""
    try:
        yield
    except SetupError as error:
        if program.cwd is not None and not program.cwd.is_dir():
            raise CorpusError(
                f"the corpus directory {program.cwd} was removed", hint="do not move or remove the corpus during a run"
            ) from error
        raise


def describe_failure(program: ProgramSpec, finished: CompletedProgram) -> str:
    return f"{program.argv[0]} ended with exit code {finished.code}{_stderr_suffix(finished)}"


def _stderr_suffix(finished: CompletedProgram) -> str:
    return f": {finished.last_error_line}" if finished.last_error_line else ""


def repro_command(program: ProgramSpec) -> str:
    """Return a hint with the command that reproduces a failure, without paths of temporary directories."""
    root = str(program.cwd)
    argv = [re.sub(rf"\S*/{STORE}\w+", "../store", part.replace(root, ".")) for part in program.argv]
    argv = [re.sub(rf"\S*/{CONFIG}\w+/", "../", part) for part in argv]
    return f"to reproduce, run in the corpus directory: {shlex.join(argv)}"


@dataclass(frozen=True, slots=True)
class RestartCost:
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @contextmanager
    def excluded(self) -> Iterator[None]:
        try:
            yield
        except EngineError as error:
            error.waited += self.seconds
            raise


class Restarts:
    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        self.losses = 0  # consecutive failures since the last answer
        self.first_start: float | None = None  # seconds

    def restart(self, start: Callable[[float], None]) -> RestartCost:
        """Call `start` with a time limit; raise EngineError after too many consecutive failures."""
        if self.losses > self._limit:
            raise EngineError(
                f"{self._name} failed {self.losses} times in a row and is not restarted",
                hint="fix the program, or raise `restarts`",
            )
        begin = time.monotonic()
        try:
            start(max(RESTART_SECONDS, RESTART_FACTOR * (self.first_start or 0.0)))
        except EngineError as error:
            error.waited = time.monotonic() - begin
            raise
        seconds = time.monotonic() - begin
        return RestartCost(seconds, (f"{self._name} was restarted before this query ({seconds:.1f} s, not counted)",))


class UsageTracker:
    def __init__(self) -> None:
        self.marker = new_marker()  # environment marker that identifies the processes
        self._killed = 0
        self.peak_bytes: int | None = None
        self._index = self._failure = self._latest = ""

    def record_index_run(self, finished: CompletedProgram) -> None:
        self._index = _decode(finished.stderr)
        self.record_peak(finished.peak_bytes)

    def record_query_run(self, finished: CompletedProgram) -> None:
        self.record_peak(finished.peak_bytes)
        if finished.end == "exit":
            self.record_stderr(finished.stderr)
        else:
            self.record_failure(finished.stderr)

    def record_peak(self, peak: int | None) -> None:
        self.peak_bytes = max((value for value in (peak, self.peak_bytes) if value is not None), default=None)

    def record_stderr(self, stderr: bytes) -> None:
        self._latest = _decode(stderr) or self._latest

    def record_failure(self, stderr: bytes) -> None:
        """Record the stderr of a failed program; drop equal text from `record_stderr`, so that it appears once."""
        self._failure = _decode(stderr)
        self._latest = "" if self._latest == self._failure else self._latest

    def stderr(self) -> str:
        named = (("index", self._index), ("last failure", self._failure), ("program", self._latest))
        return "\n".join(f"[{name}]\n{text}" for name, text in named if text)

    def kill_orphans(self) -> None:
        """Kill leftover processes; call after every program of the session has ended."""
        self._killed += kill_orphans(self.marker)

    def session_notes(self) -> tuple[str, ...]:
        if not self._killed:
            return ()
        return (f"killed {self._killed} leftover {'process' if self._killed == 1 else 'processes'}",)


def _decode(stderr: bytes) -> str:
    return stderr.decode("utf-8", "replace").strip()


E = TypeVar("E", bound="SharedIndexEngine")


class ToolSession(ExternalSession, Generic[E]):
    def __init__(self, engine: E, index: IndexWorkspace) -> None:
        super().__init__(engine, index)
        self.engine = engine
        self.tracker = UsageTracker()
        self._index_env = engine.for_index().env

    @abstractmethod
    def version(self) -> str:
        """Return the version of the tool; empty if unknown."""

    def fill(self, template: Sequence[str], **values: str) -> ProgramSpec:
        return fill_command(template, {**self.placeholders, **values}, self.engine.env, self.tracker.marker)

    def check_programs(self) -> None:
        for template in self.engine.commands:
            check_program(self.fill(template, query="", k="1"))

    def run_index_command(self, template: Sequence[str], seconds: float | None, action: str) -> None:
        program = fill_command(template, self.workspace.index_placeholders, self._index_env, self.tracker.marker)
        run_index_command(program, seconds, action, self.tracker.record_index_run)

    def usage(self) -> SessionUsage:
        used, peak = super().usage(), self.tracker.peak_bytes
        return replace(used, peak_bytes=peak, version=self.version(), stderr=self.stderr())

    def stderr(self) -> str:
        return self.redactor.text(self.tracker.stderr())

    @contextmanager
    def closed_on_failure(self) -> Iterator[None]:
        """Close the session if an error is raised; redact the error, and add stderr to an EngineError."""
        try:
            with self.redactor.cleaning():
                yield
        except BaseException as error:
            self.close()
            if isinstance(error, EngineError):
                error.stderr = self.stderr()
            raise

    def close(self) -> None:
        try:
            self.tracker.kill_orphans()
        finally:
            super().close()

    def session_notes(self) -> tuple[str, ...]:
        return (*self.tracker.session_notes(), *self._script_notes())

    def _script_notes(self) -> Iterator[str]:
        """Yield a note per file of the commands that is also in the corpus."""
        parts = {part.replace("{here}", self.placeholders["here"]) for argv in self.engine.commands for part in argv}
        for file in sorted(filter(None, (file_beside(part, self.placeholders) for part in parts))):
            for path in sorted(path for path in self.known if Path(path).name == Path(file).name):
                copy = self.workspace.root / path
                if copy.is_file() and filecmp.cmp(file, copy, shallow=False):
                    yield f"the engine's own file {path} is in the corpus and may be a result; list it in .assayignore"


class ProgramSession(ToolSession["CommandEngine"]):
    def start(self, seconds: float | None) -> None:
        """Start a program that answers several queries; do nothing by default."""

    def version(self) -> str:
        if not self.engine.templates.version:
            return ""
        try:
            finished = run_engine_command(self.fill(self.engine.templates.version), PROBE_LIMITS.seconds, hint="")
        except (EngineError, SetupError):
            return ""
        lines = (finished.stdout + b"\n" + finished.stderr).decode(errors="replace").split("\n")
        return self.redactor.text(next((line.strip() for line in lines if line.strip()), ""))
