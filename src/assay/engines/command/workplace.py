"""A tool at one corpus: its folders and environment, the commands it runs there, and what they took."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from assay.corpus.copying import folder_bytes
from assay.engines.base import Usage, Wanted
from assay.engines.command.settings import Settings, Templates
from assay.engines.filtering import fill_filter, merge
from assay.engines.running import describe_failure, run_tool
from assay.engines.templates import FOLDERS, Places, fill, names_place
from assay.errors import EngineError, EnvironmentFailure
from assay.processes import Finished, Task
from assay.redaction import Redactor, environment_secrets
from assay.types import Corpus


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """What is no part of any measure."""

    version: float = 20.0  # seconds for the version: an interpreter with heavy imports takes ten on a cold disk


WORK_LIMITS = WorkLimits()


@dataclass(frozen=True, slots=True)
class Tool:
    """What a command line tool is, wherever it works."""

    settings: Settings
    templates: Templates
    folder: Path  # where relative programs and {here} start from
    preset: Path | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def filters(self) -> frozenset[str]:
        """The fields of `Wanted` that it takes."""
        named = {"paths": self.templates.path_filter, "languages": self.templates.language_filter}
        return frozenset(name for name, template in named.items() if template)

    def added(self, wanted: Wanted) -> dict[str, object]:
        """Give what filters add to the request of a program that stays."""
        filters = (
            (self.templates.path_filter, "path", wanted.paths),
            (self.templates.language_filter, "language", wanted.languages),
        )
        added: object = {}
        for template, place, values in filters:
            if values and isinstance(template, Mapping):
                added = merge(added, fill_filter(template, place, values))
        return cast(dict[str, object], added)


class Workplace:
    """One tool at one corpus."""

    def __init__(self, tool: Tool, corpus: Corpus) -> None:
        """Make the tool's own folder when it wants one."""
        self.tool = tool
        self.take(corpus)
        self.peak_bytes: int | None = None
        self._indexed = self._failed = ""  # the end of stderr
        wanted = (*tool.templates.all(), tool.settings.request, tool.settings.env)
        self._store = tempfile.mkdtemp(prefix="assay-store-") if names_place(wanted, "store") else None
        folders = {"root": str(corpus.root), "here": str(tool.folder)}
        folders |= {"store": self._store} if self._store else {}
        self.places = Places({**folders, **({"preset": str(tool.preset)} if tool.preset else {})})

    def take(self, corpus: Corpus) -> None:
        """Know a corpus, or the same after files changed."""
        self.corpus = corpus
        self.known = frozenset(file.path for file in corpus.files)

    def fill(self, template: Sequence[str], **values: str) -> tuple[str, ...]:
        """Fill arguments in."""
        places = self.places.given(**values)
        return tuple(fill(part, places) for part in template)

    def task(self, template: Sequence[str], **values: str) -> Task:
        """Fill a command in."""
        argv = self.fill(template, **values)
        added = {name: fill(value, self.places.values) for name, value in self.tool.settings.env.items()}
        return Task((_locate(argv[0], self.tool.folder), *argv[1:]), self.corpus.root, {**os.environ, **added})

    def check_programs(self) -> None:
        """Say before the first query that a program is missing."""
        for template in self.tool.templates.all():
            task = self.task(template, query="", k="1")
            path = (task.environment or {}).get("PATH")
            if shutil.which(task.argv[0], path=path) is None:
                there = "/" in task.argv[0]
                hint = "check that it is there and executable" if there else "install it, or give its full path"
                raise EngineError(f"no program {task.argv[0]}", hint=hint)

    def prepare(self, template: Sequence[str], seconds: float | None, what: str) -> None:
        """Run a command that makes or mends an index; any exit code but 0 is a failure."""
        task = self.task(template)
        finished = run_tool(task, seconds, hint="raise index_timeout", seen=self._see_index)
        if finished.code:
            raise EngineError(
                f"{what} failed: {describe_failure(task, finished)}", hint=f"run it by hand in {self.corpus.root}"
            )

    def _see_index(self, finished: Finished) -> None:
        """Keep what was said while the index was made."""
        self._indexed = finished.stderr.decode(errors="replace")
        self.note_peak(finished.peak_bytes)

    def see(self, finished: Finished) -> None:
        """Keep what a query took, and what the tool complained of when it did not come to its end."""
        self.note_peak(finished.peak_bytes)
        if finished.end != "exit":
            self.note_failure(finished.stderr)

    def note_peak(self, peak: int | None) -> None:
        """Keep the most memory that anything took."""
        self.peak_bytes = max((value for value in (peak, self.peak_bytes) if value is not None), default=None)

    def note_failure(self, stderr: bytes) -> None:
        """Keep what a tool complained of when it failed last."""
        self._failed = stderr.decode(errors="replace")

    def usage(self, startup_seconds: float | None = None, running: bytes = b"") -> Usage:
        """Tell what was taken up to now, what was said (also by a program that runs), and ask for the version."""
        now = running.decode(errors="replace")
        said = (("index", self._indexed), ("last failure", self._failed), ("program", now))
        stderr = "\n".join(f"[{what}]\n{text.strip()}" for what, text in said if text.strip())
        store = None if self._store is None else folder_bytes(Path(self._store))
        return Usage(startup_seconds, store, self.peak_bytes, self._version(), self.hide(stderr))

    def _version(self) -> str:
        """Ask the tool for its version; one that fails at that has none."""
        if not self.tool.templates.version:
            return ""
        try:
            finished = run_tool(self.task(self.tool.templates.version), WORK_LIMITS.version, hint="")
        except (EngineError, EnvironmentFailure):
            return ""
        lines = (finished.stdout + b"\n" + finished.stderr).decode(errors="replace").split("\n")
        return self.hide(next((line.strip() for line in lines if line.strip()), ""))

    def hide(self, text: str) -> str:
        """Strike secrets out."""
        return Redactor((*self.tool.secrets, *environment_secrets())).text(text)

    @contextmanager
    def secrets_hidden(self) -> Iterator[None]:
        """Keep what a tool says of its secrets out of every message: they are written to results."""
        try:
            yield
        except EngineError as problem:
            hint = None if problem.hint is None else self.hide(problem.hint)
            raise type(problem)(self.hide(problem.message), file=problem.file, line=problem.line, hint=hint) from None

    def close(self) -> None:
        """Remove the tool's own folder."""
        if self._store is not None:
            shutil.rmtree(self._store, ignore_errors=True)


def shorter(first: float | None, second: float | None) -> float | None:
    """Give the shorter of two time limits, where None is no limit."""
    return min((limit for limit in (first, second) if limit is not None), default=None)


def remaining(seconds: float | None, begin: float) -> float | None:
    """Give what is left of a time limit that began then."""
    return None if seconds is None else max(0.0, seconds - (time.monotonic() - begin))


def hidden_values(env: Mapping[str, str]) -> tuple[str, ...]:
    """List the values of an environment that no record may show: all but those that name a folder of ours."""
    return tuple(value for value in env.values() if not any(names_place(value, folder) for folder in FOLDERS))


def _locate(program: str, folder: Path) -> str:
    """Read a relative path of a program from the user's folder; a link stays one: programs look at their own name."""
    return os.path.abspath(folder / program) if "/" in program else program
