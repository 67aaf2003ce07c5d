"""Ask every engine every question, and keep what it said."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from assay._version import __version__
from assay.corpus import open_corpus, read_text
from assay.engines import as_engine
from assay.engines.base import Engine, FullEngine, Session
from assay.engines.calling import ask, close_session, one_line, open_session
from assay.engines.normalise import Normaliser
from assay.errors import ConfigError, EngineError, EnvironmentFailure, GoldError, InputError
from assay.experiment.environment import environment
from assay.gold import gold_hash, query_hash, resolve
from assay.scoring import evaluation_measures
from assay.syntax.tokens import approx4, line_bytes
from assay.types import FORMS, Corpus, CorpusSpec, EngineRun, Gold, Hit, Query, Ranking, Run, Span, Status, Suite

Missing = Literal["error", "report"]
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


@dataclass(frozen=True, slots=True)
class _Place:
    """A gold set with its corpus at hand and its anchors resolved."""

    gold: Gold
    corpus: Corpus
    problems: tuple[str, ...]
    questions: tuple[tuple[Query, str], ...]  # query and form


def run(
    engines: Mapping[str, Searcher],
    gold: Suite | Gold,
    *,
    k: int = 10,
    forms: Sequence[str] | None = None,
    timeout: float = 60.0,
    index_timeout: float = 3600.0,
    cache: Path | None = None,
    missing: Missing | None = None,
    progress: Tell | None = None,
) -> Run:
    """Run engines over gold sets and return their rankings.

    Gold is checked against its corpus before any engine starts. `missing` says what a target that is
    not there does: "error", or "report" and go on without it; by default only the standard library,
    which is whatever interpreter runs, is reported.
    """
    suite = Suite((gold,)) if isinstance(gold, Gold) else gold
    if k < 1:
        raise InputError(f"k is {k}", hint="ask for at least one result")
    tell = progress or (lambda _: None)
    places = [_prepare(g, forms, cache, missing, tell) for g in suite.golds]
    answered = tuple(
        _run_engine(name, as_engine(e), places, k, Limits(timeout, index_timeout), tell) for name, e in engines.items()
    )
    resolved = Suite(tuple(p.gold for p in places))
    return Run(
        suite=resolved,
        k=k,
        engines=answered,
        lines={p.gold.name: _line_table(p, answered) for p in places},
        hashes={f"{g.name}/{q.id}": query_hash(q, g.corpus) for g in resolved.golds for q in g.queries},
        header=_header(places),
    )


def _prepare(
    gold: Gold,
    forms: Sequence[str] | None,
    cache: Path | None,
    missing: Missing | None,
    tell: Tell,
) -> _Place:
    """Open a gold set's corpus and resolve its anchors."""
    tell(Progress("", gold.name, 0, 1, "corpus"))
    _check_measures(gold)
    base = Path(gold.source).parent if gold.source else None
    hidden = replace(gold.corpus, exclude=(*gold.corpus.exclude, *_own_files(gold.corpus, base, gold.source)))
    corpus = replace(open_corpus(hidden, base=base, cache=cache), spec=gold.corpus)
    policy = missing or ("report" if gold.corpus.kind == "stdlib" else "error")
    resolution = resolve(gold, corpus, missing=policy)
    questions = tuple((q, form) for q in resolution.gold.queries for form in _forms(q, forms))
    if not questions:
        raise GoldError(
            "no query is left to ask", file=gold.source, hint="check the forms asked for and the problems above"
        )
    return _Place(resolution.gold, corpus, tuple(p.message for p in resolution.problems), questions)


def _check_measures(gold: Gold) -> None:
    """Refuse an evaluation layer that names a measure nobody knows, before anything runs."""
    try:
        evaluation_measures(Suite((gold,)))
    except ConfigError as error:
        raise GoldError(
            error.message, file=gold.source, line=error.line, hint=error.hint or "name a measure"
        ) from error


def _own_files(spec: CorpusSpec, base: Path | None, source: str | None) -> list[str]:
    """List our own files that lie inside the corpus: a gold set there would be the best answer to every query."""
    root = (base or Path()) / spec.value / (spec.root or "")
    if spec.kind not in ("path", "git") or not root.is_dir():
        return []
    mine = [Path(source), Path(source).parent / "assay.toml"] if source else []
    inside = [path.resolve() for path in mine if path.resolve().is_relative_to(root.resolve())]
    names = [path.relative_to(root.resolve()).as_posix() for path in inside]
    return ["/" + re.sub(r"([\\*?\[\]!# ])", r"\\\1", name) for name in names]


def _forms(query: Query, wanted: Sequence[str] | None) -> list[str]:
    """List the forms of a query to ask, in the order they are shown."""
    ordered = [f for f in FORMS if f in query.forms] + sorted(f for f in query.forms if f not in FORMS)
    return ordered if wanted is None else [f for f in ordered if f in wanted]


def _run_engine(
    name: str, engine: FullEngine, places: Iterable[_Place], k: int, limits: Limits, tell: Tell
) -> EngineRun:
    """Ask one engine everything."""
    rankings: list[Ranking] = []
    seconds: dict[str, float] = {}
    notes: list[str] = []
    for place in places:
        tell(Progress(name, place.gold.name, 0, len(place.questions), "index"))
        try:
            opened = open_session(engine, place.corpus, limits.index)
        except (EngineError, EnvironmentFailure) as error:
            # An engine that does not open costs the engine, never the run.
            notes.append(f"could not be opened on {place.gold.name}: {one_line(error)}")
            rankings += [_failed(place, q, form, error) for q, form in place.questions]
            continue
        seconds[place.gold.name] = round(opened.seconds, _DIGITS)
        try:
            rankings += _ask_all(name, opened.session, engine, place, k, limits, tell)
        finally:
            trouble = close_session(opened.session)
            notes += [trouble] if trouble else []
    config = dict(engine.config)
    if engine.oversample > 1:
        config["oversample"] = engine.oversample  # scoring needs it to know which hits belong to a cut-off
        notes.insert(0, f"asked for {engine.oversample} × k results (oversample)")
    return EngineRun(name, tuple(rankings), config, seconds, (*engine.notes, *notes))


def _ask_all(
    name: str, session: Session, engine: FullEngine, place: _Place, k: int, limits: Limits, tell: Tell
) -> Iterator[Ranking]:
    """Ask one session every question of one gold set."""
    sizes = _Sizes(place.corpus)
    normalise = Normaliser(place.corpus, lambda path: len(sizes.lines(path)))
    for done, (query, form) in enumerate(place.questions, start=1):
        answer = ask(session, query.forms[form], k * engine.oversample, limits.query)
        normal = normalise(answer.hits, k, oversample=engine.oversample)
        yield Ranking(
            gold=place.gold.name,
            query=query.id,
            form=form,
            hits=tuple(replace(hit, snippet=None) for hit in normal.hits),
            tokens=tuple(sizes.tokens(hit) for hit in normal.hits),
            status=answer.status,
            seconds=round(answer.seconds, _DIGITS),
            error=answer.error,
            notes=normal.notes,
        )
        tell(Progress(name, place.gold.name, done, len(place.questions), "search"))


class _Sizes:
    """Bytes of each line of the corpus files, read once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._known = {f.path for f in corpus.files}
        self._lines: dict[str, tuple[int, ...]] = {}

    def lines(self, path: str) -> tuple[int, ...]:
        """Give the bytes of each line of a file; nothing for a file that is not in the corpus."""
        if path not in self._known:
            return ()
        if path not in self._lines:
            self._lines[path] = line_bytes(read_text(self._corpus, path))
        return self._lines[path]

    def tokens(self, hit: Hit) -> int:
        """Count the tokens of a hit's lines."""
        lines = self.lines(hit.path)
        return approx4(sum(lines if hit.start is None else lines[hit.start - 1 : hit.end]))


def _line_table(place: _Place, engines: Iterable[EngineRun]) -> dict[str, tuple[int, ...]]:
    """Keep the line sizes of every file that a hit, a target or an adversary names."""
    paths = {h.path for e in engines for r in e.rankings if r.gold == place.gold.name for h in r.hits}
    paths |= {span.path for q in place.gold.queries for span in _spans(q)}
    sizes = _Sizes(place.corpus)
    return {path: lines for path in sorted(paths) if (lines := sizes.lines(path))}


def _spans(query: Query) -> list[Span]:
    """List every place a query names."""
    return [t.span for t in query.targets] + [a.target.span for a in query.adversaries]


def _failed(place: _Place, query: Query, form: str, error: EngineError | EnvironmentFailure) -> Ranking:
    """Record a question that could not even be asked."""
    return Ranking(place.gold.name, query.id, form, status=Status.ERROR, error=one_line(error))


def _header(places: Sequence[_Place]) -> dict[str, object]:
    """Describe inputs and environment."""
    joined = "\n".join(gold_hash(p.gold) for p in places)
    return {
        "assay": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "gold_hash": hashlib.sha256(joined.encode()).hexdigest()[:16],
        "corpora": {p.gold.name: _corpus_header(p) for p in places},
        "environment": environment(),
    }


def _corpus_header(place: _Place) -> dict[str, object]:
    """Describe one corpus: what was measured on, what was left out, what did not fit."""
    corpus = place.corpus
    return {
        "repository": corpus.spec.repository,
        "revision": corpus.revision,
        "digest": corpus.digest,
        "files": len(corpus.files),
        "skipped": dict(sorted(Counter(s.reason for s in corpus.skipped).items())),
        "notes": list(corpus.notes),
        "problems": list(place.problems),
    }
