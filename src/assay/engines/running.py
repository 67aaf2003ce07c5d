"""Run a program for an engine: how it ended, in the engines' own errors."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from assay.clock import told
from assay.engines.base import EngineCrash
from assay.engines.folders import CONFIG, STORE
from assay.errors import CorpusError, EngineError, EngineTimeout, EnvironmentFailure
from assay.processes import PROCESS_LIMITS, Child, Finished, ProcessLimits, Task, run_process


def run_tool(
    task: Task,
    seconds: float | None,
    *,
    hint: str,
    limits: ProcessLimits = PROCESS_LIMITS,
    seen: Callable[[Finished], None] | None = None,
) -> Finished:
    """Run a program to its end and give it back whatever its exit code; `hint` is the way out of a timeout.

    `seen` is shown every run, those too that end in an error.
    """
    with _started(task):
        finished = run_process(task, seconds, limits)
    if seen is not None:
        seen(finished)
    if finished.end == "timeout":
        raise EngineTimeout(f"no answer after {told(seconds)}{_said(finished)}", hint=hint)
    if finished.end == "flood":
        raise EngineError(
            f"{task.argv[0]} printed more than {limits.stdout:,} bytes", hint="ask it for less, as with {k}"
        )
    if finished.end == "signal":
        raise EngineCrash(f"{task.argv[0]} died by {finished.signal_name}{_said(finished)}", hint=by_hand(task))
    return finished


def start_tool(task: Task) -> Child:
    """Start a program that stays."""
    with _started(task):
        return Child(task)


@contextmanager
def _started(task: Task) -> Iterator[None]:
    """Say it when a program cannot be started because the corpus is no longer there."""
    try:
        yield
    except EnvironmentFailure as problem:
        if task.cwd is not None and not task.cwd.is_dir():
            raise CorpusError(f"the corpus folder is gone: {task.cwd}", hint="do not move it during a run") from problem
        raise


def by_hand(task: Task) -> str:
    """Say how to see for oneself; our copy of the corpus and the store are gone by then."""
    root = str(task.cwd)
    argv = [re.sub(rf"\S*/{STORE}\w+", "../store", part.replace(root, ".")) for part in task.argv]
    argv = [re.sub(rf"\S*/{CONFIG}\w+/", "../", part) for part in argv]
    return f"run it by hand in the folder of your code: {shlex.join(argv)}"


def describe_failure(task: Task, finished: Finished) -> str:
    """Say that a program failed, with the last thing it said."""
    return f"{task.argv[0]} ended with exit code {finished.code}{_said(finished)}"


def _said(finished: Finished) -> str:
    """Give what a program said last, behind a colon."""
    return f": {finished.last_words}" if finished.last_words else ""
