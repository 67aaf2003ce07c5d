"""The targets as a ranking: the ceiling that a perfect engine could reach on this corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.corpus import read_text
from assay.engines.base import EngineContext, InProcessDefaults, Session
from assay.engines.fingerprints import identity_of
from assay.errors import ConfigError, EngineError
from assay.settings import read_settings
from assay.syntax.symbols import symbols
from assay.types import Corpus, Hit, Role, Span, Suite, Target


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of `kind = "oracle"`: none."""


@dataclass(frozen=True, slots=True)
class OracleEngine(InProcessDefaults):
    """Returns the targets of the queries of a suite."""

    suite: Suite
    oversample: int = 1
    role: Role = "ceiling"
    notes: tuple[str, ...] = ()

    @property
    def config(self) -> Mapping[str, object]:
        """Only the kind; the gold set is hashed apart."""
        return {"kind": "oracle"}

    @property
    def identity(self) -> str | None:  # type: ignore[override]  # computed
        """The code; caches of its rankings also depend on the gold set."""
        return identity_of(self.config, "engines/oracle.py")

    def open(self, corpus: Corpus) -> Session:
        """Collect the targets of the gold sets for this corpus."""
        answers: dict[str, list[Target]] = {}
        for gold in self.suite.golds:
            if gold.corpus == corpus.spec:
                for query in gold.queries:
                    for text in query.forms.values():
                        answers.setdefault(text, []).extend(query.targets)
        return OracleSession(corpus, {file.path: file.language for file in corpus.files}, answers)


@dataclass(frozen=True, slots=True)
class OracleSession:
    """The targets on one corpus, by the text of the query."""

    corpus: Corpus
    known: Mapping[str, str | None]  # its files and their languages
    answers: Mapping[str, Sequence[Target]]

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Return existing targets, highest grade first, then in gold order, without repeats."""
        if query not in self.answers:
            raise EngineError("the oracle knows no such query on this corpus", hint="ask only queries of the gold set")
        reachable = [target for target in self.answers[query] if target.span.path in self.known]
        ranked = sorted(reachable, key=lambda target: -target.grade)  # stable: gold order decides ties
        spans = dict.fromkeys(span for target in ranked for span in self._spans(target))
        return tuple(Hit(span.path, span.start, span.end) for span in list(spans)[: max(k, 0)])

    def close(self) -> None:
        """Do nothing."""

    def _spans(self, target: Target) -> Iterator[Span]:
        if target.symbol is None or target.span.start is not None:
            yield target.span
            return
        path = target.span.path
        for symbol in symbols(path, read_text(self.corpus, path), self.known[path]):
            if symbol.name == target.symbol:
                yield Span(path, symbol.start, symbol.end)


def make(settings: Mapping[str, object], context: EngineContext) -> OracleEngine:
    """Make the engine for the gold sets of the run."""
    read_settings(Settings, settings, "engine oracle")
    if context.suite is None:
        raise ConfigError("the oracle needs a gold set to answer from", hint="give one with --gold")
    return OracleEngine(context.suite)
