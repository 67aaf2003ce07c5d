"""Trace queries of a saved run through the stages of the built-in engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from assay.errors import AssayError, ConfigError
from assay.types import Corpus, CorpusInfo, EngineRun, GoldSet, Query, Run, Waterfall

if TYPE_CHECKING:
    from assay.engines.base import ExplainingSession, FullEngine
    from assay.store import Store


@dataclass(frozen=True, slots=True)
class TraceLimits:
    """What a trace may cost where nobody asked for it."""

    files: int = 500  # of a corpus that may be small: one with more is not even looked at
    small: int = 2_000_000  # bytes of a corpus that is indexed in some two seconds (a megabyte a second, measured)


LIMITS = TraceLimits()


class TraceQuery(NamedTuple):
    """One form of one query of a run."""

    gold: str
    query: str
    form: str


@dataclass(frozen=True, slots=True)
class QueryTrace:
    """What an engine did with a query."""

    engine: str
    waterfall: Waterfall


@dataclass(frozen=True, slots=True)
class Traces:
    """The queries that were traced, and sentences on those that were not."""

    made: Mapping[TraceQuery, QueryTrace] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class _Untraced(Exception):
    """A gold set whose queries cannot be traced, and why, as the end of a sentence."""


def explainable(run: Run) -> tuple[EngineRun, ...]:
    """Name the engines of a run that can say what they did."""
    return tuple(engine for engine in run.engines if engine.config.get("kind") == "builtin")


def choose_explainable(run: Run, name: str | None) -> EngineRun:
    """Find the engine that can be asked stage by stage."""
    known = explainable(run)
    if name is None and len(known) == 1:
        return known[0]
    for engine in known:
        if engine.name == name:
            return engine
    if not known:
        raise ConfigError("no engine of this run is builtin", hint="only the builtin engine can say what it did")
    what = "several engines of this run are builtin" if name is None else f"{name} is no builtin engine of this run"
    raise ConfigError(what, hint=f"name one with --engine: {', '.join(engine.name for engine in known)}")


def rebuild_engine(engine: EngineRun) -> FullEngine:
    """Make an engine with the settings that it had; those of an older engine may mean nothing now."""
    from assay.engines import make_engine

    try:
        return make_engine(dict(engine.config))
    except ConfigError as error:
        raise ConfigError(error.message, hint="the run is of another Assay: run it again") from error


def traces_of(
    run: Run, chosen: Sequence[tuple[str, str, str]], engine: str | None, most: int, *, cheap: bool = False
) -> Traces:
    """Trace the first `most` of the chosen queries, given as gold, query and form.

    `cheap` leaves out all but small corpora, whether their index is kept or not: the same run has the same traces on
    every machine.
    """
    wanted = [TraceQuery(*one) for one in chosen[:most]]
    if not wanted:
        return Traces()
    subject = choose_explainable(run, engine)
    try:
        tracer = _Tracer(run, rebuild_engine(subject), cheap)
    except AssayError as error:
        return Traces({}, (f"{subject.name} cannot be traced: {error.message}.",))
    made: dict[TraceQuery, QueryTrace] = {}
    notes: list[str] = []
    for gold in run.suite.golds:
        here = [one for one in wanted if one.gold == gold.name]
        try:
            made |= {one: QueryTrace(subject.name, found) for one, found in tracer.trace(gold, here).items()}
        except (_Untraced, AssayError, OSError) as error:
            what = error.message if isinstance(error, AssayError) else str(error)
            notes.append(f"No traces of {gold.name}: {what}.")
    return Traces({one: made[one] for one in wanted if one in made}, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Tracer:
    """An engine that is asked again."""

    run: Run
    engine: FullEngine
    cheap: bool

    def trace(self, gold: GoldSet, wanted: Sequence[TraceQuery]) -> dict[TraceQuery, Waterfall]:
        from assay.store import Store

        if not wanted:
            return {}
        facts = self.run.header.corpora.get(gold.name)
        if facts is None:
            raise _Untraced("the run does not say which corpus it saw")
        with Store() as artefacts:
            if self.cheap and not self._may_be_small(facts):
                raise _Untraced(_COSTLY)
            corpus = _same_corpus(gold, facts)
            if self.cheap and sum(file.size for file in corpus.files) > LIMITS.small:
                raise _Untraced(_COSTLY)
            return self._asked(gold, corpus, wanted, artefacts)

    def _may_be_small(self, facts: CorpusInfo) -> bool:
        # a model behind an address, which has no identity, takes time and may cost money
        return self.engine.identity is not None and facts.files <= LIMITS.files

    def _asked(
        self, gold: GoldSet, corpus: Corpus, wanted: Sequence[TraceQuery], artefacts: Store
    ) -> dict[TraceQuery, Waterfall]:
        from assay.engines.base import SharedCache, sharing_engine

        queries = {query.id: query for query in gold.queries}
        shelf = SharedCache(corpus, artefacts)
        try:
            shares = sharing_engine(self.engine)
            opened = shares.open_shared(corpus, shelf, None) if shares else self.engine.open(corpus)
            session = _explaining(opened)
            return {one: _explained(session, queries[one.query], one.form, self.run.k) for one in wanted}
        finally:
            shelf.close()


_COSTLY = "its corpus is large, and its index would have to be made first"


def _explained(session: ExplainingSession, query: Query, form: str, k: int) -> Waterfall:
    paths = tuple(dict.fromkeys(target.span.path for target in query.targets))
    return session.explain(query.forms[form], k, paths)


def _same_corpus(gold: GoldSet, facts: CorpusInfo) -> Corpus:
    from assay.experiment.corpora import is_corpus_here, reopen

    corpus = reopen(gold, None).corpus
    if facts.digest != corpus.digest:
        raise _Untraced(
            "its corpus is not what it was in the run" if is_corpus_here(gold) else "its gold set is not here"
        )
    return corpus


def _explaining(session: object) -> ExplainingSession:
    from assay.engines.base import ExplainingSession

    if not isinstance(session, ExplainingSession):
        raise _Untraced("the engine cannot say what it did")
    return session
