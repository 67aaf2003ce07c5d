from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.digests import code_digest, digest_of
from assay.engines.base import FullEngine
from assay.engines.kinds import find_kind
from assay.errors import SetupError
from assay.experiment.records.codec import Lines, decoder, dump, engine_json, gold_json, ranking_json, read_engine
from assay.experiment.records.directory import UNFINISHED, write_assayignore
from assay.gold.build import gold_hash
from assay.store import kinds
from assay.store.store import Store
from assay.types import CorpusInfo, EngineRun, GoldSet, Status

KIND = kinds.CELLS.name
#: Incremented when the content of a cell or the meaning of its key changes.
_FORMAT = 1
#: Code that determines a cell besides the engine's own: everything that `experiment/worker.py` imports (tested).
RESULT_CODE = (
    "clock.py", "corpus", "corpus_changes.py", "digests.py", "engines", "errors.py", "experiment/__init__.py",
    "experiment/cell_cache.py", "experiment/corpora.py", "experiment/records", "experiment/interleaved.py",
    "experiment/own_files.py", "experiment/spec", "experiment/worker.py", "files.py", "gold", "http.py", "locks.py",
    "patterns.py", "processes", "records.py", "redaction.py", "settings.py", "store", "syntax", "toml.py", "trec.py",
    "types.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class CellId:
    gold: str
    engine: str


@dataclass(frozen=True, slots=True)
class CorpusSnapshot:
    gold: GoldSet  # anchors resolved
    facts: CorpusInfo
    lines: Lines  # of the files named by targets and adversaries
    size: int  # bytes of source
    questions: int
    asked: str  # digest of the query texts, in order
    own: tuple[str, ...] = ()  # Assay's own files in the corpus; hits in them are dropped


@dataclass(frozen=True, slots=True)
class CellCost:
    """Time spent on a cell; not comparable between engines, because other cells run at the same time."""

    index_seconds: float | None = None
    query_seconds: float = 0.0
    worker: str = ""
    made: tuple[str, ...] = ()  # shared steps that were computed for this cell, not found in the cache


@dataclass(frozen=True, slots=True)
class CellResult:
    engine: EngineRun  # on this gold set only
    lines: Lines  # of the files in the rankings; cells of one gold set may share a table
    spent: CellCost = field(default_factory=CellCost, compare=False)

    @property
    def complete(self) -> bool:
        """Whether no query failed; other cells are not cached, so the next run repeats them."""
        return all(ranking.status is Status.OK for ranking in self.engine.rankings)


def relabel(result: CellResult, cell: CellId) -> CellResult:
    """Return a cached result under the engine and gold set names of `cell`."""
    engine = result.engine
    if engine.name == cell.engine and all(ranking.gold == cell.gold for ranking in engine.rankings):
        return result
    rankings = tuple(replace(ranking, gold=cell.gold) for ranking in engine.rankings)
    stderr = {cell.gold: "".join(engine.stderr.values())} if engine.stderr else {}
    return replace(result, engine=replace(engine, name=cell.engine, rankings=rankings, stderr=stderr))


def cell_json(result: CellResult) -> dict[str, Any]:
    return {
        "engine": engine_json(replace(result.engine, variation=None)),  # belongs to the name, which may change
        "rankings": [ranking_json(ranking) for ranking in result.engine.rankings],
        "lines": dict(result.lines),
        "spent": asdict(result.spent),
    }


def cell_from_json(row: Mapping[str, Any]) -> CellResult:
    engine = read_engine(row["engine"], row["rankings"])
    return CellResult(engine, decoder(Lines)(row["lines"]), decoder(CellCost)(row["spent"]))


def encode_cell(result: CellResult) -> bytes:
    """Return a cell as compressed JSON; nine tenths are line sizes, which compress well."""
    row = cell_json(replace(result, lines={}))
    tables = ",".join([_line_table_text(path, sizes) for path, sizes in result.lines.items()])
    text = ",".join([f"{dump(key)}:{dump(value)}" for key, value in row.items() if key != "lines"])
    return zlib.compress(f'{{{text},"lines":{{{tables}}}}}'.encode(), 1)


@lru_cache(maxsize=512)  # the cells of a sweep name the same files
def _line_table_text(path: str, sizes: tuple[int, ...]) -> str:
    return f"{dump(path)}:{dump(sizes)}"


def decode_cell(data: bytes) -> CellResult:
    """Decode a cell; raise ValueError if the data is malformed."""
    try:
        return cell_from_json(json.loads(zlib.decompress(data)))
    except (KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"malformed cell: {error!r}") from error


def snapshot_json(snapshot: CorpusSnapshot) -> dict[str, Any]:
    row = {key.name: getattr(snapshot, key.name) for key in fields(snapshot)}
    return {**row, "gold": gold_json(snapshot.gold), "facts": asdict(snapshot.facts)}


def result_code() -> str:
    """Return the digest of the modules in RESULT_CODE."""
    return code_digest(*RESULT_CODE)


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Key of a cell; equal keys mean equal results."""

    digest: str
    permanent: bool  # whether the key covers everything that determines the result; else valid for one run only


@dataclass(frozen=True, slots=True)
class EngineIdentity:
    """Part of a cache key that depends only on the engine; computed once, because code and models are read."""

    parts: Sequence[object]
    oversample: int
    known: bool  # whether everything that determines the rankings is known
    uses_gold: bool


def engine_identity(engine: FullEngine, settings: object) -> EngineIdentity:
    """Return the declared identity of an engine or, without one, its fingerprint and settings."""
    identity, config = engine.identity, engine.config
    kind = find_kind(config.get("kind"))
    parts = [identity, "", ""] if identity is not None else [engine.fingerprint, dict(config), settings]
    return EngineIdentity(parts, engine.oversample, identity is not None, kind is not None and kind.uses_gold)


def cell_key(identity: EngineIdentity, snapshot: CorpusSnapshot, k: int) -> CacheKey:
    labels = gold_hash(snapshot.gold) if identity.uses_gold else ""
    inputs = [snapshot.facts.digest, snapshot.asked, snapshot.own, labels]
    return CacheKey(digest_of([_FORMAT, result_code(), identity.parts, identity.oversample, inputs, k]), identity.known)


def timed_key(
    name: str, engines: Mapping[str, FullEngine], snapshot: CorpusSnapshot, k: int, environment: Mapping[str, object]
) -> CacheKey:
    """Return the key of a timed cell, which covers the environment and all engines, because both affect times."""
    companions = {
        other: [dict(engine.config), engine.identity or engine.fingerprint, engine.oversample]
        for other, engine in engines.items()
    }
    inputs = [snapshot.gold.name, snapshot.facts.digest, snapshot.asked, snapshot.own, gold_hash(snapshot.gold)]
    run = digest_of([_FORMAT, result_code(), companions, inputs, k, dict(environment)])
    return CacheKey(digest_of([run, name]), permanent=False)


@dataclass(slots=True)
class ResultCache:
    """Cache of cells: permanent in the user's cache, or in the directory of the run until the run is complete."""

    directory: Path
    permanent: Store = field(default_factory=Store)
    fresh: bool = False  # whether to ignore cells that are cached already
    _warnings: list[str] = field(default_factory=list)

    def read(self, key: CacheKey) -> CellResult | None:
        """Return a cell; None if it is missing or malformed, or with `fresh`."""
        for store in self._stores(key):
            data = store.get(KIND, key.digest)
            if data is not None:
                try:
                    return decode_cell(data)
                except ValueError:
                    self._warn("a cached cell is damaged and is computed again")
        return None

    def write(self, key: CacheKey, result: CellResult) -> None:
        """Store a cell unless a query failed; without a permanent key or a writable user cache, for this run only."""
        if not result.complete:
            return
        data = encode_cell(result)
        if key.permanent:
            try:
                self.permanent.put(KIND, key.digest, data)
            except SetupError as failure:
                self._warn(f"{failure.message}; cells are cached in the results directory until the run is complete")
            else:
                return
        write_assayignore(self.directory)  # the results directory may be inside the corpus
        self._unfinished.put(KIND, key.digest, data)

    def has(self, key: CacheKey) -> bool:
        return any(store.has(KIND, key.digest) for store in self._stores(key))

    def is_stored(self, key: CacheKey) -> bool:
        """Return whether a cell is in the store that its key requires; always False with `fresh`."""
        store = self.permanent if key.permanent else self._unfinished
        return not self.fresh and store.has(KIND, key.digest)

    @property
    def warnings(self) -> list[str]:
        return [*self._warnings, *self.permanent.troubles]

    def finish(self) -> None:
        """Delete the cells that were cached for this run only."""
        shutil.rmtree(self.directory / UNFINISHED, ignore_errors=True)
        if self.directory.parent == Store().kind_dir(kinds.UNFINISHED.name):
            shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def _unfinished(self) -> Store:
        return Store(self.directory / UNFINISHED)

    def _stores(self, key: CacheKey) -> tuple[Store, ...]:
        if self.fresh:
            return ()
        return (self.permanent, self._unfinished) if key.permanent else (self._unfinished,)

    def _warn(self, text: str) -> None:
        if text not in self._warnings:
            self._warnings.append(text)
