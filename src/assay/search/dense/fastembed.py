"""A model of the fastembed package, by its name there; fastembed downloads it when it is first used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

import numpy as np

from assay.errors import ConfigError, EnvironmentFailure
from assay.search.dense.config import EmbedderConfig
from assay.search.dense.embedders import Role, load_package
from assay.search.dense.matrices import Matrix, unit_rows

_EXTRA: Final = "fastembed"


@dataclass(frozen=True, slots=True)
class Fastembed:
    """A fastembed model; it knows its own words for queries and passages."""

    identity: str
    dimension: int
    model: Any
    batch: int

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """Embed as a query or as a passage."""
        ask = self.model.query_embed if role == "query" else self.model.passage_embed
        rows = list(ask(list(texts), batch_size=self.batch)) if texts else []
        return unit_rows(np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension))


def open_fastembed(name: str, config: EmbedderConfig) -> Fastembed:
    """Open a model by its name in fastembed.

    Verified here with a model of our own; the download of a published one is unverified here.
    """
    fastembed = load_package("fastembed", _EXTRA)
    known = sorted(str(model["model"]) for model in fastembed.TextEmbedding.list_supported_models())
    if name.lower() not in {model.lower() for model in known}:
        raise ConfigError(f"fastembed has no model {name!r}", hint=f"it has {', '.join(known)}")
    try:
        model = fastembed.TextEmbedding(model_name=name)
    except Exception as error:  # whatever the download or onnxruntime raises
        hint = "check the network; FASTEMBED_CACHE_PATH names a folder that already holds the model"
        raise EnvironmentFailure(f"fastembed cannot load {name}: {error}", hint=hint) from error
    return wrap_fastembed(name, model, config)


def wrap_fastembed(name: str, model: Any, config: EmbedderConfig) -> Fastembed:  # noqa: ANN401
    """Make an embedder of a loaded model. Its files are not ours to hash: name and package version identify it."""
    dimension = len(next(iter(model.embed(["a"]))))
    return Fastembed(f"fastembed/1 {name} {version('fastembed')}", dimension, model, config.batch)
