"""A `/rerank` endpoint as Cohere, Jina and Voyage have it, and servers like vLLM, llama.cpp and Infinity after them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.chat import Endpoint
from assay.errors import EngineError
from assay.http import post_json, shown_url
from assay.search.rerank.base import DEFAULT_RERANK, Passage, RerankConfig


@dataclass(frozen=True, slots=True)
class RerankEndpoint:
    """A re-ranking model served over HTTP."""

    endpoint: Endpoint
    config: RerankConfig = DEFAULT_RERANK

    @property
    def identity(self) -> str:
        """Name the model, where it is served and how much it reads."""
        return f"rerank:{self.endpoint.name};chars={self.config.passage_chars}"

    def order(self, query: str, passages: Sequence[Passage]) -> tuple[float, ...]:
        """Ask for the relevance of every passage.

        No `top_n` is sent: Voyage refuses it (its word is top_k), and without it all three score every document.
        """
        if not passages:
            return ()
        documents = [passage.shown(self.config.passage_chars) for passage in passages]
        payload = {"model": self.endpoint.model, "query": query, "documents": documents}
        answer = post_json(self.endpoint.url, payload, token_env=self.endpoint.token_env)
        return _scores(answer, len(passages), shown_url(self.endpoint.url))


def _scores(answer: object, count: int, where: str) -> tuple[float, ...]:
    """Put the scores into the passages' order: `results` of Cohere and Jina, `data` of Voyage."""
    match answer:
        case {"results": list(items)} | {"data": list(items)}:
            pairs = [_pair(item, count, where) for item in items]
        case _:
            raise _wrong("the answer has neither results nor data", where)
    scores = dict(pairs)
    if len(pairs) != count or len(scores) != count:
        raise _wrong(f"scored {len(scores)} of {count} passages, in {len(pairs)} entries", where)
    return tuple(scores[index] for index in range(count))


def _pair(item: object, count: int, where: str) -> tuple[int, float]:
    """Read one entry."""
    match item:
        case {"index": int(index), "relevance_score": int() | float() as score}:
            if 0 <= index < count and math.isfinite(score) and not isinstance(index, bool):
                return index, float(score)
    raise _wrong("an entry without a passage's index and a relevance_score", where)


def _wrong(what: str, where: str) -> EngineError:
    """Word a broken contract."""
    return EngineError(what, file=where, hint="the address must be that of a Cohere-, Jina- or Voyage-style /rerank")
