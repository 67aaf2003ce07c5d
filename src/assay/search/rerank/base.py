"""What a re-ranker is, and what it is given to read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from assay.errors import EngineError


@dataclass(frozen=True, slots=True)
class RerankConfig:
    """How much of a passage a model reads."""

    #: A hundred lines of code, the longest span that is ever a result; cross-encoders read 512 tokens, half of it.
    passage_chars: int = 4000
    #: A chat model reads all at once: fifty passages of this size are 21,000 tokens, in a window of 32,000.
    chat_chars: int = 1500


DEFAULT_RERANK: Final = RerankConfig()


@dataclass(frozen=True, slots=True)
class Passage:
    """A candidate as a model sees it: lines `start` to `end` of a file."""

    path: str
    start: int
    end: int
    text: str

    def shown(self, chars: int) -> str:
        """Write where it is, then its beginning; never empty, which Voyage refuses."""
        return f"{self.path}:{self.start}-{self.end}\n{self.text[:chars]}"


class Reranker(Protocol):
    """Scores passages for a query; its identity names all that decides the scores, and holds no secret."""

    @property
    def identity(self) -> str:
        """Name the kind, the model and where it is served."""
        ...

    def order(self, query: str, passages: Sequence[Passage]) -> tuple[float, ...]:
        """Give one score for each passage, in the passages' order; the higher the better."""
        ...


def checked(scores: Sequence[float], passages: Sequence[Passage], identity: str) -> tuple[float, ...]:
    """Refuse scores that cannot order the passages."""
    if len(scores) != len(passages):
        raise EngineError(
            f"{identity} gave {len(scores)} scores for {len(passages)} passages",
            hint="a re-ranker scores every passage",
        )
    if not all(math.isfinite(score) for score in scores):
        raise EngineError(f"{identity} gave a score that is no number", hint="try another model")
    return tuple(float(score) for score in scores)
