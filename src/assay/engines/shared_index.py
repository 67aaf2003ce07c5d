"""Sharing of indexes by variants of a tool: a corpus copy and a store, built once and used by several sessions."""

from __future__ import annotations

import json
import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from assay.clock import Deadline, today
from assay.corpus.opening import copy_corpus
from assay.digests import digest_of
from assay.engines.base import (
    EngineDefaults,
    EngineReply,
    SearchFilter,
    SearchReply,
    Session,
    SessionUsage,
    SharedCache,
    SharedStep,
)
from assay.engines.config_files import ConfigTemplate
from assay.engines.index_settings import IndexSettings, index_config, index_variables
from assay.engines.output import OutputLayout, read_reply
from assay.engines.templates import has_placeholder
from assay.engines.tool import ExternalSession
from assay.engines.workspace import (
    STORE,
    EngineWorkspace,
    IndexDirectory,
    IndexWorkspace,
    PathMask,
    back_up,
    copy_tree,
    snapshot,
)
from assay.errors import AssayError, EngineError
from assay.store import scratch
from assay.store.entries import wrap_disk_errors
from assay.store.kinds import INDEXES
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.store import Store

BUSY = "the cached index is in use by another process; a new index was built"
OUTSIDE = "the index is outside {root} and {store} and cannot be cached"
WROTE = "wrote to its index during queries; the index is restored for the next variant"
_CORPUS, _STORE = "corpus", f"{STORE}shared"
_COPY, _ABOUT = "place", "about.json"  # files of a cached index: a copy of its directory, and facts about it


@dataclass(frozen=True, slots=True)
class SharedIndexEngine(EngineDefaults, ABC):
    """External engine whose index can be built separately from searching and shared by its variants."""

    settings: Any
    placeholders: Mapping[str, str]  # {here}, {preset} and {python}
    template: ConfigTemplate | None  # template of the file {config}
    indexing: IndexSettings
    layout: OutputLayout

    @property
    @abstractmethod
    def texts(self) -> Sequence[object]:
        """Every template that may contain a placeholder."""

    @abstractmethod
    def tool_identity(self, corpus: Corpus) -> list[object]:
        """Return facts about the tool that its index depends on."""

    @abstractmethod
    def build_index(self, index: IndexWorkspace, seconds: float | None) -> str:
        """Build the index with the settings that it depends on, and return stderr."""

    @abstractmethod
    def open_at(self, index: IndexWorkspace, seconds: float | None, *, indexed: bool) -> ExternalSession:
        """Open a session on an existing index, or build the index first."""

    @property
    def wants_store(self) -> bool:
        return has_placeholder(self.texts, "store")

    def for_index(self) -> Self:
        """Return the engine with only the variables and configuration edits that its index depends on."""
        named = self.indexing.named
        changes: dict[str, Any] = {"template": index_config(self.template, named)}
        if wanted := index_variables(named or ()):
            env = {name: value for name, value in self.settings.env.items() if name in wanted}
            changes["settings"] = replace(self.settings, env=env)
        return replace(cast(Any, self), **changes)  # type: ignore[no-any-return]  # a dataclass

    def make_workspace(self, index: IndexWorkspace) -> EngineWorkspace:
        """Create the directories and the configuration file named in the templates."""
        configs = (self.template, index_config(self.template, self.indexing.named))
        return EngineWorkspace(self.placeholders, index.corpus.root, self.texts, index.store, configs)

    def open(self, corpus: Corpus) -> ExternalSession:
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> ExternalSession:
        """Open a session within the shorter of `seconds` and the configured limit."""
        return self.open_at(IndexWorkspace(corpus), seconds, indexed=False)

    def steps(self) -> tuple[SharedStep, ...]:
        ranking = SharedStep("ranking", self.indexing.whole, "all settings")
        return (SharedStep("index", self.indexing.digest, self.indexing.about), ranking)

    def open_shared(self, corpus: Corpus, cache: SharedCache, seconds: float | None) -> Session:
        """Open a session on the index shared by the variants; the first variant builds the index."""
        indexing, deadline = self.indexing, Deadline(seconds)
        index = cache.once(f"index {indexing.digest}", lambda: SharedIndex(self, corpus, cache), SharedIndex.close)
        directory = index.acquire(self, deadline.remaining())
        try:
            with PathMask(corpus, directory.workspace).cleaning():
                session = self.open_at(directory.workspace, deadline.remaining(), indexed=indexing.separate)
        except BaseException:
            index.release(directory)
            raise
        return SharedSession(session, index, directory, corpus)


class SharedSession(ExternalSession):
    """Session of one variant; without updates, because other variants use the same index."""

    def __init__(self, inner: ExternalSession, index: SharedIndex, directory: IndexDirectory, corpus: Corpus) -> None:
        self.filtering = inner.filtering
        self.placeholders = inner.placeholders
        self._inner = inner
        self._index = index
        self._directory = directory
        self._mask = PathMask(corpus, directory.workspace, inner.placeholders.get("config", ""))
        self._notes: tuple[str, ...] = ()

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> SearchReply:
        """Search, and map paths to the original corpus."""
        with self._mask.cleaning():
            reply = read_reply(self._inner.search_filtered(query, k, wanted, seconds))
        hits = tuple(hit._replace(path=self._mask.path(hit.path)) for hit in reply.hits)
        return EngineReply(hits, reply.cost, tuple(map(self._mask.text, reply.notes)), reply.waited)

    def usage(self) -> SessionUsage:
        """Return the resources used by the session and by indexing."""
        used, added = self._inner.usage(), self._directory.added_bytes
        size = used.store_bytes if not added else added + (used.store_bytes or 0)
        stderr = "\n".join(filter(None, (self._directory.stderr, used.stderr)))
        return replace(used, store_bytes=size, stderr=self._mask.text(stderr))

    def session_notes(self) -> tuple[str, ...]:
        return (*map(self._mask.text, self._inner.session_notes()), *self._notes)

    def close(self) -> None:
        try:
            self._inner.close()
        finally:
            self._notes = self._index.release(self._directory)


class SharedIndex:
    """One index on one corpus, for all variants that share it."""

    def __init__(self, engine: SharedIndexEngine, corpus: Corpus, cache: SharedCache) -> None:
        self._shared = engine.indexing.shared
        self._corpus = corpus
        self._cache = cache
        self._lock = threading.Lock()
        self._current: IndexDirectory | None = None
        self._closing = ExitStack()  # closes all directories
        self._error: AssayError | None = None
        #: Digest of the last index of each server, by address.
        self._servers: dict[str, str] = cache.once("servers of indexes", dict)

    def acquire(self, engine: SharedIndexEngine, seconds: float | None) -> IndexDirectory:
        """Return the directory of the index, building the index if needed; a failed build is not retried."""
        with self._lock:
            if self._error is not None:
                raise self._error.rewrite(str)
            current, self._current = self._current, None
            if current is not None and self._is_usable(current, engine.indexing):
                self._current = current
            elif current is not None and not current.users:
                current.close()
            if self._current is None:
                try:
                    self._current = self._make(engine, seconds)
                except AssayError as error:
                    self._error = error
                    raise
                self._closing.callback(self._current.close)
            self._current.users += 1
            return self._current

    def release(self, directory: IndexDirectory) -> tuple[str, ...]:
        """Release a directory and return its notes; remove a replaced directory that has no users."""
        notes = (*directory.notes, WROTE) if self._shared and not directory.is_unchanged() else directory.notes
        with self._lock:
            directory.users -= 1
            if directory is not self._current and not directory.users:
                directory.close()
        return notes

    def close(self) -> None:
        with self._lock:
            self._current = None
            self._closing.close()

    def _is_usable(self, directory: IndexDirectory, indexing: IndexSettings) -> bool:
        if indexing.address and self._servers.get(indexing.address) != indexing.digest:
            return False
        return directory.is_unchanged() or (not directory.users and directory.restore())

    def _make(self, engine: SharedIndexEngine, seconds: float | None) -> IndexDirectory:
        if not engine.private:
            directory = IndexDirectory(self._corpus.root, IndexWorkspace(self._corpus), is_copy=False)
            self._build(directory, engine, seconds)
            return directory
        is_local = engine.indexing.separate and engine.indexing.builder != "server"
        store = self._cache.artifacts if self._cache.reuse_index and is_local else None
        cached = self._open_cached(engine, seconds, store) if store else None
        if cached is not None:
            return cached
        with ExitStack() as stack:
            path = stack.enter_context(scratch()) / "index"
            directory = self._create(path, engine)
            self._build(directory, engine, seconds)
            directory.freeze(back_up(path) if self._shared else None)
            directory.notes = (BUSY,) if store else ()
            directory.close = stack.pop_all().close
        return directory

    def _create(self, path: Path, engine: SharedIndexEngine, copied: Corpus | None = None) -> IndexDirectory:
        copied = copied or copy_corpus(self._corpus, path / _CORPUS, commit=engine.git)
        store = path / _STORE if engine.wants_store else None
        if store is not None:
            store.mkdir(exist_ok=True)
        return IndexDirectory(path, IndexWorkspace(copied, store))

    def _build(self, directory: IndexDirectory, engine: SharedIndexEngine, seconds: float | None) -> bool:
        """Build the index, unless the session builds it; return whether indexing changed the directory."""
        indexing = engine.indexing
        if not indexing.separate:
            return False
        before = snapshot(directory.path) if engine.private else {}
        mask = PathMask(self._corpus, directory.workspace)
        with mask.cleaning():
            directory.stderr = mask.text(engine.build_index(directory.workspace, seconds))
        self._cache.made["index"] += 1
        if indexing.address:
            self._servers[indexing.address] = indexing.digest
        after = snapshot(directory.path) if engine.private else {}
        directory.added_bytes = _corpus_bytes(after) - _corpus_bytes(before)
        if indexing.builder == "session" and before == after:
            raise EngineError(
                "indexing wrote nothing to {root} or {store}, so variants cannot share the index",
                hint="configure the tool to write its index to {store}, or remove `index_keys`",
            )
        return before != after

    def _open_cached(self, engine: SharedIndexEngine, seconds: float | None, store: Store) -> IndexDirectory | None:
        """Return the cached index, or build and cache one; None while another process uses the cached index."""
        key = self._cache_key(engine)
        with ExitStack() as stack:
            _make_private(store.kind_dir(INDEXES.name))
            temporary = stack.enter_context(store.temporary(key, wait=False))
            if temporary is None:
                return None
            stack.callback(store.release, INDEXES.name, key)
            path = temporary.resolve()
            built: list[IndexDirectory] = []  # empty if the index was in the cache

            def create(entry: Path) -> None:
                shutil.rmtree(path, ignore_errors=True)
                built.append(self._create(path, engine))
                if not self._build(built[0], engine, seconds):
                    raise _NothingBuiltError
                _write_entry(entry, built[0])

            try:
                entry = store.directory(INDEXES.name, key, create)
            except _NothingBuiltError:
                directory = built[0]
                directory.notes = (OUTSIDE,)
                directory.freeze(None)
            else:
                directory = built[0] if built else self._read_entry(entry, path, engine)
                directory.freeze(entry / _COPY)
            directory.close = stack.pop_all().close
            return directory

    def _cache_key(self, engine: SharedIndexEngine) -> str:
        tool = engine.tool_identity(self._corpus)
        facts = [engine.indexing.digest, tool, engine.git, engine.wants_store]
        return digest_of([self._corpus.digest, self._corpus_name, *facts])

    @property
    def _corpus_name(self) -> str:
        return self._corpus.root.resolve().name or "corpus"  # copy_corpus preserves the name of the root

    def _read_entry(self, entry: Path, path: Path, engine: SharedIndexEngine) -> IndexDirectory:
        copy_tree(entry / _COPY, path)
        directory = self._create(path, engine, replace(self._corpus, root=path / _CORPUS / self._corpus_name))
        about = json.loads((entry / _ABOUT).read_text("utf-8"))
        directory.stderr, directory.added_bytes = about["stderr"], about["left"]
        directory.notes = (f"reused the index built on {about['day']}",)
        return directory


def _write_entry(entry: Path, directory: IndexDirectory) -> None:
    copy_tree(directory.path, entry / _COPY)
    about = {"day": today(), "stderr": directory.stderr, "left": directory.added_bytes}
    (entry / _ABOUT).write_text(json.dumps(about), "utf-8")


def _make_private(directory: Path) -> None:
    with wrap_disk_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        with suppress(PermissionError):  # owned by another user
            directory.chmod(0o700)


class _NothingBuiltError(Exception):
    """Indexing wrote no files to cache."""


def _corpus_bytes(files: Mapping[str, tuple[int, int]]) -> int:
    return sum(size for path, (size, _) in files.items() if path.startswith(f"{_CORPUS}/"))
