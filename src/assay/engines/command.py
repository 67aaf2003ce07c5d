"""Any command line tool: an argument template, run in the corpus once for each query."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.engines.base import Context, Session
from assay.engines.output import Format, Layout, make_layout, read_output
from assay.engines.process import Task, describe_failure, run_process
from assay.engines.settings import read_settings
from assay.errors import ConfigError, EngineError, EnvironmentFailure
from assay.types import Corpus, Hit

PLACEHOLDERS = ("here", "k", "query", "root")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kind = "command"` takes. In the templates: {query}, {k}, {root} of the corpus, {here} where Assay runs."""

    argv: str | tuple[str, ...]  # a text is split as a shell would, but never given to one
    index: str | tuple[str, ...] = ()  # run once when the corpus is opened; {root} and {here} only
    format: Format = "auto"
    path: str = ""  # where in the JSON: results[].file_path
    start: str = ""
    end: str = ""
    score: str = ""
    ok_codes: tuple[int, ...] = (0,)  # exit codes that may come without results; add 1 for a grep
    timeout: float | None = None  # seconds for a query, when less than the run's own limit
    index_timeout: float = 3600.0  # seconds for the index command; a big repository and a neural model take long
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # added to the environment; values stay here


@dataclass(frozen=True, slots=True)
class CommandEngine:
    """A command line tool with its templates."""

    settings: Settings
    argv: tuple[str, ...]
    index: tuple[str, ...]
    layout: Layout
    oversample: int = 1
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Mapping[str, object]:
        """The templates and how the output is read; of the environment only the names."""
        settings = self.settings
        fields = {name: getattr(settings, name) for name in ("format", "path", "start", "end", "score", "timeout")}
        own = {"kind": "command", "argv": list(self.argv), "index": list(self.index), "env": sorted(settings.env)}
        return {**own, **fields, "ok_codes": sorted(settings.ok_codes)}

    def open(self, corpus: Corpus) -> Session:
        """Look for the program and let it index the corpus."""
        session = CommandSession(self, corpus, frozenset(file.path for file in corpus.files))
        if self.index:
            session.build_index()
        session.check_program()
        return session


@dataclass(frozen=True, slots=True)
class CommandSession:
    """A tool on one corpus."""

    engine: CommandEngine
    corpus: Corpus
    known: frozenset[str]

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Run the command with no limit but its own."""
        return self.search_within(query, k, None)

    def search_within(self, query: str, k: int, seconds: float | None) -> Sequence[Hit]:
        """Run the command; the shorter of the two time limits holds."""
        settings = self.engine.settings
        limits = [limit for limit in (seconds, settings.timeout) if limit is not None]
        task = self._task(self.engine.argv, {"query": query, "k": str(k)})
        finished = run_process(task, min(limits, default=None))
        failed = finished.code not in settings.ok_codes
        try:
            hits = read_output(finished.stdout, self.engine.layout, self.known)
        except EngineError as problem:
            raise (EngineError(describe_failure(task, finished)) if failed else problem) from problem
        if failed and not hits:
            raise EngineError(describe_failure(task, finished))
        return hits

    def close(self) -> None:
        """Have nothing to close: every process has ended."""

    def build_index(self) -> None:
        """Run the index command; any exit code but 0 is a failure."""
        task = self._task(self.engine.index, {})
        finished = run_process(task, self.engine.settings.index_timeout)
        if finished.code:
            raise EngineError(f"indexing failed: {describe_failure(task, finished)}")

    def check_program(self) -> None:
        """Say before the first query that the program is missing."""
        program = self._task(self.engine.argv, {"query": "", "k": "1"}).argv[0]
        if shutil.which(program) is None:
            raise EnvironmentFailure(f"{program} is not installed", hint="install it, or give its full path")

    def _task(self, template: Sequence[str], values: Mapping[str, str]) -> Task:
        """Fill a template in."""
        places = {**values, "root": str(self.corpus.root), "here": os.getcwd()}
        argv = tuple(_fill(part, places) for part in template)
        environment = {**os.environ, **self.engine.settings.env}
        return Task((_locate(argv[0]), *argv[1:]), self.corpus.root, environment)


def make(settings: Mapping[str, object], _context: Context) -> CommandEngine:
    """Make the engine from its settings."""
    read = read_settings(Settings, settings, "engine command")
    argv, index = _split(read.argv, "argv"), _split(read.index, "index")
    if not argv:
        raise ConfigError("engine command: argv is empty", hint='write argv = ["tool", "--", "{query}"]')
    _check_places(argv, PLACEHOLDERS, "argv")
    _check_places(index, ("here", "root"), "index")
    if not any("{query}" in part for part in argv):
        raise ConfigError("engine command: argv has no {query}", hint="put {query} where the question goes")
    fields = {name: getattr(read, name) for name in ("path", "start", "end", "score")}
    return CommandEngine(read, argv, index, make_layout(read.format, fields, "engine command"))


def _split(template: str | tuple[str, ...], name: str) -> tuple[str, ...]:
    """Split a template that is one text."""
    if not isinstance(template, str):
        return template
    try:
        return tuple(shlex.split(template))
    except ValueError as problem:
        raise ConfigError(f"engine command: {name}: {problem}", hint="balance the quotes, or write a list") from problem


def _check_places(template: Sequence[str], known: Sequence[str], name: str) -> None:
    """Refuse a placeholder that looks misspelt or has no value here; other braces belong to the tool."""
    for place in _PLACEHOLDER.findall(" ".join(template)):
        if place not in known and difflib.get_close_matches(place, PLACEHOLDERS, n=1):
            raise ConfigError(
                f"engine command: {name} has {{{place}}}", hint=f"placeholders: {', '.join(f'{{{p}}}' for p in known)}"
            )


def _fill(part: str, places: Mapping[str, str]) -> str:
    """Fill the placeholders of one argument in a single pass: braces in a query stay what they are."""
    return _PLACEHOLDER.sub(lambda match: places.get(match[1], match[0]), part)


def _locate(program: str) -> str:
    """Read a relative path of a program from where Assay runs, not from the corpus."""
    return str(Path(program).resolve()) if "/" in program else program
