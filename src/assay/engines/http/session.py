"""A search API being asked about one corpus."""

from __future__ import annotations

import time

from assay.clock import Clock, shortest, told
from assay.engines.base import Answered, Reply, Usage, Wanted
from assay.engines.filtering import Filters
from assay.engines.folders import Folders
from assay.engines.http.pacing import Pacer
from assay.engines.http.requests import Sender
from assay.engines.http.settings import Ready, Request, Settings
from assay.engines.reading.output import Layout, read_output
from assay.engines.reading.selectors import parse_selector, select
from assay.engines.sessions import AskedSession
from assay.errors import AssayError, EngineError, EngineTimeout
from assay.http import Answer, Call, Connections, Heard, Patience, ask, asked_again, read_json
from assay.redaction import hiding
from assay.types import Corpus


class HttpSession(AskedSession):
    """An API on one corpus; threads may search at once."""

    def __init__(
        self,
        settings: Settings,
        layout: Layout,
        sender: Sender,
        corpus: Corpus,
        folders: Folders,
        filters: Filters,
    ) -> None:
        self.filtering = filters
        self._settings = settings
        self._layout = layout
        self._sender = sender
        self._redactor = hiding(sender.secrets)
        self._known = frozenset(file.path for file in corpus.files)
        self._pacer = Pacer(settings.rate)
        self._folders = folders
        self.places = folders.places
        self._connections = Connections(keep=settings.concurrency)

    def search_filtered(self, query: str, k: int, wanted: Wanted, seconds: float | None) -> Answered:
        """Ask for a part of the corpus and read the answer."""
        places = {**self._folders.places, "query": query, "k": k}
        flat = self._settings.body is None or self._settings.form
        with self._redactor.cleaning():
            added = self.filtering.table(wanted, places, flat=flat)
            call = self._sender.build(self._settings.search, places, added)
            heard = self._ask(call, shortest(seconds, self._settings.timeout))
            reply = self._read(heard.answer)
        notes = (*reply.notes, *_attempts(heard))
        return Reply(reply.hits, reply.cost, tuple(map(self._redactor.text, notes)), heard.waited)

    def build_index(self, seconds: float | None) -> None:
        """Let the server index the corpus, and wait until it is ready."""
        if self._settings.index is not None:
            self._prepare(self._settings.index, seconds)

    def usage(self) -> Usage:
        """Tell what lies in the store, where there is one."""
        return Usage(store_bytes=self._folders.store_bytes())

    def close(self) -> None:
        """Close the connections and remove the store."""
        try:
            self._connections.close()
        finally:
            self._folders.close()

    def _ask(self, call: Call, limit: float | None) -> Heard:
        """Send a request in its turn; the time limit is for all attempts together."""
        patience = Patience(limit, self._settings.retries, limit)
        return ask(call, self._connections, patience, turn=self._pacer.turn)

    def _prepare(self, request: Request, seconds: float | None) -> None:
        """Make a request that changes the index, and wait until the index is ready."""
        clock = Clock(seconds, self._settings.index_timeout)
        try:
            with self._redactor.cleaning():
                self._ask(self._sender.build(request, self._folders.index_places), clock.limit)
                if self._settings.ready is not None:
                    self._wait_for(self._settings.ready, clock)
        except AssayError as problem:
            told = f"indexing failed: {problem.message}"
            raise type(problem)(told, file=problem.file, line=problem.line, hint=problem.hint) from None

    def _wait_for(self, ready: Ready, clock: Clock) -> None:
        """Ask until the index is ready, or the time is over."""
        call = self._sender.build(ready, self._folders.index_places)
        try:
            while not self._says_ready(call, ready, clock):
                time.sleep(min(ready.every, clock.left() or ready.every))
        except TimeoutError:
            hint = "raise index_timeout, or correct path and value of ready"
            raise EngineTimeout(f"the index is not ready after {told(clock.limit)}", hint=hint) from None

    def _says_ready(self, call: Call, ready: Ready, clock: Clock) -> bool:
        """Ask once whether the index is ready."""
        answer = self._ask(call, clock.left()).answer
        document = read_json(call, answer, self._connections.limits)
        found = [row.values[0] for row in select(document, (parse_selector(ready.path, "ready"),))]
        return bool(found) and all(_same(value, ready.value) for value in found)

    def _read(self, answer: Answer) -> Reply:
        """Read an answer."""
        try:
            text = answer.body.decode("utf-8")
        except UnicodeDecodeError as problem:
            told = f"answered with bytes that are no UTF-8, at {problem.start}"
            raise EngineError(told, hint="let it answer UTF-8") from None
        return read_output(text, self._layout, self._known)


class FollowingHttpSession(HttpSession):
    """An API that can be told that files have changed."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Make the request for that, else let the corpus be indexed again."""
        self._known = frozenset(file.path for file in corpus.files)
        request = self._settings.update or self._settings.index
        assert request is not None
        self._prepare(request, seconds)


def _attempts(heard: Heard) -> tuple[str, ...]:
    """Tell that a request had to be sent more than once."""
    return (asked_again(len(heard.troubles) + 1, heard.troubles),) if heard.troubles else ()


def _same(found: object, wanted: object) -> bool:
    """Compare two values of JSON, in which true is not 1."""
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)
