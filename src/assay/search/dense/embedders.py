"""What an embedder is, and what all of them share."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from assay.errors import ConfigError, EnvironmentFailure, install_hint
from assay.files import read_utf8
from assay.search.dense.config import EmbedderConfig
from assay.search.dense.matrices import Matrix

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
        raise EnvironmentFailure(
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
