from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from assay.corpus_changes import changed_since
from assay.engines import make_engine
from assay.engines.base import ExplainingSession, FullEngine, SharedCache, sharing_engine
from assay.errors import AssayError, ConfigError
from assay.experiment.corpora import is_corpus_here, reopen
from assay.store.store import Store
from assay.types import Corpus, EngineRun, GoldSet, Run, Waterfall

#: Largest corpus whose queries are traced without a request.
_MOST_FILES = 500  # a corpus with more is not even opened
_MOST_BYTES = 2_000_000  # indexed in about two seconds (measured: a megabyte per second)


class TraceQuery(NamedTuple):
    gold: str
    query: str
    form: str


@dataclass(frozen=True, slots=True)
class QueryTrace:
    engine: str
    waterfall: Waterfall


@dataclass(frozen=True, slots=True)
class Traces:
    """Traced queries, and notes on gold sets or engines that could not be traced."""

    made: Mapping[TraceQuery, QueryTrace] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class _Untraced(Exception):
    """Error for a gold set whose queries cannot be traced; its message is part of a note."""


def explainable_engines(run: Run) -> tuple[EngineRun, ...]:
    """Return the engines of a run that can be traced."""
    return tuple(engine for engine in run.engines if engine.config.get("kind") == "builtin")


def choose_explainable(run: Run, name: str | None) -> EngineRun:
    """Return the named engine, or the only one that can be traced."""
    known = explainable_engines(run)
    chosen = known if name is None else [engine for engine in known if engine.name == name]
    if len(chosen) == 1:
        return chosen[0]
    if not known:
        raise ConfigError("no engine of this run can be traced", hint="repeat the run with a builtin engine")
    problem = "several engines of this run can be traced" if name is None else f"cannot trace {name!r}"
    raise ConfigError(problem, hint=f"name one with --engine: {', '.join(engine.name for engine in known)}")


def rebuild_engine(engine: EngineRun) -> FullEngine:
    """Make an engine from its recorded settings; raise ConfigError if this version of Assay rejects them."""
    try:
        return make_engine(dict(engine.config))
    except ConfigError as error:
        raise ConfigError(error.message, hint="repeat the run with this version of Assay") from error


def trace_queries(
    run: Run, chosen: Sequence[tuple[str, str, str]], engine: str | None, most: int, *, cheap: bool = False
) -> Traces:
    """Trace the first `most` of the chosen queries, given as gold set, query and form.

    `cheap` traces only small corpora, even if an index is cached, so that a run has the same traces on every machine.
    """
    wanted = [TraceQuery(*query) for query in chosen[:most]]
    if not wanted:
        return Traces()
    record = choose_explainable(run, engine)
    try:
        rebuilt = rebuild_engine(record)
    except AssayError as error:
        return Traces({}, (f"{record.name} cannot be traced: {error.message}.",))
    made: dict[TraceQuery, QueryTrace] = {}
    notes: list[str] = []
    for gold in run.suite.golds:
        queries = [query for query in wanted if query.gold == gold.name]
        try:
            if queries:
                corpus = _open_corpus(run, gold, rebuilt, cheap=cheap)
                traced = _trace(rebuilt, gold, corpus, queries, run.k)
                made |= {query: QueryTrace(record.name, waterfall) for query, waterfall in traced.items()}
        except (_Untraced, AssayError, OSError) as error:
            reason = error.message if isinstance(error, AssayError) else str(error)
            notes.append(f"No traces of {gold.name}: {reason}.")
    return Traces({query: made[query] for query in wanted if query in made}, tuple(notes))


def _open_corpus(run: Run, gold: GoldSet, engine: FullEngine, *, cheap: bool) -> Corpus:
    """Open the corpus of the run; raise _Untraced if it changed or, with `cheap`, if it is large."""
    facts = run.header.corpora.get(gold.name)
    if facts is None:
        raise _Untraced("the run records no corpus")
    # an engine without identity uses a remote model, which takes time and may cost money
    costly = cheap and (engine.identity is None or facts.files > _MOST_FILES)
    corpus = None if costly else reopen(gold, None).corpus
    if corpus is None or (cheap and sum(file.size for file in corpus.files) > _MOST_BYTES):
        raise _Untraced("its corpus is too large to trace by default")
    if changed_since(facts, corpus.digest):
        here = is_corpus_here(gold)
        raise _Untraced("its corpus changed since the run" if here else "its gold set was not found")
    return corpus


def _trace(
    engine: FullEngine, gold: GoldSet, corpus: Corpus, wanted: Sequence[TraceQuery], k: int
) -> dict[TraceQuery, Waterfall]:
    queries = {query.id: query for query in gold.queries}
    with Store() as store:
        cache = SharedCache(corpus, store)
        try:
            shares = sharing_engine(engine)
            session = shares.open_shared(corpus, cache, None) if shares else engine.open(corpus)
            if not isinstance(session, ExplainingSession):
                raise _Untraced("the engine does not support traces")
            targets = {q.id: tuple(dict.fromkeys(t.span.path for t in q.targets)) for q in gold.queries}
            return {
                trace: session.explain(queries[trace.query].forms[trace.form], k, targets[trace.query])
                for trace in wanted
            }
        finally:
            cache.close()
