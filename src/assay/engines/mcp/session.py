"""An MCP server being asked about one corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from assay.clock import Clock
from assay.engines.base import Answered, Reply, Usage, Wanted
from assay.engines.filtering import merge
from assay.engines.folders import Files, Folders
from assay.engines.indexes.keys import index_config, index_env
from assay.engines.indexes.place import Spot
from assay.engines.leftovers import Leftovers
from assay.engines.mcp.answers import read_answer
from assay.engines.mcp.client import Line
from assay.engines.mcp.engine import McpEngine
from assay.engines.mcp.keeping import Asking, Keeper, Plan
from assay.engines.mcp.settings import AGAIN, ToolCall
from assay.engines.mcp.stdio import Pipes
from assay.engines.mcp.web import Address
from assay.engines.programs import check_program, make_task, prepare
from assay.engines.running import by_hand
from assay.engines.sessions import AskedSession
from assay.engines.templates import fill, fill_json, fill_url
from assay.engines.witness import Witness
from assay.http import read_token
from assay.processes import Task
from assay.redaction import hiding
from assay.types import Corpus


class McpSession(AskedSession):
    """A server on one corpus. One thread at a time asks it."""

    def __init__(self, engine: McpEngine, spot: Spot, *, indexed: bool = False) -> None:
        corpus = spot.corpus
        self.filtering = engine.templates.filters
        self._settings = engine.settings
        self._templates = engine.templates
        self._layout = engine.layout
        self._redactor = hiding(engine.secrets)
        self._known = frozenset(file.path for file in corpus.files)
        self._indexed = indexed  # whether the index is there
        self._shares_calls = engine.indexing.maker != "program"  # whether the calls of index have made it
        self._index_env = index_env(engine.settings.env, engine.indexing.named)
        files = Files(spot.store, engine.template, index_config(engine.template, engine.indexing.named))
        self._folders = Folders(engine.places, corpus.root, engine.texts, files)
        self.places = self._folders.places
        self._witness = Witness()
        self._leftovers = Leftovers()
        self._keeper = Keeper(self._plan(), self._witness)

    def start(self, seconds: float | None) -> None:
        """Make the index that the server wants to find, start the server, and let it index."""
        clock = Clock(seconds)
        with self._redactor.cleaning():
            self._check_programs()
            if not self._indexed:
                self._prepare(clock, "indexing")
            self._keeper.start(clock.rest())

    def make_index(self, seconds: float | None, *, serve: bool) -> None:
        """Make the index and nothing else; `serve` lets the server do its part in it."""
        clock = Clock(seconds)
        with self._redactor.cleaning():
            self._check_programs()
            self._prepare(clock, "indexing")
            if serve:
                self._keeper.start(clock.rest())
                self._keeper.measure()

    def search_filtered(self, query: str, k: int, wanted: Wanted, seconds: float | None) -> Answered:
        """Ask for a part of the corpus; a server that was lost is started again first, in a time of its own."""
        with self._redactor.cleaning():
            asking = self._asking(query, k, wanted)
            again = self._keeper.restore()
            with again.apart():
                (result,) = self._keeper.call((asking,), Clock(seconds, self._settings.timeout), "timeout")
                self._keeper.answered()
                reply = read_answer(result, self._settings.content, self._layout, self._known)
        notes = (*again.notes, *reply.notes, *self._keeper.notes())
        return Reply(reply.hits, reply.cost, tuple(map(self._redactor.text, notes)), again.seconds)

    def usage(self) -> Usage:
        """Tell what the server took and said."""
        self._keeper.measure()
        return Usage(
            startup_seconds=self._keeper.startup_seconds,
            store_bytes=self._folders.store_bytes(),
            peak_bytes=self._witness.peak_bytes,
            version=self._keeper.version,
            stderr=self.said(),
        )

    def said(self) -> str:
        """Give the end of what the server said on stderr."""
        return self._redactor.text(self._witness.stderr())

    def close(self) -> None:
        """End the server and what it left running, and remove its store."""
        try:
            self._keeper.end()
            self._leftovers.end()
        finally:
            self._folders.close()

    def remarks(self) -> tuple[str, ...]:
        """Tell what the server left running."""
        return self._leftovers.remarks()

    def _prepare(self, clock: Clock, what: str) -> None:
        """Run the index command, if there is one."""
        if self._templates.index_command:
            limit = clock.within(self._settings.index_timeout).rest()
            places, command = self._folders.index_places, self._templates.index_command
            task = make_task(command, places, self._index_env, self._leftovers.marker)
            prepare(task, limit, what, self._witness.see_index)

    def _check_programs(self) -> None:
        """Say before the first query that a program is missing."""
        for template in self._templates.commands():
            check_program(self._task(template))

    def _task(self, template: tuple[str, ...]) -> Task:
        """Fill a command in."""
        return make_task(template, self._folders.places, self._settings.env, self._leftovers.marker)

    def _plan(self) -> Plan:
        """Say how the server is brought up."""
        settings, templates = self._settings, self._templates
        tables = (settings.arguments, settings.path_filter, settings.language_filter)
        names = {name: None for table in tables for name in table}
        return Plan(
            dial=self._dial,
            root=self._folders.root,
            used=(Asking(settings.tool, names), *self._filled(templates.update)),
            index=() if self._indexed and self._shares_calls else self._filled(templates.index),
            startup_timeout=settings.startup_timeout,
            index_timeout=settings.index_timeout,
            restarts=settings.restarts,
            failed=self._layout.text.failed,
            by_hand=self._by_hand,
        )

    def _by_hand(self) -> str:
        """Say how to see for oneself what the server does."""
        return by_hand(self._task(self._templates.command)) if self._templates.command else "see that the server is up"

    def _dial(self) -> Line:
        """Start the server's program, or give its address."""
        settings, places = self._settings, self._folders.places
        if not settings.url:
            return Pipes(self._task(self._templates.command))
        token = read_token(settings.token_env)
        headers = {name: fill(value, places) for name, value in settings.headers.items()}
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
        return Address(fill_url(settings.url, places), headers)

    def _asking(self, query: str, k: int, wanted: Wanted) -> Asking:
        """Fill in what a search is given."""
        places = {**self._folders.places, "query": query, "k": k}
        arguments = fill_json(self._settings.arguments, places)
        added = self.filtering.table(wanted, places)
        return Asking(self._settings.tool, cast("Mapping[str, object]", merge(arguments, added)))

    def _filled(self, calls: tuple[ToolCall, ...]) -> tuple[Asking, ...]:
        """Fill in what is called besides searches."""
        filled = ((call.tool, fill_json(call.arguments, self._folders.places)) for call in calls)
        return tuple(Asking(tool, cast("Mapping[str, object]", arguments)) for tool, arguments in filled)


class FollowingMcpSession(McpSession):
    """A server that can follow its files: it has a tool for that, or is started anew."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Call the tools of the update, or start the server anew; the shorter of the two time limits holds."""
        clock = Clock(seconds, self._settings.index_timeout)
        self._known = frozenset(file.path for file in corpus.files)
        with self._redactor.cleaning():
            if isinstance(self._settings.update, str):
                self._renew(clock)
            else:
                self._keeper.restore()
                self._keeper.prepare(self._filled(self._templates.update), clock)

    def _renew(self, clock: Clock) -> None:
        """Start the server anew, and make its index before that where the settings say so."""
        self._keeper.end()
        if self._settings.update == AGAIN:
            self._prepare(clock, "updating")
        self._keeper.start(clock.rest())
