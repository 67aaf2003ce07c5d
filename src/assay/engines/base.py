"""The engine protocol: what an engine under test must have, and what it may declare."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, cast, runtime_checkable

from assay.digests import digest_of
from assay.engines.fingerprints import digest_modules, fingerprint_of, qualified_name
from assay.errors import EngineError
from assay.store.paths import TABLES, VECTORS
from assay.types import Corpus, Cost, Hit, Role, Suite, Waterfall

if TYPE_CHECKING:
    from assay.store import ArtifactStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EngineReply:
    """Hits with cost and notes for the report, such as output that was not understood or retries."""

    hits: tuple[Hit, ...]
    cost: Cost | None = None
    notes: tuple[str, ...] = ()
    waited: float = 0.0  # seconds that the harness caused, such as a rate limit; subtracted from the engine's time


Answered = Sequence[Hit] | EngineReply


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """Resources that a session used; None if unknown."""

    startup_seconds: float | None = None
    store_bytes: int | None = None
    peak_bytes: int | None = None
    version: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Restricts results to paths, as globs (`src/**`), and to languages, by name; empty means all."""

    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()


class Session(Protocol):
    """An engine opened on one corpus."""

    def search(self, query: str, k: int) -> Answered:
        """Return at most k results, best first."""

    def close(self) -> None:
        """Release everything; no search follows."""


class Engine(Protocol):
    """A code search engine. It may also have what `FullEngine` lists; `engines.as_engine` adds the defaults."""

    @property
    def config(self) -> Mapping[str, object]:
        """The settings that shape the ranking, without secrets; hashed into the records."""

    def open(self, corpus: Corpus) -> Session:
        """Prepare for a corpus; may build an index, and is timed apart."""


class FullEngine(Engine, Protocol):
    """An engine with everything it may declare."""

    @property
    def oversample(self) -> int:
        """How many times k results are requested."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the report."""

    @property
    def role(self) -> Role:
        """Its role in a table; only the shipped references are not contestants."""

    @property
    def private(self) -> bool:
        """Whether it gets its own copy of the corpus, where it may write."""

    @property
    def git(self) -> bool:
        """Whether that copy is a git repository with one commit, because the tool needs one."""

    @property
    def parallel(self) -> int:
        """How many queries may be in flight at once."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that are redacted from records, messages and reports."""

    @property
    def identity(self) -> str | None:
        """A digest of all that decides its rankings besides corpus and query; None if that cannot be known."""

    @property
    def fingerprint(self) -> str:
        """A digest of all that can be seen of it now, such as its files; more may change unseen."""


@runtime_checkable
class TimedSession(Protocol):
    """A session that keeps a time limit itself, because it can end what it started."""

    def search(self, query: str, k: int) -> Answered:
        """Return at most k results, best first."""

    def search_within(self, query: str, k: int, seconds: float | None) -> Answered:
        """Search; raise EngineTimeout when the time is up, with nothing left running."""

    def close(self) -> None:
        """Release everything; no search follows."""


@runtime_checkable
class MeasuredSession(Protocol):
    """A session that measures its resources."""

    def usage(self) -> SessionUsage:
        """Return them, after the last query and before the end."""


@runtime_checkable
class SessionWithNotes(Protocol):
    """A session with notes for the report."""

    def remarks(self) -> tuple[str, ...]:
        """Return the notes, after the end."""


@runtime_checkable
class UpdatingSession(Protocol):
    """A session that can follow changed files."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Update to changed files under the same root; raise EngineTimeout when the time is up."""


@runtime_checkable
class FilteringSession(Protocol):
    """A session that can search a part of the corpus."""

    @property
    def filters(self) -> frozenset[str]:
        """The fields of `SearchFilter` that it supports."""

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Search only what the filter selects."""


@runtime_checkable
class ExplainingSession(Protocol):
    """A session that can explain its ranking; used after a run, never in one."""

    def explain(self, query: str, k: int, also: Sequence[str] = ()) -> Waterfall:
        """Trace the k best candidates through every stage, and those of other files wherever they rank."""


@runtime_checkable
class TimedEngine(Protocol):
    """An engine that keeps a time limit when it is opened, because it can end what it started."""

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Prepare for a corpus; raise EngineTimeout when the time is up, with nothing left running."""


class InProcessDefaults:
    """Declarations of an engine that runs in this process, only reads the corpus and has no secrets."""

    __slots__ = ()
    private: bool = False
    git: bool = False
    parallel: int = 1
    secrets: tuple[str, ...] = ()
    identity: str | None = None

    @property
    def fingerprint(self) -> str:
        """The identity if known, else a digest of the settings."""
        return self.identity or fingerprint_of(cast(Engine, self).config)


@dataclass(frozen=True)
class Handle:
    """An engine with defaults for what it does not declare."""

    inner: Engine
    role: Role = "contestant"
    added_notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.inner, TimedEngine):  # set here, so that the handle is a TimedEngine only then
            object.__setattr__(self, "open_within", self.inner.open_within)

    @property
    def config(self) -> Mapping[str, object]:
        """The configuration of the engine, else the name of its class."""
        return cast(Mapping[str, object], getattr(self.inner, "config", {"target": qualified_name(type(self.inner))}))

    @property
    def oversample(self) -> int:
        """1 by default."""
        return int(getattr(self.inner, "oversample", 1))

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the engine and those that were added."""
        return (*getattr(self.inner, "notes", ()), *self.added_notes)

    @property
    def private(self) -> bool:
        """True by default."""
        return bool(getattr(self.inner, "private", True))

    @property
    def git(self) -> bool:
        """False by default."""
        return bool(getattr(self.inner, "git", False))

    @property
    def parallel(self) -> int:
        """1 by default."""
        return int(getattr(self.inner, "parallel", 1))

    @property
    def secrets(self) -> tuple[str, ...]:
        """None by default."""
        return tuple(getattr(self.inner, "secrets", ()))

    @property
    def identity(self) -> str | None:
        """Unknown by default."""
        found = getattr(self.inner, "identity", None)
        return None if found is None else str(found)

    @property
    def fingerprint(self) -> str:
        """The identity by default, else a digest of the configuration and of its source files."""
        declared = getattr(self.inner, "fingerprint", None) or self.identity
        if declared:
            return str(declared)
        return fingerprint_of(self.config, digest_modules(type(self.inner).__module__))

    def open(self, corpus: Corpus) -> Session:
        """Open the engine."""
        return self.inner.open(corpus)


class EngineCrash(EngineError):
    """The process of an engine was killed by a signal."""


@dataclass(frozen=True, slots=True)
class EngineContext:
    """What an engine may know besides its settings."""

    suite: Suite | None = None  # the gold sets, for the oracle and to map run files
    seed: int = 0
    folder: Path = Path()  # base of relative paths in its settings
    preset: Path | None = None  # the directory of the preset that its settings come from


#: Steps whose results are always cached, by artifact kind; other steps live as long as the process.
STEP_KINDS: Mapping[str, str] = {"chunks": TABLES.name, "vectors": VECTORS.name}


@dataclass(frozen=True, slots=True)
class SharedStep:
    """A step from corpus to ranking; two engines share it if it and all steps before it are equal."""

    name: str
    digest: str  # of the settings that decide it
    about: str = ""  # a few words for the report


@runtime_checkable
class SharingEngine(Protocol):
    """An engine whose variants can share steps."""

    def steps(self) -> tuple[SharedStep, ...]:
        """List the steps from corpus to ranking; needs no corpus."""

    def open_shared(self, corpus: Corpus, shelf: SharedCache, seconds: float | None) -> Session:
        """Open with cached steps; the hits equal those of `open`."""


class SharedCache:
    """Steps that engines share on one corpus in one process; `artefacts` is shared by processes and runs."""

    def __init__(self, corpus: Corpus, artefacts: ArtifactStore | None = None, *, reuse_index: bool = False) -> None:
        self.corpus = corpus
        self.artefacts = artefacts
        self.reuse_index = reuse_index
        self.made: Counter[str] = Counter()  # steps that were made here, not found
        self.moved = False  # whether a file was found to differ from the corpus
        self._things: dict[str, object] = {}
        self._lock = threading.RLock()
        self._closing = ExitStack()

    def once(self, key: str, make: Callable[[], T], close: Callable[[T], None] | None = None) -> T:
        """Return the value of a key; the first caller makes it."""
        with self._lock:
            if key not in self._things:
                made = make()
                self._things[key] = made
                if close is not None:
                    self._closing.callback(close, made)
            return cast(T, self._things[key])

    def close(self) -> None:
        """Release everything, the last first."""
        with self._lock:
            self._things.clear()
            self._closing.close()


def sharing_engine(engine: object) -> SharingEngine | None:
    """Return the engine inside handles that can share steps, None if it cannot."""
    while type(engine) is Handle:
        engine = engine.inner
    return engine if isinstance(engine, SharingEngine) else None


@dataclass(frozen=True)
class _CachedEngine:
    """An engine that is opened with shared steps."""

    engine: SharingEngine
    shelf: SharedCache
    config: Mapping[str, object]

    def __post_init__(self) -> None:
        if isinstance(self.engine, TimedEngine):
            object.__setattr__(self, "open_within", self._open_within)

    def open(self, corpus: Corpus) -> Session:
        return self.engine.open_shared(corpus, self.shelf, None)

    def _open_within(self, corpus: Corpus, seconds: float | None) -> Session:
        return self.engine.open_shared(corpus, self.shelf, seconds)


def with_cache(engine: FullEngine, shelf: SharedCache | None) -> Engine:
    """Return the engine opened with shared steps; unchanged if it cannot share."""
    shares = sharing_engine(engine)
    return engine if shelf is None or shares is None else _CachedEngine(shares, shelf, engine.config)


def step_key(corpus: str, steps: Sequence[SharedStep]) -> str:
    """Return the key of the last step's result on a corpus, given by its digest; earlier steps are part of it."""
    return digest_of([corpus, [[step.name, step.digest] for step in steps]])


def cached_steps(engine: SharingEngine, corpus: str, artefacts: ArtifactStore) -> frozenset[str]:
    """Return the names of an engine's steps whose results on a corpus are cached."""
    steps = engine.steps()
    return frozenset(
        step.name
        for number, step in enumerate(steps, start=1)
        if step.name in STEP_KINDS and artefacts.has(STEP_KINDS[step.name], step_key(corpus, steps[:number]))
    )
