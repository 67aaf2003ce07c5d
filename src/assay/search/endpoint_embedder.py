"""Embeddings from a server with OpenAI's `/v1/embeddings`: OpenAI, Ollama, vLLM, llama.cpp, LM Studio, TEI.

Address and model name identify the model. The token is read by `assay.http` for each request, and is in no value,
message or file.

Servers do not say how much they accept: Ollama and TEI end at the model's tokens, llama.cpp at its batch, others at a
number of texts or at the tokens of all together. So a batch that is refused, or times out, is sent again in halves; a
single text that is refused loses its last quarter, again and again. A vector still depends on its text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import numpy as np

from assay.errors import ConfigError, EngineError, EngineTimeoutError
from assay.http import RequestRejected, post_json, redact_url
from assay.search.embedders import EmbedderConfig, Role
from assay.search.vectors import Matrix, unit_rows

_HINT: Final = "write it as openai:https://host/v1#model"


@dataclass(frozen=True, slots=True)
class OpenAI:
    """A model behind an address."""

    identity: str
    dimension: int
    server: _Server

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:  # noqa: ARG002 (what differs by role is `Prefixed`)
        """Embed all texts that are not blank, which the API refuses."""
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        for start in range(0, len(filled), self.server.config.http_batch):
            batch = filled[start : start + self.server.config.http_batch]
            rows[batch] = self._ask([texts[row][: self.server.config.http_characters] for row in batch])
        return unit_rows(rows)

    def _ask(self, texts: Sequence[str]) -> Matrix:
        try:
            answer = self.server.ask(texts, self.server.config.http_patience)
        except (RequestRejected, EngineTimeoutError) as problem:
            smaller = self._smaller(texts, problem)
            if not smaller:
                raise
        else:
            if answer.shape[1] != self.dimension:
                raise self.server.nonsense(f"vectors of {answer.shape[1]} numbers after ones of {self.dimension}")
            return answer
        return np.concatenate([self._ask(piece) for piece in smaller])

    def _smaller(self, texts: Sequence[str], problem: EngineError) -> tuple[Sequence[str], ...]:
        if len(texts) > 1:
            return texts[: len(texts) // 2], texts[len(texts) // 2 :]
        (text,) = texts
        shorten = isinstance(problem, RequestRejected) and len(text) > self.server.config.http_least
        return ([text[: len(text) * 3 // 4]],) if shorten else ()


@dataclass(frozen=True, slots=True)
class _Server:
    """The address and the model."""

    url: str = field(repr=False)  # its query may hold a key
    model: str
    config: EmbedderConfig

    def ask(self, texts: Sequence[str], retries: int) -> Matrix:
        payload = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        answer = post_json(
            self.url, payload, token_env=self.config.token_env, timeout=self.config.http_seconds, retries=retries
        )
        try:
            rows = self._read(answer, len(texts))
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise self.nonsense("an answer that holds no vector for each text") from error
        if not np.isfinite(rows).all():
            hint = "the model itself fails on a text; see the server's own log, or choose another model"
            raise EngineError(
                "the server gave vectors with numbers that are none", file=redact_url(self.url), hint=hint
            )
        return rows

    def _read(self, answer: object, count: int) -> Matrix:
        entries = answer["data"] if isinstance(answer, dict) else []
        by_index = {entry.get("index", place): entry["embedding"] for place, entry in enumerate(entries)}
        rows = np.array([by_index[place] for place in range(count)], dtype=np.float64)
        if rows.ndim != 2 or not rows.shape[1] or len(entries) != count:
            raise ValueError(f"{rows.shape} for {count} texts")
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, which is reported
            return rows.astype(np.float32)

    def nonsense(self, what: str) -> EngineError:
        hint = f"check that {self.model} is an embedding model and the address its embeddings endpoint"
        return EngineError(f"the server gave {what}", file=redact_url(self.url), hint=hint)


def open_openai(target: str, config: EmbedderConfig) -> OpenAI:
    """Open `url#model`; a first request finds the length of its vectors."""
    address, _, model = target.rpartition("#")
    if not address or not model:
        raise ConfigError("an embedding server needs an address and a model", hint=_HINT)
    server = _Server(_endpoint(address), model, config)
    identity = f"openai/1 {redact_url(server.url)}#{model} characters={config.http_characters}"
    return OpenAI(identity, server.ask(["a"], config.http_retries).shape[1], server)


def _endpoint(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ConfigError("not a web address", hint=_HINT) from error
    path = parts.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path = f"{path or '/v1'}/embeddings"
    return parts._replace(path=path).geturl()
