"""Indexes of one corpus that differ in settings: each part is made once, and kept where there is a place to keep it."""

from __future__ import annotations

import hashlib
import os
import platform
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from assay.digests import digest_of
from assay.errors import SetupError
from assay.search.building import build_table, index_key, is_stale
from assay.search.config import SearchConfig
from assay.search.index import Index
from assay.search.meaning import (
    Columns,
    DenseIndex,
    DenseScores,
    ModelGroup,
    embed_units,
    groups,
    meaning_of,
    open_embedder,
)
from assay.search.memo import Memo
from assay.search.models import SHIPPED, DenseSettings
from assay.search.query import Per, make_translator
from assay.search.table import IndexTable, read_table, table_arrays
from assay.search.view import CorpusView
from assay.store import ArtifactStore, code_digest
from assay.store.array_file import IndexFormatError, read_store, write_store
from assay.store.paths import TABLES, VECTORS
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.search.embedders import Embedder


T = TypeVar("T")


class BuildCache(Protocol):
    """What is shared in one process, and beyond it where there are artefacts."""

    artefacts: ArtifactStore | None
    made: Counter[str]
    moved: bool  # whether a file was seen that is not what the corpus says it is

    def once(self, key: str, make: Callable[[], T]) -> T:
        """Give what stands under a key, made by whoever asks first."""


class PartKeys(NamedTuple):
    """What names the parts of an index, by all that decides them: corpus, settings, code and models."""

    table: str
    vectors: str


def share_index(corpus: Corpus, config: SearchConfig, shelf: BuildCache, keys: PartKeys) -> Index:
    """Give the index that `Index.build` would, of parts that others made or will use."""
    table = shelf.once(f"table {keys.table}", lambda: _table(corpus, config, shelf, keys))
    known: dict[Hashable, Any] = shelf.once(f"known {keys.table}", dict)
    memo = shelf.once(f"memo {keys.table}", Memo)
    dense = _dense(table, config.dense, shelf, keys, memo)
    view = CorpusView(table, config.graph, dense, make_translator(config.translation), known, memo)
    return Index.around(corpus, view, config)


def _table(corpus: Corpus, config: SearchConfig, shelf: BuildCache, keys: PartKeys) -> IndexTable:
    def make() -> IndexTable:
        return build_table(corpus, corpus.files, config.index, workers=1)

    def write(folder: Path, table: IndexTable) -> None:
        if is_stale(table, corpus):  # a file changed while it was read: true for now, and never to be found again
            shelf.moved = True
            raise _NotKept
        write_store(folder / "table.assay", {}, table_arrays(table))

    def read(folder: Path) -> IndexTable:
        table = read_table(read_store(folder / "table.assay").arrays)
        if is_stale(table, corpus):  # the same bytes under the same names, and yet of another language
            raise _NotKept
        return table

    return _Kept("chunks", TABLES.name, keys.table, make, write, read).get(shelf)


def _dense(
    table: IndexTable, settings: DenseSettings, shelf: BuildCache, keys: PartKeys, memo: Memo
) -> DenseScores | None:
    if not settings.model:
        return None
    read = shelf.once(f"vectors {keys.vectors}", lambda: _vectors(table, settings, shelf, keys))
    # of a question, and yet part of what is made ready for one
    ready = f"{settings.path} {settings.reach if settings.vectors == 'binary' else ''}"
    parts = shelf.once(f"meaning {keys.vectors} {ready}", lambda: tuple(_meanings(table, settings, read)))
    return DenseScores(settings, parts, len(table.units), memo)


class _Read(NamedTuple):
    """Units that a model has read."""

    group: ModelGroup
    embedder: Embedder
    columns: Columns


def _vectors(table: IndexTable, settings: DenseSettings, shelf: BuildCache, keys: PartKeys) -> tuple[_Read, ...]:
    among = groups(table, settings)
    embedders = [open_embedder(settings, group.model) for group in among]

    def make() -> list[Columns]:
        pairs = zip(among, embedders, strict=True)
        return [embed_units(embedder, table, group, settings.vectors) for group, embedder in pairs]

    def write(folder: Path, made: list[Columns]) -> None:
        for group, columns in zip(among, made, strict=True):
            write_store(folder / f"{group.name}.assay", {}, columns)

    def read(folder: Path) -> list[Columns]:
        return [read_store(folder / f"{group.name}.assay").arrays for group in among]

    columns = _Kept("vectors", VECTORS.name, keys.vectors, make, write, read).get(shelf)
    return tuple(map(_Read, among, embedders, columns))


def _meanings(table: IndexTable, settings: DenseSettings, read: Sequence[_Read]) -> Iterator[DenseIndex]:
    for one in read:
        yield meaning_of(table, settings, one.group, one.embedder, one.columns)


class _NotKept(Exception):
    """What was made, or found, is not what its key says."""


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    """A step whose result is kept: what it is called, how it is made, written and read."""

    step: str
    kind: str
    key: str
    make: Callable[[], T]
    write: Callable[[Path, T], None]
    read: Callable[[Path], T]

    def get(self, shelf: BuildCache) -> T:
        made: list[T] = []

        def fill(folder: Path) -> None:
            made.append(self._made(shelf))
            self.write(folder, made[0])

        if shelf.artefacts is None:
            return self._made(shelf)
        before = shelf.made[self.step]
        try:
            folder = shelf.artefacts.obtain(self.kind, self.key, fill)
            return made[0] if made else self.read(folder)
        except (_NotKept, IndexFormatError, KeyError, TypeError, ValueError):
            return made[0] if made else self._made(shelf)
        except SetupError as failure:
            if not made and shelf.made[self.step] > before:
                raise  # it was the making that failed
            shelf.artefacts.troubles.append(f"{failure.message} ({failure.file}); the {self.step} are not kept")
            return made[0] if made else self._made(shelf)
        finally:
            shelf.artefacts.release(self.kind, self.key)  # what is mapped stays, whatever is pruned

    def _made(self, shelf: BuildCache) -> T:
        shelf.made[self.step] += 1
        return self.make()


#: The code that decides an answer: all of the engine, and what reads and parses files for it. Who asks adds its own.
_CODE: Final = ("search", "syntax", "corpus")
#: The code that decides which bytes a table is kept as, beside what is in it.
_STORING: Final = ("corpus", "search/table.py", "store/array_file.py", "search/index_files.py", "search/building.py")
#: The code that makes vectors.
_EMBEDDING: Final = (
    "search/static.py",
    "search/vectors.py",
    "search/embedders.py",
    "search/local_embedders.py",
    "search/endpoint_embedder.py",
    "search/meaning.py",
)
#: Packages that compute with vectors and models; those that are not installed decide nothing.
_PACKAGES: Final = ("numpy", "onnxruntime", "tokenizers", "fastembed", "sentence-transformers", "torch", "transformers")
#: Settings that have had their say when the order is decided.
_BEFORE: Final = frozenset({"index", "lexical", "translation", "dense"})
#: Settings of a model that decide the vectors of units; the others are about questions.
_OF_VECTORS: Final = ("model", "docs_model", "vectors", "token_env", "query_prefix", "code_prefix", "docs_prefix")


def table_digest(config: SearchConfig) -> str:
    """Digest what decides the table of a corpus, as it is kept."""
    return digest_of([index_key(config.index), code_digest(*_STORING)])


def vectors_digest(settings: DenseSettings) -> str:
    """Digest what decides the vectors of a table; no model is opened for that."""
    if not settings.model:
        return digest_of(["no model"])
    models = [model_digest(spec) for spec in (settings.model, settings.docs_model)]
    return digest_of([[getattr(settings, name) for name in _OF_VECTORS], models, _versions(), code_digest(*_EMBEDDING)])


def candidates_digest(config: SearchConfig, per: Per) -> str:
    """Digest what decides how well each unit matches a question."""
    settings = [asdict(config.lexical), asdict(config.translation), asdict(config.dense), per]
    return digest_of([settings, model_digest(config.translation.model), _versions(), code_digest(*_CODE)])


def ranking_digest(config: SearchConfig, per: Per) -> str:
    """Digest what decides the order of the answer: all settings that did not decide anything before."""
    rest = {name: value for name, value in asdict(config).items() if name not in _BEFORE}
    return digest_of([rest, per, model_digest(config.rerank.model), code_digest(*_CODE)])


def search_identity(config: SearchConfig, per: Per) -> str | None:
    """Digest all that decides an answer; None when a model is asked that may change without our noticing."""
    described = config.index.description
    models = (config.dense.model, config.dense.docs_model, config.translation.model, config.rerank.model)
    if (described.url and described.weight) or any(model_digest(spec) is None for spec in models):
        return None
    steps = (
        table_digest(config),
        vectors_digest(config.dense),
        candidates_digest(config, per),
        ranking_digest(config, per),
    )
    return digest_of([*steps, platform.python_version()])


def model_digest(spec: str) -> str | None:
    """Digest the files of a model; None when they are not on this machine in a folder that is named."""
    kind, _, target = spec.partition(":")
    if not spec:
        return ""
    if kind == SHIPPED and not target:
        with resources.as_file(resources.files("assay.data").joinpath("model")) as shipped:
            return _folder_digest(str(shipped))
    folder = Path(target).expanduser()
    return _folder_digest(str(folder.resolve())) if target and "://" not in target and folder.is_dir() else None


def _folder_digest(folder: str) -> str:
    found = sorted(os.path.join(path, name) for path, _, names in os.walk(folder) for name in names)
    facts = tuple((path, (stat := os.stat(path)).st_size, stat.st_mtime_ns) for path in found)
    return _files_digest(folder, facts)


@cache
def _files_digest(folder: str, facts: tuple[tuple[str, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for path, _, _ in facts:
        with open(path, "rb") as stream:
            inside = hashlib.file_digest(stream, "sha256").hexdigest()
        digest.update(f"{os.path.relpath(path, folder)}\0{inside}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


@cache
def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
