"""Programs that are written as templates: split, checked, looked for and filled in, the same for every kind."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assay.engines.running import by_hand, describe_failure, run_tool
from assay.engines.templates import check_template, fill
from assay.errors import ConfigError, EngineError
from assay.processes import Finished, Task

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


def make_task(template: Sequence[str], places: Mapping[str, str], env: Mapping[str, str], marker: str = "") -> Task:
    """Fill a command in; it runs in {root}, with some variables more. By a marker its leavings are known."""
    program, *arguments = (fill(part, places) for part in template)
    added = {name: fill(value, places) for name, value in env.items()}
    argv = (_locate(program, Path(places["here"])), *arguments)
    return Task(argv, Path(places["root"]), {**os.environ, **added}, marker)


def shown_program(template: Sequence[str], task: Task) -> str:
    """Name a program in messages: the tool whose Python is run, else what is run."""
    tool = re.fullmatch(r"\{python:(?P<name>[^{}]+)\}", template[0])
    return tool["name"] if tool else task.argv[0]


def check_program(task: Task) -> None:
    """Say before the first query that a program is missing."""
    program = task.argv[0]
    if shutil.which(program, path=(task.environment or {}).get("PATH")) is None:
        hint = "check that it is there and executable" if "/" in program else "install it, or give its full path"
        raise EngineError(f"no program {program}", hint=hint)


def prepare(task: Task, seconds: float | None, what: str, seen: Callable[[Finished], None]) -> None:
    """Run a command that makes or mends an index to its end; any exit code but 0 is a failure."""
    finished = run_tool(task, seconds, hint="raise index_timeout or choose a smaller corpus", seen=seen)
    if finished.code:
        raise EngineError(f"{what} failed: {describe_failure(task, finished)}", hint=by_hand(task))


def file_facts(commands: Sequence[Sequence[str]], places: Mapping[str, str]) -> list[object]:
    """Tell programs, and the files that they are given, from what will lie there after the next installation."""
    named = {fill(part, places) for command in commands for part in command[1:]}
    programs = {_locate(fill(command[0], places), Path(places["here"])) for command in commands}
    files = {os.path.realpath(path) for path in (*named, *map(shutil.which, programs)) if path and os.path.isfile(path)}
    return [[path, os.stat(path).st_size, os.stat(path).st_mtime_ns] for path in sorted(files)]


def _locate(program: str, folder: Path) -> str:
    """Read a relative path of a program from the user's folder; a link stays one: programs look at their own name."""
    return os.path.abspath(folder / program) if "/" in program else program
