"""Ask every engine every question, and keep what it said."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from assay._version import __version__
from assay.corpus.git.worktree import find_top
from assay.engines import as_engine
from assay.engines.base import Engine, FullEngine
from assay.engines.pinning import available_threads, pinned
from assay.errors import InputError
from assay.experiment.asking import Limits, Progress, Stay, Tell, stay_together
from assay.experiment.environment import environment
from assay.experiment.places import Missing, Place, prepare
from assay.gold import gold_hash, query_hash
from assay.gold.split.looks import log_looks
from assay.gold.split.parts import select
from assay.redaction import declare_values, hiding
from assay.types import TIME_LIMITS, Corpus, CorpusFacts, EngineRun, Gold, Header, Hit, Query, Run, Span, Suite

Searcher = Engine | Callable[[str, int], Sequence[Hit | str]]


def run(
    engines: Mapping[str, Searcher],
    gold: Suite | Gold,
    *,
    k: int = 10,
    forms: Sequence[str] | None = None,
    split: Sequence[str] = (),
    timeout: float = TIME_LIMITS.query,
    index_timeout: float = TIME_LIMITS.index,
    give_up: int = 10,
    threads: int | None = None,
    interleave: bool = True,
    cache: Path | None = None,
    missing: Missing | None = None,
    progress: Tell | None = None,
) -> Run:
    """Run engines over gold sets and return their rankings.

    Gold is checked against its corpus before any engine starts. `missing` says what a target that is
    not there does: "error", or "report" and go on without it; by default only the standard library,
    which is whatever interpreter runs, is reported. `split` names parts of a divided set; sealed queries
    are asked only by name, and the look is written down beside the set before any engine starts.

    Engines take turns at every question, so that what the machine does meanwhile hits all of them; with `interleave`
    off they come one after the other, and only one is open at a time. All have the same `threads` processors (all
    there are). After `give_up` time-outs in a row an engine is not asked any more on that corpus (0: it always is).
    """
    suite = select(Suite((gold,)) if isinstance(gold, Gold) else gold, split).suite
    if k < 1:
        raise InputError(f"k is {k}", hint="ask for at least one result")
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}", hint="an engine needs at least one")
    tell = progress or (lambda _: None)
    places = []
    for part in suite.golds:
        tell(Progress("", part.name, 0, 1, "corpus"))
        places.append(prepare(part, forms, cache, missing))
    limits = Limits(timeout, index_timeout, give_up)
    made = {name: as_engine(engine) for name, engine in engines.items()}
    declare_values(secret for engine in made.values() for secret in engine.secrets)
    log_looks(suite, "run", list(engines))
    stays: dict[str, dict[str, Stay]] = {name: {} for name in made}
    with pinned(threads or available_threads()) as granted:
        circumstances = {**environment(), "pinned": granted, "interleaved": interleave and len(made) > 1}
        for place in places:
            for group in _groups(made, interleave=interleave):
                for name, stay in stay_together(group, place, k, limits, tell).items():
                    stays[name][place.gold.name] = stay
    answered = tuple(_engine_run(name, engine, stays[name]) for name, engine in made.items())
    resolved = Suite(tuple(p.gold for p in places))
    return Run(
        suite=resolved,
        k=k,
        engines=answered,
        lines={p.gold.name: _line_table(p, answered) for p in places},
        hashes={f"{g.name}/{q.id}": query_hash(q, g.corpus) for g in resolved.golds for q in g.queries},
        header=_header(places, timeout, circumstances),
    )


def _groups(engines: Mapping[str, FullEngine], *, interleave: bool) -> list[dict[str, FullEngine]]:
    """Say who is asked together."""
    return [dict(engines)] if interleave else [{name: engine} for name, engine in engines.items()]


def _engine_run(name: str, engine: FullEngine, stays: Mapping[str, Stay]) -> EngineRun:
    """Put together what one engine did on every gold set."""
    asked = [f"asked for {engine.oversample} × k results (oversample)"] if engine.oversample > 1 else []
    parallel = max((stay.parallel for stay in stays.values()), default=1)
    at_once = [f"{parallel} questions were in flight at once"] if parallel > 1 else []
    hide = hiding(engine.secrets)
    said = [note for stay in stays.values() for note in stay.notes]
    return EngineRun(
        name=name,
        rankings=tuple(ranking for stay in stays.values() for ranking in stay.rankings),
        role=engine.role,
        oversample=engine.oversample,
        config=cast(dict[str, object], hide.value(engine.config)),
        index_seconds={gold: stay.index_seconds for gold, stay in stays.items() if stay.index_seconds is not None},
        notes=tuple(dict.fromkeys((*map(hide.text, engine.notes), *asked, *at_once, *said))),
        resources={gold: stay.resources for gold, stay in stays.items()},
        version=next((stay.version for stay in stays.values() if stay.version), ""),
        stderr={gold: stay.stderr for gold, stay in stays.items() if stay.stderr},
        parallel=parallel,
    )


def _line_table(place: Place, engines: Iterable[EngineRun]) -> dict[str, tuple[int, ...]]:
    """Keep the line sizes of every file of the corpus that a hit, a target or an adversary names."""
    paths = {h.path for e in engines for r in e.rankings if r.gold == place.gold.name for h in r.hits}
    paths |= {span.path for q in place.gold.queries for span in _spans(q)}
    return {path: place.sizes.lines(path) for path in sorted(paths) if path in place.sizes}


def _spans(query: Query) -> list[Span]:
    """List every place a query names."""
    return [t.span for t in query.targets] + [a.target.span for a in query.adversaries]


def _header(places: Sequence[Place], timeout: float, circumstances: Mapping[str, object]) -> Header:
    """Describe inputs and environment."""
    joined = "\n".join(gold_hash(p.gold) for p in places)
    return Header(
        assay=__version__,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        gold_hash=hashlib.sha256(joined.encode()).hexdigest()[:16],
        corpora={p.gold.name: _corpus_facts(p) for p in places},
        environment=circumstances,
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
