"""What an embedder is, and what all of them share."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar

import numpy as np

from assay.errors import ConfigError, SetupError, closest_match, install_hint
from assay.files import read_utf8, remove_leftovers
from assay.search.config import SHIPPED
from assay.search.index_files import writer_lock
from assay.search.vectors import DEFAULT_CACHE, DEFAULT_EMBEDDER, CacheConfig, EmbedderConfig, Matrix
from assay.store.array_file import IndexFormatError, read_store, write_store

Role = Literal["query", "code", "docs"]
T = TypeVar("T")


class Embedder(Protocol):
    """Turns texts into vectors; rows have length one, or are zero where there is nothing to embed."""

    @property
    def identity(self) -> str:
        """All that the vectors depend on beside text and role: equal identities give equal vectors."""

    @property
    def dimension(self) -> int:
        """Numbers of one vector."""

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """Give one row a text, float32, never NaN."""


@dataclass(frozen=True, slots=True)
class Prefixed:
    """An embedder whose model expects words before the text, by role."""

    inner: Embedder
    query: str
    code: str
    docs: str

    @property
    def identity(self) -> str:
        """The inner one's, and the words."""
        return f"{self.inner.identity} query={self.query!r} code={self.code!r} docs={self.docs!r}"

    @property
    def dimension(self) -> int:
        """The inner one's."""
        return self.inner.dimension

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """Put the role's words before each text and embed."""
        prefix = {"query": self.query, "code": self.code, "docs": self.docs}[role]
        return self.inner.embed([prefix + text for text in texts], role)


def with_prefixes(embedder: Embedder, config: EmbedderConfig) -> Embedder:
    """Add the configured words, when there are any."""
    if not (config.query_prefix or config.code_prefix or config.docs_prefix):
        return embedder
    return Prefixed(embedder, config.query_prefix, config.code_prefix, config.docs_prefix)


def in_batches(things: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Cut a sequence into pieces of a size; the last may be shorter."""
    return (things[start : start + size] for start in range(0, len(things), size))


def load_package(module: str, extra: str) -> Any:  # noqa: ANN401 (packages without stubs, imported by those who ask)
    """Import an optional package; one that is missing or broken is an error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SetupError(
            f"the embedder needs the package {module}, which cannot be imported: {error}",
            hint=install_hint(extra),
        ) from error


def find_file(folder: Path, *names: str) -> Path:
    """Find the first of the names a file of a model may have."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(
        f"no {' or '.join(names)} in the model's folder",
        file=folder,
        hint="name the folder that holds the model's files; nothing is downloaded",
    )


def most_tokens(path: Path, name: str, config: EmbedderConfig) -> int:
    """Tell how many tokens of a text count: what a model's own file says by that name, if it is less than ours."""
    if not path.is_file():
        return config.max_tokens
    try:
        own = json.loads(read_utf8(path, ConfigError)).get(name)
        return min(config.max_tokens, max(1, int(own))) if own else config.max_tokens
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError("not a model's configuration", file=path, hint="export the model again") from error


def load_tokenizer(path: Path, extra: str) -> Any:  # noqa: ANN401 (the package has no stubs)
    """Read a tokenizer.json; what the tokenizers package refuses is an error with the file's name."""
    tokenizers = load_package("tokenizers", extra)
    try:
        return tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises bare Exception
        raise ConfigError(f"not a tokenizer: {error}", file=path, hint="export the model again") from error


def digest_files(paths: Sequence[Path]) -> str:
    """Hash the contents of files, so that an identity follows what is in a folder and not its name."""
    total = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()[:32]


#: Kinds whose model may expect words before a text; each is imported when it is named, and not before.
_KINDS: Final = {
    "fastembed": "open_fastembed",
    "model2vec": "open_model2vec",
    "onnx": "open_onnx",
    "openai": "open_openai",
    "sentence-transformers": "open_sentence_transformers",
}
#: What stands after the colon, for messages and documentation.
SPECS: Final = (
    "fastembed:NAME", "model2vec:FOLDER", "onnx:FOLDER", "openai:URL#MODEL", "sentence-transformers:NAME", "static",
    "static:FOLDER",
)  # fmt: skip


def make_embedder(spec: str, config: EmbedderConfig = DEFAULT_EMBEDDER) -> Embedder:
    """Open the embedder that a spec names. Relative folders are relative to where the program runs."""
    kind, _, target = spec.partition(":")
    if kind == SHIPPED:
        return _open_static(target)
    if kind not in _KINDS:
        known = (*_KINDS, SHIPPED)
        near = closest_match(kind, known)
        hint = f"did you mean {near[0]}?" if near else f"an embedder is one of {', '.join(SPECS)}"
        raise ConfigError(f"unknown embedder {kind!r}; the known are {', '.join(known)}", hint=hint)
    if not target:
        raise ConfigError(f"the embedder {kind!r} does not say which", hint=f"one of {', '.join(SPECS)}")
    module = import_module("assay.search.endpoint_embedder" if kind == "openai" else "assay.search.local_embedders")
    embedder: Embedder = getattr(module, _KINDS[kind])(target, config)
    return with_prefixes(embedder, config)


def _open_static(target: str) -> Embedder:
    from assay.search.static import StaticEmbedder, open_static

    return StaticEmbedder(open_static(target or None))


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
            with suppress(SetupError, OSError):  # a folder that cannot be written only costs time
                self._keep(space, made)
            known.update(made)
        rows = np.zeros((len(texts), embedder.dimension), dtype=np.float32)
        for row, key in enumerate(keys):
            rows[row] = known[key]
        return rows

    def _space(self, embedder: Embedder, role: Role) -> Path:
        return self.folder / hashlib.sha256(f"{role}\0{embedder.identity}".encode()).hexdigest()[:_NAMED]

    def _read(self, space: Path, wanted: frozenset[bytes], dimension: int) -> Found:
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
        return dict(zip(self.keys, self.vectors, strict=True))


def _read_segment(path: Path) -> _Segment:
    try:
        arrays = read_store(path).arrays
    except IndexFormatError:
        return _Segment([], np.zeros((0, 0), dtype=np.float32))
    raw = arrays["keys"].tobytes()
    return _Segment([raw[start : start + _KEY] for start in range(0, len(raw), _KEY)], arrays["vectors"])


def _write_segment(space: Path, rows: Found) -> None:
    keys = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), _KEY)
    vectors = np.array(list(rows.values()), dtype=np.float32)
    write_store(space / f"{secrets.token_hex(8)}{_SUFFIX}", {}, {"keys": keys, "vectors": vectors})
