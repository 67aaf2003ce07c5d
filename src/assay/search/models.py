"""Models: the shipped one and others that embed units, translate words, describe units, or order the results."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal, Self

Kind = Literal["float32", "int8", "binary"]
#: The model that ships with Assay.
SHIPPED: Final = "static"
#: Models that are named by an address.
_SERVED: Final = ("openai", "rerank", "chat")


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a query learns from its first results before it is asked again, when spans are ranked."""

    weight: float = field(
        default=0.5,  # +.01 on questions that share no word with their answer; .3 to .8 are flat
        metadata={"about": "weight of the first results beside the query itself; 0 asks once"},
    )
    units: int = field(
        default=5,  # three to ten are flat
        metadata={"about": "first results that are learned from"},
    )


@dataclass(frozen=True, slots=True)
class DenseSettings:
    """A model that embeds, and how much it says beside the words."""

    model: str = field(
        default=SHIPPED,
        repr=False,  # an address may hold a token
        metadata={"about": "static for the model that ships with Assay, or another embedder; empty for words alone"},
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
        default=0.5,  # .4 to .6 are flat where spans are ranked, with feedback
        metadata={"about": "weight of meaning, beside 1 for words, when a sentence is asked"},
    )
    keywords: float = field(default=0.5, metadata={"about": "... when keywords are asked"})
    symbol: float = field(default=0.0, metadata={"about": "... when a name is asked: its letters say it all"})
    files: float = field(
        default=0.5,  # of the weight: there are stronger signals; .2 to .3 in all are flat, .5 gains nothing
        metadata={"about": "share of that weight when files are ranked"},
    )
    words: float = field(
        default=1.0,
        metadata={"about": "weight of words beside meaning; 0 for meaning alone, where there is a model"},
    )
    path: float = field(
        default=1.0,  # beside words 0 to 2 are flat; meaning alone wants 4
        metadata={"about": "weight of a path's words beside those of a unit, when files are ranked (static models)"},
    )
    reach: int = field(
        default=500,  # 200 to 1,000 are flat; to scale by all units cost .02 on the 50,000 of the standard library
        metadata={"about": "nearest units whose meaning counts; they are found though they hold no word of the query"},
    )
    feedback: Feedback = field(default_factory=Feedback)
    rise: float = field(
        default=0.0,  # .5 to 2 gained nothing: how much of a query is found does not tell whether it is the right place
        metadata={"about": "how many times more meaning weighs when no unit holds a word of the query"},
    )
    token_env: str = field(default="", metadata={"about": "the environment variable that holds an API's token"})
    query_prefix: str = field(default="", metadata={"about": "put before a query, as some models want"})
    code_prefix: str = field(default="", metadata={"about": "put before code"})
    docs_prefix: str = field(default="", metadata={"about": "put before documentation"})

    def shown(self) -> Self:
        """Give them as they may be written down."""
        return replace(self, model=_shown(self.model), docs_model=_shown(self.docs_model))


@dataclass(frozen=True, slots=True)
class TranslationSettings:
    """A learned table of what words of queries are called in code, and how far it is trusted."""

    model: str = field(
        default=SHIPPED,
        metadata={"about": "static for the table that ships with Assay, static:FOLDER for another; empty for none"},
    )
    language: float = field(
        default=0.6,  # .4 to 1 are flat
        metadata={"about": "worth of a sure translation, beside 1 for the word itself, when a sentence is asked"},
    )
    keywords: float = field(default=0.6, metadata={"about": "... when keywords are asked"})
    symbol: float = field(default=0.0, metadata={"about": "... when a name is asked"})
    most: int = field(default=10, metadata={"about": "translations of a word that are looked up"})

    @property
    def folder(self) -> str | None:
        """The folder of a model of one's own."""
        return self.model.removeprefix(SHIPPED).removeprefix(":") or None

    def weight(self, kind: str) -> float:
        """Choose the worth by the kind of the query."""
        return {"symbol": self.symbol, "keywords": self.keywords, "language": self.language}[kind]


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """A model that orders the first results anew."""

    model: str = field(
        default="",
        repr=False,
        metadata={
            "about": "cross-encoder:MODEL, rerank:URL#MODEL or chat:URL#MODEL, where {env:NAME} may stand; or empty"
        },
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

    @property
    def enabled(self) -> bool:
        """Return whether units are described at all."""
        return bool(self.url and self.weight)

    def shown(self) -> Self:
        """Give them as they may be written down."""
        return replace(self, url=_shown_url(self.url)) if self.url else self


def _shown(spec: str) -> str:
    kind, _, target = spec.partition(":")
    if kind not in _SERVED and "://" not in target:
        return spec
    address, _, model = target.rpartition("#")
    return f"{kind}:{_shown_url(address)}#{model}" if address else f"{kind}:{_shown_url(target)}"


def _shown_url(url: str) -> str:
    if url.startswith("{env:") and url.endswith("}"):
        return url
    from assay.http import redact_url

    return redact_url(url)
