"""From a name in a configuration to a re-ranker."""

from __future__ import annotations

import os

from assay.chat import Endpoint
from assay.errors import ConfigError, nearest
from assay.http import shown_url
from assay.redaction import declare_values, variables
from assay.search.rerank.base import Reranker
from assay.search.rerank.chat import ChatReranker
from assay.search.rerank.cross_encoder import CrossEncoder
from assay.search.rerank.endpoint import RerankEndpoint

FORMS = {
    "cross-encoder": "cross-encoder:MODEL",
    "rerank": "rerank:URL#MODEL",
    "chat": "chat:URL#MODEL",
}


def make_reranker(spec: str, *, token_env: str | None = None) -> Reranker:
    """Make what a spec names: `cross-encoder:MODEL`, `rerank:URL#MODEL` or `chat:URL#MODEL`.

    `{env:NAME}` in it is a variable of the environment, read here and not before, so that what is written down of a
    configuration holds the name and not the value.
    `token_env` names the environment variable with the endpoint's token. It is an argument of its own, because the URL
    may have a query of its own, and because what names a secret does not belong into what names a model.
    """
    kind, _, rest = expanded(spec).partition(":")
    if kind not in FORMS:
        near = nearest(kind, FORMS)
        hint = f"did you mean {FORMS[near[0]]}?" if near else f"write one of {', '.join(FORMS.values())}"
        raise ConfigError(f"unknown kind of re-ranker {kind!r}", hint=hint)
    if kind == "cross-encoder":
        return _cross_encoder(rest, token_env)
    url, _, model = rest.partition("#")
    endpoint = Endpoint(url, model, token_env)
    return RerankEndpoint(endpoint) if kind == "rerank" else ChatReranker(endpoint)


def expanded(spec: str) -> str:
    """Put variables of the environment in their places; from then on their values are struck out of what is shown."""
    for name in sorted(variables(spec)):
        value = os.environ.get(name, "").strip()
        if not value:
            raise ConfigError(f"the re-ranker needs the variable {name}", hint=f"set {name}, or leave re-ranking out")
        declare_values({value, shown_url(value)})
        spec = spec.replace(f"{{env:{name}}}", value)
    return spec


def _cross_encoder(model: str, token_env: str | None) -> CrossEncoder:
    """Check what a model on this machine needs, and what it has no use for."""
    if not model.strip():
        raise ConfigError("the cross-encoder has no model", hint=f"write {FORMS['cross-encoder']}")
    if token_env is not None:
        raise ConfigError("a cross-encoder on this machine takes no token", hint="leave the token's variable out")
    return CrossEncoder(model)
