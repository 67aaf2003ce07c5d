"""A program that is started once and talked to.

After a failure it is ended at once and started again before the next query, so that a late answer is never read as the
answer to another question.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from assay.clock import Clock, told
from assay.engines.base import Answered, EngineCrash, Reply, Usage, Wanted
from assay.engines.command.protocols import Dialogue, Question, Unready
from assay.engines.command.workplace import Workplace
from assay.engines.programs import shown_program
from assay.engines.restarting import Restarted, Restarts
from assay.engines.running import by_hand, start_tool
from assay.engines.sessions import AskedSession
from assay.errors import EngineError, EngineTimeout
from assay.processes import Child, ChildFlood, ChildGone, ChildTimeout, last_line
from assay.types import Corpus


class Conversation(AskedSession):
    """A program on one corpus, asked one query after the other."""

    def __init__(self, place: Workplace, dialogue: Dialogue) -> None:
        self.place = place
        self.places = place.places
        self.filtering = place.tool.templates.filters
        self._task = place.task(place.tool.templates.argv)
        self._name = shown_program(place.tool.templates.argv, self._task)
        self._dialogue = dialogue
        self._child: Child | None = None
        self._asked = 0
        self._restarts = Restarts(place.tool.settings.restarts, self._name)
        self._startup: float | None = None  # seconds of the first start

    def start(self, seconds: float | None) -> None:
        """Start the program and wait until it says that it is ready."""
        begin = time.monotonic()
        settings = self.place.tool.settings
        whole = Clock(seconds, settings.index_timeout)
        clock = whole.within(settings.startup_timeout)
        limit = "startup_timeout" if whole.allows(settings.startup_timeout) else "index_timeout"
        self._child = start_tool(self._task)
        with self._watched(self._child, clock, f"raise {limit}"):
            self._dialogue.begin(self._child, clock.deadline)
        self._startup = time.monotonic() - begin if self._startup is None else self._startup
        self._restarts.started(self._startup)

    def search_filtered(self, query: str, k: int, wanted: Wanted, seconds: float | None) -> Answered:
        """Ask with what the filters add to the request; a program that was lost is started again first."""
        with self.place.redactor.cleaning():
            again = self._restore()
            with again.apart():
                reply = self._ask(query, k, wanted, Clock(seconds, self.place.tool.settings.timeout))
        notes = tuple(map(self.place.redactor.text, (*again.notes, *reply.notes)))
        return replace(reply, notes=notes, waited=again.seconds)

    def usage(self) -> Usage:
        """Tell what it took."""
        if self._child is not None:
            self.place.witness.note_peak(self._child.peak_bytes())
            self.place.witness.note_words(self._child.stderr)
        return self.place.usage(self._startup if self._dialogue.waits else None)

    def close(self) -> None:
        """End the program, and remove what it kept."""
        try:
            self.drop()
        finally:
            self.place.close()

    def remarks(self) -> tuple[str, ...]:
        """Tell what it left running."""
        return self.place.leftovers.remarks()

    def drop(self) -> bytes:
        """End the program, if there is one, and give what it said on stderr."""
        child, self._child = self._child, None
        if child is None:
            return b""
        child.end()
        self.place.witness.note_peak(child.peak_bytes())
        return child.stderr

    def _restore(self) -> Restarted:
        """Start a program again that was lost, or that ended by itself after its last answer."""
        if self._child is not None and self._child.alive:
            return Restarted()
        if self._child is not None:
            self._restarts.lose()
            self.drop()
        return self._restarts.again(self.start)

    def _ask(self, query: str, k: int, wanted: Wanted, clock: Clock) -> Reply:
        """Ask the running program."""
        assert self._child is not None
        self._asked += 1
        added = self.filtering.table(wanted, {**self.place.places, "query": query, "k": k, "id": self._asked})
        question = Question(self.place.places, query, k, self._asked, self.place.known, added)
        with self._watched(self._child, clock, "raise timeout"):
            reply = self._dialogue.ask(self._child, question, clock.deadline)
        self._restarts.answered()
        return reply

    @contextmanager
    def _watched(self, child: Child, clock: Clock, hint: str) -> Iterator[None]:
        """Say in the engines' own errors what happened to the program; then it is ended, so that nothing comes late."""
        try:
            yield
        except EngineError:  # it answered, only not in a way that can be read
            raise
        except Unready as problem:
            said = self._fail()
            message = f"{self._name} is not ready after {told(clock.limit)}: {problem}; {problem.setting} is "
            raise EngineTimeout(
                f"{message}{problem.wanted!r}{said}", hint=f"correct {problem.setting} to what it prints, or {hint}"
            ) from problem
        except ChildTimeout as problem:
            said = self._fail()
            raise EngineTimeout(f"no answer after {told(clock.limit)}{said}", hint=hint) from problem
        except ChildFlood as problem:
            self._fail()
            raise EngineError(f"{self._name} printed {problem}", hint="ask it for less, as with {k}") from problem
        except ChildGone as problem:
            words, gone = child.describe_end(), not child.alive
            message = f"{self._name} {words}{self._fail()}"
            raise (EngineCrash if gone else EngineError)(message, hint=by_hand(self._task)) from problem
        except BaseException:  # an interrupt in the middle of an answer
            self._fail()
            raise

    def _fail(self) -> str:
        """End the program, keep what it complained of, and give the last of it behind a colon."""
        stderr = self.drop()
        self._restarts.lose()
        self.place.witness.note_failure(stderr)
        words = last_line(stderr)
        return f": {words}" if words else ""


class FollowingConversation(Conversation):
    """A program that is started again when files changed."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Run the update command and start the program anew, in the shorter of the two times together."""
        clock = Clock(seconds, self.place.tool.settings.index_timeout)
        self.place.take(corpus)
        with self.place.redactor.cleaning():
            self.drop()
            if self.place.tool.templates.update:
                self.place.prepare(self.place.tool.templates.update, clock.rest(), "updating")
            self.start(clock.rest())
