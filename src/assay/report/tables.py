"""Optional tables, requested by name."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

import numpy as np

from assay.experiment.records.directory import FOREST as FOREST_FILE
from assay.report.comparison import mark_identical
from assay.report.groups import by_tag, group_means
from assay.report.render.document import Block, Cell, Forest, Heading, IntervalPoint, Paragraph, Table, Tone, table
from assay.report.render.text import format_interval, signed_ends
from assay.report.results import EngineSummary, Ranks, Results
from assay.report.scored_run import ScoredRun, competing, failed_engines, pick, rank_measure, real_engines
from assay.scoring import parse_measure
from assay.stats import all_pairs, paired_percentile_bootstrap, percentile_bootstrap
from assay.stats.config import DEFAULT, settings_of
from assay.stats.records import Comparison, Interval, MeanRow, Verdict
from assay.stats.tables import headline

T = TypeVar("T")


def _nothing(case: ScoredRun, comparison: Comparison) -> tuple[T, ...]:
    del case, comparison
    return ()


def _no_files(results: Results) -> Mapping[str, str]:
    del results
    return {}


@dataclass(frozen=True, slots=True)
class OptionalTable(Generic[T]):
    """One table; `[run] tables` and results.json know it by its name."""

    name: str
    blocks: Callable[[Results], list[Block]]
    numbers: Callable[[ScoredRun, Comparison], Iterable[T]] = _nothing
    files: Callable[[Results], Mapping[str, str]] = _no_files  # by their names in the folder of results

    def of(self, results: Results) -> tuple[T, ...]:
        """Give its numbers; none where it was not wanted."""
        return cast(tuple[T, ...], results.numbers.get(self.name, ()))


_DIFFERS = (
    "What differs: the percentile bootstrap redraws queries as if each were drawn for itself, so it is too narrow "
    "where queries of one repository are alike and, without a t quantile, on a few dozen queries; where no query "
    "differs it claims [0, 0]. Our intervals redraw nothing: Wilson for means, cluster-t for differences, the rule of "
    "three where there is no spread. Verdicts rest on ours, with p-values adjusted for the family."
)


@dataclass(frozen=True, slots=True)
class Resampled:
    """A mean or a paired difference with the interval that published results use, and ours beside it."""

    engine: str
    against: str  # empty for a mean
    measure: str
    value: float
    published: Interval  # percentile bootstrap over queries
    ours: Interval
    queries: int
    resamples: int


def _numbers(case: ScoredRun, comparison: Comparison) -> Iterator[Resampled]:
    """Resample the means of the engines that compete, then their differences to the baseline, on the primary measure.

    Each starts from the claim's seed, so that a row does not depend on which others there are.
    """
    names = [name for name in real_engines(case.run) if name not in failed_engines(case.run)]
    if not names:
        return
    shown = headline(pick(case.scores, engines=names, measures=(case.primary,)))
    values = dict(zip(shown.engines, shown.values[:, 0], strict=True))
    level = 1 - case.claim.alpha
    for row in comparison.means:
        if row.engine in values and row.measure == case.primary:
            there = values[row.engine][~np.isnan(values[row.engine])]
            found = percentile_bootstrap(there, np.random.default_rng(case.claim.seed), level=level)
            yield Resampled(row.engine, "", row.measure, row.mean, found, row.interval, row.queries, _B)
    for pair in comparison.rows:
        if pair.in_family and pair.engine in values and pair.baseline in values:
            new, old = values[pair.engine], values[pair.baseline]
            both = ~(np.isnan(new) | np.isnan(old))
            rng = np.random.default_rng(case.claim.seed)
            found = paired_percentile_bootstrap(old[both], new[both], rng, level=level)
            yield Resampled(
                pair.engine, pair.baseline, pair.measure, pair.difference, found, pair.interval, pair.queries, _B
            )


_B = DEFAULT.percentile_resamples


def _blocks(results: Results) -> list[Block]:
    means = [row for row in BOOTSTRAP.of(results) if not row.against]
    pairs = [row for row in BOOTSTRAP.of(results) if row.against]
    if not means:
        return []
    heads = [f">percentile bootstrap, B = {_B:,}", ">ours"]
    first = [
        [row.engine, f"{row.value:.3f}", format_interval(row.published), format_interval(row.ours)] for row in means
    ]
    second = [_difference(row) for row in pairs]
    blocks: list[Block] = [
        Heading(f"Bootstrap of {results.comparison.primary}"),
        table(["engine", ">mean", *heads], first),
    ]
    if pairs:
        columns = ["engine", "against", ">difference", heads[0], "excludes 0", heads[1], "excludes 0"]
        blocks.append(table(columns, second, f"Paired, query by query, over {pairs[0].queries} queries."))
    return [*blocks, Paragraph(_DIFFERS, "quiet")]


def _difference(row: Resampled) -> list[str | Cell]:
    said = [_excludes(interval) for interval in (row.published, row.ours)]
    tone: Tone = "plain" if said[0] == said[1] else "warning"
    return [
        row.engine,
        row.against,
        f"{row.value:+.3f}",
        signed_ends(row.published),
        Cell(said[0], tone),
        signed_ends(row.ours),
        Cell(said[1], tone),
    ]


def _excludes(interval: Interval) -> str:
    return "yes" if interval.low > 0 or interval.high < 0 else "no"


BOOTSTRAP: Final = OptionalTable("bootstrap", _blocks, _numbers)


@dataclass(frozen=True, slots=True)
class PairwiseDifference:
    """One pair of all pairs; the difference is first − second."""

    first: str
    second: str
    measure: str
    difference: float
    interval: Interval
    verdict: Verdict | None  # on the first
    identical: bool = False  # no ranking differs


@dataclass(frozen=True, slots=True)
class DuelConfig:
    """How many are compared."""

    most: int = 24  # a wider square is read by nobody, and 276 pairs take seconds


DUELS = DuelConfig()
_SIGNS: dict[Verdict | None, str] = {Verdict.BETTER: "+", Verdict.WORSE: "−", Verdict.EQUIVALENT: "="}
_TONES: dict[str, Tone] = {"+": "good", "−": "bad"}
_UNDECIDED = "?"


def duels(case: ScoredRun, comparison: Comparison, config: DuelConfig = DUELS) -> tuple[PairwiseDifference, ...]:
    """Compare every engine that competes with every other on the primary measure; all pairs are one family."""
    alive = [name for name in competing(case.run, case.claim) if name not in failed_engines(case.run)]
    names = _best(comparison, case.primary, alive)[: config.most]
    if len(names) < 2:
        return ()
    claim = case.claim
    scores = pick(case.scores, engines=names, measures=(case.primary,))
    found = all_pairs(scores, case.primary, **settings_of(claim))
    return tuple(
        PairwiseDifference(
            row.engine, row.baseline, row.measure, row.difference, row.interval, row.verdict, row.identical
        )
        for row in mark_identical(found, case.scorer).rows
    )


def _best(comparison: Comparison, primary: str, names: Sequence[str]) -> list[str]:
    means = {row.engine: row.mean for row in comparison.means if row.measure == primary and row.engine in names}
    sign = -1 if parse_measure(primary).higher_is_better else 1
    return sorted(means, key=lambda name: (sign * means[name], name))


def _blocks_duels(results: Results) -> list[Block]:
    found = PAIRS.of(results)
    if not found:
        return []
    met = {name for duel in found for name in (duel.first, duel.second)}
    names = _best(results.comparison, results.comparison.primary, sorted(met))
    signs = {(d.first, d.second): _sign(d) for d in found}
    signs |= {(second, first): _turned(sign) for (first, second), sign in signs.items()}
    rows: list[list[str | Cell]] = [
        [f"{place}. {name}", *(_cell(signs.get((name, other))) for other in names)]
        for place, name in enumerate(names, start=1)
    ]
    decided = sum(duel.verdict in (Verdict.BETTER, Verdict.WORSE) for duel in found)
    left = sum(f.role == "contestant" and f.name not in met for f in results.engines)
    note = (
        f"The row against the column on {results.comparison.primary}: + better, − worse, = equivalent or no "
        "ranking differs, ? undecided. "
        f"{decided} of {len(found)} pairs are decided; they are one family (Holm)."
        + (f" {left} engines failed, rank below these or are not in the family." if left else "")
    )
    return [Heading("All pairs"), table(["", *(str(place) for place in range(1, len(names) + 1))], rows, note)]


def _sign(duel: PairwiseDifference) -> str:
    return _SIGNS[Verdict.EQUIVALENT] if duel.identical else _SIGNS.get(duel.verdict, _UNDECIDED)


def _turned(sign: str) -> str:
    return {"+": "−", "−": "+"}.get(sign, sign)


def _cell(sign: str | None) -> Cell:
    return Cell("") if sign is None else Cell(sign, _TONES.get(sign, "plain"))


PAIRS: Final = OptionalTable("pairs", _blocks_duels, duels)


@dataclass(frozen=True, slots=True)
class _Point:
    """One line of the file: a mean, or a difference where `against` names somebody."""

    engine: str
    against: str
    measure: str
    mean: float
    low: float
    high: float
    n: int
    interval: str  # the method


def _points(results: Results) -> Iterator[_Point]:
    for row in results.comparison.means:
        ends = row.interval
        yield _Point(row.engine, "", row.measure, row.mean, ends.low, ends.high, row.queries, ends.method)
    for pair in (*results.comparison.rows, *results.comparison.secondary):
        ends = pair.interval
        yield _Point(
            pair.engine, pair.baseline, pair.measure, pair.difference, ends.low, ends.high, pair.queries, ends.method
        )
    for drawn in BOOTSTRAP.of(results):
        ends = drawn.published
        yield _Point(
            drawn.engine, drawn.against, drawn.measure, drawn.value, ends.low, ends.high, drawn.queries, ends.method
        )


def forest_csv(results: Results) -> str:
    """Write one line a point; numbers read back as the same numbers."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["engine", "against", "measure", "mean", "low", "high", "n", "interval"])
    for p in _points(results):
        numbers = [repr(float(value)) for value in (p.mean, p.low, p.high)]
        writer.writerow([p.engine, p.against, p.measure, *numbers, p.n, p.interval])
    return stream.getvalue()


def _blocks_forest(results: Results) -> list[Block]:
    blocks: list[Block] = [
        Heading("Forest"),
        Paragraph(
            f"{FOREST_FILE} holds every mean and every difference with its interval; report.html draws every measure, "
            f"Scores draws {results.comparison.primary}.",
            "quiet",
        ),
    ]
    for name in results.measures:
        points = tuple(
            IntervalPoint(f"{results.shown(row.engine)}, {name}", row.mean, row.interval.low, row.interval.high)
            for row in results.comparison.means
            if row.measure == name
        )
        measure = parse_measure(name)
        if points and name != results.comparison.primary and abs(measure.high - measure.low) != float("inf"):
            blocks.append(Forest(points, measure.low, measure.high, on_pages=True))
    return blocks


def _files(results: Results) -> dict[str, str]:
    return {FOREST_FILE: forest_csv(results)}


FOREST: Final[OptionalTable[object]] = OptionalTable("forest", _blocks_forest, files=_files)


#: Each value of this tag has a matrix of its own: hard queries are there to be seen apart.
_APART = "difficulty"
_WITHOUT = "Means without intervals, as published tables have them: Scores has them with. The best variant is in bold."


@dataclass(frozen=True, slots=True)
class MatrixPart:
    """Every engine on every measure, over all queries or a part of them."""

    part: str  # "all", or a tag's value such as "difficulty = hard"
    queries: int
    means: tuple[MeanRow, ...]


def _numbers_matrix(case: ScoredRun, comparison: Comparison) -> Iterator[MatrixPart]:
    del comparison
    measures = case.claim.measures
    yield MatrixPart("all", len(case.headline), tuple(group_means(case, case.headline, measures)))
    parts = by_tag(case, _APART)
    for value, columns in parts.items() if len(parts) > 1 else ():
        yield MatrixPart(f"{_APART} = {value}", len(columns), tuple(group_means(case, columns, measures)))


def _blocks_matrix(results: Results) -> list[Block]:
    blocks: list[Block] = []
    for part in MATRIX.of(results):
        title = "Matrix" if part.part == "all" else f"Matrix, {part.part}"
        blocks += [Heading(f"{title} ({part.queries} queries)"), _table(results, part)]
    return blocks


def _table(results: Results, part: MatrixPart) -> Table:
    cells = {(row.engine, row.measure): row for row in part.means}
    best = {measure: _best_matrix(results, part.means, measure) for measure in results.measures}
    rows: list[list[str | Cell]] = [
        [
            results.shown(facts.name),
            *(_cell_matrix(cells.get((facts.name, m)), best[m], facts) for m in results.measures),
        ]
        for facts in results.engines
    ]
    skipped: list[list[str | Cell]] = [
        [f"{name} (skipped)", *["–"] * len(results.measures)] for name in results.header.skipped
    ]
    reasons = [f"Skipped: {name}: {why}." for name, why in results.header.skipped.items()]
    return table(["variant", *(f">{m}" for m in results.measures)], [*rows, *skipped], " ".join([_WITHOUT, *reasons]))


def _best_matrix(results: Results, means: Sequence[MeanRow], measure: str) -> float | None:
    real = {facts.name for facts in results.engines if facts.role == "contestant"}
    values = [row.mean for row in means if row.measure == measure and row.engine in real]
    choose = max if parse_measure(measure).higher_is_better else min
    return choose(values) if len(values) > 1 else None


def _cell_matrix(row: MeanRow | None, best: float | None, facts: EngineSummary) -> Cell:
    if row is None:
        return Cell("–")
    return Cell(f"{row.mean:.3f}", "good" if row.mean == best and facts.role == "contestant" else "plain")


MATRIX: Final = OptionalTable("matrix", _blocks_matrix, _numbers_matrix)


@dataclass(frozen=True, slots=True)
class RuleOfThumb:
    """Pyckle's measure-it-yourself guide: words for a mean reciprocal rank. Nobody calibrated them."""

    strong: float = 0.4
    usable: float = 0.2

    def word(self, value: float) -> str:
        """Say what the guide would."""
        return "strong" if value >= self.strong else "usable" if value >= self.usable else "poor"


THUMB = RuleOfThumb()


def _blocks_spread(results: Results) -> list[Block]:
    measure = rank_measure(results.comparison.primary, results.k)
    columns = ["engine", f">{measure}", "the guide says", *(f">{rank}" for rank in range(1, results.k + 1))]
    rows = [
        [results.shown(item.engine), f"{_mean(item):.3f}", THUMB.word(_mean(item)), *map(str, _counts(item))]
        for item in results.ranks
    ]
    note = (
        f"Queries by the rank of their first right answer. The guide calls {THUMB.strong:g} and more strong and less "
        f"than {THUMB.usable:g} poor, on any code and any questions: read the verdict and the references instead."
    )
    return [
        Heading("Ranks"),
        table([*columns, ">not found"], rows, note),
        *(Paragraph(text) for text in [_winner(results)] if text),
    ]


def _counts(item: Ranks) -> tuple[int, ...]:
    return (*item.counts, item.missed)


def _mean(item: Ranks) -> float:
    total = sum(item.counts) + item.missed
    return sum(count / rank for rank, count in enumerate(item.counts, start=1)) / total if total else 0.0


def _winner(results: Results) -> str:
    rows = [row for row in results.comparison.rows if row.in_family]
    if not rows:
        return ""
    compared = {name for row in rows for name in (row.engine, row.baseline)}
    means = {item.engine: _mean(item) for item in results.ranks if item.engine in compared}
    best = [name for name, mean in means.items() if mean == max(means.values())]
    won = f"{best[0]} ({means[best[0]]:.3f})" if len(best) == 1 else f"nobody, {' and '.join(best)} are equal"
    said = "; ".join(f"{r.engine} against {r.baseline}: {r.claim}, MDE {r.mde_text}" for r in rows)
    return (
        f"Winner by the largest {rank_measure(results.comparison.primary, results.k)}: {won}. What may be claimed on "
        f"{results.comparison.primary}: {said}. The MDE is the smallest difference that these queries would probably "
        "have shown; below it the larger number may be either's."
    )


RANKS: Final[OptionalTable[object]] = OptionalTable("ranks", _blocks_spread)


#: By the name that `[run] tables` knows them by.
TABLES: Final[Mapping[str, OptionalTable[Any]]] = {
    each.name: each for each in (MATRIX, BOOTSTRAP, FOREST, RANKS, PAIRS)
}


def table_numbers(names: tuple[str, ...], case: ScoredRun, comparison: Comparison) -> dict[str, tuple[object, ...]]:
    """Compute what some tables show, beside what every report has."""
    found = {name: tuple(TABLES[name].numbers(case, comparison)) for name in names}
    return {name: numbers for name, numbers in found.items() if numbers}


def table_blocks(results: Results) -> list[Block]:
    """Show the tables that were asked for, in that order."""
    return [block for name in results.tables for block in TABLES[name].blocks(results)]


def table_files(results: Results) -> dict[str, str]:
    """Write the files of the tables that were asked for."""
    return {file: text for name in results.tables for file, text in TABLES[name].files(results).items()}
