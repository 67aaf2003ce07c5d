"""Every number of dense search, with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.errors import ConfigError

Exact = Literal["float32", "int8"]


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """What an embedder is told beside its name. What shapes its vectors is part of its identity."""

    #: The environment variable that holds an API's token; the token itself is never part of a value of ours.
    token_env: str | None = None
    #: Put before each text of a role. Models are trained with such words ("query: ", "passage: "); their cards say so.
    query_prefix: str = ""
    code_prefix: str = ""
    docs_prefix: str = ""
    #: What BERT-like models have positions for and model2vec cuts at; a model that says less gets less.
    max_tokens: int = 512
    #: Texts that go through a local network at once. In a batch the last bits of a vector depend on its neighbours, so
    #: that an index after an update would differ from a fresh one; and a CPU gains little from more (see `onnx`).
    batch: int = 1
    #: Texts of one request: 32 of the longest stay below the 300,000 tokens that OpenAI takes at once.
    http_batch: int = 32
    #: OpenAI's models end at 8,191 tokens and refuse what is longer; code has about three characters to a token.
    http_characters: int = 24_000
    #: A text that a server refuses is cut to three quarters and sent again, as long as it has more characters than
    #: this. Every model has room for that many, so that what is refused then is refused for another reason.
    http_least: int = 200
    #: A batch takes a small server without a GPU some ten seconds.
    http_seconds: float = 60.0
    #: Tries again when a server is first asked: after 0.5, 1, 2 and 4 s a restart or a limit per second is over.
    http_retries: int = 4
    #: Tries again once it has answered. One that fails half of the time fails 17 times in a row once in 130,000
    #: requests, or 4 million texts; one that is gone is waited for some 80 s.
    http_patience: int = 16

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        for name in ("max_tokens", "batch", "http_batch", "http_characters", "http_least"):
            _at_least(name, getattr(self, name), 1)
        for name in ("http_retries", "http_patience"):
            _at_least(name, getattr(self, name), 0)
        if not self.http_seconds > 0:
            raise ConfigError(f"embedder setting http_seconds = {self.http_seconds!r}", hint="give a number above 0")


@dataclass(frozen=True, slots=True)
class VectorConfig:
    """How stored vectors are scanned."""

    #: Rows that a binary scan scores again exactly. On the standard library (35,165 windows of 25 lines, wordllama's
    #: vectors of 256, 200 docstrings as queries) the raw order has a recall@10 of 0.55, 200 make it 0.981, 400 0.993,
    #: 1000 0.999. `raw_loss` tells it for other data: noise without structure is much harder.
    rescored: int = 200
    #: What a binary scan scores again with. int8 makes the whole store a third of float32 alone; float32 is exact.
    exact: Exact = "float32"
    #: Bits of each number of a query in the binary scan. RaBitQ's choice: four add 3 % to the estimate's variance
    #: (step² / 12 against 1 - 2/pi, at a range of three deviations), and each costs a pass over the codes.
    query_bits: int = 4
    #: Draws the signs of the rotation; any value will do, and it must not change from build to build.
    seed: int = 0
    #: Rows worked on at a time: the temporaries of a scan stay in a core's second cache.
    block: int = 16_384

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        for name in ("rescored", "query_bits", "block"):
            _at_least(name, getattr(self, name), 1)
        _at_least("seed", self.seed, 0)
        if self.query_bits > 8:
            raise ConfigError(f"vector setting query_bits = {self.query_bits}", hint="more than 8 bits change nothing")
        if self.exact not in ("float32", "int8"):
            raise ConfigError(f"vector setting exact = {self.exact!r}", hint="it is float32 or int8")


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """How much the cache of embeddings may hold."""

    #: A million vectors of 256 float32 numbers: every repository one person works on.
    max_bytes: int = 1_000_000_000
    #: Files of one model and role before they are made into one; a file is written per refresh that embedded anything.
    max_segments: int = 16
    #: Texts that are embedded before they are kept: what is lost when the work breaks off. A network of six layers
    #: takes half a minute for them, an API 64 requests.
    piece: int = 2_048

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        _at_least("max_bytes", self.max_bytes, 0)
        _at_least("max_segments", self.max_segments, 1)
        _at_least("piece", self.piece, 1)


def _at_least(name: str, value: int, least: int) -> None:
    """Refuse a number that is too small, or none."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"dense setting {name} = {value!r}", hint=f"{name} must be a whole number, {least} or more")


DEFAULT_EMBEDDER = EmbedderConfig()
DEFAULT_VECTORS = VectorConfig()
DEFAULT_CACHE = CacheConfig()
