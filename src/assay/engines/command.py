"""Any command line tool: an argument template, run in the corpus once for each query."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar

from assay.engines.base import Answered, Context, TimedSession
from assay.engines.reading.output import Layout, make_layout, read_output
from assay.engines.reading.settings import ReadingSettings
from assay.engines.running import describe_failure, run_tool
from assay.errors import ConfigError, EngineError, nearest
from assay.processes import Finished, Task
from assay.settings import read_settings
from assay.types import Corpus, Role

PLACEHOLDERS = ("here", "k", "query", "root")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_SHELL = re.compile(r"\|\|?|&&?|;|<|\d?>>?(?:&\d|/dev/null)?|\$\(.*", re.DOTALL)
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})  # of find, whose own ; ends them
_MISSED = 1  # what grep, rg and ag exit with when they find nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(ReadingSettings):
    """What `kind = "command"` takes.

    In the templates: {query}, {k}, {root} (the corpus) and {here} (the folder of assay.toml, else where Assay runs).
    The program runs in {root}; one that is written with a slash is looked for from {here}. No shell is used.

    Results are taken whatever the exit code. Without results, an exit code in `ok_codes` means that nothing was found
    and any other is a failure. When `ok_codes` is not given, that is 0, and 1 if the tool printed nothing at all,
    neither on stdout nor on stderr: what grep, rg and the like do when they find nothing.
    """

    where: ClassVar[str] = "engine command"

    argv: str | tuple[str, ...] = field(
        metadata={"about": "the program and its arguments with {query}; a text is split as a shell would, without one"}
    )
    index: str | tuple[str, ...] = field(
        default=(), metadata={"about": "run once when the corpus is opened; {root} and {here} only"}
    )
    ok_codes: tuple[int, ...] | None = field(
        default=None,
        metadata={"about": "exit codes that may come without results; if not given 0, and 1 when nothing is printed"},
    )
    env: Mapping[str, str] = field(
        default_factory=dict,
        repr=False,
        metadata={"about": "added to the environment; only the names are recorded"},
    )


#: Variables of the user's environment whose values no message may hold.
_SECRET = re.compile("TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|PRIVATE", re.IGNORECASE)
#: A shorter value is a word, not a secret; hiding it would hide the message.
_SHORTEST_SECRET = 6


@dataclass(frozen=True, slots=True)
class CommandEngine:
    """A command line tool with its templates."""

    settings: Settings
    argv: tuple[str, ...]
    index: tuple[str, ...]
    layout: Layout
    folder: Path  # where relative programs and {here} start from
    role: Role = "contestant"
    notes: tuple[str, ...] = ()

    @property
    def oversample(self) -> int:
        """What the settings say."""
        return self.settings.oversample

    @property
    def config(self) -> Mapping[str, object]:
        """The templates and how the output is read; of the environment only the names and a digest."""
        settings = self.settings
        names = tuple(field.name for field in fields(ReadingSettings) if field.name != "index_timeout")
        reading = {name: getattr(settings, name) for name in names}
        own = {"kind": "command", "argv": list(self.argv), "index": list(self.index), "env": sorted(settings.env)}
        own |= {"env_digest": _digest(settings.env)} if settings.env else {}
        codes = None if settings.ok_codes is None else sorted(settings.ok_codes)
        return {**own, **reading, "ok_codes": codes}

    def open(self, corpus: Corpus) -> TimedSession:
        """Look for the program and let it index the corpus, with no limit but its own."""
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Look for the programs, then index; the shorter of the two time limits holds."""
        session = CommandSession(self, corpus, frozenset(file.path for file in corpus.files))
        for template in filter(None, (self.index, self.argv)):
            session.check_program(template)
        if self.index:
            session.build_index(_shorter(seconds, self.settings.index_timeout))
        return session


@dataclass(frozen=True, slots=True)
class CommandSession:
    """A tool on one corpus."""

    engine: CommandEngine
    corpus: Corpus
    known: frozenset[str]

    def search(self, query: str, k: int) -> Answered:
        """Run the command with no limit but its own."""
        return self.search_within(query, k, None)

    def search_within(self, query: str, k: int, seconds: float | None) -> Answered:
        """Run the command; the shorter of the two time limits holds."""
        with _secrets_hidden(self.engine.settings.env):
            return self._search(query, k, seconds)

    def _search(self, query: str, k: int, seconds: float | None) -> Answered:
        """Run the command and read what it prints."""
        task = self._task(self.engine.argv, {"query": query, "k": str(k)})
        finished = run_tool(task, _shorter(seconds, self.engine.settings.timeout), hint="raise timeout")
        failed = not _may_be_empty(finished, self.engine.settings.ok_codes)
        if finished.code and not failed and not finished.stdout.strip():
            return ()
        try:
            reply = read_output(finished.stdout, self.engine.layout, self.known)
        except EngineError as problem:
            raise (_failure(task, finished) if failed else problem) from problem
        if failed and not reply.hits:
            raise _failure(task, finished)
        return reply

    def close(self) -> None:
        """Have nothing to close: every process has ended."""

    def build_index(self, seconds: float | None) -> None:
        """Run the index command; any exit code but 0 is a failure."""
        task = self._task(self.engine.index, {})
        with _secrets_hidden(self.engine.settings.env):
            finished = run_tool(task, seconds, hint="raise index_timeout")
            if finished.code:
                raise EngineError(
                    f"indexing failed: {describe_failure(task, finished)}", hint=f"run it by hand in {self.corpus.root}"
                )

    def check_program(self, template: Sequence[str]) -> None:
        """Say before the first query that a program is missing."""
        task = self._task(template, {"query": "", "k": "1"})
        path = (task.environment or {}).get("PATH")
        if shutil.which(task.argv[0], path=path) is None:
            hint = (
                "check that it is there and executable" if "/" in task.argv[0] else "install it, or give its full path"
            )
            raise EngineError(f"no program {task.argv[0]}", hint=hint)

    def _task(self, template: Sequence[str], values: Mapping[str, str]) -> Task:
        """Fill a template in."""
        places = {**values, "root": str(self.corpus.root), "here": str(self.engine.folder)}
        argv = tuple(_fill(part, places) for part in template)
        environment = {**os.environ, **self.engine.settings.env}
        return Task((_locate(argv[0], self.engine.folder), *argv[1:]), self.corpus.root, environment)


@contextmanager
def _secrets_hidden(env: Mapping[str, str]) -> Iterator[None]:
    """Keep what a tool says of its secrets out of every message: they are written to results."""
    try:
        yield
    except EngineError as problem:
        named = [value for name, value in os.environ.items() if _SECRET.search(name)]
        message = problem.message
        for value in sorted({*env.values(), *named}, key=lambda text: (-len(text), text)):
            message = message.replace(value, "***") if len(value) >= _SHORTEST_SECRET else message
        raise type(problem)(message, file=problem.file, line=problem.line, hint=problem.hint) from None


def _digest(env: Mapping[str, str]) -> str:
    """Tell environments apart without saying what is in them."""
    return hashlib.sha256("\0".join(f"{name}={env[name]}" for name in sorted(env)).encode()).hexdigest()[:12]


def make(settings: Mapping[str, object], context: Context) -> CommandEngine:
    """Make the engine from its settings."""
    read = read_settings(Settings, settings, "engine command")
    argv, index = _split(read.argv, "argv"), _split(read.index, "index")
    if not argv:
        raise ConfigError("engine command: argv is empty", hint='write argv = ["tool", "--", "{query}"]')
    _check_template(argv, PLACEHOLDERS, "argv")
    _check_template(index, ("here", "root"), "index")
    if not any("{query}" in part for part in argv):
        raise ConfigError("engine command: argv has no {query}", hint="put {query} where the question goes")
    layout = make_layout(read, "engine command")
    return CommandEngine(read, argv, index, layout, Path(os.path.abspath(context.folder)))


def _shorter(first: float | None, second: float | None) -> float | None:
    """Give the shorter of two time limits, where None is no limit."""
    return min((limit for limit in (first, second) if limit is not None), default=None)


def _may_be_empty(finished: Finished, ok_codes: Sequence[int] | None) -> bool:
    """Tell whether a program that gave no results found none, rather than failed."""
    if ok_codes is not None:
        return finished.code in ok_codes
    silent = not finished.stdout.strip() and not finished.stderr.strip()
    return finished.code == 0 or (finished.code == _MISSED and silent)


def _failure(task: Task, finished: Finished) -> EngineError:
    """Say that a program failed, and what to declare if it did not."""
    hint = f"if that means no results, add {finished.code} to ok_codes; else run it by hand in {task.cwd}"
    return EngineError(describe_failure(task, finished), hint=hint)


def _split(template: str | tuple[str, ...], name: str) -> tuple[str, ...]:
    """Split a template that is one text."""
    if not isinstance(template, str):
        return template
    try:
        return tuple(shlex.split(template))
    except ValueError as problem:
        raise ConfigError(f"engine command: {name}: {problem}", hint="balance the quotes, or write a list") from problem


def _check_template(template: Sequence[str], known: Sequence[str], name: str) -> None:
    """Refuse a placeholder that looks misspelt or has no value here, and what only a shell would understand."""
    for place in _PLACEHOLDER.findall(" ".join(template)):
        if place not in known and nearest(place, PLACEHOLDERS):  # other braces belong to the tool
            raise ConfigError(
                f"engine command: {name} has {{{place}}}", hint=f"placeholders: {', '.join(f'{{{p}}}' for p in known)}"
            )
    for part in template:
        if _SHELL.fullmatch(part) and not (part == ";" and _EXEC.intersection(template)):
            raise ConfigError(
                f"engine command: {name} has {part!r}, but no shell is used",
                hint='if you want one, write ["sh", "-c", "tool \\"$1\\" | head", "sh", "{query}"]',
            )


def _fill(part: str, places: Mapping[str, str]) -> str:
    """Fill the placeholders of one argument in a single pass: braces in a query stay what they are."""
    return _PLACEHOLDER.sub(lambda match: places.get(match[1], match[0]), part)


def _locate(program: str, folder: Path) -> str:
    """Read a relative path of a program from the user's folder; a link stays one: programs look at their own name."""
    return os.path.abspath(folder / program) if "/" in program else program
