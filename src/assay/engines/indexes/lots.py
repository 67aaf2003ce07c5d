"""One index on a shelf: made by the first variant that needs it, handed to each as it was made.

A variant that writes into the index while it is asked does not spoil it for the next: the place is put back from a
second copy, or made anew where it is too large for one. So every variant finds the same, whatever was asked before it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from assay.artefacts import scratch
from assay.engines.indexes.keeping import BUSY, Keep, kept
from assay.engines.indexes.keys import Indexing
from assay.engines.indexes.place import IndexPlace, Spot, fresh, look, spare_copy
from assay.engines.indexes.wording import words_of
from assay.engines.sessions import AskedSession
from assay.engines.sharing import Shelf
from assay.errors import AssayError, EngineError
from assay.types import Corpus

WROTE = "wrote into its index while it was asked; the next variant gets the index as it was"


class Indexed(Protocol):
    """An engine whose index can be made apart from asking."""

    @property
    def indexing(self) -> Indexing:
        """What decides its index."""

    @property
    def private(self) -> bool:
        """Whether it gets a copy of the corpus."""

    @property
    def git(self) -> bool:
        """Whether that copy is a repository."""

    @property
    def wants_store(self) -> bool:
        """Whether it names {store}."""

    def tool_facts(self, corpus: Corpus) -> list[object]:
        """Tell this tool from other versions of it; what making an index reads from the environment too."""

    def make_index(self, spot: Spot, seconds: float | None) -> str:
        """Make the index, with what belongs to it alone, and give what was said."""

    def open_at(self, spot: Spot, seconds: float | None, *, indexed: bool) -> AskedSession:
        """Open where the index is, or where it is still to be made."""


@dataclass(slots=True)
class Lease:
    """The right to use a place until the end of a session."""

    lot: Lot
    place: IndexPlace
    notes: tuple[str, ...] = ()

    def end(self) -> None:
        """Look at what became of the place, and give it back."""
        if self.lot.shared and not self.place.is_as_it_was:
            self.notes = (*self.notes, WROTE)
        self.lot.give_back(self.place)


class Lot:
    """One index on one corpus, for all variants that have it in common."""

    def __init__(self, engine: Indexed, corpus: Corpus, shelf: Shelf) -> None:
        self.shared = engine.indexing.shared and engine.indexing.maker != "nobody"
        self._corpus = corpus
        self._shelf = shelf
        self._lock = threading.Lock()
        self._place: IndexPlace | None = None
        self._retired: list[IndexPlace] = []
        self._problem: AssayError | None = None

    def take(self, engine: Indexed, seconds: float | None) -> Lease:
        """Give the place of the index, made now if it is not there; one that failed is not tried again."""
        with self._lock:
            if self._problem is not None:
                raise _again(self._problem)
            if self._place is not None and not self._is_usable(self._place, engine.indexing):
                self._retire(self._place)
            if self._place is None:
                self._place = self._made(engine, seconds)
            self._place.users += 1
            return Lease(self, self._place, self._place.notes)

    def give_back(self, place: IndexPlace) -> None:
        """End a use; what is of no use to anybody is removed."""
        with self._lock:
            place.users -= 1
            if place in self._retired and not place.users:
                self._retired.remove(place)
                place.close()

    def close(self) -> None:
        """Remove all that is left."""
        with self._lock:
            for place in (*self._retired, *([self._place] if self._place else [])):
                place.close()
            self._retired, self._place = [], None

    def _is_usable(self, place: IndexPlace, indexing: Indexing) -> bool:
        """Tell whether a place is as it was, or can be put back; a server may have been told to index another."""
        if indexing.address and _servers(self._shelf).get(indexing.address) != indexing.digest:
            return False
        return place.is_as_it_was or (not place.users and place.mend())

    def _retire(self, place: IndexPlace) -> None:
        """Take a place out of use; whoever has it keeps it."""
        self._place = None
        if place.users:
            self._retired.append(place)
        else:
            place.close()

    def _made(self, engine: Indexed, seconds: float | None) -> IndexPlace:
        """Make the place and the index in it, or find both; a failure is everybody's."""
        try:
            place = self._kept(engine, seconds) if self._may_be_kept(engine) else None
            return place or self._new(engine, seconds, (BUSY,) if self._may_be_kept(engine) else ())
        except AssayError as problem:
            self._problem = problem
            raise

    def _may_be_kept(self, engine: Indexed) -> bool:
        """Tell whether the index is to be kept beyond the run; that of somebody's server is not ours to keep."""
        wanted = self._shelf.reuse_index and self._shelf.artefacts is not None
        ours = engine.indexing.maker == "program" or (engine.indexing.maker == "itself" and engine.indexing.shared)
        return wanted and engine.private and ours

    def _kept(self, engine: Indexed, seconds: float | None) -> IndexPlace | None:
        """Find the index of an earlier run, or make it so that later ones find it."""
        assert self._shelf.artefacts is not None
        keep = Keep(engine.indexing.digest, engine.tool_facts(self._corpus), git=engine.git, store=engine.wants_store)
        return kept(self._shelf.artefacts, self._corpus, keep, self._maker(engine, seconds))

    def _new(self, engine: Indexed, seconds: float | None, notes: tuple[str, ...]) -> IndexPlace:
        """Make a place of this run's own."""
        if not engine.private:
            place = IndexPlace(self._corpus.root, Spot(self._corpus), _nothing)
            self._maker(engine, seconds)(place)
            return _Elsewhere(place)
        with ExitStack() as stack:
            folder = stack.enter_context(scratch()) / "index"
            place = fresh(folder, self._corpus, git=engine.git, store=engine.wants_store, on_close=_nothing)
            self._maker(engine, seconds)(place)
            place.settle(spare_copy(folder) if self.shared else None)
            place.notes = notes
            place.on_close = stack.pop_all().close
        return place

    def _maker(self, engine: Indexed, seconds: float | None) -> Callable[[IndexPlace], bool]:
        """Give what makes the index in a place, and tells whether it left anything there."""

        def make(place: IndexPlace) -> bool:
            indexing = engine.indexing
            if indexing.maker == "nobody" or (indexing.maker in ("itself", "server") and not indexing.shared):
                return False  # left to the session
            before = look(place.folder) if engine.private else {}
            words = words_of(self._corpus, place.spot)
            with words.cleaning():
                place.stderr = words.text(engine.make_index(place.spot, seconds))
            self._shelf.made["index"] += 1
            if indexing.address:
                _servers(self._shelf)[indexing.address] = indexing.digest
            after = look(place.folder) if engine.private else {}
            place.left = _beside_the_code(after) - _beside_the_code(before)
            if indexing.maker == "itself" and before == after:
                raise EngineError(
                    "making the index left nothing in {root} or {store}, where the variants look for it",
                    hint="let it write its index to {store}; if it keeps the index in memory, take index_keys out",
                )
            return before != after

        return make


class _Elsewhere(IndexPlace):
    """The corpus itself, which an engine does not work in: nothing of it can be changed or put back."""

    def __init__(self, place: IndexPlace) -> None:
        super().__init__(place.folder, place.spot, _nothing)
        self.stderr = place.stderr

    @property
    def is_as_it_was(self) -> bool:
        """It always is."""
        return True


def _nothing() -> None:
    """Have nothing to remove."""


def _beside_the_code(seen: dict[str, tuple[int, int]]) -> int:
    """Add up what lies in the copy of the corpus; the store is measured by itself."""
    return sum(size for path, (size, _) in seen.items() if path.startswith("corpus/"))


def _servers(shelf: Shelf) -> dict[str, str]:
    """Remember which index each server was last told to make."""
    return shelf.once("servers of indexes", dict)


def _again(problem: AssayError) -> AssayError:
    """Say the same once more."""
    same = type(problem)(problem.message, file=problem.file, line=problem.line, hint=problem.hint)
    if isinstance(same, EngineError) and isinstance(problem, EngineError):
        same.stderr = problem.stderr
    return same
