"""A search API being asked about one corpus."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.corpus.copying import folder_bytes
from assay.engines.base import Answered, Reply, Usage, Wanted
from assay.engines.http.filters import declared_filters, wanted_table
from assay.engines.http.pacing import Pacer
from assay.engines.http.requests import Sender, templates_of
from assay.engines.http.settings import Ready, Request, Settings
from assay.engines.reading.output import Layout, read_output
from assay.engines.reading.selectors import parse_selector, select
from assay.engines.templates import names_place
from assay.errors import AssayError, EngineError, EngineTimeout
from assay.http import Answer, Call, Clock, Connections, Heard, Patience, ask, asked_again, read_json
from assay.redaction import Redactor
from assay.types import Corpus


class HttpSession:
    """An API on one corpus; threads may search at once."""

    def __init__(
        self, settings: Settings, layout: Layout, sender: Sender, corpus: Corpus, folders: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._layout = layout
        self._sender = sender
        self._redactor = Redactor(sender.secrets)
        self._known = frozenset(file.path for file in corpus.files)
        self._pacer = Pacer(settings.rate)
        self._open = ExitStack()
        self._connections = self._open.enter_context(Connections(keep=settings.concurrency))
        self._store = self._make_store()
        self._places = {**folders, "root": str(corpus.root), "store": str(self._store or "")}

    def search(self, query: str, k: int) -> Answered:
        """Ask with no limit but its own."""
        return self.search_within(query, k, None)

    def search_within(self, query: str, k: int, seconds: float | None) -> Answered:
        """Ask; the shorter of the two time limits holds."""
        return self.search_filtered(query, k, Wanted(), seconds)

    @property
    def filters(self) -> frozenset[str]:
        """What is declared."""
        return declared_filters(self._settings)

    def search_filtered(self, query: str, k: int, wanted: Wanted, seconds: float | None) -> Answered:
        """Ask for a part of the corpus and read the answer."""
        places = {**self._places, "query": query, "k": k}
        call = self._sender.build(self._settings.search, places, wanted_table(self._settings, wanted))
        heard = self._ask(call, _shorter(seconds, self._settings.timeout))
        reply = self._read(heard.answer)
        notes = (*reply.notes, *_attempts(heard))
        return Reply(reply.hits, reply.cost, tuple(map(self._redactor.text, notes)), heard.waited)

    def build_index(self, seconds: float | None) -> None:
        """Let the server index the corpus, and wait until it is ready."""
        if self._settings.index is not None:
            self._prepare(self._settings.index, _shorter(seconds, self._settings.index_timeout))

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Tell the server that files have changed; one that keeps no index needs no telling."""
        self._known = frozenset(file.path for file in corpus.files)
        request = self._settings.update or self._settings.index
        if request is not None:
            self._prepare(request, _shorter(seconds, self._settings.index_timeout))

    def usage(self) -> Usage:
        """Tell what lies in the store, where there is one."""
        return Usage(store_bytes=None if self._store is None else folder_bytes(self._store))

    def close(self) -> None:
        """Close the connections and remove the store."""
        self._open.close()

    def _make_store(self) -> Path | None:
        """Make a folder for the server's index, when a template names one."""
        if not names_place(templates_of(self._settings), "store"):
            return None
        return Path(self._open.enter_context(TemporaryDirectory(prefix="assay-store-")))

    def _ask(self, call: Call, limit: float | None) -> Heard:
        """Send a request in its turn; the time limit is for all attempts together."""
        patience = Patience(limit, self._settings.retries, limit)
        return ask(call, self._connections, patience, turn=self._pacer.turn)

    def _prepare(self, request: Request, limit: float | None) -> None:
        """Make a request that changes the index, and wait until the index is ready."""
        clock = Clock(limit)
        try:
            self._ask(self._sender.build(request, self._places), limit)
            if self._settings.ready is not None:
                self._wait_for(self._settings.ready, clock)
        except AssayError as problem:
            told = f"indexing failed: {problem.message}"
            raise type(problem)(told, file=problem.file, hint=problem.hint) from problem

    def _wait_for(self, ready: Ready, clock: Clock) -> None:
        """Ask until the index is ready, or the time is over."""
        call = self._sender.build(ready, self._places)
        try:
            while not self._says_ready(call, ready, clock):
                time.sleep(min(ready.every, clock.left() or ready.every))
        except TimeoutError:
            hint = "raise index_timeout, or correct path and value of ready"
            raise EngineTimeout(f"the index is not ready after {clock.limit:g} s", hint=hint) from None

    def _says_ready(self, call: Call, ready: Ready, clock: Clock) -> bool:
        """Ask once whether the index is ready."""
        answer = self._ask(call, clock.left()).answer
        document = read_json(call, answer, self._connections.limits)
        found = [row.values[0] for row in select(document, (parse_selector(ready.path, "ready"),))]
        return bool(found) and all(_same(value, ready.value) for value in found)

    def _read(self, answer: Answer) -> Reply:
        """Read an answer; what cannot be read is told without a secret, and without the answer behind it."""
        try:
            return read_output(answer.body.decode("utf-8"), self._layout, self._known)
        except UnicodeDecodeError as problem:
            wrong = EngineError(
                f"answered with bytes that are no UTF-8, at {problem.start}", hint="let it answer UTF-8"
            )
        except EngineError as problem:
            wrong = EngineError(self._redactor.text(problem.message), hint=problem.hint)
        raise wrong


def _attempts(heard: Heard) -> tuple[str, ...]:
    """Tell that a request had to be sent more than once."""
    return (asked_again(len(heard.troubles) + 1, heard.troubles),) if heard.troubles else ()


def _same(found: object, wanted: object) -> bool:
    """Compare two values of JSON, in which true is not 1."""
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)


def _shorter(first: float | None, second: float | None) -> float | None:
    """Give the shorter of two time limits, where None is no limit."""
    return min((limit for limit in (first, second) if limit is not None), default=None)
