"""Optional tables, requested by name in `[run] tables`."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from assay.experiment.records.directory import FOREST as FOREST_FILE
from assay.report.family import competing_engines, failed_engines
from assay.report.render.document import Block, Cell, Heading, Paragraph, Table, Tone, table
from assay.report.render.formatting import format_interval, signed_ends
from assay.report.results_file import Results
from assay.report.scored_run import ScoredRun, by_tag, group_means, pick, rank_measure
from assay.scoring import parse_measure
from assay.stats import paired_percentile_bootstrap, percentile_bootstrap
from assay.stats.config import DEFAULT
from assay.stats.records import Comparison, ComparisonRow, Interval, MeanRow
from assay.stats.score_table import headline

if TYPE_CHECKING:
    from assay.types import FloatArray


def table_numbers(names: Sequence[str], scored: ScoredRun, comparison: Comparison) -> dict[str, tuple[object, ...]]:
    """Compute the numbers of the named tables that other results do not contain."""
    tables = {name: tuple(_NUMBERS[name](scored, comparison)) for name in names if name in _NUMBERS}
    return {name: numbers for name, numbers in tables.items() if numbers}


def table_blocks(results: Results) -> list[Block]:
    return [block for name in results.tables for block in TABLES[name](results)]


_DIFFERS = (
    "The percentile bootstrap resamples queries as independent, so it is too narrow if queries of one repository are "
    "similar or if there are only a few dozen; if no query differs it is [0, 0]. Assay's intervals are Wilson "
    "(means), cluster-t (differences) and the rule of three (no spread). Verdicts use Assay's intervals and adjusted "
    "p-values."
)


@dataclass(frozen=True, slots=True)
class Resampled:
    """A mean or a paired difference with a percentile bootstrap interval and Assay's interval."""

    engine: str
    against: str  # empty for a mean
    measure: str
    value: float
    published: Interval  # percentile bootstrap over queries
    ours: Interval
    queries: int
    resamples: int


def _bootstrap_numbers(scored: ScoredRun, comparison: Comparison) -> Iterator[Resampled]:
    """Resample means of competing engines and differences to the baseline on the primary measure.

    Each resampling starts from the seed of the analysis plan, so that rows do not depend on each other.
    """
    names = [name for name in competing_engines(scored.run) if name not in failed_engines(scored.run)]
    if not names:
        return
    scores = headline(pick(scored.scores, engines=names, measures=(scored.primary,)))
    values = dict(zip(scores.engines, scores.values[:, 0], strict=True))
    level, number = 1 - scored.plan.alpha, DEFAULT.percentile_resamples
    for row in comparison.means:
        if row.engine in values and row.measure == scored.primary:
            applied = values[row.engine][~np.isnan(values[row.engine])]
            published = percentile_bootstrap(applied, np.random.default_rng(scored.plan.seed), level=level)
            yield Resampled(row.engine, "", row.measure, row.mean, published, row.interval, row.queries, number)
    yield from resample_pairs([row for row in comparison.rows if row.in_family], values, comparison)


def resample_pairs(
    rows: Sequence[ComparisonRow], values: Mapping[str, FloatArray], comparison: Comparison
) -> Iterator[Resampled]:
    """Resample the difference of each pair whose engines have values, from the seed of the comparison."""
    for pair in rows:
        if pair.engine in values and pair.baseline in values:
            new, old = values[pair.engine], values[pair.baseline]
            both = ~(np.isnan(new) | np.isnan(old))
            rng = np.random.default_rng(comparison.seed)
            published = paired_percentile_bootstrap(old[both], new[both], rng, level=1 - comparison.alpha)
            key = (pair.engine, pair.baseline, pair.measure)
            resamples = DEFAULT.percentile_resamples
            yield Resampled(*key, pair.difference, published, pair.interval, pair.queries, resamples)


def resampled_table(pairs: Sequence[Resampled]) -> Block:
    published = f">Percentile bootstrap, B = {DEFAULT.percentile_resamples:,}"
    columns = ["Engine", "Baseline", ">Difference", published, "Excludes 0", ">Assay", "Excludes 0"]
    return table(columns, [_bootstrap_row(row) for row in pairs], f"Paired by query, over {pairs[0].queries} queries.")


def resampled_csv(pairs: Sequence[Resampled], means: Mapping[str, float]) -> str:
    """Format paired percentile intervals as CSV, one line per pair, with the columns that published tables have."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    header = ["engine", "baseline", "measure", "n", "mean", "baseline_mean", "difference", "ci_low", "ci_high"]
    writer.writerow([*header, "excludes_zero", "resamples"])
    for row in pairs:
        numbers = (means[row.engine], means[row.against], row.value, row.published.low, row.published.high)
        excludes = str(row.published.low > 0 or row.published.high < 0).lower()
        key = (row.engine, row.against, row.measure, row.queries)
        writer.writerow([*key, *(f"{number:.6f}" for number in numbers), excludes, row.resamples])
    return stream.getvalue()


def _bootstrap_blocks(results: Results) -> list[Block]:
    every = cast("tuple[Resampled, ...]", results.numbers.get("bootstrap", ()))
    means, pairs = [row for row in every if not row.against], [row for row in every if row.against]
    if not means:
        return []
    published, ours = f">Percentile bootstrap, B = {DEFAULT.percentile_resamples:,}", ">Assay"
    rows = [
        [row.engine, f"{row.value:.3f}", format_interval(row.published), format_interval(row.ours)] for row in means
    ]
    title = Heading(f"Bootstrap of {results.comparison.primary}")
    blocks: list[Block] = [title, table(["Engine", ">Mean", published, ours], rows)]
    if pairs:
        blocks.append(resampled_table(pairs))
    return [*blocks, Paragraph(_DIFFERS, "quiet")]


def _bootstrap_row(row: Resampled) -> list[str | Cell]:
    first, second = ("yes" if interval.low > 0 or interval.high < 0 else "no" for interval in (row.published, row.ours))
    tone: Tone = "plain" if first == second else "warning"
    published, ours = signed_ends(row.published), signed_ends(row.ours)
    return [row.engine, row.against, f"{row.value:+.3f}", published, Cell(first, tone), ours, Cell(second, tone)]


def forest_csv(results: Results) -> str:
    """Format all means and differences with their intervals as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["engine", "against", "measure", "mean", "low", "high", "n", "interval"])
    comparison = results.comparison
    resampled = cast("tuple[Resampled, ...]", results.numbers.get("bootstrap", ()))
    for engine, against, measure, value, interval, queries in (
        *((m.engine, "", m.measure, m.mean, m.interval, m.queries) for m in comparison.means),
        *(
            (p.engine, p.baseline, p.measure, p.difference, p.interval, p.queries)
            for p in (*comparison.rows, *comparison.secondary)
        ),
        *((b.engine, b.against, b.measure, b.value, b.published, b.queries) for b in resampled),
    ):
        numbers = [repr(float(number)) for number in (value, interval.low, interval.high)]
        writer.writerow([engine, against, measure, *numbers, queries, interval.method])
    return stream.getvalue()


def _forest_blocks(_results: Results) -> list[Block]:
    text = f"{FOREST_FILE} has all means and differences with their intervals; report.html has charts."
    return [Heading("Forest"), Paragraph(text, "quiet")]


#: Each value of this tag gets its own matrix.
_SPLIT_TAG = "difficulty"
_WITHOUT = "Means without intervals, for comparison with published tables. The best variant is in bold."


@dataclass(frozen=True, slots=True)
class MatrixPart:
    """The means of all engines on all measures, over all queries or those with one value of a tag."""

    part: str  # "all", or such as "difficulty = hard"
    queries: int
    means: tuple[MeanRow, ...]


def _matrix_numbers(scored: ScoredRun, _comparison: Comparison) -> Iterator[MatrixPart]:
    measures, parts = scored.plan.measures, by_tag(scored, _SPLIT_TAG)
    yield MatrixPart("all", len(scored.headline), tuple(group_means(scored, scored.headline, measures)))
    for value, columns in parts.items() if len(parts) > 1 else ():
        yield MatrixPart(f"{_SPLIT_TAG} = {value}", len(columns), tuple(group_means(scored, columns, measures)))


def _matrix_blocks(results: Results) -> list[Block]:
    blocks: list[Block] = []
    for part in cast("tuple[MatrixPart, ...]", results.numbers.get("matrix", ())):
        title = "Matrix" if part.part == "all" else f"Matrix, {part.part}"
        blocks += [Heading(f"{title} ({part.queries} queries)"), _matrix(results, part.means)]
    return blocks


def _matrix(results: Results, rows: Sequence[MeanRow]) -> Table:
    tested = {facts.name for facts in results.engines if facts.role == "candidate"}
    means = {(row.engine, row.measure): row.mean for row in rows}
    columns: list[list[Cell]] = []
    for measure in results.measures:
        values = [mean for (engine, name), mean in means.items() if name == measure and engine in tested]
        best = (max if parse_measure(measure).higher_is_better else min)(values) if len(values) > 1 else None
        column = []
        for facts in results.engines:
            mean = means.get((facts.name, measure))
            tone: Tone = "good" if mean is not None and mean == best and facts.name in tested else "plain"
            column.append(Cell("–" if mean is None else f"{mean:.3f}", tone))
        columns.append(column)
    names = [results.label(facts.name) for facts in results.engines]
    cells: list[list[str | Cell]] = [[name, *row] for name, row in zip(names, zip(*columns, strict=True), strict=True)]
    skipped = results.header.skipped
    cells += [[f"{name} (skipped)", *["–"] * len(results.measures)] for name in skipped]
    reasons = [f"Skipped: {name}: {why}." for name, why in skipped.items()]
    return table(["Variant", *(f">{m}" for m in results.measures)], cells, " ".join([_WITHOUT, *reasons]))


#: Uncalibrated words for a mean reciprocal rank, from Pyckle's measure-it-yourself guide: from these values on.
_STRONG, _USABLE = 0.4, 0.2


def _rank_blocks(results: Results) -> list[Block]:
    measure = rank_measure(results.comparison.primary, results.k)
    columns = ["Engine", f">{measure}", "Guide", *(f">{rank}" for rank in range(1, results.k + 1))]
    means, rows = dict[str, float](), []
    for item in results.ranks:
        total = sum(item.counts) + item.missed
        mean = sum(count / rank for rank, count in enumerate(item.counts, start=1)) / total if total else 0.0
        word = "strong" if mean >= _STRONG else "usable" if mean >= _USABLE else "poor"
        rows.append([results.label(item.engine), f"{mean:.3f}", word, *map(str, item.counts), str(item.missed)])
        means[item.engine] = mean
    note = (
        f"Queries by the rank of their first relevant result. Pyckle's guide calls {_STRONG:g} and more strong, less "
        f"than {_USABLE:g} poor, for any code and queries; the verdict and the references are more reliable."
    )
    return [Heading("Ranks"), table([*columns, ">Not found"], rows, note), *_winner(results, measure, means)]


def _winner(results: Results, measure: str, every_mean: Mapping[str, float]) -> list[Block]:
    rows = [row for row in results.comparison.rows if row.in_family]
    if not rows:
        return []
    compared = {name for row in rows for name in (row.engine, row.baseline)}
    means = {name: mean for name, mean in every_mean.items() if name in compared}
    best = [name for name, mean in means.items() if mean == max(means.values())]
    winner = f"{best[0]} ({means[best[0]]:.3f})" if len(best) == 1 else f"none, {' and '.join(best)} are equal"
    verdicts = "; ".join(f"{row.engine} against {row.baseline}: {row.summary}, MDE {row.mde_text}" for row in rows)
    text = (
        f"Largest {measure}: {winner}. Verdicts on {results.comparison.primary}: {verdicts}. Smaller differences than "
        "the MDE (minimum detectable effect) may be chance."
    )
    return [Paragraph(text)]


#: All optional tables by name.
TABLES: Final[Mapping[str, Callable[[Results], list[Block]]]] = {
    "matrix": _matrix_blocks,
    "bootstrap": _bootstrap_blocks,
    "forest": _forest_blocks,
    "ranks": _rank_blocks,
}
_NUMBERS: Final[Mapping[str, Callable[[ScoredRun, Comparison], Iterable[object]]]] = {
    "matrix": _matrix_numbers,
    "bootstrap": _bootstrap_numbers,
}
