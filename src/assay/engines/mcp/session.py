"""An MCP server being asked about one corpus."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from assay.corpus.copying import folder_bytes
from assay.engines.base import Answered, Reply, Usage, Wanted
from assay.engines.filtering import fill_filter, merge
from assay.engines.mcp.answers import read_answer
from assay.engines.mcp.client import Line
from assay.engines.mcp.engine import McpEngine
from assay.engines.mcp.keeping import Asking, Keeper, Plan
from assay.engines.mcp.settings import ToolCalls, calls_of, split_command
from assay.engines.mcp.stdio import Pipes
from assay.engines.mcp.web import Address
from assay.engines.templates import fill, fill_json, fill_url
from assay.errors import AssayError
from assay.http import read_token
from assay.processes import Task
from assay.redaction import Redactor, environment_secrets
from assay.types import Corpus


class McpSession:
    """A server on one corpus. One thread at a time asks it."""

    def __init__(self, engine: McpEngine, corpus: Corpus) -> None:
        self._settings = engine.settings
        self._layout = engine.layout
        self._redactor = Redactor((*engine.secrets, *environment_secrets()))
        self._known = frozenset(file.path for file in corpus.files)
        self._store = TemporaryDirectory(prefix="assay-store-", ignore_cleanup_errors=True)
        self._root = Path(os.path.abspath(corpus.root))
        self._places = {**engine.folders, "root": str(self._root), "store": self._store.name}
        self._keeper = Keeper(self._plan())

    def start(self, seconds: float | None) -> None:
        """Start the server and let it index."""
        with self._secrets_hidden():
            self._keeper.start(seconds)

    def search(self, query: str, k: int) -> Answered:
        """Ask with no limit but its own."""
        return self.search_within(query, k, None)

    def search_within(self, query: str, k: int, seconds: float | None) -> Answered:
        """Ask; the shorter of the two time limits holds."""
        return self.search_filtered(query, k, Wanted(), seconds)

    @property
    def filters(self) -> frozenset[str]:
        """What is declared."""
        tables = {"paths": self._settings.path_filter, "languages": self._settings.language_filter}
        return frozenset(name for name, table in tables.items() if table)

    def search_filtered(self, query: str, k: int, wanted: Wanted, seconds: float | None) -> Answered:
        """Ask for a part of the corpus; a server that was lost is started again first, in a time of its own."""
        with self._secrets_hidden():
            asking = self._asking(query, k, wanted)
            restarted = self._keeper.restore()
            deadline = _deadline(seconds, self._settings.timeout)
            (result,) = self._keeper.call((asking,), deadline, "timeout")
            reply = read_answer(result, self._settings.content, self._layout, self._known)
        notes = (*restarted, *reply.notes, *self._keeper.notes())
        return Reply(reply.hits, reply.cost, tuple(map(self._redactor.text, notes)))

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Tell the server that files have changed; without a tool for that, the corpus is indexed again."""
        self._known = frozenset(file.path for file in corpus.files)
        calls = self._filled(self._settings.update or self._settings.index)
        with self._secrets_hidden():
            self._keeper.restore()
            self._keeper.call(calls, _deadline(seconds, self._settings.index_timeout), "index_timeout")

    def usage(self) -> Usage:
        """Tell what the server took and said."""
        self._keeper.measure()
        taken = self._keeper.taken
        return Usage(
            startup_seconds=taken.startup_seconds,
            store_bytes=folder_bytes(Path(self._store.name)),
            peak_bytes=taken.peak_bytes,
            version=taken.version,
            stderr=self._redactor.text(taken.stderr),
        )

    def close(self) -> None:
        """End the server and remove its store."""
        try:
            self._keeper.end()
        finally:
            self._store.cleanup()

    def _plan(self) -> Plan:
        """Say how the server is brought up."""
        settings = self._settings
        tables = (settings.arguments, settings.path_filter, settings.language_filter)
        names = {name: None for table in tables for name in table}
        return Plan(
            dial=self._dial,
            root=self._root,
            used=(Asking(settings.tool, names), *self._filled(settings.update)),
            index=self._filled(settings.index),
            startup_timeout=settings.startup_timeout,
            index_timeout=settings.index_timeout,
            restarts=settings.restarts,
        )

    def _dial(self) -> Line:
        """Start the server's program, or give its address."""
        settings = self._settings
        if settings.url:
            token = read_token(settings.token_env)
            headers = {name: fill(value, self._places) for name, value in settings.headers.items()}
            headers |= {"Authorization": f"Bearer {token}"} if token else {}
            return Address(fill_url(settings.url, self._places), headers)
        program, *arguments = (fill(part, self._places) for part in split_command(settings.command))
        if "/" in program:  # a link stays one: programs look at their own name
            program = os.path.abspath(Path(self._places["here"]) / program)
        environment = {**os.environ, **{name: fill(value, self._places) for name, value in settings.env.items()}}
        return Pipes(Task((program, *arguments), self._root, environment))

    def _asking(self, query: str, k: int, wanted: Wanted) -> Asking:
        """Fill in what a search is given."""
        settings = self._settings
        arguments = fill_json(settings.arguments, {**self._places, "query": query, "k": k})
        filters = (
            ("path", settings.path_filter, wanted.paths),
            ("language", settings.language_filter, wanted.languages),
        )
        for place, template, values in filters:
            if values:
                arguments = merge(arguments, fill_filter(template, place, values))
        return Asking(settings.tool, cast("Mapping[str, object]", arguments))

    def _filled(self, calls: ToolCalls) -> tuple[Asking, ...]:
        """Fill in what is called besides searches."""
        filled = ((call.tool, fill_json(call.arguments, self._places)) for call in calls_of(calls))
        return tuple(Asking(tool, cast("Mapping[str, object]", arguments)) for tool, arguments in filled)

    @contextmanager
    def _secrets_hidden(self) -> Iterator[None]:
        """Keep what a server says of its secrets out of every message."""
        try:
            yield
        except AssayError as problem:
            hint = None if problem.hint is None else self._redactor.text(problem.hint)
            raise type(problem)(self._redactor.text(problem.message), hint=hint) from None


def _deadline(seconds: float | None, own: float | None) -> float | None:
    """Give the end of the shorter of two time limits, where None is no limit."""
    limits = [limit for limit in (seconds, own) if limit is not None]
    return time.monotonic() + min(limits) if limits else None
