from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from assay.digests import code_digest, digest_of
from assay.engines.base import (
    EngineContext,
    EngineDefaults,
    SearchFilter,
    Session,
    SharedCache,
    SharedStep,
    fingerprint_of,
    step_key,
)
from assay.engines.kinds import Component
from assay.search import Index, Per, SearchConfig
from assay.search.config import STAGES, TABLE, flatten_config, read_environment, redact_settings
from assay.search.sharing import (
    PartKeys,
    candidates_digest,
    encoder_digest,
    ranking_digest,
    search_identity,
    share_index,
    table_digest,
    vectors_digest,
)
from assay.settings import read_settings, setting
from assay.types import Corpus, Hit, ResultLevel, Waterfall


@dataclass(frozen=True, slots=True)
class BuiltinSettings:
    per: Literal["auto", "file", "span"] = setting("auto", "results: files, spans of lines, or as the gold set needs")
    search: SearchConfig = field(default_factory=SearchConfig)
    min_score: float = setting(0.0, "drop results below this score; 0 to keep all")


@dataclass(frozen=True)
class BuiltinEngine(EngineDefaults):
    search: SearchConfig
    per: Per
    min_score: float = 0.0

    @cached_property
    def config(self) -> Mapping[str, object]:
        more: dict[str, object] = {"min_score": self.min_score} if self.min_score else {}
        if self.search.dense.encoder:
            more["encoder_sha256"] = encoder_digest(self.search.dense.encoder)  # None: remote or not installed
        return {"kind": "builtin", "per": self.per, "search": dict(self.search.as_dict()), **more}

    def open(self, corpus: Corpus) -> Session:
        return BuiltinSession(Index.build(corpus, self.search), self.per, self.min_score)

    @cached_property
    def identity(self) -> str | None:  # type: ignore[override]  # computed once, because it reads code and models
        known = search_identity(self.search, self.per)
        return None if known is None else digest_of([known, _own_code(), self.min_score])

    @property
    def fingerprint(self) -> str:
        return self.identity or fingerprint_of(self.config, [step.digest for step in self.steps()])

    def steps(self) -> tuple[SharedStep, ...]:
        search, per = self.search, self.per
        dense = redact_settings(search.dense)
        model = " and ".join(filter(None, (dense.model, dense.docs_model))) or "no model"
        chunks = _changed_settings(search, "index") or f"split by {search.index.chunks.kind}"
        candidates = _changed_settings(search, "lexical", "translation", "dense", "encoder")
        return (
            SharedStep("chunks", table_digest(search), chunks),
            SharedStep("vectors", vectors_digest(search.dense), model),
            SharedStep("candidates", candidates_digest(search, per), candidates),
            SharedStep("ranking", digest_of([ranking_digest(search, per), _own_code(), self.min_score]), f"per {per}"),
        )

    def open_shared(self, corpus: Corpus, cache: SharedCache, _seconds: float | None) -> Session:
        steps = self.steps()
        keys = PartKeys(step_key(corpus.digest, steps[:1]), step_key(corpus.digest, steps[:2]))
        return BuiltinSession(share_index(corpus, self.search, cache, keys), self.per, self.min_score)


def _own_code() -> str:
    return code_digest("engines/builtin.py")


class BuiltinSession:
    filters = frozenset({"paths", "languages"})

    def __init__(self, index: Index, per: Per, min_score: float = 0.0) -> None:
        self._index = index
        self._per = per
        self._min_score = min_score or None

    def search(self, query: str, k: int) -> Sequence[Hit]:
        return self._index.search(query, k, per=self._per, min_score=self._min_score)

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, _seconds: float | None) -> Sequence[Hit]:
        paths, languages = wanted.paths, wanted.languages
        return self._index.search(query, k, per=self._per, paths=paths, languages=languages, min_score=self._min_score)

    def explain(self, query: str, k: int, also: Sequence[str] = ()) -> Waterfall:
        return self._index.explain(query, per=self._per, k=k, expect=also).waterfall()

    def update_within(self, corpus: Corpus, _seconds: float | None) -> None:
        self._index = self._index.updated(corpus)

    def close(self) -> None:
        pass


def _changed_settings(search: SearchConfig, *tables: str) -> str:
    usual = flatten_config(SearchConfig())
    changed = {
        name: value
        for name, value in flatten_config(search).items()
        if value != usual[name] and name.partition(".")[0] in tables and not name.endswith(_HIDDEN)
    }
    return ", ".join(f"{name.partition('.')[2]} {value}" for name, value in changed.items())


def make(settings: Mapping[str, object], context: EngineContext) -> BuiltinEngine:
    read = read_settings(BuiltinSettings, settings, "engine builtin")
    return BuiltinEngine(read.search, _resolve(read.per, context.level), read.min_score)


def _resolve(per: Literal["auto", "file", "span"], level: ResultLevel) -> Per:
    if per == "auto":
        return "span" if level == "lines" else "file"
    return per


def environment_settings(environ: Mapping[str, str]) -> dict[str, object]:
    return {f"{TABLE}.{key}": value for key, value in read_environment(environ).items()}


#: Hidden settings: URLs may contain secrets, and models have a separate step.
_HIDDEN = ("model", "url", "token_env")
#: Signals that by design have no effect on files or spans.
_SILENT: Mapping[Per, frozenset[str]] = {"file": frozenset({"neighbours", "scope"}), "span": frozenset({"references"})}


def ablations(settings: Mapping[str, object], level: ResultLevel = "file") -> tuple[Component, ...]:
    read = read_settings(BuiltinSettings, settings, "engine builtin")
    search, per = read.search, _resolve(read.per, level)
    spans = per == "span"
    off: dict[str, Mapping[str, object]] = {}
    for name, keys in (("names", ("name", "scope", "signature")), ("paths", ("stem", "folder"))):
        off[name] = {f"search.index.fields.{key}": 0.0 for key in keys if getattr(search.index.fields, key)}
    off["description"] = {"search.index.description.url": ""} if search.index.description.url else {}
    off["translation"] = {"search.translation.model": ""} if search.translation.model else {}
    off["dense"] = {"search.dense.model": ""} if search.dense.model else {}
    off["encoder"] = {"search.dense.encoder": ""} if search.dense.encoder else {}
    if search.dense.model and search.dense.feedback.weight and spans:
        off["feedback"] = {"search.dense.feedback.weight": 0.0}
    for stage in STAGES:
        if stage not in search.without and stage not in _SILENT[per]:
            off[stage] = {"search.without": [stage]}
    if "coherence" in off and not spans:
        off["coherence"] = {"search.coherence.chunks": 1} if search.coherence.chunks > 1 else {}
    off["rerank"] = {"search.rerank.model": ""} if search.rerank.model else {}
    return tuple(Component(name, settings) for name, settings in off.items() if settings)
