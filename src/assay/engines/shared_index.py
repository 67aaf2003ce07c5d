"""Indexes that variants of a tool share.

`index_keys` declares the settings that an index depends on; variants with equal values share the index.
"""

from __future__ import annotations

import json
import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

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
    fingerprint_of,
)
from assay.engines.config_files import ConfigTemplate, Key, nodes
from assay.engines.fingerprints import fingerprint_inputs
from assay.engines.normalize import read_reply
from assay.engines.output import OutputLayout, OutputSettings
from assay.engines.templates import Filters, has_placeholder
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
from assay.errors import AssayError, ConfigError, EngineError, closest_match
from assay.settings import split_key
from assay.store.entries import wrap_disk_errors
from assay.store.kinds import INDEXES
from assay.store.scratch import scratch
from assay.toml import write_key
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.store.store import Store

#: Builder of an index: none, a command, the program or server of the session, or a server that the user started.
IndexBuilder = Literal["none", "command", "session", "server"]
INDEX_KEYS_HELP = (
    "settings that the index depends on, such as argv, env.MODEL or config.embedding.model; variants that differ only "
    "in other settings share one index, which must be in {root} or {store}; default: all settings"
)
BUSY = "the cached index is in use by another process; a new index was built"
OUTSIDE = "the index is outside {root} and {store} and cannot be kept"
NOT_KEPT = "the engine itself builds the index when it starts, so it cannot be kept"
REUSED = "reused the index built on "
#: How notes on --reuse-index begin.
INDEX_NOTES = (BUSY, OUTSIDE, NOT_KEPT, REUSED)
WROTE = "the engine wrote to its index during queries; the index is restored or rebuilt for the next variant"
_CORPUS, _STORE = "corpus", f"{STORE}shared"
_COPY, _ABOUT = "place", "about.json"  # files of a cached index: a copy of the index directory, and facts


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How an index is built, and digests of the settings that the index depends on and of all settings."""

    builder: IndexBuilder
    named: tuple[Key, ...] | None  # None: the index depends on every setting
    digest: str
    whole: str  # digest of all settings
    about: str = ""
    address: str = ""  # address of a server that may hold one index at a time

    @property
    def shared(self) -> bool:
        return self.named is not None

    @property
    def separate(self) -> bool:
        """Whether the index is built before a session opens, not by the session."""
        return self.builder == "command" or self.shared


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedIndexEngine(EngineDefaults, ABC):
    """An external engine whose index can be built separately from searching and shared by variants."""

    settings: OutputSettings
    placeholders: Mapping[str, str]  # {here}, {preset} and {python}
    template: ConfigTemplate | None  # template of the file {config}
    indexing: IndexSettings
    layout: OutputLayout
    filters: Filters

    @property
    def oversample(self) -> int:  # type: ignore[override]  # computed
        return self.settings.oversample

    @property
    def env(self) -> Mapping[str, str]:
        return {}

    @property
    def commands(self) -> Sequence[Sequence[str]]:
        return ()

    @property
    @abstractmethod
    def config(self) -> Mapping[str, object]:
        """Settings that affect the ranking, without secrets."""

    @property
    @abstractmethod
    def written(self) -> Sequence[object]:
        """The templates in the settings, which may contain placeholders."""

    @property
    def texts(self) -> Sequence[object]:
        return (*self.written, *(self.template.texts if self.template else ()))

    @property
    def fingerprint(self) -> str:
        token_env = getattr(self.settings, "token_env", None)
        inputs = fingerprint_inputs(self.placeholders, self.commands, self.env, self.texts, token_env)
        return fingerprint_of(self.config, inputs)

    @abstractmethod
    def tool_identity(self, corpus: Corpus) -> list[object]:
        """Return facts about the tool that the index depends on, such as version and files; empty if unknown."""

    @abstractmethod
    def build_index(self, index: IndexWorkspace, seconds: float | None) -> str:
        """Build the index with only the settings that the index depends on, and return stderr."""

    @abstractmethod
    def open_at(self, index: IndexWorkspace, seconds: float | None, *, indexed: bool) -> ExternalSession:
        """Open a session; unless `indexed`, also build the index."""

    @property
    def wants_store(self) -> bool:
        return has_placeholder(self.texts, "store")

    def for_index(self) -> Self:
        """Return the engine with only the variables and configuration edits that the index depends on."""
        named = self.indexing.named
        changes: dict[str, Any] = {"template": _index_config(self.template, named)}
        if wanted := _index_variables(named or ()):
            env = {name: value for name, value in self.env.items() if name in wanted}
            changes["settings"] = replace(cast(Any, self.settings), env=env)
        return replace(cast(Any, self), **changes)  # type: ignore[no-any-return]  # a dataclass

    def make_workspace(self, index: IndexWorkspace) -> EngineWorkspace:
        configs = (self.template, _index_config(self.template, self.indexing.named))
        return EngineWorkspace(self.placeholders, index.corpus.root, self.texts, index.store, configs)

    def open(self, corpus: Corpus) -> ExternalSession:
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> ExternalSession:
        return self.open_at(IndexWorkspace(corpus), seconds, indexed=False)

    def steps(self) -> tuple[SharedStep, ...]:
        ranking = SharedStep("ranking", self.indexing.whole, "all settings")
        return (SharedStep("index", self.indexing.digest, self.indexing.about), ranking)

    def open_shared(self, corpus: Corpus, cache: SharedCache, seconds: float | None) -> Session:
        """Open a session on the index that the variants share."""
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


def make_index_settings(
    where: str,
    settings: OutputSettings,
    fixed: Mapping[str, str],
    config: ConfigTemplate | None,
    *,
    index_keys: Sequence[str] | None,
    always: Sequence[str],  # settings that every index of this kind depends on
    builder: IndexBuilder,
    about: str,
    address: str = "",
) -> IndexSettings:
    """Return the index settings; raise ConfigError if `index_keys` has unknown names, or is set without an index."""
    names = [field.name for field in fields(settings) if field.name not in ("index_keys", "config")]
    table = json.loads(json.dumps({name: getattr(settings, name) for name in names}, default=_to_json))
    if config is not None:
        table["config"] = {**config.recorded(), "format": config.format}
    whole = digest_of([where, {**table, "config": config and config.effect}, dict(fixed)])
    if index_keys is None:
        return IndexSettings(builder, None, whole, whole, about, address)
    if builder == "none":
        message = f"{where}: `index_keys` is set, but the engine builds no index"
        raise ConfigError(message, hint="remove `index_keys`, or set `index`", keys=["index_keys"])
    known = {key for key in nodes(table) if key[:2] != ("config", "edits")}
    for name in config.known if config else ():
        edit = ("config", "edits", *name)
        known |= {edit[:cut] for cut in range(2, len(edit) + 1)}
    named = tuple(_parse_index_key(key, known, where) for key in index_keys)
    inputs = {name: table[name] for name in always if name in table}
    inputs |= {write_key(key): nodes(table)[key] for key in named if key[0] != "config"}
    if "env" in table and not _index_variables(named):
        inputs["env"] = table["env"]
    only = _index_config(config, named)
    inputs["config"] = only and only.effect
    return IndexSettings(builder, named, digest_of([where, inputs, dict(fixed)]), whole, about, address)


def _index_config(config: ConfigTemplate | None, named: tuple[Key, ...] | None) -> ConfigTemplate | None:
    if config is None or named is None:
        return config
    prefixes = [key[2:] for key in named if key[0] == "config"]
    return config.only(lambda key: any(key[: len(prefix)] == prefix for prefix in prefixes))


def _index_variables(named: tuple[Key, ...]) -> frozenset[str]:
    return frozenset(key[1] for key in named if key[0] == "env" and len(key) > 1)


def _parse_index_key(text: str, known: set[Key], where: str) -> Key:
    key = split_key(text)
    if key[0] == "config" and key[1:2] != ("edits",):
        key = ("config", "edits", *key[1:])
    if key not in known:
        names = sorted(write_key(setting).replace("config.edits.", "config.", 1) for setting in known)
        close = closest_match(text, names)
        raise ConfigError(
            f"{where}: unknown setting {text!r} in index_keys",
            hint=f"did you mean {close[0]!r}?" if close else "use settings such as argv, env.NAME or config.KEY",
            keys=["index_keys"],
        )
    return key


def _to_json(value: Any) -> object:  # noqa: ANN401 - a value of a setting
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return dict(value) if isinstance(value, Mapping) else str(value)


class SharedSession(ExternalSession):
    """A session of one variant on a shared index; it cannot be updated, because other variants use the index."""

    def __init__(self, inner: ExternalSession, index: SharedIndex, directory: IndexDirectory, corpus: Corpus) -> None:
        self.filtering = inner.filtering
        self.placeholders = inner.placeholders
        self._inner = inner
        self._index = index
        self._directory = directory
        self._mask = PathMask(corpus, directory.workspace, inner.placeholders.get("config", ""))
        self._notes: tuple[str, ...] = ()

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> SearchReply:
        with self._mask.cleaning():
            reply = read_reply(self._inner.search_filtered(query, k, wanted, seconds))
        hits = tuple(hit._replace(path=self._mask.path(hit.path)) for hit in reply.hits)
        return EngineReply(hits, reply.cost, tuple(map(self._mask.text, reply.notes)), reply.waited)

    def usage(self) -> SessionUsage:
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
            unkept = self._cache.reuse_index and not is_local and engine.indexing.builder == "session"
            directory.notes = (BUSY,) if store else (NOT_KEPT,) if unkept else ()
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
        directory.notes = (f"{REUSED}{about['day']}",)
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
    """An index build that wrote no files to cache."""


def _corpus_bytes(files: Mapping[str, tuple[int, int]]) -> int:
    return sum(size for path, (size, _) in files.items() if path.startswith(f"{_CORPUS}/"))
