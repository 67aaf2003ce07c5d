"""Indexes that variants of a tool share: a copy of the corpus with a store, made once and lent to sessions."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from assay.clock import Deadline, today
from assay.corpus.copying import copy_corpus, folder_bytes
from assay.digests import digest_of, text_digest
from assay.engines.base import (
    Answered,
    EngineReply,
    MeasuredSession,
    SearchFilter,
    Session,
    SessionUsage,
    SessionWithNotes,
    SharedCache,
    SharedStep,
)
from assay.engines.config_files import ConfigTemplate, Key, find, list_keys
from assay.engines.output import read_reply
from assay.engines.tool import STORE, ExternalSession
from assay.errors import AssayError, ConfigError, EngineError, closest_match
from assay.settings import split_key
from assay.store import scratch
from assay.store.entries import writing
from assay.store.kinds import INDEXES
from assay.toml import write_key
from assay.types import Corpus

KIND = INDEXES.name
BUSY = "the kept index is in use by another process; it was made anew"
OUTSIDE = "the index lies outside {root} and {store}: it cannot be kept"
WROTE = "wrote into its index while it was asked; the next variant gets the index as it was"
_ABOUT = "about.json"
_CORPUS, _STORE = "corpus", f"{STORE}shared"


@dataclass(frozen=True, slots=True)
class PlaceLimits:
    """The cost of restoring an index."""

    #: Bytes of an index directory of which a second copy is kept: a second or two to write, less than any tool takes to
    #: index as much. A larger one is indexed anew when a variant has changed it.
    copy_bytes: int = 1_000_000_000


PLACE_LIMITS = PlaceLimits()


@dataclass(frozen=True, slots=True)
class IndexWorkspace:
    """The corpus that an engine works on, and the directory of its index if it wants one."""

    corpus: Corpus
    store: Path | None = None


class Indexed(Protocol):
    """An engine whose index can be made apart from searching."""

    @property
    def indexing(self) -> IndexSettings:
        """The settings that decide its index."""

    @property
    def private(self) -> bool:
        """Whether it gets a copy of the corpus."""

    @property
    def git(self) -> bool:
        """Whether that copy is a repository."""

    @property
    def wants_store(self) -> bool:
        """Whether it names {store}."""

    def tool_identity(self, corpus: Corpus) -> list[object]:
        """Return what identifies this version of the tool, and the variables that indexing reads."""

    def build_index(self, spot: IndexWorkspace, seconds: float | None) -> str:
        """Make the index, with the settings that belong to it only, and return stderr."""

    def open_at(self, spot: IndexWorkspace, seconds: float | None, *, indexed: bool) -> ExternalSession:
        """Open where the index is, or where it is still to be made."""


class SharedIndexEngine:
    """Mixin of engines that share their index."""

    __slots__ = ()

    def steps(self: Indexed) -> tuple[SharedStep, ...]:
        """List the steps from corpus to ranking."""
        return self.indexing.steps()

    def open_shared(self: Indexed, corpus: Corpus, shelf: SharedCache, seconds: float | None) -> Session:
        """Open on the index that the variants share; the first one makes it."""
        indexing, clock = self.indexing, Deadline(seconds)
        index = shelf.once(f"index {indexing.digest}", lambda: SharedIndex(self, corpus, shelf), SharedIndex.close)
        lease = index.take(self, clock.rest())
        mask = _mask(corpus, lease.place.spot)
        try:
            with mask.cleaning():
                made = indexing.builder == "command" or (indexing.shared and indexing.builder != "none")
                session = self.open_at(lease.place.spot, clock.rest(), indexed=made)
        except BaseException:
            lease.end()
            raise
        return SharedSession(session, lease, mask)


class SharedSession(ExternalSession):
    """A session of one variant. It cannot follow changed files, because other variants use the same index."""

    def __init__(self, inner: ExternalSession, lease: Lease, mask: PathMask) -> None:
        self.filtering = inner.filtering
        self.placeholders = inner.placeholders
        self._inner = inner
        self._lease = lease
        self._mask = PathMask(mask.corpus, {**mask.placeholders, "config": inner.placeholders.get("config", "")})

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Search, and return paths as if the corpus itself had been searched."""
        with self._mask.cleaning():
            reply = read_reply(self._inner.search_filtered(query, k, wanted, seconds))
        hits = tuple(hit._replace(path=self._mask.path(hit.path)) for hit in reply.hits)
        return EngineReply(hits, reply.cost, tuple(map(self._mask.text, reply.notes)), reply.waited)

    def usage(self) -> SessionUsage:
        """Return what was used; the index counts for every variant."""
        used = self._inner.usage() if isinstance(self._inner, MeasuredSession) else SessionUsage()
        place = self._lease.place
        sizes = [size for size in (used.store_bytes, place.left or None) if size is not None]
        stderr = "\n".join(filter(None, (place.stderr, used.stderr)))
        return replace(used, store_bytes=sum(sizes) if sizes else None, stderr=self._mask.text(stderr))

    def remarks(self) -> tuple[str, ...]:
        """Return notes of the session and of the index."""
        own = self._inner.remarks() if isinstance(self._inner, SessionWithNotes) else ()
        return (*map(self._mask.text, own), *self._lease.notes)

    def close(self) -> None:
        """End the session and return the index."""
        try:
            self._inner.close()
        finally:
            self._lease.end()


@dataclass(slots=True)
class Lease:
    """The right to use an index until the end of a session."""

    index: SharedIndex
    place: IndexDir
    notes: tuple[str, ...] = ()

    def end(self) -> None:
        """Return the index; note whether the session changed it."""
        if self.index.shared and not self.place.is_unchanged:
            self.notes = (*self.notes, WROTE)
        self.index.give_back(self.place)


class SharedIndex:
    """One index on one corpus, for all variants that share it."""

    def __init__(self, engine: Indexed, corpus: Corpus, shelf: SharedCache) -> None:
        self.shared = engine.indexing.shared and engine.indexing.builder != "none"
        self._corpus = corpus
        self._shelf = shelf
        self._lock = threading.Lock()
        self._place: IndexDir | None = None
        self._retired: list[IndexDir] = []
        self._problem: AssayError | None = None

    def take(self, engine: Indexed, seconds: float | None) -> Lease:
        """Lend the index, made now if there is none; one that failed is not tried again."""
        with self._lock:
            if self._problem is not None:
                raise _copy_error(self._problem)
            if self._place is not None and not self._is_usable(self._place, engine.indexing):
                self._retire(self._place)
            if self._place is None:
                try:
                    self._place = self._make(engine, seconds)
                except AssayError as problem:
                    self._problem = problem
                    raise
            self._place.users += 1
            return Lease(self, self._place, self._place.notes)

    def give_back(self, place: IndexDir) -> None:
        """End a use; a retired directory without users is removed."""
        with self._lock:
            place.users -= 1
            if place in self._retired and not place.users:
                self._retired.remove(place)
                place.on_close()

    def close(self) -> None:
        """Remove all directories."""
        with self._lock:
            for place in (*self._retired, *([self._place] if self._place else [])):
                place.on_close()
            self._retired, self._place = [], None

    def _is_usable(self, place: IndexDir, indexing: IndexSettings) -> bool:
        if indexing.address and _servers(self._shelf).get(indexing.address) != indexing.digest:
            return False
        return place.is_unchanged or (not place.users and place.restore())

    def _retire(self, place: IndexDir) -> None:
        self._place = None
        if place.users:
            self._retired.append(place)
        else:
            place.on_close()

    def _make(self, engine: Indexed, seconds: float | None) -> IndexDir:
        def fill(place: IndexDir) -> bool:
            return self._fill(place, engine, seconds)

        ours = engine.indexing.builder == "command" or (engine.indexing.builder == "session" and engine.indexing.shared)
        reusable = self._shelf.reuse_index and self._shelf.artifacts is not None and engine.private and ours
        found = _find_or_keep(self._shelf, self._corpus, engine, fill) if reusable else None
        if found is not None:
            return found
        if not engine.private:
            corpus = _ReadOnlyCorpus(self._corpus.root, IndexWorkspace(self._corpus))
            fill(corpus)
            return corpus
        with ExitStack() as stack:
            folder = stack.enter_context(scratch()) / "index"
            place = _create(folder, self._corpus, git=engine.git, store=engine.wants_store)
            fill(place)
            place.settle(_back_up(folder) if self.shared else None)
            place.notes = (BUSY,) if reusable else ()
            place.on_close = stack.pop_all().close
        return place

    def _fill(self, place: IndexDir, engine: Indexed, seconds: float | None) -> bool:
        """Make the index; return whether it left anything in the directory."""
        indexing = engine.indexing
        if indexing.builder == "none" or (indexing.builder in ("session", "server") and not indexing.shared):
            return False  # left to the session
        before = _snapshot(place.folder) if engine.private else {}
        mask = _mask(self._corpus, place.spot)
        with mask.cleaning():
            place.stderr = mask.text(engine.build_index(place.spot, seconds))
        self._shelf.made["index"] += 1
        if indexing.address:
            _servers(self._shelf)[indexing.address] = indexing.digest
        after = _snapshot(place.folder) if engine.private else {}
        place.left = _bytes_beside_code(after) - _bytes_beside_code(before)
        if indexing.builder == "session" and before == after:
            raise EngineError(
                "making the index left nothing in {root} or {store}, where the variants look for it",
                hint="let it write its index to {store}; if it keeps the index in memory, take index_keys out",
            )
        return before != after


def _servers(shelf: SharedCache) -> dict[str, str]:
    return shelf.once("servers of indexes", dict)


def _bytes_beside_code(seen: Mapping[str, tuple[int, int]]) -> int:
    return sum(size for path, (size, _) in seen.items() if path.startswith(f"{_CORPUS}/"))


def _copy_error(problem: AssayError, edit: Callable[[str], str] = str) -> AssayError:
    hint = None if problem.hint is None else edit(problem.hint)
    copy = type(problem)(edit(problem.message), file=problem.file, line=problem.line, hint=hint)
    if isinstance(copy, EngineError) and isinstance(problem, EngineError):
        copy.waited, copy.stderr = problem.waited, edit(problem.stderr)
    return copy


class PathMask:
    """Replaces the paths of a shared index in messages by placeholders, and in results by paths of the corpus."""

    def __init__(self, corpus: Corpus, placeholders: Mapping[str, str]) -> None:
        self.corpus = corpus
        self.placeholders = placeholders
        self._roots = tuple(dict.fromkeys((placeholders["root"], os.path.realpath(placeholders["root"]))))
        named = {path: f"{{{name}}}" for name, path in placeholders.items() if path and path != str(corpus.root)}
        self._named = sorted(named.items(), key=lambda item: (-len(item[0]), item[0]))

    def text(self, text: str) -> str:
        """Replace paths by placeholders."""
        for path, name in self._named:
            text = text.replace(path, name)
        return text

    def path(self, path: str) -> str:
        """Map the path of a result to the original corpus."""
        for root in self._roots:
            if path.startswith(f"{root}/"):
                return f"{self.corpus.root.as_posix()}/{path[len(root) + 1 :]}"
        return path

    @contextmanager
    def cleaning(self) -> Iterator[None]:
        """Replace paths in every AssayError of a block."""
        try:
            yield
        except AssayError as problem:
            raise _copy_error(problem, self.text) from None


def _mask(corpus: Corpus, spot: IndexWorkspace) -> PathMask:
    return PathMask(corpus, {"root": str(spot.corpus.root), "store": str(spot.store or "")})


# ---------------------------------------------------------------------------------------------- directories


class IndexDir:
    """A directory with a copy of the corpus and a store, which must stay as indexing left it."""

    def __init__(self, folder: Path, spot: IndexWorkspace) -> None:
        self.folder = folder
        self.spot = spot
        self.users = 0
        self.notes: tuple[str, ...] = ()
        self.stderr = ""  # of indexing
        self.left = 0  # bytes that indexing left beside the code
        self.on_close: Callable[[], None] = lambda: None
        self._seen: Mapping[str, tuple[int, int]] = {}
        self._spare: Path | None = None

    def settle(self, spare: Path | None) -> None:
        """Remember the files as they are now; `spare` is a copy of the directory."""
        self._seen = _snapshot(self.folder)
        self._spare = spare

    @property
    def is_unchanged(self) -> bool:
        """Whether every file is as indexing left it."""
        return _snapshot(self.folder) == self._seen

    def restore(self) -> bool:
        """Restore the directory from its copy; return whether that succeeded."""
        if self._spare is None:
            return False
        try:
            for entry in list(os.scandir(self.folder)):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)
            _copy_tree(self._spare, self.folder)
        except OSError:
            return False
        return self.is_unchanged


class _ReadOnlyCorpus(IndexDir):
    """The corpus itself, for an engine that does not write there."""

    @property
    def is_unchanged(self) -> bool:
        return True


def _create(folder: Path, corpus: Corpus, *, git: bool, store: bool) -> IndexDir:
    copied = copy_corpus(corpus, folder / _CORPUS, commit=git)
    if store:
        (folder / _STORE).mkdir()
    return IndexDir(folder, IndexWorkspace(copied, folder / _STORE if store else None))


def _snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of every file; files that vanish meanwhile are left out."""
    seen = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with suppress(OSError):
                facts = os.lstat(path)
                seen[os.path.relpath(path, folder)] = (facts.st_size, facts.st_mtime_ns)
    return seen


def _copy_tree(source: Path, target: Path) -> None:
    """Copy all files with their times; links stay links, pipes and sockets are left out."""

    def special(folder: str, names: list[str]) -> list[str]:
        modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
        plain = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
        return [name for name, mode in modes.items() if not any(kind(mode) for kind in plain)]

    shutil.copytree(source, target, symlinks=True, ignore=special, dirs_exist_ok=True)


def _back_up(folder: Path) -> Path | None:
    if folder_bytes(folder) > PLACE_LIMITS.copy_bytes:
        return None
    spare = folder.with_name(f"{folder.name}-as-it-was")
    try:
        _copy_tree(folder, spare)
    except OSError:
        return None
    return spare


# ---------------------------------------------------------------------------------------------- indexes of earlier runs


class _NothingMadeError(Exception):
    """Indexing left nothing that could be kept."""


def _find_or_keep(
    shelf: SharedCache, corpus: Corpus, engine: Indexed, fill: Callable[[IndexDir], bool]
) -> IndexDir | None:
    """Return the index of an earlier run, or make it and keep it; None while another process uses it."""
    assert shelf.artifacts is not None
    artefacts = shelf.artifacts
    name = corpus.root.resolve().name or "corpus"  # the copy has the name of the root
    facts = [engine.indexing.digest, engine.tool_identity(corpus), engine.git, engine.wants_store]
    key = digest_of([corpus.digest, name, *facts])
    made: list[IndexDir] = []

    def create(content: Path) -> None:
        shutil.rmtree(target, ignore_errors=True)  # left of a broken one
        made.append(_create(target, corpus, git=engine.git, store=engine.wants_store))
        if not fill(made[0]):
            raise _NothingMadeError
        _copy_tree(target, content / "place")
        about = {"day": today(), "stderr": made[0].stderr, "left": made[0].left}
        (content / _ABOUT).write_text(json.dumps(about), "utf-8")

    with ExitStack() as stack:
        holder = artefacts.kind_dir(KIND)
        with writing(holder):
            holder.mkdir(parents=True, exist_ok=True)
            with suppress(PermissionError):  # it belongs to another user
                holder.chmod(0o700)
        work = stack.enter_context(artefacts.temporary(key, wait=False))
        if work is None:
            return None
        stack.callback(artefacts.release, KIND, key)
        target = work.resolve()
        try:
            content = artefacts.directory(KIND, key, create)
        except _NothingMadeError:
            place = made[0]
            place.settle(None)
            place.notes = (OUTSIDE,)
        else:
            place = made[0] if made else _reopen(content, target, corpus, name, store=engine.wants_store)
            place.settle(content / "place")
        place.on_close = stack.pop_all().close
        return place


def _reopen(content: Path, folder: Path, corpus: Corpus, name: str, *, store: bool) -> IndexDir:
    _copy_tree(content / "place", folder)
    about = json.loads((content / _ABOUT).read_text("utf-8"))
    copied = replace(corpus, root=folder / _CORPUS / name)
    place = IndexDir(folder, IndexWorkspace(copied, folder / _STORE if store else None))
    place.stderr, place.left = about["stderr"], about["left"]
    place.notes = (f"its index is that of {about['day']}, reused",)
    return place


#: What makes an index: nothing, a program that ends, the program that answers queries, or a server of the user's.
IndexBuilder = Literal["none", "command", "session", "server"]
INDEX_KEYS_HELP = (
    "settings that belong to the index, such as argv, env.MODEL (all of env if no variable is named) and "
    "config.embedding.model (an edit); what makes the index does anyway. Variants that differ in other settings share "
    "one index, which must lie in {root} or {store}; not given, all settings belong to it"
)


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Digests of the settings that decide the index of an engine, and of all settings."""

    builder: IndexBuilder
    named: tuple[Key, ...] | None  # None: every setting belongs to the index
    digest: str
    whole: str  # of all settings
    about: str = ""
    address: str = ""  # of a server of the user's, which may hold one index at a time

    @property
    def shared(self) -> bool:
        """Whether `index_keys` is set, so that variants may share the index."""
        return self.named is not None

    def steps(self) -> tuple[SharedStep, ...]:
        """List the steps from corpus to ranking."""
        return (SharedStep("index", self.digest, self.about), SharedStep("ranking", self.whole, "all settings"))


@dataclass(frozen=True, slots=True)
class IndexDeclaration:
    """What an engine kind declares about its index."""

    where: str
    settings: Any  # the kind's `Settings`
    always: tuple[str, ...]  # settings that belong to every index of this kind
    builder: IndexBuilder
    placeholders: Mapping[str, str]  # {here} and {preset}
    config: ConfigTemplate | None = None
    about: str = ""
    address: str = ""


def make_index_settings(declared: IndexDeclaration) -> IndexSettings:
    """Return what decides the index; raise ConfigError for an unknown name in `index_keys`."""
    config, placeholders = declared.config, dict(declared.placeholders)
    table = _settings_table(declared.settings, config)
    given: Sequence[str] | None = declared.settings.index_keys
    whole = digest_of([declared.where, {**table, "config": _effect(config)}, placeholders])
    if given is None:
        return IndexSettings(declared.builder, None, whole, whole, declared.about, declared.address)
    if declared.builder == "none":
        raise ConfigError(
            f"{declared.where}: index_keys, but it makes no index that others could have",
            hint="take it out, or declare the step that makes an index",
        )
    named = tuple(_read_key(key, table, declared) for key in given)
    inputs = {name: table[name] for name in declared.always if name in table}
    inputs |= {write_key(key): find(table, key) for key in named if key[0] != "config"}
    if "env" in table and not _variables(named):
        inputs["env"] = table["env"]
    inputs["config"] = _effect(index_config(config, named))
    digest = digest_of([declared.where, inputs, placeholders])
    return IndexSettings(declared.builder, named, digest, whole, declared.about, declared.address)


def index_env(env: Mapping[str, str], named: tuple[Key, ...] | None) -> Mapping[str, str]:
    """Return the variables that indexing gets: all, unless `index_keys` names some."""
    wanted = None if named is None else _variables(named)
    return {name: env[name] for name in env if name in wanted} if wanted else env


def index_config(config: ConfigTemplate | None, named: tuple[Key, ...] | None) -> ConfigTemplate | None:
    """Return the configuration that indexing gets: only with the edits that `index_keys` names."""
    if config is None or named is None:
        return config
    prefixes = [key[2:] for key in named if key[0] == "config"]
    return config.only(lambda key: any(key[: len(prefix)] == prefix for prefix in prefixes))


def _variables(named: tuple[Key, ...]) -> frozenset[str]:
    return frozenset(key[1] for key in named if key[0] == "env" and len(key) > 1)


def _read_key(text: str, table: Mapping[str, Any], declared: IndexDeclaration) -> Key:
    key = split_key(text)
    if key[0] == "config" and key[1:2] != ("edits",):
        key = ("config", "edits", *key[1:])
    known = {one for one in list_keys(table) if one[:2] != ("config", "edits")}
    names = () if declared.config is None else declared.config.known
    inside = [("config", "edits", *split_key(name)) for name in names]
    known |= {one[:cut] for one in inside for cut in range(2, len(one) + 1)}
    if key not in known:
        near = closest_match(text, sorted(write_key(one).replace("config.edits.", "config.", 1) for one in known))
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise ConfigError(
            f"{declared.where}: index_keys has {text!r}, which is no setting here",
            hint=f"{meant}name settings of this engine, such as argv, env.NAME or config.KEY",
        )
    return key


def _settings_table(settings: object, config: ConfigTemplate | None) -> dict[str, Any]:
    names = [field.name for field in fields(cast(Any, settings)) if field.name not in ("index_keys", "config")]
    table = {name: _plain(getattr(settings, name)) for name in names}
    return table | ({} if config is None else {"config": {**config.recorded(), "format": config.format}})


def _plain(value: object) -> Any:  # noqa: ANN401 - what JSON has
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _effect(config: ConfigTemplate | None) -> list[str] | None:
    return None if config is None else [config.file.name, config.format, text_digest(config.text), config.effect]
