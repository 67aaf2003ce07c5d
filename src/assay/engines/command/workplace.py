"""A tool at one corpus: its folders and environment, the commands it runs there, and what they took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.engines.base import Usage
from assay.engines.command.settings import Settings, Templates
from assay.engines.configs.rendering import ConfigTemplate
from assay.engines.folders import Files, Folders
from assay.engines.indexes.keys import Indexing, index_config, index_env
from assay.engines.leftovers import Leftovers
from assay.engines.presets.installed import PROBE_LIMITS
from assay.engines.programs import check_program, make_task, prepare
from assay.engines.running import run_tool
from assay.engines.witness import Witness
from assay.errors import EngineError, EnvironmentFailure
from assay.processes import Task
from assay.redaction import hiding
from assay.types import Corpus


@dataclass(frozen=True, slots=True)
class Tool:
    """What a command line tool is, wherever it works."""

    settings: Settings
    templates: Templates
    places: Mapping[str, str]  # {here} and {preset}
    indexing: Indexing
    secrets: tuple[str, ...] = field(default=(), repr=False)
    config: ConfigTemplate | None = None

    @property
    def index_env(self) -> Mapping[str, str]:
        """The environment that making an index sees."""
        return index_env(self.settings.env, self.indexing.named)

    @property
    def index_config(self) -> ConfigTemplate | None:
        """The configuration that making an index sees."""
        return index_config(self.config, self.indexing.named)

    @property
    def texts(self) -> tuple[object, ...]:
        """Everything that may hold a placeholder."""
        return (*self.templates.all(), *(self.config.said if self.config else ()))

    def for_index(self) -> Tool:
        """Give the tool with what belongs to its index alone."""
        settings = replace(self.settings, env=self.index_env)
        return replace(self, settings=settings, config=self.index_config)


class Workplace:
    """One tool at one corpus."""

    def __init__(self, tool: Tool, corpus: Corpus, store: Path | None = None) -> None:
        """Make the tool's own folder when it wants one and has none."""
        self.tool = tool
        self.take(corpus)
        self.witness = Witness()
        self.leftovers = Leftovers()
        self.redactor = hiding(tool.secrets)
        files = Files(store, tool.config, tool.index_config)
        self._folders = Folders(tool.places, corpus.root, tool.texts, files)
        self.places = self._folders.places

    def take(self, corpus: Corpus) -> None:
        """Know a corpus, or the same after files changed."""
        self.corpus = corpus
        self.known = frozenset(file.path for file in corpus.files)

    def task(self, template: Sequence[str], **values: str) -> Task:
        """Fill a command in."""
        return make_task(template, {**self.places, **values}, self.tool.settings.env, self.leftovers.marker)

    def check_programs(self) -> None:
        """Say before the first query that a program is missing."""
        for template in self.tool.templates.commands():
            check_program(self.task(template, query="", k="1"))

    def prepare(self, template: Sequence[str], seconds: float | None, what: str) -> None:
        """Run a command that makes or mends an index."""
        task = make_task(template, self._folders.index_places, self.tool.index_env, self.leftovers.marker)
        prepare(task, seconds, what, self.witness.see_index)

    def usage(self, startup_seconds: float | None = None) -> Usage:
        """Tell what was taken up to now and what was said, and ask for the version."""
        store, peak = self._folders.store_bytes(), self.witness.peak_bytes
        return Usage(startup_seconds, store, peak, self.version(), self.said())

    def said(self) -> str:
        """Give the end of what its programs said on stderr."""
        return self.redactor.text(self.witness.stderr())

    def version(self) -> str:
        """Ask the tool for its version; one that fails at that has none."""
        if not self.tool.templates.version:
            return ""
        try:
            finished = run_tool(self.task(self.tool.templates.version), PROBE_LIMITS.seconds, hint="")
        except (EngineError, EnvironmentFailure):
            return ""
        lines = (finished.stdout + b"\n" + finished.stderr).decode(errors="replace").split("\n")
        return self.redactor.text(next((line.strip() for line in lines if line.strip()), ""))

    def close(self) -> None:
        """End what the tool left running, and remove its own folder."""
        try:
            self.leftovers.end()
        finally:
            self._folders.close()
