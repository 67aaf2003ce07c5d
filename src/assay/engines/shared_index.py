"""Indexes that variants of a tool share: which settings belong to one, where it lies, who may use it."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from assay.clock import Deadline, today
from assay.digests import digest_of, text_digest
from assay.engines.base import (
    Answered,
    EngineReply,
    MeasuredSession,
    SearchFilter,
    Session,
    SessionUsage,
    SessionWithNotes,
)
from assay.engines.index_dir import IndexDir, IndexWorkspace, backup, copy_tree, create, reopen, root_name, snapshot
from assay.engines.index_keys import IndexSettings
from assay.engines.sharing import SharedCache, SharedStep
from assay.engines.text_answers import read_reply
from assay.engines.wrapping import ExternalSession
from assay.errors import AssayError, EngineError
from assay.store import ArtifactStore, scratch
from assay.store.paths import INDEXES, build_lock, writing
from assay.types import Corpus

KIND = INDEXES.name
_AT_WORK = ".at-work"
_ABOUT = "about.json"
BUSY = "the kept index is in use by another process; it was made anew"
OUTSIDE = "the index lies outside {root} and {store}: it cannot be kept"


@dataclass(frozen=True, slots=True)
class ReuseKey:
    """What tells a kept index from others, beside the corpus."""

    digest: str
    tool: Sequence[object]
    git: bool
    store: bool


class _NothingThere(Exception):
    """Making an index left nothing that could be kept."""


def kept(artefacts: ArtifactStore, corpus: Corpus, keep: ReuseKey, make: Callable[[IndexDir], bool]) -> IndexDir | None:
    """Give the place of an index, as an earlier run made it or as this one does; None while another process has it."""
    key = digest_of([corpus.digest, root_name(corpus), keep.digest, keep.tool, keep.git, keep.store])
    folder = artefacts.root / _AT_WORK / text_digest(key)[:40]
    with ExitStack() as stack:
        with writing(folder):
            for holder in (folder.parent, artefacts.root / KIND):
                _close_to_others(holder)
        _sweep(folder.parent)
        if not stack.enter_context(build_lock(folder.with_suffix(".lock"), wait=False)):
            return None
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(artefacts.release, KIND, key)
        place = _obtained(artefacts, key, folder.resolve(), corpus, keep, make)
        place.on_close = stack.pop_all().close
        return place


def _obtained(
    artefacts: ArtifactStore, key: str, folder: Path, corpus: Corpus, keep: ReuseKey, make: Callable[[IndexDir], bool]
) -> IndexDir:
    made: list[IndexDir] = []

    def fill(content: Path) -> None:
        made.append(_new(folder, corpus, keep))
        if not make(made[0]):
            raise _NothingThere
        copy_tree(folder, content / "place")
        about = {"day": today(), "stderr": made[0].stderr, "left": made[0].left}
        (content / _ABOUT).write_text(json.dumps(about), "utf-8")

    try:
        content = artefacts.obtain(KIND, key, fill)
    except _NothingThere:
        made[0].settle(None)
        made[0].notes = (OUTSIDE,)
        return made[0]
    place = made[0] if made else _refilled(content, folder, corpus, keep)
    place.settle(content / "place")
    return place


def _refilled(content: Path, folder: Path, corpus: Corpus, keep: ReuseKey) -> IndexDir:
    copy_tree(content / "place", folder)
    about = json.loads((content / _ABOUT).read_text("utf-8"))
    place = reopen(folder, corpus, store=keep.store, on_close=_nothing)
    place.stderr, place.left = about["stderr"], about["left"]
    place.notes = (f"its index is that of {about['day']}, reused",)
    return place


def _new(folder: Path, corpus: Corpus, keep: ReuseKey) -> IndexDir:
    shutil.rmtree(folder, ignore_errors=True)  # of a broken one that is made anew
    return create(folder, corpus, git=keep.git, store=keep.store, on_close=_nothing)


def _close_to_others(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(PermissionError):  # somebody else's, who decides
        folder.chmod(0o700)


def _sweep(at_work: Path) -> None:
    for folder in sorted(at_work.iterdir()):
        if folder.suffix != ".lock":
            with build_lock(folder.with_suffix(".lock"), wait=False) as free:
                if free:
                    shutil.rmtree(folder, ignore_errors=True)


def _nothing() -> None:
    """Leave it to whoever holds the folder."""


class PathMask:
    """Says where things are as everybody knows them: the places of a shared index are nobody's business."""

    def __init__(self, corpus: Corpus, places: Mapping[str, str]) -> None:
        self.corpus = corpus
        self.places = places
        self._roots = tuple(dict.fromkeys((places["root"], os.path.realpath(places["root"]))))
        named = {path: f"{{{name}}}" for name, path in places.items() if path and path != str(corpus.root)}
        self._named = sorted(named.items(), key=lambda item: (-len(item[0]), item[0]))

    def text(self, text: str) -> str:
        """Write placeholders for places."""
        for path, name in self._named:
            text = text.replace(path, name)
        return text

    def path(self, path: str) -> str:
        """Take the path of a result to the corpus that was given."""
        for root in self._roots:
            if path.startswith(f"{root}/"):
                return f"{self.corpus.root.as_posix()}/{path[len(root) + 1 :]}"
        return path

    @contextmanager
    def cleaning(self) -> Iterator[None]:
        """Write placeholders for places in every error of ours."""
        try:
            yield
        except AssayError as problem:
            raise self.error(problem) from None

    def error(self, problem: AssayError) -> AssayError:
        """Say the same with placeholders."""
        hint = None if problem.hint is None else self.text(problem.hint)
        clean = type(problem)(self.text(problem.message), file=problem.file, line=problem.line, hint=hint)
        if isinstance(clean, EngineError) and isinstance(problem, EngineError):
            clean.waited, clean.stderr = problem.waited, self.text(problem.stderr)
        return clean


def words_of(corpus: Corpus, spot: IndexWorkspace) -> PathMask:
    """Give the words for a spot where a corpus lies in another place."""
    return PathMask(corpus, {"root": str(spot.corpus.root), "store": str(spot.store or "")})


WROTE = "wrote into its index while it was asked; the next variant gets the index as it was"


class Indexed(Protocol):
    """An engine whose index can be made apart from asking."""

    @property
    def indexing(self) -> IndexSettings:
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

    def make_index(self, spot: IndexWorkspace, seconds: float | None) -> str:
        """Make the index, with what belongs to it alone, and give what was said."""

    def open_at(self, spot: IndexWorkspace, seconds: float | None, *, indexed: bool) -> ExternalSession:
        """Open where the index is, or where it is still to be made."""


@dataclass(slots=True)
class Lease:
    """The right to use a place until the end of a session."""

    lot: SharedIndex
    place: IndexDir
    notes: tuple[str, ...] = ()

    def end(self) -> None:
        """Look at what became of the place, and give it back."""
        if self.lot.shared and not self.place.is_as_it_was:
            self.notes = (*self.notes, WROTE)
        self.lot.give_back(self.place)


class SharedIndex:
    """One index on one corpus, for all variants that have it in common."""

    def __init__(self, engine: Indexed, corpus: Corpus, shelf: SharedCache) -> None:
        self.shared = engine.indexing.shared and engine.indexing.maker != "nobody"
        self._corpus = corpus
        self._shelf = shelf
        self._lock = threading.Lock()
        self._place: IndexDir | None = None
        self._retired: list[IndexDir] = []
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

    def give_back(self, place: IndexDir) -> None:
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

    def _is_usable(self, place: IndexDir, indexing: IndexSettings) -> bool:
        if indexing.address and _servers(self._shelf).get(indexing.address) != indexing.digest:
            return False
        return place.is_as_it_was or (not place.users and place.mend())

    def _retire(self, place: IndexDir) -> None:
        self._place = None
        if place.users:
            self._retired.append(place)
        else:
            place.close()

    def _made(self, engine: Indexed, seconds: float | None) -> IndexDir:
        try:
            place = self._kept(engine, seconds) if self._may_be_kept(engine) else None
            return place or self._new(engine, seconds, (BUSY,) if self._may_be_kept(engine) else ())
        except AssayError as problem:
            self._problem = problem
            raise

    def _may_be_kept(self, engine: Indexed) -> bool:
        wanted = self._shelf.reuse_index and self._shelf.artefacts is not None
        ours = engine.indexing.maker == "program" or (engine.indexing.maker == "itself" and engine.indexing.shared)
        return wanted and engine.private and ours

    def _kept(self, engine: Indexed, seconds: float | None) -> IndexDir | None:
        """Find the index of an earlier run, or make it so that later ones find it."""
        assert self._shelf.artefacts is not None
        keep = ReuseKey(
            engine.indexing.digest, engine.tool_facts(self._corpus), git=engine.git, store=engine.wants_store
        )
        return kept(self._shelf.artefacts, self._corpus, keep, self._maker(engine, seconds))

    def _new(self, engine: Indexed, seconds: float | None, notes: tuple[str, ...]) -> IndexDir:
        if not engine.private:
            place = IndexDir(self._corpus.root, IndexWorkspace(self._corpus), _nothing_lots)
            self._maker(engine, seconds)(place)
            return _ReadOnlyCorpus(place)
        with ExitStack() as stack:
            folder = stack.enter_context(scratch()) / "index"
            place = create(folder, self._corpus, git=engine.git, store=engine.wants_store, on_close=_nothing_lots)
            self._maker(engine, seconds)(place)
            place.settle(backup(folder) if self.shared else None)
            place.notes = notes
            place.on_close = stack.pop_all().close
        return place

    def _maker(self, engine: Indexed, seconds: float | None) -> Callable[[IndexDir], bool]:
        def make(place: IndexDir) -> bool:
            indexing = engine.indexing
            if indexing.maker == "nobody" or (indexing.maker in ("itself", "server") and not indexing.shared):
                return False  # left to the session
            before = snapshot(place.folder) if engine.private else {}
            words = words_of(self._corpus, place.spot)
            with words.cleaning():
                place.stderr = words.text(engine.make_index(place.spot, seconds))
            self._shelf.made["index"] += 1
            if indexing.address:
                _servers(self._shelf)[indexing.address] = indexing.digest
            after = snapshot(place.folder) if engine.private else {}
            place.left = _beside_the_code(after) - _beside_the_code(before)
            if indexing.maker == "itself" and before == after:
                raise EngineError(
                    "making the index left nothing in {root} or {store}, where the variants look for it",
                    hint="let it write its index to {store}; if it keeps the index in memory, take index_keys out",
                )
            return before != after

        return make


class _ReadOnlyCorpus(IndexDir):
    """The corpus itself, which an engine does not work in: nothing of it can be changed or put back."""

    def __init__(self, place: IndexDir) -> None:
        super().__init__(place.folder, place.spot, _nothing_lots)
        self.stderr = place.stderr

    @property
    def is_as_it_was(self) -> bool:
        return True


def _nothing_lots() -> None:
    """Have nothing to remove."""


def _beside_the_code(seen: dict[str, tuple[int, int]]) -> int:
    return sum(size for path, (size, _) in seen.items() if path.startswith("corpus/"))


def _servers(shelf: SharedCache) -> dict[str, str]:
    return shelf.once("servers of indexes", dict)


def _again(problem: AssayError) -> AssayError:
    same = type(problem)(problem.message, file=problem.file, line=problem.line, hint=problem.hint)
    if isinstance(same, EngineError) and isinstance(problem, EngineError):
        same.stderr = problem.stderr
    return same


def open_shared(engine: Indexed, corpus: Corpus, shelf: SharedCache, seconds: float | None) -> SharedSession:
    """Open an engine on the index that its variants have in common; the first one makes it."""
    indexing, clock = engine.indexing, Deadline(seconds)
    lot = shelf.once(f"index {indexing.digest}", lambda: SharedIndex(engine, corpus, shelf), SharedIndex.close)
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


class SharedSession(ExternalSession):
    """A session of one variant. It cannot follow changes of files: the index is not its own."""

    def __init__(self, inner: ExternalSession, lease: Lease, words: PathMask) -> None:
        self.filtering = inner.filtering
        self.places = inner.places
        self._inner = inner
        self._lease = lease
        self._words = PathMask(words.corpus, {**words.places, "config": inner.places.get("config", "")})

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Search, and give paths as if the corpus itself had been searched."""
        with self._words.cleaning():
            reply = read_reply(self._inner.search_filtered(query, k, wanted, seconds))
        hits = tuple(hit._replace(path=self._words.path(hit.path)) for hit in reply.hits)
        return EngineReply(hits, reply.cost, tuple(map(self._words.text, reply.notes)), reply.waited)

    def usage(self) -> SessionUsage:
        """Tell what was taken; the index belongs to every variant."""
        used = self._inner.usage() if isinstance(self._inner, MeasuredSession) else SessionUsage()
        place = self._lease.place
        sizes = [size for size in (used.store_bytes, place.left or None) if size is not None]
        said = "\n".join(filter(None, (place.stderr, used.stderr)))
        return replace(used, store_bytes=sum(sizes) if sizes else None, stderr=self._words.text(said))

    def remarks(self) -> tuple[str, ...]:
        """Tell what it left running, and what there is to know of the index."""
        own = self._inner.remarks() if isinstance(self._inner, SessionWithNotes) else ()
        return (*map(self._words.text, own), *self._lease.notes)

    def close(self) -> None:
        """End the session, and give the index back."""
        try:
            self._inner.close()
        finally:
            self._lease.end()


class SharedIndexEngine:
    """What an engine has that shares its index."""

    __slots__ = ()

    def steps(self: Indexed) -> tuple[SharedStep, ...]:
        """List the way from corpus to ranking."""
        return self.indexing.steps()

    def open_shared(self: Indexed, corpus: Corpus, shelf: SharedCache, seconds: float | None) -> Session:
        """Open with an index that others made, or make it for them."""
        return open_shared(self, corpus, shelf, seconds)
