"""From a spec such as `onnx:models/minilm` to an embedder."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from assay.errors import ConfigError, nearest
from assay.search.dense.config import DEFAULT_EMBEDDER, EmbedderConfig
from assay.search.dense.embedders import Embedder, with_prefixes
from assay.search.models import SHIPPED

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
        near = nearest(kind, known)
        hint = f"did you mean {near[0]}?" if near else f"an embedder is one of {', '.join(SPECS)}"
        raise ConfigError(f"unknown embedder {kind!r}; the known are {', '.join(known)}", hint=hint)
    if not target:
        raise ConfigError(f"the embedder {kind!r} does not say which", hint=f"one of {', '.join(SPECS)}")
    module = import_module(f"assay.search.dense.{kind.replace('-', '_')}")
    embedder: Embedder = getattr(module, _KINDS[kind])(target, config)
    return with_prefixes(embedder, config)


def _open_static(target: str) -> Embedder:
    """Open a model of `assay train`; it reads words, so prefixes would only be words more."""
    from assay.search.static import StaticEmbedder, open_static

    return StaticEmbedder(open_static(target or None))
