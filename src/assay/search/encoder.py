"""A contextual encoder as a second dense signal, beside the embedding of `dense.model`.

In lazy mode only the best chunks of the first stage are encoded; in full mode all chunks are, ahead of the first query.
Vectors are cached by the content of the chunk and computed one text at a time, so that they depend neither on the mode
nor on other chunks.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable, Hashable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from assay.digests import digest_of
from assay.errors import ConfigError, SetupError
from assay.search.dense import PASSAGE, Vector, passage_text, replace_surrogates, scale_nearest
from assay.search.embedders import EMBEDDERS, ONNX_FILES, EmbedderConfig, load_package, make_embedder
from assay.search.query import Per, QueryKind
from assay.search.table import FILE_KINDS, IndexTable, Values
from assay.search.vectors import Matrix, best_rows
from assay.store.array_file import IndexFormatError, read_store, write_store
from assay.store.kinds import ENCODINGS
from assay.store.store import Store, writer_lock

if TYPE_CHECKING:
    from assay.search.config import EncoderSettings, SearchConfig
    from assay.search.embedders import Embedder, TextRole

Report = Callable[[int, int], None]  # with the number of encoded texts, and of those to encode

FILE: Final = "vectors-encoder.assay"
#: Vectors are rounded to this type before use, so that cached and fresh vectors are equal.
_STORED: Final = np.float16
#: Shares of the query's terms, by inverse document frequency, that the best chunk of the first stage contains: at the
#: first the query is covered, at the second the weight has its full rise. The median is .34 for questions about the
#: standard library, and .71 and .83 for octocode's code and documentation.
_COVERAGE: Final = (0.5, 0.2)
#: Chunks encoded between two writes of the cache: an interruption loses at most a second or two.
BATCH = 128
#: Keys per SELECT; SQLite allows at least 999 parameters.
_KEYS: Final = 500


@dataclass(frozen=True, slots=True)
class EncoderScores:
    """The similarity of chunks to a query by a contextual encoder."""

    settings: EncoderSettings
    encoder: ChunkEncoder

    @property
    def key(self) -> Hashable:
        """The settings that determine the scores of a table."""
        return self.settings, self.encoder.spec

    def weight(self, kind: QueryKind, per: Per) -> float:
        weight: float = getattr(self.settings, kind)
        return weight * self.settings.files if per == "file" else weight

    def doubt(self, coverage: float) -> float:
        """Return from 0 to 1 how little the best chunk of the first stage covers of the query."""
        covered, uncovered = _COVERAGE
        return min(max((covered - coverage) / (covered - uncovered), 0.0), 1.0)

    def __call__(self, query: str, scores: Values, doubt: float = 0.0) -> Values:
        """Score the candidates from 0 to 1 and all other chunks 0; `scores` are those of the first stage."""
        settings, result = self.settings, np.zeros(len(scores))
        vector = self.encoder.query_vector(query)
        if settings.mode == "full":
            most, rows, vectors = settings.nearest, np.arange(len(scores)), self.encoder.matrix
        else:
            most = settings.candidates + round(doubt * max(settings.most - settings.candidates, 0))
            rows = best_rows(scores, most)
            rows = rows[scores[rows] > 0]
            vectors = self.encoder.vectors(rows.tolist())
        if len(rows):
            result[rows] = scale_nearest(np.vecdot(vectors, vector), most)
        return result


class ChunkEncoder:
    """A contextual encoder, and the vectors of the chunks of a table."""

    def __init__(
        self, spec: str, settings: EncoderSettings, table: IndexTable, store: Store | None, file: Path | None
    ) -> None:
        """Cache the vectors of chunks in `store`; in full mode, keep those of all chunks in `file` as well."""
        self.spec = resolve_encoder(spec)
        self._settings = settings
        self._table = table
        self._store = store
        self._file = file
        self._known: dict[int, Vector] = {}
        self._matrix: Matrix | None = None

    @cached_property
    def embedder(self) -> Embedder:
        settings = self._settings
        prefixes = (settings.query_prefix, settings.code_prefix, settings.docs_prefix)
        config = EmbedderConfig(settings.token_env or None, *prefixes, settings.max_tokens, settings.pooling)
        return make_embedder(self.spec, config)

    @cached_property
    def _cache(self) -> VectorCache | None:
        return VectorCache(self._store.path(ENCODINGS.name, self.embedder.identity)) if self._store else None

    def query_vector(self, query: str) -> Vector:
        return np.asarray(self.embedder.embed([replace_surrogates(query)], "query")[0])

    @property
    def matrix(self) -> Matrix:
        """The vectors of all chunks."""
        return self.encode_all()

    def encode_all(self, report: Report | None = None) -> Matrix:
        """Return the vectors of all chunks; `report` is called after each batch that had to be encoded."""
        if self._matrix is None:
            self._matrix = self._read_or_encode(report)
        return self._matrix

    def _read_or_encode(self, report: Report | None) -> Matrix:
        files = self._table.files
        digest = digest_of([PASSAGE, self.embedder.identity, files.paths, files.hashes, files.languages])
        if self._file:
            with suppress(IndexFormatError):
                stored = read_store(self._file)
                if stored.meta.get("digest") == digest:
                    return np.asarray(stored.arrays["float32"])
        matrix = self._encode(range(len(self._table.chunks)), report)
        if self._file:
            with suppress(SetupError, OSError), writer_lock(self._file.parent):  # the directory may be read-only
                write_store(self._file, {"digest": digest}, {"float32": matrix})
        return matrix

    def vectors(self, rows: Sequence[int]) -> Matrix:
        """Return the vectors of some chunks, encoding those that are neither in memory nor in the cache."""
        if missing := [row for row in rows if row not in self._known]:
            self._known.update(zip(missing, self._encode(missing), strict=True))
        return np.array([self._known[row] for row in rows], dtype=np.float32)

    def _encode(self, rows: Sequence[int], report: Report | None = None) -> Matrix:
        docs = self._table.files.kind[self._table.chunks.file[list(rows)]] == FILE_KINDS.index("docs")
        texts: list[tuple[TextRole, str]] = [
            ("docs" if of_docs else "code", passage_text(self._table, row))
            for row, of_docs in zip(rows, docs.tolist(), strict=True)
        ]
        return encode_texts(self.embedder, texts, self._cache, report)


def make_encoder(config: SearchConfig, table: IndexTable, directory: Path | None) -> EncoderScores:
    store, file = (Store(), directory / FILE) if directory else (None, None)
    return EncoderScores(config.encoder, ChunkEncoder(config.dense.encoder, config.encoder, table, store, file))


def resolve_encoder(spec: str, *, download: bool = True) -> str:
    """Return the embedder for the name of an installed model, a directory, `hf:ORG/NAME` or another embedder."""
    kind, _, target = spec.partition(":")
    if kind in EMBEDDERS:
        return spec
    if kind == "hf":
        return f"onnx:{_hub_directory(target, download)}"
    from assay.search.models import INSTALLABLE, installed_model

    if os.sep in spec or (spec not in INSTALLABLE and os.path.isdir(spec)):
        return f"onnx:{Path(spec).expanduser().resolve()}"
    return f"onnx:{installed_model(spec)}"


def _hub_directory(target: str, download: bool) -> str:
    name, _, revision = target.partition("@")
    hub = load_package("huggingface_hub", "hub")
    wanted = [*ONNX_FILES, *(f"{graph}_data" for graph in ONNX_FILES), "*tokenizer.json", "*config.json"]
    try:
        found = hub.snapshot_download(
            name, revision=revision or None, allow_patterns=wanted, local_files_only=not download
        )
    except Exception as error:  # the hub and its transport share no base class
        hint = "check the name and the network, or pass the directory of an ONNX model"
        raise ConfigError(f"cannot get {name} from the hub: {error}", hint=hint) from error
    return str(found)


def encode_texts(
    embedder: Embedder, texts: Sequence[tuple[TextRole, str]], cache: VectorCache | None, report: Report | None = None
) -> Matrix:
    """Return one vector per text; new vectors are added to the cache after each batch."""
    keys = [blake2b("\0".join(text).encode("utf-8"), digest_size=16).digest() for text in texts]
    known = cache.get(keys, embedder.dimension) if cache else {}
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    for start in range(0, len(missing), BATCH):
        batch = list(islice(missing.items(), start, start + BATCH))
        new: dict[bytes, NDArray[np.float16]] = {}
        for role, group in groupby(batch, key=lambda item: item[1][0]):
            some = [(key, text) for key, (_, text) in group]
            vectors = embedder.embed([text for _, text in some], role).astype(_STORED)
            new |= zip((key for key, _ in some), vectors, strict=True)
        known |= new
        if cache:
            cache.put(new)
        if report:
            report(min(start + BATCH, len(missing)), len(missing))
    rows = np.zeros((len(keys), embedder.dimension), dtype=np.float32)
    for row, key in enumerate(keys):
        rows[row] = known[key]
    return rows


class VectorCache:
    """Vectors by key in an SQLite file; a damaged row counts as missing, a damaged or locked file as empty.

    Each call opens the file anew, so that threads and forked processes can share the object.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / "vectors.sqlite"

    def get(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, NDArray[np.float16]]:
        found: dict[bytes, NDArray[np.float16]] = {}
        if not self._path.is_file():
            return found
        with suppress(sqlite3.Error), closing(self._connect()) as connection:
            for start in range(0, len(keys), _KEYS):
                some = keys[start : start + _KEYS]
                marks = ",".join("?" * len(some))
                for key, data, check in connection.execute(f"SELECT * FROM vectors WHERE key IN ({marks})", some):  # noqa: S608
                    if len(data) == dimension * _STORED().itemsize and zlib.crc32(data) == check:
                        found[key] = np.frombuffer(data, dtype=_STORED)
        return found

    def put(self, vectors: dict[bytes, NDArray[np.float16]]) -> None:
        rows = [(key, data := vector.tobytes(), zlib.crc32(data)) for key, vector in vectors.items()]
        for _ in range(2):  # the second time with a new file
            try:
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                with closing(self._connect()) as connection, connection:
                    connection.execute(
                        "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, data BLOB, crc INT) WITHOUT ROWID"
                    )
                    connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
                return
            except sqlite3.OperationalError:  # locked, full or read-only: the vectors are only computed again
                return
            except sqlite3.DatabaseError:
                self._path.unlink(missing_ok=True)
            except OSError:
                return

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=10)
        connection.execute("PRAGMA synchronous=OFF")  # a killed process loses nothing; checksums detect the rest
        return connection
