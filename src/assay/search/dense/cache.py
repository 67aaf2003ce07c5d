"""Vectors that were made once: by embedder, role and text, so that a refresh embeds only what changed.

    FOLDER/SPACE/SEGMENT.assay    SPACE hashes the embedder's identity and the role; a segment holds
                                  keys (n, 32) uint8, the sha256 of each text, and vectors (n, d) float32
    FOLDER/lock                   held while segments are written, merged or removed

Segments are written whole and never changed, so readers need no lock; one that is damaged or was removed meanwhile
holds nothing, and its texts are embedded again. Embedding itself happens outside the lock, and what is made is kept
piece by piece: when a server goes away in the middle, what it gave is not asked for again.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from assay.errors import EnvironmentFailure
from assay.files import remove_leftovers
from assay.search.dense.config import DEFAULT_CACHE, CacheConfig
from assay.search.dense.embedders import Embedder, Role, in_batches
from assay.search.dense.matrices import Matrix
from assay.search.store.format import StoreProblem, read_store, write_store
from assay.search.store.lock import writer_lock

_SUFFIX: Final = ".assay"
_KEY: Final = hashlib.sha256().digest_size
#: 128 bits of a hash name a space: no two models ever meet.
_NAMED: Final = 32

Found = dict[bytes, Matrix]


@dataclass(frozen=True, slots=True)
class EmbeddingCache:
    """A folder of vectors, shared by all processes and repositories, that never grows beyond its bound for long."""

    folder: Path
    config: CacheConfig = DEFAULT_CACHE

    def embed(self, embedder: Embedder, texts: Sequence[str], role: Role) -> Matrix:
        """Give one row a text: from the cache, else embedded now and kept; a text that comes twice is made once."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        space = self._space(embedder, role)
        known = self._read(space, frozenset(keys), embedder.dimension)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        for piece in in_batches(list(missing), self.config.piece):
            made = dict(zip(piece, embedder.embed([missing[key] for key in piece], role), strict=True))
            with suppress(EnvironmentFailure, OSError):  # a folder that cannot be written only costs time
                self._keep(space, made)
            known.update(made)
        rows = np.zeros((len(texts), embedder.dimension), dtype=np.float32)
        for row, key in enumerate(keys):
            rows[row] = known[key]
        return rows

    def _space(self, embedder: Embedder, role: Role) -> Path:
        """Name the folder of one embedder and role."""
        return self.folder / hashlib.sha256(f"{role}\0{embedder.identity}".encode()).hexdigest()[:_NAMED]

    def _read(self, space: Path, wanted: frozenset[bytes], dimension: int) -> Found:
        """Look the keys up in all segments, and mark those that were of use as used now."""
        found: Found = {}
        for path in sorted(space.glob(f"*{_SUFFIX}")):
            segment = _read_segment(path)
            held = {key: segment.vectors[row] for row, key in enumerate(segment.keys) if key in wanted}
            if held and segment.vectors.shape[1] == dimension:
                with suppress(OSError):  # removed meanwhile, or a folder that is only read
                    os.utime(path)
                found.update(held)
        return found

    def _keep(self, space: Path, made: Found) -> None:
        """Write a segment, and put the folder in order."""
        with writer_lock(self.folder):
            space.mkdir(parents=True, exist_ok=True)
            remove_leftovers(space)
            paths = sorted(space.glob(f"*{_SUFFIX}"))
            merged = paths if len(paths) >= self.config.max_segments else []
            older = {key: row for path in merged for key, row in _read_segment(path).rows().items()}
            _write_segment(space, older | made)
            for path in merged:
                path.unlink(missing_ok=True)
            self._shrink()

    def _shrink(self) -> None:
        """Remove the segments that were of no use for the longest time until the rest fits."""
        facts = [(path.stat().st_mtime_ns, path, path.stat().st_size) for path in self.folder.glob(f"*/*{_SUFFIX}")]
        total = sum(size for _, _, size in facts)
        for _, path, size in sorted(facts):
            if total <= self.config.max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size


@dataclass(frozen=True, slots=True)
class _Segment:
    """What one file holds."""

    keys: list[bytes]
    vectors: Matrix

    def rows(self) -> Found:
        """Give its rows by key."""
        return dict(zip(self.keys, self.vectors, strict=True))


def _read_segment(path: Path) -> _Segment:
    """Read a segment; one that cannot be read holds nothing."""
    try:
        arrays = read_store(path).arrays
    except StoreProblem:
        return _Segment([], np.zeros((0, 0), dtype=np.float32))
    raw = arrays["keys"].tobytes()
    return _Segment([raw[start : start + _KEY] for start in range(0, len(raw), _KEY)], arrays["vectors"])


def _write_segment(space: Path, rows: Found) -> None:
    """Write a segment under a name nobody else has."""
    keys = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), _KEY)
    vectors = np.array(list(rows.values()), dtype=np.float32)
    write_store(space / f"{secrets.token_hex(8)}{_SUFFIX}", {}, {"keys": keys, "vectors": vectors})
