"""Source excerpts for report.html: targets and top results, most informative queries first."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from assay.gold.split import SEALED, split_of
from assay.report.explorer.limits import PageLimits
from assay.report.render.text import count
from assay.report.results import Results
from assay.report.scored_run import ScoredRun, failed_engines, rank_measure, real_engines
from assay.scoring import parse_measure
from assay.stats.config import DEFAULT
from assay.types import Ranking, Span

if TYPE_CHECKING:
    from assay.experiment.tracing import Traces
    from assay.types import FloatArray


Key = tuple[str, str]  # a query: its gold set and its name
Sources = dict[str, dict[str, list[tuple[int, str]]]]  # gold index -> path -> first line and text of each excerpt
_File = tuple[str, str]  # gold set and path
#: Bytes around an excerpt in the block: its file's name, brackets, a number.
_AROUND = 24
#: Portions that are packed to see how well source packs: some 200 kB of it.
_SAMPLE = 32


class SourceTexts(Protocol):
    """The source of files, as the run saw them."""

    def lines(self, gold: str, path: str) -> Sequence[str] | None:
        r"""Give a file of a gold set's corpus, split at `\n`; None where it is not here or is another one now."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Say what was asked for and could not be given."""
        ...


@dataclass(frozen=True, slots=True)
class ExcerptRange:
    """Lines of a file that are shown."""

    file: _File
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class QueryExcerpts:
    """What of one query comes into the page together, or not at all: places, as most are never cut."""

    query: Key
    gold: tuple[Span, ...]
    rankings: tuple[Ranking, ...] = ()  # whose first results are shown


@dataclass(frozen=True, slots=True)
class ExcerptPlan:
    """All that a page would show if there were room, in the order in which it comes in."""

    portions: tuple[QueryExcerpts, ...]
    differing: tuple[Key, ...]  # the queries that they are about first
    told: tuple[str, ...]  # the engines whose results come in first
    limits: PageLimits

    def pieces(self, portion: QueryExcerpts) -> Iterator[ExcerptRange]:
        """Give the lines of a portion."""
        hits = (hit.span for ranking in portion.rankings for hit in ranking.hits[: self.limits.top])
        for span in dict.fromkeys((*portion.gold, *hits)):
            yield _piece(portion.query[0], span, self.limits)

    def complete(self, count: int) -> int:
        """Count the differing queries of which everything is among the first portions."""
        left = {portion.query for portion in self.portions[count:]}
        return sum(key not in left for key in self.differing)

    def begun(self, count: int) -> int:
        """Count the differing queries of which something is among the first portions."""
        there = {portion.query for portion in self.portions[:count]}
        return sum(key in there for key in self.differing)


def wanted(case: ScoredRun, results: Results, limits: PageLimits) -> ExcerptPlan:
    """List what a page shows of the source, what matters most first.

    Gold and the verdict's engines of every query that differs, then its other engines, then the gold of other queries.
    """
    told = tuple(dict.fromkeys((results.comparison.baseline, results.challenger, results.leader)))
    others = set(real_engines(case.run)).difference(told)
    order = differing(case, told)
    first, second = _answers(case, told), _answers(case, others)
    known = set(order)
    rounds = [
        *(QueryExcerpts(key, _gold(case, key), tuple(first.get(key, ()))) for key in order),
        *(QueryExcerpts(key, (), tuple(second[key])) for key in order if key in second),
        *(QueryExcerpts(key, _gold(case, key)) for key in case.queries if key not in known),
    ]
    return ExcerptPlan(tuple(rounds), tuple(order), told, limits)


def differing(case: ScoredRun, told: Iterable[str]) -> list[Key]:
    """List the queries on which engines differ on the primary measure, those that differ most first.

    The engines that the verdict is about go before: into their differences people look.
    """
    dead = failed_engines(case.run)
    names = [name for name in real_engines(case.run) if name not in dead]
    every, pair = (_spreads(case, [name for name in names if name in chosen]) for chosen in (set(names), set(told)))
    gaps: dict[Key, tuple[float, float]] = {}
    for at, unit in enumerate(case.scores.units):
        key, gap = (unit.gold, unit.query), (float(pair[at]), float(every[at]))
        gaps[key] = max(gaps.get(key, gap), gap)
    return sorted((key for key, gap in gaps.items() if gap[1] > DEFAULT.tie), key=lambda key: (*_down(gaps[key]), key))


def _down(gap: tuple[float, float]) -> tuple[float, float]:
    return -gap[0], -gap[1]


def _spreads(case: ScoredRun, names: Sequence[str]) -> FloatArray:
    if not names:
        return np.zeros(len(case.scores.units))
    values = np.array([case.values(name, case.primary) for name in names])
    gaps: FloatArray = np.nan_to_num(values.max(axis=0) - values.min(axis=0))
    return gaps


def _gold(case: ScoredRun, key: Key) -> tuple[Span, ...]:
    query = case.queries[key]
    return tuple(target.span for target in (*query.targets, *(adversary.target for adversary in query.adversaries)))


def _answers(case: ScoredRun, names: Iterable[str]) -> dict[Key, list[Ranking]]:
    found: dict[Key, list[Ranking]] = {}
    chosen = set(names)
    for engine in case.run.engines:
        for ranking in engine.rankings if engine.name in chosen else ():
            if ranking.hits:
                found.setdefault((ranking.gold, ranking.query), []).append(ranking)
    return found


def _piece(gold: str, span: Span, limits: PageLimits) -> ExcerptRange:
    if span.start is None or span.end is None:
        return ExcerptRange((gold, span.path), 1, limits.lines)
    start = max(1, span.start - limits.around)
    return ExcerptRange((gold, span.path), start, min(span.end + limits.around, start + limits.lines - 1))


def fitting(found: ExcerptPlan, texts: SourceTexts, room: int) -> int:
    """Tell how many portions fit into so many compressed bytes; roughly, whoever packs them must look again.

    How well source packs is seen from the first portions: packing all of it to know would take as long as the page.
    """
    packer, seen, size, packed = zlib.compressobj(6), _Covered(), 0, 0
    for number, portion in enumerate(found.portions):
        new = [(piece.file, lines) for piece in found.pieces(portion) for lines in seen.add(piece)]
        text = ("\n" * _AROUND).join([_text(texts.lines(*file) or (), lines) for file, lines in new])
        size += len(text)
        if number < _SAMPLE:
            data = text.encode("utf-8", "surrogatepass")
            packed += len(packer.compress(data)) + len(packer.flush(zlib.Z_SYNC_FLUSH))
            share = packed / max(size, 1)
        if size * share > room:
            return number
    return len(found.portions)


class _Covered:
    """The lines of files that are shown already."""

    def __init__(self) -> None:
        self.files: dict[_File, set[int]] = {}

    def add(self, piece: ExcerptRange) -> Iterator[range]:
        known = self.files.setdefault(piece.file, set())
        new = [line for line in range(piece.start, piece.end + 1) if line not in known]
        known.update(new)
        yield from runs(new)


def runs(lines: Iterable[int]) -> Iterator[range]:
    """Join numbers that follow each other; they are in order."""
    start = end = 0
    for line in lines:
        if line != end:
            yield from [range(start, end)] if end else []
            start = line
        end = line + 1
    yield from [range(start, end)] if end else []


def _text(lines: Sequence[str], chosen: range) -> str:
    return "\n".join(lines[chosen.start - 1 : chosen.stop - 1])


def cut(found: ExcerptPlan, count: int, texts: SourceTexts, golds: Sequence[str]) -> Sources:
    """Cut the excerpts of the first portions; those that overlap or touch are one."""
    covered = _Covered()
    for portion in found.portions[:count]:
        for piece in found.pieces(portion):
            covered.files.setdefault(piece.file, set()).update(range(piece.start, piece.end + 1))
    sources: Sources = {}
    for (gold, path), numbers in sorted(covered.files.items()):
        lines = texts.lines(gold, path) or ()
        known = len(lines) if lines and lines[-1] else len(lines) - 1  # nothing stands behind the last newline
        parts = [(part.start, _text(lines, part)) for part in runs(sorted(n for n in numbers if n <= known))]
        if parts:
            sources.setdefault(str(golds.index(gold)), {})[path] = parts
    return sources


#: Queries that a report has traces of where nobody says otherwise: more than anybody reads, some 60 kB of the page.
USUAL_TRACES = 40


@dataclass(frozen=True, slots=True)
class TraceSelection:
    """The engine that is traced, and its queries as gold, query and form, those that matter most first."""

    engine: str
    queries: tuple[tuple[str, str, str], ...]
    sealed: int = 0  # that were left out: nobody should learn from them


def traces_for(case: ScoredRun, rival: str, most: int, *, cheap: bool = False) -> Traces:
    """Trace the queries of a run that matter most; what is left out is said with the command that makes it.

    `rival` is who the engine is held against where it is the baseline itself. `cheap` makes no index of a corpus that
    takes more than a moment.
    """
    from assay.experiment.tracing import Traces, traces_of

    choice = choose_traced(case, rival)
    if choice is None:
        return Traces()
    if most <= 0:
        notes = (f"Traces of {choice.engine} are not made; `assay report FOLDER --traces {USUAL_TRACES}` makes them.",)
        return Traces({}, notes)
    found = traces_of(case.run, choice.queries, choice.engine, most, cheap=cheap)
    return replace(found, notes=_notes(choice, found, most))


def choose_traced(case: ScoredRun, rival: str) -> TraceSelection | None:
    """Choose the best builtin engine, and order its queries; nothing where there is none that answered."""
    from assay.experiment.tracing import explainable

    dead = failed_engines(case.run)
    names = [engine.name for engine in explainable(case.run) if engine.name not in dead]
    if not names:
        return None
    sign = 1.0 if parse_measure(case.primary).higher_is_better else -1.0
    best = max(names, key=lambda name: sign * _mean(case, name))  # of equals the first that was declared
    against = case.claim.baseline if best != case.claim.baseline else rival
    columns = _ordered(case, best, against, sign)
    units = [case.scores.units[at] for at in columns]
    kept = [u for u in units if split_of(case.queries[u.gold, u.query]) != SEALED]
    return TraceSelection(best, tuple((u.gold, u.query, u.form) for u in kept), len(units) - len(kept))


def _mean(case: ScoredRun, engine: str) -> float:
    import numpy as np

    values = case.values(engine, case.primary)[list(case.headline)]
    return float(np.nanmean(values)) if np.isfinite(values).any() else 0.0


def _ordered(case: ScoredRun, engine: str, against: str, sign: float) -> list[int]:
    values, others = (sign * case.values(name, case.primary) for name in (engine, against))
    found = case.values(engine, rank_measure(case.primary, case.run.k)) > 0
    shown = set(case.headline)

    def key(at: int) -> tuple[bool, int, float, float, int]:
        lost = float(others[at] - values[at])
        group = 0 if not found[at] else 1 if lost > 0 else 2
        # NaN, where a measure does not apply, has no place in an order
        return (at not in shown, group, -lost if lost == lost else 0.0, _last_if_none(float(values[at])), at)

    return sorted(range(len(case.scores.units)), key=key)


def _last_if_none(value: float) -> float:
    return value if value == value else float("inf")


def _notes(choice: TraceSelection, found: Traces, most: int) -> tuple[str, ...]:
    made, whole = len(found.made), len(choice.queries)
    notes = list(found.notes)
    if made and made < whole:
        where = ", where their corpora are here" if found.notes else ""
        notes.append(
            f"Traces of {choice.engine} are there for {count(made, 'query', 'queries')} of {whole:,}, misses and "
            f"regressions first; `assay report FOLDER --traces {whole}` makes all{where}."
        )
    elif found.notes:
        notes.append(
            f"`assay report FOLDER --traces {min(most, whole)}` makes what is missing, where its corpus is here."
        )
    if choice.sealed:
        notes.append(f"{count(choice.sealed, 'sealed query has', 'sealed queries have')} no trace.")
    return tuple(notes)
