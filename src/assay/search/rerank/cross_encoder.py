"""A cross-encoder on this machine's CPU, through fastembed."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from assay.errors import EngineError, EnvironmentFailure, install_hint
from assay.search.rerank.base import DEFAULT_RERANK, Passage, RerankConfig, checked


@dataclass(frozen=True, slots=True)
class CrossEncoder:
    """One of fastembed's TextCrossEncoder models; the weights are fetched by fastembed at the first query."""

    model: str
    config: RerankConfig = DEFAULT_RERANK

    @property
    def identity(self) -> str:
        """Name the model and how much it reads."""
        return f"cross-encoder:{self.model};chars={self.config.passage_chars}"

    def order(self, query: str, passages: Sequence[Passage]) -> tuple[float, ...]:
        """Score every pair of query and passage."""
        if not passages:
            return ()
        encoder = _load(self.model)
        texts = [passage.shown(self.config.passage_chars) for passage in passages]
        try:
            scores = list(encoder.rerank(query, texts))
        except Exception as error:
            raise EngineError(f"{self.identity} failed: {error}", hint="try another model") from error
        return checked(scores, passages, self.identity)


@lru_cache(maxsize=1)
def _load(model: str) -> Any:  # noqa: ANN401 (fastembed is an extra; its types are not there to be named)
    """Load a model once for all queries."""
    try:
        library = importlib.import_module("fastembed.rerank.cross_encoder")
    except ImportError as error:
        hint = install_hint("fastembed")
        raise EnvironmentFailure("re-ranking with a cross-encoder needs fastembed", hint=hint) from error
    try:
        return library.TextCrossEncoder(model_name=model)
    except Exception as error:
        raise EngineError(
            f"fastembed cannot load {model}: {error}",
            hint="see TextCrossEncoder.list_supported_models(); the first use downloads the weights",
        ) from error
