"""A model of the sentence-transformers package: a folder, or a name that it downloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from assay.errors import EnvironmentFailure
from assay.search.dense.config import EmbedderConfig
from assay.search.dense.embedders import Role, digest_files, load_package
from assay.search.dense.matrices import Matrix, unit_rows

_EXTRA: Final = "sentence-transformers"


@dataclass(frozen=True, slots=True)
class SentenceTransformers:
    """A sentence-transformers model, with the prompts for queries and documents that it brings."""

    identity: str
    dimension: int
    model: Any
    batch: int

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """Embed as a query or as a document."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        ask = self.model.encode_query if role == "query" else self.model.encode_document
        return unit_rows(ask(list(texts), batch_size=self.batch, show_progress_bar=False, convert_to_numpy=True))


def open_sentence_transformers(name: str, config: EmbedderConfig) -> SentenceTransformers:
    """Open a folder or a name; the download of a published model is unverified here."""
    package = load_package("sentence_transformers", _EXTRA)
    try:
        model = package.SentenceTransformer(name, device="cpu")
    except Exception as error:  # torch, transformers and the hub raise what they like
        hint = "name a folder with the model, or check the network"
        raise EnvironmentFailure(f"sentence-transformers cannot load {name}: {error}", hint=hint) from error
    if isinstance(model.max_seq_length, int):  # a static model has no positions to run out of, and no limit to set
        model.max_seq_length = min(model.max_seq_length, config.max_tokens)
    dimension = len(model.encode(["a"], show_progress_bar=False)[0])
    identity = (
        f"sentence-transformers/1 {_content(name)} {version('sentence-transformers')} tokens={model.max_seq_length}"
    )
    return SentenceTransformers(identity, dimension, model, config.batch)


def _content(name: str) -> str:
    """Identify a folder by what is in it; of a published model only the name is known."""
    folder = Path(name).expanduser()
    return digest_files(sorted(path for path in folder.rglob("*") if path.is_file())) if folder.is_dir() else name
