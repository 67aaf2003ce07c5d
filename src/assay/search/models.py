"""Models of one's own: which embed units, describe them, or order the results. None is set by default."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal, Self

Kind = Literal["float32", "int8", "binary"]
#: Models that are named by an address.
_SERVED: Final = ("openai", "rerank", "chat")


@dataclass(frozen=True, slots=True)
class DenseSettings:
    """A model that embeds, and how much it says beside the words."""

    model: str = field(
        default="",
        repr=False,  # an address may hold a token
        metadata={"about": "an embedder, such as model2vec:FOLDER; empty for words alone"},
    )
    docs_model: str = field(
        default="", repr=False, metadata={"about": "another embedder for documentation; empty for the same"}
    )
    vectors: Kind = field(
        default="float32",  # 1 kB a unit of 256 numbers; int8 is a quarter and as good
        metadata={"about": "how vectors are stored"},
    )
    fusion: str = field(
        default="max",  # the margins of BM25 say something: max .891, z-score .876, RRF .833-.870 on semble's half
        metadata={"about": "how words and meaning are put together: relative, max, zscore, rrf or rrf(k=20)"},
    )
    language: float = field(
        default=0.4,  # .2 to .6 are flat
        metadata={"about": "weight of meaning, beside 1 for words, when a sentence is asked"},
    )
    keywords: float = field(default=0.4, metadata={"about": "... when keywords are asked"})
    symbol: float = field(default=0.0, metadata={"about": "... when a name is asked: its letters say it all"})
    token_env: str = field(default="", metadata={"about": "the environment variable that holds an API's token"})
    query_prefix: str = field(default="", metadata={"about": "put before a query, as some models want"})
    code_prefix: str = field(default="", metadata={"about": "put before code"})
    docs_prefix: str = field(default="", metadata={"about": "put before documentation"})

    def shown(self) -> Self:
        """Give them as they may be written down."""
        return replace(self, model=_shown(self.model), docs_model=_shown(self.docs_model))


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """A model that orders the first results anew."""

    model: str = field(
        default="",
        repr=False,
        metadata={"about": "cross-encoder:MODEL, rerank:URL#MODEL or chat:URL#MODEL; empty for none"},
    )
    depth: int = field(
        default=20,  # a fixed number, so that the top 5 stays a prefix of the top 10
        metadata={"about": "results that are ordered anew"},
    )
    token_env: str = field(default="", metadata={"about": "the environment variable that holds the API's token"})

    def shown(self) -> Self:
        """Give them as they may be written down."""
        return replace(self, model=_shown(self.model))


@dataclass(frozen=True, slots=True)
class DescriptionSettings:
    """A model that writes a sentence about each unit, whose words are indexed too."""

    url: str = field(default="", repr=False, metadata={"about": "an OpenAI-compatible endpoint; empty for none"})
    model: str = field(default="", metadata={"about": "the model to ask"})
    token_env: str = field(default="", metadata={"about": "the environment variable that holds the API's token"})
    weight: float = field(default=1.0, metadata={"about": "occurrences that a word of the description counts for"})

    def shown(self) -> Self:
        """Give them as they may be written down."""
        return replace(self, url=_shown_url(self.url)) if self.url else self


def _shown(spec: str) -> str:
    """Name a model without what in its address may be a secret."""
    kind, _, target = spec.partition(":")
    if kind not in _SERVED and "://" not in target:
        return spec
    address, _, model = target.rpartition("#")
    return f"{kind}:{_shown_url(address)}#{model}" if address else f"{kind}:{_shown_url(target)}"


def _shown_url(url: str) -> str:
    """Give an address without its secrets; most searches ask no server and need no client."""
    from assay.http import shown_url

    return shown_url(url)
