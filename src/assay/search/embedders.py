"""Embedders: what they are, how a spec names one, and the cache of their vectors."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, Literal, Protocol, TypeVar

import numpy as np

from assay.errors import ConfigError, SetupError, closest_match
from assay.files import remove_leftovers
from assay.search.config import SHIPPED
from assay.search.index_files import writer_lock
from assay.search.vectors import Matrix, check_at_least
from assay.store.array_file import IndexFormatError, read_store, write_store

Role = Literal["query", "code", "docs"]
T = TypeVar("T")


class Embedder(Protocol):
    """Turns texts into vectors; rows have length one, or are zero where there is nothing to embed."""

    @property
    def identity(self) -> str:
        """All that the vectors depend on beside text and role."""

    @property
    def dimension(self) -> int:
        """Numbers per vector."""

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """Return one row per text, float32, never NaN."""


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """Settings of an embedder. Those that shape its vectors are part of its identity."""

    #: The environment variable that holds an API's token; the token itself is never stored.
    token_env: str | None = None
    #: Put before each text of a role. Some models expect such words ("query: ", "passage: "); see their cards.
    query_prefix: str = ""
    code_prefix: str = ""
    docs_prefix: str = ""
    #: The positions of BERT-like models, and where model2vec cuts; a smaller limit of the model wins.
    max_tokens: int = 512
    #: Texts per call of a local network. In a batch the last bits of a vector depend on its neighbors, so that an
    #: updated index would differ from a fresh one; and a CPU gains little from more.
    batch: int = 1
    #: Texts per request: 32 of the longest stay below the 300,000 tokens that OpenAI accepts.
    http_batch: int = 32
    #: OpenAI's models end at 8,191 tokens and refuse what is longer; code has about three characters to a token.
    http_characters: int = 24_000
    #: A refused text is cut to three quarters and sent again while it is longer than this. Every model accepts that
    #: many characters, so a refusal then has another reason.
    http_least: int = 200
    #: A batch takes a small server without a GPU some ten seconds.
    http_seconds: float = 60.0
    #: Retries of the first request: after 0.5, 1, 2 and 4 s a restart or a limit per second is over.
    http_retries: int = 4
    #: Retries of later requests. A server that fails half of the time fails 17 times in a row once in 130,000
    #: requests, or 4 million texts; a dead one costs some 80 s.
    http_patience: int = 16

    def __post_init__(self) -> None:
        for name in ("max_tokens", "batch", "http_batch", "http_characters", "http_least"):
            check_at_least(name, getattr(self, name), 1)
        for name in ("http_retries", "http_patience"):
            check_at_least(name, getattr(self, name), 0)
        if not self.http_seconds > 0:
            raise ConfigError(f"embedder setting http_seconds = {self.http_seconds!r}", hint="give a number above 0")


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """Limits of the embedding cache."""

    #: A million vectors of 256 float32 numbers: every repository one person works on.
    max_bytes: int = 1_000_000_000
    #: Files per model and role before they are merged; each refresh that embeds something writes one.
    max_segments: int = 16
    #: Texts that are embedded before they are stored: what an interruption loses. A network of six layers takes half a
    #: minute for them, an API 64 requests.
    piece: int = 2_048

    def __post_init__(self) -> None:
        check_at_least("max_bytes", self.max_bytes, 0)
        check_at_least("max_segments", self.max_segments, 1)
        check_at_least("piece", self.piece, 1)


DEFAULT_EMBEDDER: Final = EmbedderConfig()
DEFAULT_CACHE: Final = CacheConfig()

_LOCAL: Final = "assay.search.local_embedders"
#: Kinds whose model may expect words before a text: module, imported on use, and function.
_KINDS: Final = {
    "fastembed": (_LOCAL, "open_fastembed"),
    "model2vec": (_LOCAL, "open_model2vec"),
    "onnx": (_LOCAL, "open_onnx"),
    "openai": ("assay.search.endpoint_embedder", "open_openai"),
    "sentence-transformers": (_LOCAL, "open_sentence_transformers"),
}
_SPECS: Final = (
    "fastembed:NAME, model2vec:FOLDER, onnx:FOLDER, openai:URL#MODEL, sentence-transformers:NAME, static, static:FOLDER"
)


def make_embedder(spec: str, config: EmbedderConfig = DEFAULT_EMBEDDER) -> Embedder:
    """Open the embedder that a spec names; relative folders are relative to the current one."""
    kind, _, target = spec.partition(":")
    if kind == SHIPPED:
        from assay.search.static import StaticEmbedder, open_static

        return StaticEmbedder(open_static(target or None))
    if kind not in _KINDS:
        known = (*_KINDS, SHIPPED)
        near = closest_match(kind, known)
        hint = f"did you mean {near[0]}?" if near else f"an embedder is one of {_SPECS}"
        raise ConfigError(f"unknown embedder {kind!r}; the known are {', '.join(known)}", hint=hint)
    if not target:
        raise ConfigError(f"the embedder {kind!r} does not say which", hint=f"one of {_SPECS}")
    module, function = _KINDS[kind]
    embedder: Embedder = getattr(import_module(module), function)(target, config)
    if not (config.query_prefix or config.code_prefix or config.docs_prefix):
        return embedder
    return Prefixed(embedder, config.query_prefix, config.code_prefix, config.docs_prefix)


@dataclass(frozen=True, slots=True)
class Prefixed:
    """An embedder whose model expects words before the text, by role."""

    inner: Embedder
    query: str
    code: str
    docs: str

    @property
    def identity(self) -> str:
        """Identity of the inner embedder, and the words."""
        return f"{self.inner.identity} query={self.query!r} code={self.code!r} docs={self.docs!r}"

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        return self.inner.dimension

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """Embed the texts with the words of the role before them."""
        prefix = {"query": self.query, "code": self.code, "docs": self.docs}[role]
        return self.inner.embed([prefix + text for text in texts], role)


def in_batches(things: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Cut a sequence into pieces of a size; the last may be shorter."""
    return (things[start : start + size] for start in range(0, len(things), size))


_SUFFIX: Final = ".assay"
_KEY: Final = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class EmbeddingCache:
    """A bounded folder of vectors, shared by all processes and repositories.

    Each model and role has a folder of segments, one per piece of texts, merged when there are many.
    """

    folder: Path
    config: CacheConfig = DEFAULT_CACHE

    def embed(self, embedder: Embedder, texts: Sequence[str], role: Role) -> Matrix:
        """Return one row per text, from the cache or embedded now and stored; equal texts are embedded once."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        space = self.folder / hashlib.sha256(f"{role}\0{embedder.identity}".encode()).hexdigest()[:32]
        known = self._read(space, frozenset(keys), embedder.dimension)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        for piece in in_batches(list(missing), self.config.piece):
            made = dict(zip(piece, embedder.embed([missing[key] for key in piece], role), strict=True))
            with suppress(SetupError, OSError):  # a folder that cannot be written only costs time
                self._store(space, made)
            known.update(made)
        rows = np.zeros((len(texts), embedder.dimension), dtype=np.float32)
        for row, key in enumerate(keys):
            rows[row] = known[key]
        return rows

    def _read(self, space: Path, wanted: frozenset[bytes], dimension: int) -> dict[bytes, Matrix]:
        found: dict[bytes, Matrix] = {}
        for path in sorted(space.glob(f"*{_SUFFIX}")):
            held = {key: row for key, row in _read_segment(path) if key in wanted and len(row) == dimension}
            if held:
                with suppress(OSError):  # removed meanwhile, or a read-only folder
                    os.utime(path)
                found.update(held)
        return found

    def _store(self, space: Path, made: dict[bytes, Matrix]) -> None:
        with writer_lock(self.folder):
            space.mkdir(parents=True, exist_ok=True)
            remove_leftovers(space)
            paths = sorted(space.glob(f"*{_SUFFIX}"))
            merged = paths if len(paths) >= self.config.max_segments else []
            rows = {key: row for path in merged for key, row in _read_segment(path)} | made
            keys = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), _KEY)
            vectors = np.array(list(rows.values()), dtype=np.float32)
            write_store(space / f"{secrets.token_hex(8)}{_SUFFIX}", {}, {"keys": keys, "vectors": vectors})
            for path in merged:
                path.unlink(missing_ok=True)
            self._shrink()

    def _shrink(self) -> None:
        facts = [(path.stat().st_mtime_ns, path, path.stat().st_size) for path in self.folder.glob(f"*/*{_SUFFIX}")]
        total = sum(size for _, _, size in facts)
        for _, path, size in sorted(facts):
            if total <= self.config.max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size


def _read_segment(path: Path) -> Iterator[tuple[bytes, Matrix]]:
    try:
        arrays = read_store(path).arrays
    except IndexFormatError:
        return iter(())
    raw = arrays["keys"].tobytes()
    return zip((raw[start : start + _KEY] for start in range(0, len(raw), _KEY)), arrays["vectors"], strict=True)
