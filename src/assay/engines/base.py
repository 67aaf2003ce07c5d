from __future__ import annotations

import platform
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast, runtime_checkable

from assay.digests import code_digest, digest_of
from assay.engines.fingerprints import digest_modules
from assay.errors import EngineError
from assay.settings import check_counts
from assay.store.kinds import TABLES, VECTORS
from assay.types import Corpus, Cost, EngineRole, Hit, ResultLevel, Suite, Waterfall

if TYPE_CHECKING:
    from assay.store.store import Store

T = TypeVar("T")
RAISE_TIMEOUT = "raise `timeout` of the engine, or --timeout"  # hint of a query that timed out in a tool
MAX_HITS = 100_000  # per query; limits an endless generator
#: Attributes of a complete engine besides `open`.
DECLARED = ("config", "oversample", "notes", "role", "private", "git", "parallel", "secrets", "identity", "fingerprint")
#: Modules that read corpora and results; rankings of all shipped engines depend on them.
_READING: Final = ("corpus", "syntax", "engines/normalize.py", "engines/text_output.py")


@dataclass(frozen=True, slots=True)
class EngineReply:
    """The hits and cost of one query, and notes for the report."""

    hits: tuple[Hit, ...]
    cost: Cost | None = None
    notes: tuple[str, ...] = ()
    waited: float = 0.0  # seconds to subtract from the query time, such as waits for a rate limit


SearchReply = Sequence[Hit] | EngineReply


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """The resources, version and stderr of a session; None or an empty string if unknown."""

    startup_seconds: float | None = None
    store_bytes: int | None = None
    peak_bytes: int | None = None
    version: str = ""
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Path globs (`src/**`) and language names that restrict a search; an empty tuple restricts nothing."""

    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()


class EngineCrash(EngineError):
    """An engine whose process or connection ended unexpectedly during a call."""


class Session(Protocol):
    """An engine that is open on one corpus."""

    def search(self, query: str, k: int) -> SearchReply:
        """Return at most k results, best first."""

    def close(self) -> None:
        """Release all resources; no search may follow."""


class Engine(Protocol):
    """A code search engine; `engines.as_engine` adds defaults for the other attributes of `FullEngine`."""

    @property
    def config(self) -> Mapping[str, object]:
        """Settings that affect the ranking, for the records; must not contain secrets."""

    def open(self, corpus: Corpus) -> Session:
        """Open the engine on a corpus, building an index if needed; timed separately from queries."""


class FullEngine(Engine, Protocol):
    @property
    def oversample(self) -> int:
        """Number of results to request, as a multiple of k."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the report."""

    @property
    def role(self) -> EngineRole:
        """Role in result tables: "candidate", except for the shipped references."""

    @property
    def private(self) -> bool:
        """Whether the engine gets a writable copy of the corpus."""

    @property
    def git(self) -> bool:
        """Whether the writable copy is a Git repository with one commit."""

    @property
    def parallel(self) -> int:
        """Maximum number of concurrent queries."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values to redact from records, messages and reports."""

    @property
    def identity(self) -> str | None:
        """Digest of everything that determines the rankings besides corpus, gold set and query; None if unknown."""

    @property
    def fingerprint(self) -> str:
        """Digest of the known inputs, such as settings and files; other changes go undetected."""


@dataclass(frozen=True, slots=True)
class FunctionSession:
    function: Callable[[str, int], SearchReply]

    def search(self, query: str, k: int) -> SearchReply:
        return self.function(query, k)

    def close(self) -> None:
        pass


@runtime_checkable
class TimedSession(Session, Protocol):
    """A session that enforces timeouts itself, such as by ending the processes it started."""

    def search_within(self, query: str, k: int, seconds: float | None) -> SearchReply:
        """Search; after a timeout raise EngineTimeoutError and leave no process running."""


@runtime_checkable
class MeasuredSession(Protocol):
    def usage(self) -> SessionUsage:
        """Return the resources used so far; called after the last query and before `close`."""


@runtime_checkable
class SessionWithNotes(Protocol):
    def session_notes(self) -> tuple[str, ...]:
        """Return notes on the session for the report; called after `close`."""


@runtime_checkable
class UpdatingSession(Protocol):
    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Update the index after files changed under the same root; raise EngineTimeoutError after a timeout."""


@runtime_checkable
class FilteringSession(Protocol):
    @property
    def filters(self) -> frozenset[str]:
        """Names of the supported fields of `SearchFilter`."""

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> SearchReply:
        """Search only the files that match the filter."""


@runtime_checkable
class ExplainingSession(Protocol):
    """A session that can explain its rankings; explanations are requested after a run, never during a run."""

    def explain(self, query: str, k: int, also: Sequence[str] = ()) -> Waterfall:
        """Trace the k best candidates, and all candidates in the files `also`, through every pipeline stage."""


@runtime_checkable
class TimedEngine(Protocol):
    """An engine that enforces its own timeout when it opens, for example by ending the processes it started."""

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Open the engine on a corpus; after a timeout raise EngineTimeoutError and leave no process running."""


def fingerprint_of(config: Mapping[str, object], *facts: object) -> str:
    """Return a digest for an engine without an identity; changes behind a URL go undetected."""
    return digest_of([dict(config), *facts])


def identity_of(config: Mapping[str, object], *modules: str, facts: object = None) -> str:
    """Return a digest of everything that determines the rankings of a shipped engine."""
    return digest_of([config, code_digest(*modules, *_READING), facts, platform.python_version()])


def qualified_name(thing: object) -> str:
    kind = type(thing)
    module = getattr(thing, "__module__", kind.__module__)
    return f"{module}:{getattr(thing, '__qualname__', kind.__qualname__)}"


class EngineDefaults:
    """Default attributes for an engine that runs in this process, only reads the corpus and has no secrets."""

    __slots__ = ()
    oversample: int = 1
    notes: tuple[str, ...] = ()
    role: EngineRole = "candidate"
    private: bool = False
    git: bool = False
    parallel: int = 1
    secrets: tuple[str, ...] = ()
    identity: str | None = None

    @property
    def fingerprint(self) -> str:
        return self.identity or fingerprint_of(cast(Engine, self).config)


def _declared(name: str, default: T) -> T:
    return cast(T, property(lambda handle: cast(Any, type(default))(getattr(handle.inner, name, default))))


@dataclass(frozen=True)
class Handle:
    """A wrapper that adds missing attributes and notes to an engine."""

    inner: Engine
    role: EngineRole = "candidate"
    added_notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(
            self.inner, TimedEngine
        ):  # set on the instance, so that handles of other engines are not TimedEngines
            object.__setattr__(self, "open_within", self.inner.open_within)

    oversample = _declared("oversample", 1)
    private = _declared("private", True)
    git = _declared("git", False)
    parallel = _declared("parallel", 1)
    secrets = _declared("secrets", cast(tuple[str, ...], ()))

    @property
    def config(self) -> Mapping[str, object]:
        return cast(Mapping[str, object], getattr(self.inner, "config", {"target": qualified_name(type(self.inner))}))

    @property
    def notes(self) -> tuple[str, ...]:
        return (*getattr(self.inner, "notes", ()), *self.added_notes)

    @property
    def identity(self) -> str | None:
        identity = getattr(self.inner, "identity", None)
        return None if identity is None else str(identity)

    @property
    def fingerprint(self) -> str:
        declared = getattr(self.inner, "fingerprint", None) or self.identity
        return str(declared or fingerprint_of(self.config, digest_modules(type(self.inner).__module__)))

    def open(self, corpus: Corpus) -> Session:
        return self.inner.open(corpus)


def complete_engine(engine: Engine) -> FullEngine:
    """Return the engine, wrapped with defaults if it does not declare all attributes; raise for counts below 1."""
    declared = all(hasattr(type(engine), name) or hasattr(engine, name) for name in DECLARED)
    full = cast(FullEngine, engine) if declared else Handle(engine)
    check_counts(f"engine {qualified_name(type(engine))}", oversample=full.oversample, parallel=full.parallel)
    return full


@dataclass(frozen=True, slots=True)
class EngineContext:
    suite: Suite | None = None  # gold sets; the oracle and run files need them
    seed: int = 0
    directory: Path = Path()  # base of relative paths in the settings
    preset: Path | None = None  # directory of the preset file; None without a preset
    level: ResultLevel = "file"  # of the headline measure


#: Artifact kinds of the steps whose results are always stored.
STEP_KINDS: Mapping[str, str] = {"chunks": TABLES.name, "vectors": VECTORS.name}


@dataclass(frozen=True, slots=True)
class SharedStep:
    """A pipeline step; engines share its result if this step and all earlier steps are equal."""

    name: str
    digest: str  # of the settings that determine the result
    about: str = ""  # short description for the report


@runtime_checkable
class SharingEngine(Protocol):
    def steps(self) -> tuple[SharedStep, ...]:
        """Return the pipeline steps in order, without opening a corpus."""

    def open_shared(self, corpus: Corpus, cache: SharedCache, seconds: float | None) -> Session:
        """Open the engine with cached step results; searches return the same hits as after `open`."""


class SharedCache:
    """The results of steps on one corpus in this process; the store `artifacts` is shared by processes and runs."""

    def __init__(self, corpus: Corpus, artifacts: Store | None = None, *, reuse_index: bool = False) -> None:
        self.corpus = corpus
        self.artifacts = artifacts
        self.reuse_index = reuse_index
        self.made: Counter[str] = Counter()  # steps that were computed, not found in the cache
        self.moved = False  # whether a file changed after the corpus was listed
        self._values: dict[str, object] = {}
        self._lock = threading.RLock()
        self._closing = ExitStack()

    def once(self, key: str, make: Callable[[], T], close: Callable[[T], None] | None = None) -> T:
        """Return the value of a key; make and cache a missing value, and call `close` on it when the cache closes."""
        with self._lock:
            if key not in self._values:
                made = self._values[key] = make()
                if close is not None:
                    self._closing.callback(close, made)
            return cast(T, self._values[key])

    def close(self) -> None:
        with self._lock:
            self._values.clear()
            self._closing.close()


def sharing_engine(engine: object) -> SharingEngine | None:
    while type(engine) is Handle:
        engine = engine.inner
    return engine if isinstance(engine, SharingEngine) else None


def step_key(corpus: str, steps: Sequence[SharedStep]) -> str:
    return digest_of([corpus, [[step.name, step.digest] for step in steps]])


def cached_steps(engine: SharingEngine, corpus: str, artifacts: Store) -> frozenset[str]:
    steps = engine.steps()
    return frozenset(
        step.name
        for number, step in enumerate(steps, start=1)
        if step.name in STEP_KINDS and artifacts.has(STEP_KINDS[step.name], step_key(corpus, steps[:number]))
    )
