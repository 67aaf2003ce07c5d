"""From a spec such as `onnx:models/minilm` to an embedder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from assay.errors import ConfigError, nearest
from assay.search.dense.config import DEFAULT_EMBEDDER, EmbedderConfig
from assay.search.dense.embedders import Embedder, with_prefixes
from assay.search.dense.fastembed import open_fastembed
from assay.search.dense.model2vec import open_model2vec
from assay.search.dense.onnx import open_onnx
from assay.search.dense.sentence_transformers import open_sentence_transformers
from assay.search.models import SHIPPED


def _open_openai(target: str, config: EmbedderConfig) -> Embedder:
    """Open a server; urllib and ssl are imported only for this."""
    from assay.search.dense.openai import open_openai

    return open_openai(target, config)


def _open_static(target: str, config: EmbedderConfig) -> Embedder:  # noqa: ARG001 (it takes no prefixes and no limits)
    """Open a model of `assay train`."""
    from assay.search.static import StaticEmbedder, open_static

    return StaticEmbedder(open_static(target or None))


_KINDS: Final[dict[str, Callable[[str, EmbedderConfig], Embedder]]] = {
    "fastembed": open_fastembed,
    "model2vec": open_model2vec,
    "onnx": open_onnx,
    "openai": _open_openai,
    "sentence-transformers": open_sentence_transformers,
    SHIPPED: _open_static,
}
#: What stands after the colon, for messages and documentation.
SPECS: Final = (
    "fastembed:NAME", "model2vec:FOLDER", "onnx:FOLDER", "openai:URL#MODEL", "sentence-transformers:NAME", "static",
    "static:FOLDER",
)  # fmt: skip


def make_embedder(spec: str, config: EmbedderConfig = DEFAULT_EMBEDDER) -> Embedder:
    """Open the embedder that a spec names. Relative folders are relative to where the program runs."""
    kind, _, target = spec.partition(":")
    if kind not in _KINDS:
        near = nearest(kind, _KINDS)
        hint = f"did you mean {near[0]}?" if near else f"an embedder is one of {', '.join(SPECS)}"
        raise ConfigError(f"unknown embedder {kind!r}; the known are {', '.join(_KINDS)}", hint=hint)
    if not target and kind != SHIPPED:
        raise ConfigError(f"the embedder {kind!r} does not say which", hint=f"one of {', '.join(SPECS)}")
    return with_prefixes(_KINDS[kind](target, config), config)
