"""Ask every engine every question, and keep what it said."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from assay._version import __version__
from assay.corpus.git.worktree import find_top
from assay.engines import as_engine
from assay.engines.base import Engine, FullEngine, Session
from assay.engines.calling import ask, close_session, one_line, open_session, session_notes
from assay.engines.normalise import Normaliser
from assay.errors import EngineError, EnvironmentFailure, InputError
from assay.experiment.environment import environment
from assay.experiment.places import Missing, Place, Question, prepare
from assay.gold import gold_hash, query_hash
from assay.gold.split.looks import log_looks
from assay.gold.split.parts import select
from assay.types import Corpus, CorpusFacts, EngineRun, Gold, Header, Hit, Query, Ranking, Run, Span, Status, Suite

Searcher = Engine | Callable[[str, int], Sequence[Hit | str]]

#: Times are kept to the microsecond, so that what is computed from memory and from disk is the same.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that an engine has."""

    query: float
    index: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, for whoever shows it."""

    engine: str
    gold: str
    done: int
    total: int
    step: Literal["corpus", "index", "search"]


Tell = Callable[[Progress], None]


def run(
    engines: Mapping[str, Searcher],
    gold: Suite | Gold,
    *,
    k: int = 10,
    forms: Sequence[str] | None = None,
    split: Sequence[str] = (),
    timeout: float = 60.0,
    index_timeout: float = 3600.0,
    cache: Path | None = None,
    missing: Missing | None = None,
    progress: Tell | None = None,
) -> Run:
    """Run engines over gold sets and return their rankings.

    Gold is checked against its corpus before any engine starts. `missing` says what a target that is
    not there does: "error", or "report" and go on without it; by default only the standard library,
    which is whatever interpreter runs, is reported. `split` names parts of a divided set; sealed queries
    are asked only by name, and the look is written down beside the set before any engine starts.
    """
    suite = select(Suite((gold,)) if isinstance(gold, Gold) else gold, split).suite
    if k < 1:
        raise InputError(f"k is {k}", hint="ask for at least one result")
    tell = progress or (lambda _: None)
    places = []
    for part in suite.golds:
        tell(Progress("", part.name, 0, 1, "corpus"))
        places.append(prepare(part, forms, cache, missing))
    limits = Limits(timeout, index_timeout)
    log_looks(suite, "run", list(engines))
    answered = tuple(_run_engine(name, as_engine(e), places, k, limits, tell) for name, e in engines.items())
    resolved = Suite(tuple(p.gold for p in places))
    return Run(
        suite=resolved,
        k=k,
        engines=answered,
        lines={p.gold.name: _line_table(p, answered) for p in places},
        hashes={f"{g.name}/{q.id}": query_hash(q, g.corpus) for g in resolved.golds for q in g.queries},
        header=_header(places, timeout),
    )


def _run_engine(
    name: str, engine: FullEngine, places: Iterable[Place], k: int, limits: Limits, tell: Tell
) -> EngineRun:
    """Ask one engine everything."""
    rankings: list[Ranking] = []
    seconds: dict[str, float] = {}
    notes = [f"asked for {engine.oversample} × k results (oversample)"] if engine.oversample > 1 else []
    for place in places:
        tell(Progress(name, place.gold.name, 0, len(place.questions), "index"))
        try:
            opened = open_session(engine, place.corpus, limits.index)
        except (EngineError, EnvironmentFailure) as error:
            # An engine that does not open costs the engine, never the run.
            notes.append(f"could not be opened on {place.gold.name}: {one_line(error)}")
            rankings += [_failed(place, question, error) for question in place.questions]
            continue
        seconds[place.gold.name] = round(opened.seconds, _DIGITS)
        try:
            rankings += _ask_all(name, opened.session, engine, place, k, limits, tell)
        finally:
            notes += session_notes(opened.session)
            trouble = close_session(opened.session)
            notes += [trouble] if trouble else []
    said = (*engine.notes, *notes)
    return EngineRun(name, tuple(rankings), engine.role, engine.oversample, dict(engine.config), seconds, said)


def _ask_all(
    name: str, session: Session, engine: FullEngine, place: Place, k: int, limits: Limits, tell: Tell
) -> Iterator[Ranking]:
    """Ask one session every question of one gold set."""
    normalise = Normaliser(place.corpus, lambda path: len(place.sizes.lines(path)))
    for done, question in enumerate(place.questions, start=1):
        answer = ask(session, question.text, k * engine.oversample, limits.query)
        normal = normalise(answer.hits, k, oversample=engine.oversample)
        kept = [replace(hit, snippet=None) for hit in normal.hits if not place.is_ours(hit.path)]
        ours = [hit.path for hit in normal.hits if place.is_ours(hit.path)]
        yield Ranking(
            gold=place.gold.name,
            query=question.query.id,
            form=question.form,
            hits=tuple(kept),
            tokens=tuple(place.sizes.tokens(hit) for hit in kept),
            status=answer.status,
            seconds=round(answer.seconds, _DIGITS),
            error=answer.error,
            notes=(*normal.notes, *_dropped(ours)),
        )
        tell(Progress(name, place.gold.name, done, len(place.questions), "search"))


def _dropped(ours: Sequence[str]) -> list[str]:
    """Say that results were our own files."""
    return [f"results that are Assay's own files were dropped, e.g. {ours[0]}"] if ours else []


def _line_table(place: Place, engines: Iterable[EngineRun]) -> dict[str, tuple[int, ...]]:
    """Keep the line sizes of every file of the corpus that a hit, a target or an adversary names."""
    paths = {h.path for e in engines for r in e.rankings if r.gold == place.gold.name for h in r.hits}
    paths |= {span.path for q in place.gold.queries for span in _spans(q)}
    return {path: place.sizes.lines(path) for path in sorted(paths) if path in place.sizes}


def _spans(query: Query) -> list[Span]:
    """List every place a query names."""
    return [t.span for t in query.targets] + [a.target.span for a in query.adversaries]


def _failed(place: Place, question: Question, error: EngineError | EnvironmentFailure) -> Ranking:
    """Record a question that could not even be asked."""
    return Ranking(place.gold.name, question.query.id, question.form, status=Status.ERROR, error=one_line(error))


def _header(places: Sequence[Place], timeout: float) -> Header:
    """Describe inputs and environment."""
    joined = "\n".join(gold_hash(p.gold) for p in places)
    return Header(
        assay=__version__,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        gold_hash=hashlib.sha256(joined.encode()).hexdigest()[:16],
        corpora={p.gold.name: _corpus_facts(p) for p in places},
        environment=environment(),
        timeout=timeout,
    )


def _repository(corpus: Corpus) -> str:
    """Name what queries are nested in: for a folder the work tree it lies in, else the folder itself.

    Parts of one repository are one repository, however a gold set writes their paths. The hash tells folders of
    one name apart without writing a machine's paths into results.
    """
    if corpus.spec.kind != "path":
        return corpus.spec.repository
    place = find_top(corpus.root.resolve()) or corpus.root.resolve()
    return f"path:{place.name}-{hashlib.sha256(str(place).encode()).hexdigest()[:6]}"


def _corpus_facts(place: Place) -> CorpusFacts:
    """Describe one corpus."""
    corpus = place.corpus
    return CorpusFacts(
        repository=_repository(corpus),
        revision=corpus.revision,
        digest=corpus.digest,
        files=len(corpus.files),
        skipped=dict(sorted(Counter(s.reason for s in corpus.skipped).items())),
        notes=corpus.notes,
        problems=place.problems,
    )
