"""A session on an index that others have in common: paths and words are those of a corpus of its own."""

from __future__ import annotations

from dataclasses import replace

from assay.clock import Clock
from assay.engines.base import Answered, MeasuredSession, RemarkingSession, Reply, Session, Usage, Wanted
from assay.engines.indexes.lots import Indexed, Lease, Lot
from assay.engines.indexes.wording import Words, words_of
from assay.engines.reading.hits import read_reply
from assay.engines.sessions import AskedSession
from assay.engines.sharing import Shelf, Step
from assay.types import Corpus


def open_shared(engine: Indexed, corpus: Corpus, shelf: Shelf, seconds: float | None) -> SharedSession:
    """Open an engine on the index that its variants have in common; the first one makes it."""
    indexing, clock = engine.indexing, Clock(seconds)
    lot = shelf.once(f"index {indexing.digest}", lambda: Lot(engine, corpus, shelf), Lot.close)
    lease = lot.take(engine, clock.rest())
    words = words_of(corpus, lease.place.spot)
    try:
        with words.cleaning():
            made = indexing.maker == "program" or (indexing.shared and indexing.maker != "nobody")
            session = engine.open_at(lease.place.spot, clock.rest(), indexed=made)
    except BaseException:
        lease.end()
        raise
    return SharedSession(session, lease, words)


class SharedSession(AskedSession):
    """A session of one variant. It cannot follow changes of files: the index is not its own."""

    def __init__(self, inner: AskedSession, lease: Lease, words: Words) -> None:
        self.filtering = inner.filtering
        self.places = inner.places
        self._inner = inner
        self._lease = lease
        self._words = Words(words.corpus, {**words.places, "config": inner.places.get("config", "")})

    def search_filtered(self, query: str, k: int, wanted: Wanted, seconds: float | None) -> Answered:
        """Search, and give paths as if the corpus itself had been searched."""
        with self._words.cleaning():
            reply = read_reply(self._inner.search_filtered(query, k, wanted, seconds))
        hits = tuple(hit._replace(path=self._words.path(hit.path)) for hit in reply.hits)
        return Reply(hits, reply.cost, tuple(map(self._words.text, reply.notes)), reply.waited)

    def usage(self) -> Usage:
        """Tell what was taken; the index belongs to every variant."""
        used = self._inner.usage() if isinstance(self._inner, MeasuredSession) else Usage()
        place = self._lease.place
        sizes = [size for size in (used.store_bytes, place.left or None) if size is not None]
        said = "\n".join(filter(None, (place.stderr, used.stderr)))
        return replace(used, store_bytes=sum(sizes) if sizes else None, stderr=self._words.text(said))

    def remarks(self) -> tuple[str, ...]:
        """Tell what it left running, and what there is to know of the index."""
        own = self._inner.remarks() if isinstance(self._inner, RemarkingSession) else ()
        return (*map(self._words.text, own), *self._lease.notes)

    def close(self) -> None:
        """End the session, and give the index back."""
        try:
            self._inner.close()
        finally:
            self._lease.end()


class Sharing:
    """What an engine has that shares its index."""

    __slots__ = ()

    def steps(self: Indexed) -> tuple[Step, ...]:
        """List the way from corpus to ranking."""
        return self.indexing.steps()

    def open_shared(self: Indexed, corpus: Corpus, shelf: Shelf, seconds: float | None) -> Session:
        """Open with an index that others made, or make it for them."""
        return open_shared(self, corpus, shelf, seconds)
