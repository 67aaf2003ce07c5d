"""Settings of the search engine, read from three sources.

    assay.toml           [search.stem]            in the searched directory, or the file that --config names
                         files = 0.4
    environment          ASSAY_SEARCH__STEM__FILES=0.4      two underscores for each dot, in capitals
    command line         --set stem.files=0.4               (repeatable)

The command line overrides the environment, which overrides the file. Unknown keys are errors.
In the comments, a range of values is "flat" if the results hardly differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, fields, is_dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from math import inf, isfinite
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from assay.corpus.file_types import language_name
from assay.errors import ConfigError, did_you_mean
from assay.files import find_upward
from assay.records import dataclass
from assay.redaction import redact_url
from assay.search.chunking import ChunkConfig
from assay.search.dense import parse_fusion
from assay.search.query import Tokenizer
from assay.search.results import ResultFilter, SpanGrowth
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
    SingleWord,
    WholeFile,
)
from assay.search.vectors import VectorFormat
from assay.search.view import GraphConfig
from assay.settings import apply_overrides, coerce, iter_leaves, read_settings, setting
from assay.toml import find_line, read_toml, write_key

T = TypeVar("T")

SHIPPED: Final = "static"
UNSET: Final = -1.0
#: The signals that `without` may name, in the order of the pipeline.
STAGES: Final = (
    "coherence", "whole", "neighbours", "stem", "definition", "scope", "references", "identifier",
    "noise", "gaps", "word",
)  # fmt: skip
FILE: Final = "assay.toml"
TABLE: Final = "search"
PREFIX: Final = "ASSAY_SEARCH__"
_LIST_ALL: Final = "run `assay search --show-config` to list all settings"


@dataclass(frozen=True, slots=True)
class FeedbackSettings:
    """Settings of pseudo-relevance feedback, which shifts the query vector when spans are ranked."""

    # +.01 on queries that share no word with their target; .3 to .8 are flat
    weight: float = setting(0.5, "weight of the first results relative to the query; 0 disables feedback")
    units: int = setting(5, "number of first results that shift the query vector")  # three to ten are flat


@dataclass(frozen=True, slots=True)
class DenseSettings:
    """Settings of dense retrieval."""

    # repr=False: a URL may contain a token
    model: str = setting(SHIPPED, "embedder; static is the bundled model, empty disables dense retrieval", repr=False)
    docs_model: str = setting("", "embedder for documentation; empty to use `model`", repr=False)
    encoder: str = setting(
        "",
        "contextual encoder, a second dense signal: an installed model (`assay model list`), a directory, hf:ORG/NAME "
        "or an embedder such as openai:URL#MODEL; empty for none",
        repr=False,
    )
    # 1 kB per chunk of 256 numbers; int8 takes a quarter and is as good
    vectors: VectorFormat = setting("float32", "storage format of vectors")
    # nDCG@10 on semble's visible half: max .891, z-score .876, RRF .833-.870
    fusion: str = setting("max", "fusion of lexical and dense scores: relative, max, zscore, rrf or rrf(k=20)")
    # one weight for all kinds of query, on semble's visible half: .3 costs .001, .6 costs .007
    alpha: float = setting(
        UNSET,
        "weight of dense scores for all queries, 0 to 1; lexical scores get the rest; -1 for the weights below",
    )
    # .4 to .6 are flat where spans are ranked, with feedback
    language: float = setting(0.5, "weight of dense scores, relative to lexical scores, for natural-language queries")
    keywords: float = setting(0.5, "weight of dense scores for keyword queries")
    symbol: float = setting(0.0, "weight of dense scores for queries that are a name")
    # there are stronger signals for files: a product of .2 to .3 is flat, .5 gains nothing
    files: float = setting(0.5, "factor on the weight of dense scores when files are ranked")
    words: float = setting(1.0, "weight of lexical scores; 0 for dense retrieval only")
    # 0 to 2 are flat with lexical scores; dense retrieval alone is best at 4
    path: float = setting(1.0, "weight of path words relative to chunk words when files are ranked (static models)")
    # 200 to 1,000 are flat; scaling by all chunks cost .02 on the 50,000 of the standard library
    reach: int = setting(500, "number of nearest chunks that get a dense score and match even without a query word")
    feedback: FeedbackSettings = field(default_factory=FeedbackSettings)
    # .5 to 2 gained nothing: coverage of the query does not predict relevance
    rise: float = setting(0.0, "relative increase of the dense weight if the best lexical chunk lacks all query terms")
    token_env: str = setting("", "environment variable with the API token")
    query_prefix: str = setting("", "text added before each query, as some models expect")
    code_prefix: str = setting("", "text added before each chunk of code")
    docs_prefix: str = setting("", "text added before each chunk of documentation")


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """Settings of the contextual encoder that `dense.encoder` names."""

    mode: Literal["lazy", "full"] = setting("lazy", "chunks to encode: the best of the first stage, or all of them")
    # 50 to 200 are flat: .002 on the standard library and octocode's code
    candidates: int = setting(100, "lazy mode: number of chunks that get a score, the best of the first stage")
    # spans of the standard library with few shared words: .062 with 100 and no rise, .091 with 300, .117 with 500
    most: int = setting(
        500, "lazy mode: number of candidates for spans if the best chunk of the first stage does not cover the query"
    )
    # octocode's code and the standard library, spans: 100 gain -.009 and +.031, 500 -.006, +.047, 2,000 -.000, +.052
    nearest: int = setting(2_000, "full mode: number of chunks that get a score, the nearest to the query")
    # spans of the standard library, with the rise: .5 to .8 gain .055; octocode's code: .5 +.000, .6 +.003, .8 +.000
    language: float = setting(0.6, "weight, relative to the other scores, for natural-language queries")
    keywords: float = setting(0.6, "weight for keyword queries")
    symbol: float = setting(0.0, "weight for queries that are a name")
    # a product of .1 gains less, .5 no more
    files: float = setting(0.4167, "factor on the weight when files are ranked")
    # standard library, spans: +.009, few shared words .117 instead of .06; octocode's docs -.008; 4 to 5.7 are flat
    rise: float = setting(
        4.0, "relative increase of the weight for spans if the best chunk of the first stage does not cover the query"
    )
    max_tokens: int = setting(128, "maximum tokens of a text; the model's own limit takes precedence if smaller")
    pooling: Literal["auto", "mean", "cls"] = setting(
        "auto", "vector of a text from those of its tokens; auto: as the model"
    )
    token_env: str = setting("", "environment variable with the API token")
    query_prefix: str = setting("", "text added before each query, as some models expect")
    code_prefix: str = setting("", "text added before each chunk of code")
    docs_prefix: str = setting("", "text added before each chunk of documentation")


@dataclass(frozen=True, slots=True)
class TranslationSettings:
    """Settings of learned translations from query words to code words."""

    model: str = setting(SHIPPED, "static for the bundled translations, static:DIRECTORY for others; empty for none")
    # .4 to 1 are flat
    language: float = setting(0.6, "weight of a translation, relative to the word, for natural-language queries")
    keywords: float = setting(0.6, "weight of a translation for keyword queries")
    symbol: float = setting(0.0, "weight of a translation for queries that are a name")
    most: int = setting(10, "maximum number of translations per word")

    @property
    def directory(self) -> str | None:
        """Directory of the model; None for the bundled model."""
        return self.model.removeprefix(SHIPPED).removeprefix(":") or None


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """Settings of the model that reorders the first results."""

    # repr=False: a URL may contain a token
    model: str = setting(
        "",
        "cross-encoder:MODEL, rerank:URL#MODEL or chat:URL#MODEL, also with {env:NAME}; empty for none",
        repr=False,
    )
    depth: int = setting(20, "number of results to reorder")  # not k, so that the top 5 begin the top 10
    token_env: str = setting("", "environment variable with the API token")


@dataclass(frozen=True, slots=True)
class DescriptionSettings:
    """Settings of the chat model that describes chunks; descriptions are indexed with the chunks."""

    url: str = setting("", "OpenAI-compatible endpoint of the chat model; empty for none", repr=False)
    model: str = setting("", "name of the chat model")
    token_env: str = setting("", "environment variable with the API token")
    weight: float = setting(1.0, "number of occurrences that each word of a description counts as")

    @property
    def enabled(self) -> bool:
        return bool(self.url and self.weight)


@dataclass(frozen=True, slots=True)
class FieldConfig:
    """Weight of a word by the field that contains the word."""

    body: float = setting(1.0, "weight of words in the lines of the chunk, including comments")
    # +.011 on octocode's code, +.023 on its docs
    name: float = setting(2.0, "weight of words in the names that the chunk defines, or in its headings")
    scope: float = setting(1.0, "weight of words in the names of enclosing definitions, or in the headings above")
    signature: float = setting(1.0, "weight of words in the signature")
    # the body includes the doc comment; counting it twice cost .003 on octocode's code
    doc: float = setting(0.0, "additional weight of words in the doc comment, which is part of the body")
    stem: float = setting(1.0, "weight of words in the file name")
    folder: float = setting(1.0, "weight of words in the names of the parent directories")


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """Settings that determine the index table."""

    chunks: ChunkConfig = field(default_factory=ChunkConfig)
    fields: FieldConfig = field(default_factory=FieldConfig)
    # nDCG@10 of lexical scores alone on semble's visible half: identifier .668, trigram .641, unicode .628
    tokenizer: Tokenizer = setting(
        "identifier", "terms of a word: identifier parts with stems, unicode words, or trigrams (as in SQLite's FTS5)"
    )
    # longer words are data (base64, hashes), not typed in queries
    longest_word: int = setting(100, "maximum characters of an ASCII word; longer words are not indexed")
    description: DescriptionSettings = field(default_factory=DescriptionSettings)


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """Conditions on every result, in addition to the conditions of a single search."""

    include: tuple[str, ...] = setting((), "globs of the paths to return, such as src/** and !*.md; empty for all")
    kinds: tuple[str, ...] = setting((), "kinds of files (code, docs, config) or chunks (function, class) to return")
    languages: tuple[str, ...] = setting((), "languages to return; empty for all")
    min_score: float = setting(0.0, "minimum score of a result")

    def result_filter(self) -> ResultFilter:
        languages = tuple(map(language_name, self.languages))
        return ResultFilter(self.include, languages, self.kinds, None, self.min_score or None)


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """All settings of a search."""

    index: IndexConfig = field(default_factory=IndexConfig)
    lexical: Bm25 = field(default_factory=Bm25)
    translation: TranslationSettings = field(default_factory=TranslationSettings)
    dense: DenseSettings = field(default_factory=DenseSettings)
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    coherence: Coherence = field(default_factory=Coherence)
    whole: WholeFile = field(default_factory=WholeFile)
    neighbours: AdjacentChunks = field(default_factory=AdjacentChunks)
    stem: FileStem = field(default_factory=FileStem)
    definition: DefinitionName = field(default_factory=DefinitionName)
    scope: ScopeName = field(default_factory=ScopeName)
    references: References = field(default_factory=References)
    graph: GraphConfig = field(default_factory=GraphConfig)
    identifier: Identifier = field(default_factory=Identifier)
    noise: PathNoise = field(default_factory=PathNoise)
    gaps: DeclarationPenalty = field(default_factory=DeclarationPenalty)
    word: SingleWord = field(default_factory=SingleWord)
    growth: SpanGrowth = field(default_factory=SpanGrowth)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    filter: FilterSettings = field(default_factory=FilterSettings)
    without: tuple[str, ...] = setting((), "names of signals to disable")

    def __post_init__(self) -> None:
        if violation := _find_violation(flatten_config(self)):
            keys, message, hint = violation
            raise ConfigError(f"search setting {message}", hint=hint, keys=keys)

    def as_dict(self) -> Mapping[str, Any]:
        """Return the settings as nested dictionaries with redacted URLs, for records and hashes."""
        return asdict(redact_settings(self))


def redact_settings(record: T) -> T:
    changes: dict[str, object] = {}
    for column in fields(cast(Any, record)):
        value = getattr(record, column.name)
        if is_dataclass(value):
            changes[column.name] = redact_settings(value)
        elif not column.repr:
            changes[column.name] = _redact_address(value) if column.name == "url" else _redact_spec(value)
    return cast(T, replace(cast(Any, record), **changes))


def _redact_spec(spec: str) -> str:
    kind, _, target = spec.partition(":")
    if kind not in ("openai", "rerank", "chat") and "://" not in target:
        return spec
    address, _, model = target.rpartition("#")
    return f"{kind}:{_redact_address(address)}#{model}" if address else f"{kind}:{_redact_address(target)}"


def _redact_address(url: str) -> str:
    return url if not url or (url.startswith("{env:") and url.endswith("}")) else redact_url(url)


@cache
def setting_hints() -> Mapping[str, Any]:
    def collect(record: Any, prefix: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - a settings record
        for name, hint in get_type_hints(record).items():
            if is_dataclass(hint):
                yield from collect(hint, f"{prefix}{name}.")
            else:
                yield f"{prefix}{name}", hint

    return dict(collect(SearchConfig, ""))


def flatten_config(config: SearchConfig) -> dict[str, object]:
    return {name: attrgetter(name)(config) for name in setting_hints()}


#: Bounds by name pattern; the first match wins. Other floats are at least 0, other integers at least 1.
_BOUNDS: Final[Mapping[str, tuple[float, float]]] = {
    "lexical.b": (0, 1),
    "whole.b": (0, 1),
    "coherence.decay": (0, 1),
    "*.prefix": (0, 1),
    "references.least": (0, 1),
    "noise.*": (0, 1),
    "gaps.*": (0, 1),
    "growth.neighbour": (0, 1),
    "growth.times": (1, inf),
    "dense.alpha": (0, 1),
    "dense.reach": (0, inf),
    "index.chunks.overlap": (0, inf),
    "index.chunks.slack": (0, inf),
    "index.chunks.shortest": (0, inf),
    "index.chunks.whole_class": (0, inf),
}


def _find_violation(values: Mapping[str, Any]) -> tuple[tuple[str, ...], str, str] | None:
    """Return the invalid settings (the most likely cause first), a message and a hint; None if all are valid."""
    for name, hint in setting_hints().items():
        if expected := _expected(name, values[name], hint):
            return (name,), f"{name}: expected {expected}, got {values[name]!r}", _LIST_ALL
    names = ("index.chunks.overlap", "index.chunks.size")
    overlap, size = (values[name] for name in names)
    if overlap >= size:
        message = f"{names[0]}: expected less than {names[1]} ({size}), got {overlap}"
        return names, message, f"decrease {names[0]}, or increase {names[1]}"
    for stage in values["without"]:
        if stage not in STAGES:
            hint = did_you_mean(stage, STAGES) or f"use one of {', '.join(STAGES)}"
            return ("without",), f"without: unknown signal {stage!r}", hint
    try:
        parse_fusion(values["dense.fusion"])
    except ConfigError as error:
        return ("dense.fusion",), f"dense.fusion: {error.message}", error.hint or ""
    try:
        FilterSettings(**{name: values[f"filter.{name}"] for name in get_type_hints(FilterSettings)}).result_filter()
    except ConfigError as error:
        name = f"filter.{error.keys[0]}"
        return (name,), f"{name}: {error.message}", error.hint or ""
    spec = values["translation.model"]
    if spec and spec.partition(":")[0] != SHIPPED:
        hint = f'use {SHIPPED}, {SHIPPED}:DIRECTORY, or "" to disable translations'
        return ("translation.model",), f"translation.model: unknown model {spec!r}", hint
    return None


def _expected(name: str, value: Any, hint: Any) -> str | None:  # noqa: ANN401 - a type hint is any object
    if get_origin(hint) is Literal:
        return None if value in get_args(hint) else "one of " + ", ".join(map(str, get_args(hint)))
    if hint not in (int, float) or (name == "dense.alpha" and value == UNSET):
        return None
    low, high = _bounds(name) or (1 if hint is int else 0, inf)
    number = isinstance(value, hint | int) and not isinstance(value, bool)
    if number and isfinite(value) and low <= value <= high:
        return None
    noun = "a whole number" if hint is int else "a number"
    return f"{noun}, {low} or more" if high == inf else f"{noun} from {low} to {high}"


@cache
def _bounds(name: str) -> tuple[float, float] | None:
    return next((bounds for pattern, bounds in _BOUNDS.items() if fnmatchcase(name, pattern)), None)


def find_config(directory: Path) -> Path | None:
    """Return the assay.toml of a directory, or of a parent in the same Git repository."""
    return find_upward(directory, FILE)


def load_search_config(
    overrides: Sequence[str] = (), file: Path | None = None, environ: Mapping[str, str] | None = None
) -> SearchConfig:
    """Load the settings from `file`, `environ` and `overrides` (`key=value`); later sources take precedence."""
    given = [*_from_file(file), *_from_environment(environ or {}), *_from_flags(overrides)]
    if not given:
        return SearchConfig()
    values = _read_values(given)
    return read_settings(SearchConfig, apply_overrides({}, values), TABLE)


def read_environment(environ: Mapping[str, str]) -> dict[str, object]:
    return _read_values(_from_environment(environ))


@dataclass(frozen=True, slots=True)
class _Given:
    key: str
    value: object
    where: str = ""  # name of the environment variable or flag; empty for a file
    file: Path | None = None
    text: str = field(default="", repr=False)  # contents of `file`

    def error(self, message: str, hint: str) -> ConfigError:
        shown = f"{self.where}: {message}" if self.where else f"[{TABLE}] {message}"
        return ConfigError(shown, file=self.file, line=_line(self.text, f"{TABLE}.{self.key}"), hint=hint)


def _from_file(path: Path | None) -> Iterator[_Given]:
    if path is None:
        return
    file = read_toml(path)
    table = file.data.get(TABLE, {})
    if not isinstance(table, dict):
        line = _line(file.text, TABLE)
        raise ConfigError(f"{TABLE}: expected a table, got {table!r}", file=path, line=line, hint=f"write [{TABLE}]")
    for names, value in iter_leaves(table) if table else ():
        yield _Given(write_key(names), value, file=path, text=file.text)


def _line(text: str, dotted: str) -> int | None:
    while dotted and (line := find_line(text, dotted)) is None:
        dotted = dotted.rpartition(".")[0]
    return line if dotted else None


def _from_environment(environ: Mapping[str, str]) -> Iterator[_Given]:
    for name in sorted(environ):
        if name.startswith(PREFIX):
            key = name.removeprefix(PREFIX).replace("__", ".").lower()
            yield _Given(key, _parse_text(environ[name], key), name)
        elif name.startswith(PREFIX[:-1]):
            hint = f"write two underscores for each dot: {PREFIX}STEM__FILES=0.4"
            raise ConfigError(f"unknown environment variable {name}", hint=hint)


def _from_flags(overrides: Sequence[str]) -> Iterator[_Given]:
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set {text}: expected KEY=VALUE", hint="write --set stem.files=0.4")
        key = key.strip()
        yield _Given(key, _parse_text(value, key), f"--set {key}")


def _parse_text(text: str, key: str) -> object:
    import tomllib

    hint = setting_hints().get(key)
    try:
        value: object = tomllib.loads(f"value = {text}")["value"]
    except ValueError:  # TOMLDecodeError
        value = text if hint is str else text.strip()
    if hint is str and not isinstance(value, str):
        return text
    if get_origin(hint) is tuple and isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return text.strip() if get_origin(hint) is Literal and not isinstance(value, str) else value


def _read_values(sources: Iterable[_Given]) -> dict[str, object]:
    hints = setting_hints()
    values: dict[str, object] = {}
    origin: dict[str, _Given] = {}
    for given in sources:
        key = given.key
        if key in hints:
            try:
                values[key] = coerce(given.value, hints[key], key)
            except ConfigError as error:
                raise given.error(error.message, error.hint or _LIST_ALL) from error
            origin[key] = given
            continue
        inside = [name for name in hints if name.startswith(f"{key}.")]
        if inside and given.value != {}:
            raise given.error(f"expected a setting, got the table {key!r}", f"use one of {', '.join(inside)}")
        if not inside:
            raise given.error(f"unknown setting {key!r}", did_you_mean(key, hints) or _LIST_ALL)
    if violation := _find_violation(flatten_config(SearchConfig()) | values):
        keys, message, hint = violation
        raise next(origin[key] for key in keys if key in origin).error(message, hint)
    return values


def config_text(config: SearchConfig) -> str:
    """Return the settings as commented TOML for `load_search_config`, with redacted URLs."""
    return "\n\n".join("\n".join(table) for table in _tables(redact_settings(config), TABLE)) + "\n"


def _tables(record: Any, name: str) -> Iterator[list[str]]:  # noqa: ANN401 - any dataclass
    values = {column: getattr(record, column.name) for column in fields(record)}
    lines = [
        f"{column.name} = {json.dumps(value, ensure_ascii=False)}  # {column.metadata['about']}"
        for column, value in values.items()
        if not is_dataclass(value)
    ]
    if lines:
        yield [f"# {_summary(record)}", f"[{name}]", *lines]
    for column, value in values.items():
        if is_dataclass(value):
            yield from _tables(value, f"{name}.{column.name}")


def _summary(record: object) -> str:
    return (type(record).__doc__ or "").partition("\n")[0]


def config_schema() -> dict[str, Any]:
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The [search] table of assay.toml"}
    return head | _schema(SearchConfig())


def _schema(record: object) -> dict[str, Any]:
    hints = get_type_hints(type(record))
    properties = {}
    for column in fields(cast(Any, record)):
        value = getattr(record, column.name)
        if is_dataclass(value):
            properties[column.name] = _schema(value)
        else:
            described = {"default": value, "description": column.metadata["about"]}
            properties[column.name] = _json_type(hints[column.name]) | described
    return {"type": "object", "description": _summary(record), "additionalProperties": False, "properties": properties}


def _json_type(hint: Any) -> dict[str, Any]:  # noqa: ANN401 - a type hint is any object
    if get_origin(hint) is Literal:
        return {"enum": list(hint.__args__)}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _json_type(hint.__args__[0])}
    return {"type": {int: "integer", float: "number", str: "string", bool: "boolean"}[hint]}
