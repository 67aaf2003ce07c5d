"""A program that is started once and talked to.

After a failure it is ended at once and started again by the next query, so that a late answer is never read as the
answer to another question.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from assay.engines.base import Answered, EngineCrash, Reply, Usage, Wanted
from assay.engines.command.protocols import Dialogue, Question
from assay.engines.command.workplace import Workplace, remaining, shorter
from assay.engines.running import start_tool
from assay.errors import EngineError, EngineTimeout
from assay.processes import Child, ChildFlood, ChildGone, ChildTimeout, last_line
from assay.types import Corpus


@dataclass(frozen=True, slots=True)
class RestartLimits:
    """How much is done for a program that failed."""

    starts: int = 3  # that fail in a row, before it is left alone: more would be the same
    patience: float = 3.0  # times what the first start took, on top of the query's own time


RESTART_LIMITS = RestartLimits()
RESTARTED = "the program was started again before this query, which is in its time"


class Conversation:
    """A program on one corpus, asked one query after the other."""

    def __init__(self, place: Workplace, dialogue: Dialogue) -> None:
        self.place = place
        self._dialogue = dialogue
        self._child: Child | None = None
        self._asked = 0
        self._failed_starts = 0
        self._startup: float | None = None  # seconds of the first start

    def start(self, seconds: float | None) -> None:
        """Start the program and wait until it says that it is ready."""
        begin = time.monotonic()
        task = self.place.task(self.place.tool.templates.argv)
        self._failed_starts += 1
        self._child = start_tool(task)
        with self._watched(self._child, seconds, "raise index_timeout"):
            self._dialogue.begin(self._child, None if seconds is None else begin + seconds)
        self._failed_starts = 0
        if self._startup is None:
            self._startup = time.monotonic() - begin

    def search(self, query: str, k: int) -> Answered:
        """Ask with no limit but the tool's own."""
        return self.search_within(query, k, None)

    def search_within(self, query: str, k: int, seconds: float | None) -> Answered:
        """Ask; the shorter of the two time limits holds."""
        return self.search_filtered(query, k, Wanted(), seconds)

    @property
    def filters(self) -> frozenset[str]:
        """What it can be asked for a part of."""
        return self.place.tool.filters

    def search_filtered(self, query: str, k: int, wanted: Wanted, seconds: float | None) -> Answered:
        """Ask with what the filters add to the request."""
        limit = shorter(seconds, self.place.tool.settings.timeout)
        with self.place.secrets_hidden():
            again = (RESTARTED,) if self._child is None or not self._child.alive else ()
            if again:
                self._restart(limit)
            reply = self._ask(query, k, wanted, limit)
        return replace(reply, notes=(*again, *reply.notes))

    def usage(self) -> Usage:
        """Tell what it took."""
        said = b""
        if self._child is not None:
            self.place.note_peak(self._child.peak_bytes())
            said = self._child.stderr
        return self.place.usage(self._startup if self._dialogue.waits else None, said)

    def close(self) -> None:
        """End the program, and remove what it kept."""
        try:
            self.drop()
        finally:
            self.place.close()

    def drop(self) -> bytes:
        """End the program, if there is one, and give what it said on stderr."""
        child, self._child = self._child, None
        if child is None:
            return b""
        child.end()
        self.place.note_peak(child.peak_bytes())
        return child.stderr

    def _restart(self, limit: float | None) -> None:
        """Start the program again, unless that has failed too often."""
        self.drop()
        if self._failed_starts >= RESTART_LIMITS.starts:
            raise EngineError(
                f"{self._name} is left alone after {self._failed_starts} starts in a row that failed",
                hint=f"start it by hand in {self.place.corpus.root}",
            )
        more = RESTART_LIMITS.patience * (self._startup or 0.0)
        self.start(shorter(None if limit is None else limit + more, self.place.tool.settings.index_timeout))

    def _ask(self, query: str, k: int, wanted: Wanted, limit: float | None) -> Reply:
        """Ask the running program."""
        assert self._child is not None
        self._asked += 1
        added = self.place.tool.added(wanted)
        question = Question(self.place.places.values, query, k, self._asked, self.place.known, added)
        with self._watched(self._child, limit, "raise timeout"):
            return self._dialogue.ask(self._child, question, None if limit is None else time.monotonic() + limit)

    @property
    def _name(self) -> str:
        """The program as it is called in messages."""
        return self.place.tool.templates.argv[0]

    @contextmanager
    def _watched(self, child: Child, limit: float | None, hint: str) -> Iterator[None]:
        """Say in the engines' own errors what happened to the program; then it is ended, so that nothing comes late."""
        try:
            yield
        except EngineError:  # it answered, only not in a way that can be read
            raise
        except ChildTimeout as problem:
            said = self._fail()
            raise EngineTimeout(f"no answer after {limit:g} s{said}", hint=hint) from problem
        except ChildFlood as problem:
            self._fail()
            raise EngineError(f"{self._name} printed {problem}", hint="ask it for less, as with {k}") from problem
        except ChildGone as problem:
            words, gone = child.describe_end(), not child.alive
            message = f"{self._name} {words}{self._fail()}"
            raise (EngineCrash if gone else EngineError)(message, hint="run it by hand in the corpus") from problem
        except BaseException:  # an interrupt in the middle of an answer
            self._fail()
            raise

    def _fail(self) -> str:
        """End the program, keep what it complained of, and give the last of it behind a colon."""
        stderr = self.drop()
        self.place.note_failure(stderr)
        words = last_line(stderr)
        return f": {words}" if words else ""


class FollowingConversation(Conversation):
    """A program that is started again when files changed."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Run the update command and start the program anew, in the shorter of the two times together."""
        limit = shorter(seconds, self.place.tool.settings.index_timeout)
        begin = time.monotonic()
        self.place.take(corpus)
        with self.place.secrets_hidden():
            self.drop()
            if self.place.tool.templates.update:
                self.place.prepare(self.place.tool.templates.update, limit, "updating")
            self.start(remaining(limit, begin))
