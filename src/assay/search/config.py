"""The configuration of the search engine: every number that shapes a ranking, with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from math import isfinite
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple, Self, cast, get_args, get_origin, get_type_hints

from assay.errors import ConfigError, closest_match
from assay.search.chunking import ChunkConfig
from assay.search.fusion import parse_fusion
from assay.search.names import GraphConfig
from assay.search.results import SpanGrowth
from assay.search.signals import (
    AdjacentChunks,
    Bm25,
    Coherence,
    DeclarationPenalty,
    DefinitionName,
    FileStem,
    Identifier,
    PathNoise,
    References,
    ScopeName,
)
from assay.search.vectors import Kind

#: The model that ships with Assay.
SHIPPED: Final = "static"
#: The stages that `without` may name; a test compares them with the pipeline.
STAGES: Final = (
    "coherence", "neighbours", "stem", "definition", "scope", "references", "identifier", "noise", "gaps",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Feedback:
    """Pseudo-relevance feedback: how the first results change the query vector when spans are ranked."""

    weight: float = field(
        default=0.5,  # +.01 on questions that share no word with their answer; .3 to .8 are flat
        metadata={"about": "weight of the first results beside the query; 0 for no feedback"},
    )
    units: int = field(
        default=5,  # three to ten are flat
        metadata={"about": "first results that are used"},
    )


@dataclass(frozen=True, slots=True)
class DenseSettings:
    """An embedding model, and the weight of dense beside lexical scores."""

    model: str = field(
        default=SHIPPED,
        repr=False,  # an address may hold a token
        metadata={"about": "static for the shipped model, or another embedder; empty for lexical search alone"},
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
        metadata={"about": "how lexical and dense scores are fused: relative, max, zscore, rrf or rrf(k=20)"},
    )
    language: float = field(
        default=0.5,  # .4 to .6 are flat where spans are ranked, with feedback
        metadata={"about": "weight of dense scores, beside 1 for lexical ones, when the query is a sentence"},
    )
    keywords: float = field(default=0.5, metadata={"about": "... when the query is keywords"})
    symbol: float = field(default=0.0, metadata={"about": "... when the query is a name"})
    files: float = field(
        default=0.5,  # of the weight: there are stronger signals; .2 to .3 in all are flat, .5 gains nothing
        metadata={"about": "share of that weight when files are ranked"},
    )
    words: float = field(
        default=1.0,
        metadata={"about": "weight of lexical scores beside dense ones; 0 for dense search alone"},
    )
    path: float = field(
        default=1.0,  # beside words 0 to 2 are flat; meaning alone wants 4
        metadata={"about": "weight of a path's words beside those of a chunk, when files are ranked (static models)"},
    )
    reach: int = field(
        default=500,  # 200 to 1,000 are flat; to scale by all units cost .02 on the 50,000 of the standard library
        metadata={"about": "nearest chunks with a dense score; they match even without a word of the query"},
    )
    feedback: Feedback = field(default_factory=Feedback)
    rise: float = field(
        default=0.0,  # .5 to 2 gained nothing: how much of a query is found does not tell whether it is the right place
        metadata={"about": "increase of the dense weight as the best chunk lacks words of the query"},
    )
    token_env: str = field(default="", metadata={"about": "the environment variable that holds an API's token"})
    query_prefix: str = field(default="", metadata={"about": "text before a query, as some models expect"})
    code_prefix: str = field(default="", metadata={"about": "text before code"})
    docs_prefix: str = field(default="", metadata={"about": "text before documentation"})

    def redacted(self) -> Self:
        """Return the settings with redacted addresses."""
        return replace(self, model=_redact_spec(self.model), docs_model=_redact_spec(self.docs_model))


@dataclass(frozen=True, slots=True)
class TranslationSettings:
    """A learned table that translates words of queries to words of code, and its weight."""

    model: str = field(
        default=SHIPPED,
        metadata={"about": "static for the table that ships with Assay, static:FOLDER for another; empty for none"},
    )
    language: float = field(
        default=0.6,  # .4 to 1 are flat
        metadata={"about": "weight of a certain translation, beside 1 for the word, when the query is a sentence"},
    )
    keywords: float = field(default=0.6, metadata={"about": "... when the query is keywords"})
    symbol: float = field(default=0.0, metadata={"about": "... when the query is a name"})
    most: int = field(default=10, metadata={"about": "translations of a word that are looked up"})

    @property
    def folder(self) -> str | None:
        """The folder of a model other than the shipped one."""
        return self.model.removeprefix(SHIPPED).removeprefix(":") or None

    def weight(self, kind: str) -> float:
        """Return the weight of a translation for a kind of query."""
        return {"symbol": self.symbol, "keywords": self.keywords, "language": self.language}[kind]


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """A model that reorders the first results."""

    model: str = field(
        default="",
        repr=False,
        metadata={"about": "cross-encoder:MODEL, rerank:URL#MODEL or chat:URL#MODEL, with {env:NAME}; empty for none"},
    )
    depth: int = field(
        default=20,  # a fixed number, so that the top 5 stays a prefix of the top 10
        metadata={"about": "results that are reordered"},
    )
    token_env: str = field(default="", metadata={"about": "the environment variable that holds the API's token"})

    def redacted(self) -> Self:
        """Return the settings with redacted addresses."""
        return replace(self, model=_redact_spec(self.model))


@dataclass(frozen=True, slots=True)
class DescriptionSettings:
    """A chat model that writes a sentence about each chunk, whose words are indexed too."""

    url: str = field(default="", repr=False, metadata={"about": "an OpenAI-compatible endpoint; empty for none"})
    model: str = field(default="", metadata={"about": "name of the model"})
    token_env: str = field(default="", metadata={"about": "the environment variable that holds the API's token"})
    weight: float = field(default=1.0, metadata={"about": "occurrences that a word of the description counts for"})

    @property
    def enabled(self) -> bool:
        """Return whether chunks are described."""
        return bool(self.url and self.weight)

    def redacted(self) -> Self:
        """Return the settings with redacted addresses."""
        return replace(self, url=_redact_url(self.url)) if self.url else self


@dataclass(frozen=True, slots=True)
class FieldConfig:
    """How often a word counts, by where it occurs."""

    body: float = field(default=1.0, metadata={"about": "in the lines of the chunk, comments included"})
    name: float = field(
        default=2.0,  # +.011 on octocode's code, +.023 on its docs
        metadata={"about": "in the names that the chunk defines, or in its heading"},
    )
    scope: float = field(default=1.0, metadata={"about": "in the names around the chunk"})
    signature: float = field(default=1.0, metadata={"about": "in the signature"})
    doc: float = field(
        default=0.0,  # part of the lines already; counted twice it cost .003 on octocode's code
        metadata={"about": "once more in the doc comment of the chunk"},
    )
    stem: float = field(default=1.0, metadata={"about": "in the name of the file"})
    folder: float = field(default=1.0, metadata={"about": "in the names of its folders"})


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """Settings that shape the index; the others apply at query time."""

    chunks: ChunkConfig = field(default_factory=ChunkConfig)
    fields: FieldConfig = field(default_factory=FieldConfig)
    longest_word: int = field(
        default=100,  # longer words are data (base64, hashes), not typed in queries
        metadata={"about": "characters of the longest ASCII word"},
    )
    description: DescriptionSettings = field(default_factory=DescriptionSettings)


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """One value that, with the corpus, decides every answer."""

    index: IndexConfig = field(default_factory=IndexConfig)
    lexical: Bm25 = field(default_factory=Bm25)
    translation: TranslationSettings = field(default_factory=TranslationSettings)
    dense: DenseSettings = field(default_factory=DenseSettings)
    coherence: Coherence = field(default_factory=Coherence)
    neighbours: AdjacentChunks = field(default_factory=AdjacentChunks)
    stem: FileStem = field(default_factory=FileStem)
    definition: DefinitionName = field(default_factory=DefinitionName)
    scope: ScopeName = field(default_factory=ScopeName)
    references: References = field(default_factory=References)
    graph: GraphConfig = field(default_factory=GraphConfig)
    identifier: Identifier = field(default_factory=Identifier)
    noise: PathNoise = field(default_factory=PathNoise)
    gaps: DeclarationPenalty = field(default_factory=DeclarationPenalty)
    growth: SpanGrowth = field(default_factory=SpanGrowth)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    without: tuple[str, ...] = field(default=(), metadata={"about": "signals to leave out, by name"})

    def __post_init__(self) -> None:
        violation = find_violation(flatten(self), setting_hints(SearchConfig))
        if violation:
            raise ConfigError(f"search setting {violation.message}", hint=violation.hint)

    def as_dict(self) -> Mapping[str, Any]:
        """Return the settings by name, for records and hashes, with redacted addresses."""
        index = replace(self.index, description=self.index.description.redacted())
        return asdict(replace(self, index=index, dense=self.dense.redacted(), rerank=self.rerank.redacted()))


def _redact_spec(spec: str) -> str:
    kind, _, target = spec.partition(":")
    if kind not in ("openai", "rerank", "chat") and "://" not in target:
        return spec
    address, _, model = target.rpartition("#")
    return f"{kind}:{_redact_url(address)}#{model}" if address else f"{kind}:{_redact_url(target)}"


def _redact_url(url: str) -> str:
    if url.startswith("{env:") and url.endswith("}"):
        return url
    from assay.http import redact_url

    return redact_url(url)


class ConstraintViolation(NamedTuple):
    """The settings that break a rule together, the likeliest culprit first, and what to say."""

    keys: tuple[str, ...]
    message: str
    hint: str


class _Constraint(NamedTuple):
    holds: Callable[[Any], bool]
    wanted: str


_WEIGHT: Final = _Constraint(lambda value: isfinite(value) and value >= 0, "a number, 0 or more")
_SHARE: Final = _Constraint(lambda value: 0 <= value <= 1, "a number from 0 to 1")
_FACTOR: Final = _Constraint(lambda value: isfinite(value) and value >= 1, "a number, 1 or more")
_COUNT: Final = _Constraint(lambda value: value >= 1, "a whole number, 1 or more")
_SIZE: Final = _Constraint(lambda value: value >= 0, "a whole number, 0 or more")

#: Settings by pattern, the first that matches; any other number is a weight or a count, so new ones are checked too.
_CONSTRAINTS: Final[Mapping[str, _Constraint]] = {
    "lexical.b": _SHARE,
    "coherence.decay": _SHARE,
    "*.prefix": _SHARE,
    "references.least": _SHARE,
    "noise.*": _SHARE,
    "gaps.*": _SHARE,
    "growth.neighbour": _SHARE,
    "growth.times": _FACTOR,
    "dense.reach": _SIZE,
    "index.chunks.overlap": _SIZE,
    "index.chunks.slack": _SIZE,
    "index.chunks.shortest": _SIZE,
    "index.chunks.whole_class": _SIZE,
}


def setting_hints(record: type[object]) -> Mapping[str, Any]:
    """Return the types of the settings of a record class and of the records in it, by dotted name."""
    return _setting_hints(cast(Any, record))


@cache
def _setting_hints(record: Any) -> Mapping[str, Any]:  # noqa: ANN401 - mypy takes no class for hashable
    found: dict[str, Any] = {}
    hints = get_type_hints(record)
    for setting in fields(record):
        hint = hints[setting.name]
        inner = setting_hints(cast(type, hint)) if is_dataclass(hint) else None
        found |= {setting.name: hint} if inner is None else {f"{setting.name}.{k}": v for k, v in inner.items()}
    return found


def flatten(config: object) -> dict[str, object]:
    """Return the settings of a configuration by dotted name."""
    return {name: attrgetter(name)(config) for name in setting_hints(type(config))}


def find_violation(values: Mapping[str, object], hints: Mapping[str, Any]) -> ConstraintViolation | None:
    """Return the first rule that settings break: each setting alone, then those that must fit each other."""
    return next(_violations(values, hints), None)


def _violations(values: Mapping[str, object], hints: Mapping[str, Any]) -> Iterator[ConstraintViolation]:
    for name, value in values.items():
        constraint = _constraint(name, hints[name])
        if constraint and not constraint.holds(value):
            yield ConstraintViolation((name,), f"{name} = {value!r}", f"{name} must be {constraint.wanted}")
    names = ("index.chunks.overlap", "index.chunks.size")
    overlap, size = (cast(int, values.get(name, at)) for at, name in enumerate(names))
    if overlap >= size:
        message = f"{names[0]} = {overlap} with {names[1]} = {size}"
        yield ConstraintViolation(names, message, "the overlap must be smaller than the size")
    for stage in cast(tuple[str, ...], values.get("without", ())):
        if stage not in STAGES:
            near = closest_match(stage, STAGES)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            message = f"without: unknown stage {stage!r}{meant}"
            yield ConstraintViolation(("without",), message, f"stages: {', '.join(STAGES)}")
    try:
        parse_fusion(str(values.get("dense.fusion", "max")))
    except ConfigError as error:
        yield ConstraintViolation(("dense.fusion",), f"dense.fusion: {error.message}", error.hint or "")
    name = "translation.model"
    spec = str(values.get(name, ""))
    if spec and spec.partition(":")[0] != SHIPPED:
        hint = f"it is {SHIPPED}, {SHIPPED}:FOLDER, or empty for none"
        yield ConstraintViolation((name,), f"{name} = {spec!r}", hint)


@cache
def _constraint(name: str, hint: Any) -> _Constraint | None:  # noqa: ANN401 - a type hint is any object
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        return _Constraint(lambda value: value in choices, "one of " + ", ".join(map(str, choices)))
    if hint not in (int, float):
        return None
    default = _COUNT if hint is int else _WEIGHT
    number = next((each for pattern, each in _CONSTRAINTS.items() if fnmatchcase(name, pattern)), default)
    kinds = (int,) if hint is int else (int, float)
    return _Constraint(
        lambda value: isinstance(value, kinds) and not isinstance(value, bool) and number.holds(value), number.wanted
    )
