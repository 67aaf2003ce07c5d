"""Sharing of tables and vectors between indexes, and digests of settings, models and code."""

from __future__ import annotations

import hashlib
import os
import platform
from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar, cast

from assay.digests import code_digest, digest_of
from assay.errors import ConfigError, SetupError
from assay.search.building import build_table, index_key, is_stale, timeout_notes
from assay.search.config import SHIPPED, DenseSettings, SearchConfig
from assay.search.dense import DenseScores, ModelGroup, dense_index, embed_chunks, group_chunks, open_embedder
from assay.search.index import Index
from assay.search.query import Per
from assay.search.table import IndexTable, read_table, table_arrays
from assay.search.vectors import Columns
from assay.search.view import CorpusView, QueryMemo, make_translator
from assay.store.array_file import IndexFormatError, read_store, write_store
from assay.store.kinds import TABLES, VECTORS
from assay.store.store import Store
from assay.types import Corpus

if TYPE_CHECKING:
    from assay.search.embedders import Embedder

T = TypeVar("T")


class BuildCache(Protocol):
    """A cache of index parts in this process; with `artifacts`, tables and vectors are also cached on disk."""

    artifacts: Store | None
    made: Counter[str]
    moved: bool  # whether a file changed after the walk

    def once(self, key: str, make: Callable[[], T]) -> T:
        """Return the cached value of a key; the first call computes it with `make`."""


class PartKeys(NamedTuple):
    table: str
    vectors: str


def share_index(corpus: Corpus, config: SearchConfig, shared: BuildCache, keys: PartKeys) -> Index:
    """Return an index equal to that of `Index.build`; the table and vectors are cached, and built only if missing."""
    table = shared.once(f"table {keys.table}", lambda: _table(corpus, config, shared, keys.table))
    known: dict[Hashable, Any] = shared.once(f"known {keys.table}", dict)
    memo = shared.once(f"memo {keys.table}", QueryMemo)
    dense, settings = None, config.dense
    if settings.model:
        embedded = shared.once(f"vectors {keys.vectors}", lambda: _vectors(table, settings, shared, keys.vectors))
        # besides the vectors, the dense index depends on these query settings
        key = f"dense {keys.vectors} {settings.path} {settings.reach if settings.vectors == 'binary' else ''}"
        parts = shared.once(key, lambda: tuple(dense_index(table, settings, *group) for group in embedded))
        dense = DenseScores(settings, parts, len(table.chunks), memo)
    encoder = None
    if settings.encoder:
        from assay.search.encoder import ChunkEncoder, EncoderScores

        key = f"encoder {keys.table} {settings.encoder} {[getattr(config.encoder, name) for name in _OF_ENCODER]}"
        chunks = shared.once(key, lambda: ChunkEncoder(settings.encoder, config.encoder, table, shared.artifacts, None))
        encoder = EncoderScores(config.encoder, chunks)
    view = CorpusView(table, config.graph, dense, make_translator(config.translation), known, memo, encoder)
    return Index.around(corpus, view, config)


def _table(corpus: Corpus, config: SearchConfig, shared: BuildCache, key: str) -> IndexTable:
    def make() -> IndexTable:
        return build_table(corpus, corpus.files, config.index, workers=1)

    def write(directory: Path, table: IndexTable) -> None:
        if is_stale(table, corpus):  # a file changed while it was read
            shared.moved = True
            raise _KeyMismatch
        if slow := timeout_notes(table):  # a faster machine may parse these files in time
            cast(Store, shared.artifacts).troubles.extend(slow)
            raise _KeyMismatch
        write_store(directory / "table.assay", {}, table_arrays(table))

    def read(directory: Path) -> IndexTable:
        table = read_table(read_store(directory / "table.assay").arrays)
        if is_stale(table, corpus):  # equal bytes and names, but another language
            raise _KeyMismatch
        return table

    return _obtain(shared, "chunks", (TABLES.name, key), make, write, read)


def _vectors(
    table: IndexTable, settings: DenseSettings, shared: BuildCache, key: str
) -> list[tuple[ModelGroup, Embedder, Columns]]:
    pairs = [(group, open_embedder(settings, group.model)) for group in group_chunks(table, settings)]

    def make() -> list[Columns]:
        return [embed_chunks(embedder, table, group, settings.vectors) for group, embedder in pairs]

    def write(directory: Path, made: list[Columns]) -> None:
        for (group, _), columns in zip(pairs, made, strict=True):
            write_store(directory / f"{group.name}.assay", {}, columns)

    def read(directory: Path) -> list[Columns]:
        return [read_store(directory / f"{group.name}.assay").arrays for group, _ in pairs]

    columns = _obtain(shared, "vectors", (VECTORS.name, key), make, write, read)
    return [(*pair, made) for pair, made in zip(pairs, columns, strict=True)]


class _KeyMismatch(Exception):
    """The index part does not match its key, so it must not be stored or reused."""


def _obtain(
    shared: BuildCache,
    step: str,
    entry: tuple[str, str],
    make: Callable[[], T],
    write: Callable[[Path, T], None],
    read: Callable[[Path], T],
) -> T:
    made: list[T] = []

    def build() -> T:
        shared.made[step] += 1
        made.append(make())
        return made[0]

    store = shared.artifacts
    if store is None:
        return build()
    before = shared.made[step]
    try:
        directory = store.directory(*entry, lambda directory: write(directory, build()))
        return made[0] if made else read(directory)
    except (_KeyMismatch, IndexFormatError, KeyError, TypeError, ValueError):
        return made[0] if made else build()
    except SetupError as failure:
        if not made and shared.made[step] > before:
            raise  # computing the part failed, not storing it
        store.troubles.append(f"{failure.message} ({failure.file}); the {step} are not cached")
        return made[0] if made else build()
    finally:
        store.release(*entry)  # mapped files stay readable after pruning


#: Modules whose code determines a ranking.
_CODE: Final = ("search", "syntax", "corpus")
#: Modules that determine how a table is stored.
_STORING: Final = ("corpus", "search/table.py", "store/array_file.py", "search/building.py")
#: Modules that compute vectors.
_EMBEDDING: Final = ("search/static.py", "search/vectors.py", "search/embedders.py", "search/dense.py")
#: Packages that compute vectors, if installed.
_PACKAGES: Final = ("numpy", "onnxruntime", "tokenizers", "fastembed", "sentence-transformers", "torch", "transformers")
#: Settings in the digests of the table, vectors and candidates.
_BEFORE: Final = frozenset({"index", "lexical", "translation", "dense", "encoder"})
#: Dense settings that determine the vectors of chunks; the others apply to queries.
_OF_ENCODER: Final = ("max_tokens", "pooling", "token_env", "query_prefix", "code_prefix", "docs_prefix")
_OF_VECTORS: Final = ("model", "docs_model", "vectors", "token_env", "query_prefix", "code_prefix", "docs_prefix")


def table_digest(config: SearchConfig) -> str:
    return digest_of([index_key(config.index), code_digest(*_STORING)])


def vectors_digest(settings: DenseSettings) -> str:
    if not settings.model:
        return digest_of(["no model"])
    models = [model_digest(spec) for spec in (settings.model, settings.docs_model)]
    return digest_of([[getattr(settings, name) for name in _OF_VECTORS], models, _versions(), code_digest(*_EMBEDDING)])


def candidates_digest(config: SearchConfig, per: Per) -> str:
    settings: list[object] = [asdict(config.lexical), asdict(config.translation), asdict(config.dense), per]
    if config.dense.encoder:
        settings += [asdict(config.encoder), encoder_digest(config.dense.encoder)]
    return digest_of([settings, model_digest(config.translation.model), _versions(), code_digest(*_CODE)])


def ranking_digest(config: SearchConfig, per: Per) -> str:
    rest = {name: value for name, value in asdict(config).items() if name not in _BEFORE}
    return digest_of([rest, per, model_digest(config.rerank.model), code_digest(*_CODE)])


def search_identity(config: SearchConfig, per: Per) -> str | None:
    """Return a digest of everything that determines a ranking; None if a model may change, such as a remote one."""
    models = (config.dense.model, config.dense.docs_model, config.translation.model, config.rerank.model)
    digests = [encoder_digest(config.dense.encoder), *map(model_digest, models)]
    if config.index.description.enabled or None in digests:
        return None
    before = [table_digest(config), vectors_digest(config.dense), candidates_digest(config, per)]
    return digest_of([*before, ranking_digest(config, per), platform.python_version()])


def model_digest(spec: str) -> str | None:
    """Return a digest of a model's files; "" for an empty spec, None if the model is not a local directory."""
    kind, _, target = spec.partition(":")
    if not spec:
        return ""
    if kind == SHIPPED and not target:
        directory = Path(str(resources.files("assay.data").joinpath("model")))
    else:
        directory = Path(target).expanduser().resolve()
        if not target or "://" in target or not directory.is_dir():
            return None
    paths = sorted(os.path.join(path, name) for path, _, names in os.walk(directory) for name in names)
    stamps = tuple((path, (stat := os.stat(path)).st_size, stat.st_mtime_ns) for path in paths)
    return _files_digest(str(directory), stamps)


def encoder_digest(spec: str) -> str | None:
    """Return a digest of an encoder's files; None if the encoder is remote or not installed."""
    if not spec:
        return ""
    from assay.search.encoder import resolve_encoder

    with suppress(ConfigError):
        return model_digest(resolve_encoder(spec, download=False))
    return None


@cache
def _files_digest(directory: str, stamps: tuple[tuple[str, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for path, _, _ in stamps:
        with open(path, "rb") as stream:
            file_digest = hashlib.file_digest(stream, "sha256").hexdigest()
        digest.update(f"{os.path.relpath(path, directory)}\0{file_digest}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


@cache
def _versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in _PACKAGES if any(metadata.distributions(name=name))}
