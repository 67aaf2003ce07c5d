from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from assay.report.analysis import PAGE_BREAKDOWNS, analyze
from assay.report.comparison import comparison_blocks
from assay.report.costs import cost_blocks
from assay.report.decision import card
from assay.report.extra_tables import table_blocks
from assay.report.failures import behavior_blocks, failure_blocks, stderr_blocks, violation_blocks
from assay.report.render.document import (
    Block,
    Document,
    Heading,
    Paragraph,
    Table,
    drop_empty_columns,
    table,
)
from assay.report.render.formatting import clip, count, difference_text, mean_text, p_text, repository_names
from assay.report.results_file import AdversaryStats, Results, results_json
from assay.report.rows_file import HASH_DIGITS, corpora_hash, row_blocks
from assay.report.scored_run import FEW_QUERIES, ScoredRun, level_of, mark_synthetic, measure_text, rank_measure
from assay.scoring import parse_measure
from assay.scoring.score import without_pooled
from assay.stats.compare import EXPLORATORY
from assay.stats.records import MeanRow
from assay.types import AnalysisPlan, Run

#: Low scores in the document: more are not read; results.json has all.
_SHOWN_FAILURES = 8
_SHOWN_RANKS = 10
#: Characters of a query in a list of all.
_QUERY_WIDTH = 66


def document(results: Results) -> Document:
    """Return the decision and every section of a run."""
    return Document(results.suite, (card(results.decision, show=""), *section_blocks(results)))


def section_blocks(results: Results) -> list[Block]:
    """Return the tables and the statistical detail of a run."""
    return [
        *row_blocks(results.rows, results.comparison.primary, results.measures, scores_note(results)),
        *_repository_means(results),
        Paragraph(results.reading),
        *(Paragraph(text, "warning") for text in results.warnings),
        *_verdicts(results),
        *(table_blocks(results) if results.tables else ()),
        *_breakdowns(results),
        *_adversaries(results),
        *_ranks(results),
        *_low_scores(results),
        *failure_blocks(results),
        *_slices(results),
        *_phrasings(results),
        *_layers(results),
        *cost_blocks(results),
        *behavior_blocks(results),
        *violation_blocks(results),
        *stderr_blocks(results),
        *_inputs(results),
    ]


def query_lines(scored: ScoredRun, engine: str) -> list[str]:
    """Return one line per headline query: rank of the first relevant result, value and text."""
    values, ranks = (
        scored.values(engine, scored.primary),
        scored.values(engine, rank_measure(scored.primary, scored.run.k)),
    )
    lines = [f"rank  {measure_text(scored.primary)} of {engine}"]
    for i in scored.headline:
        unit = scored.scores.units[i]
        rank = f"{round(1 / ranks[i])}" if ranks[i] > 0 else "–"
        value = "–" if math.isnan(values[i]) else f"{values[i]:.3f}"
        text = scored.queries[unit.gold, unit.query].forms[unit.form]
        lines.append(f"{rank:>4}  {value:>5}  {clip(f'{unit.query}: {text}', _QUERY_WIDTH)}")
    return lines


def references_line(results: Results) -> str:
    """Return the means of the references that the decision does not name, worst first; empty without any."""
    decision = results.decision
    named = {engine.name for engine in (decision.candidate, decision.baseline, *decision.others) if engine}
    references = {facts.name for facts in results.engines if facts.role != "candidate"} - named
    means = [f"{row.engine} {row.mean:.3f}" for row in reversed(_ranked_means(results)) if row.engine in references]
    return f"References: {', '.join(means)}" if means else ""


def _engine_table(
    results: Results, columns: Mapping[str, str], cells: Mapping[tuple[str, str], str], note: str = ""
) -> Table:
    """Build a table with one row per engine, best first, and one column per key of `columns`."""
    names = [mean.engine for mean in _ranked_means(results)]
    rows = [[results.label(name), *(cells.get((name, key), "–") for key in columns)] for name in names]
    return table(["Engine", *(f">{title}" for title in columns.values())], rows, note)


def _ranked_means(results: Results) -> list[MeanRow]:
    primary = results.comparison.primary
    sign = -1 if parse_measure(primary).higher_is_better else 1
    means = [row for row in results.comparison.means if row.measure == primary]
    return sorted(means, key=lambda row: (sign * row.mean, row.engine))


def _few(queries: int) -> str:
    return f"Fewer than {FEW_QUERIES} queries: unreliable." if queries < FEW_QUERIES else ""


def _repository_means(results: Results) -> list[Block]:
    if results.repositories < 2:
        return []
    columns = {measure: measure_text(measure) for measure in results.measures}
    cells = {(row.engine, row.measure): f"{row.repository_mean:.3f}" for row in results.comparison.means}
    note = f"Means with each of the {results.repositories} repositories counted once. {_few(results.queries)}"
    return [_engine_table(results, columns, cells, note.strip())]


def scores_note(results: Results) -> str:
    """Return the note below the scores: estimand, intervals, references, failed engines."""
    level = f"{1 - results.comparison.alpha:.0%}"
    roles = {facts.role: facts.name for facts in results.engines}
    ends = [f"{roles[role]} is the {role}" for role in ("floor", "ceiling") if role in roles]
    dead = ", ".join(facts.name for facts in results.engines if facts.answered_nothing)
    has_lines = any("level=lines" in measure for measure in results.measures)
    sentences = [
        f"Mean over {results.queries} queries ({results.headline}) {results.comparison.label}; {level} intervals "
        "(Wilson at the effective n), not adjusted for multiplicity.",
        f"{', '.join(ends)}." if ends else "",
        f"Every query of {dead} failed; all values are the worst possible." if dead else "",
        "SpanR and RecallAtTokens penalize long results." if has_lines else "",
        _few(results.queries),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _verdicts(results: Results) -> list[Block]:
    comparison = results.comparison
    if not comparison.failed and not any(row.in_family for row in comparison.rows):
        return []
    return [
        Heading(f"Against {comparison.baseline}, on {measure_text(comparison.primary)}"),
        *comparison_blocks(comparison),
    ]


def _breakdowns(results: Results) -> list[Block]:
    blocks: list[Block] = []
    for breakdown in results.breakdowns:
        if breakdown.by in PAGE_BREAKDOWNS:
            continue
        groups = breakdown.groups
        small = any(group.queries < FEW_QUERIES for group in groups)
        note = f"{breakdown.measure}; groups are exploratory."
        note += f" Groups below {FEW_QUERIES} queries are unreliable." if small else ""
        rows = [(group.engine, group.group, group.queries, mean_text(group.mean, group)) for group in groups]
        blocks += [Heading(f"By {breakdown.by}"), _group_table(results, rows, note)]
    return blocks


def _group_table(results: Results, rows: Sequence[tuple[str, str, int, str]], note: str | None = None) -> Table:
    """Build a table from rows of engine, column, number of queries and text."""
    sizes = {name: size for _, name, size, _ in rows}
    columns = {name: f"{name} (n={size})" for name, size in sizes.items()}
    cells = {(engine, name): text for engine, name, _, text in rows}
    return _engine_table(results, columns, cells, _few(min(sizes.values())) if note is None else note)


def _slices(results: Results) -> list[Block]:
    if not results.slices:
        return []
    rows = [
        [
            item.by,
            item.value,
            str(item.row.queries),
            difference_text(item.row.difference, item.row.interval),
            p_text(item.row.p_adjusted),
            f"{item.row.wins}/{item.row.ties}/{item.row.losses}",
        ]
        for item in results.slices
    ]
    level = results.slices[0].row.interval.level
    columns = ["By", "Value", ">Queries", f">Difference ({level:.0%} CI)", ">p (BH)", ">Better/same/worse"]
    title = f"Where {results.challenger} helps and where it hurts, against {results.comparison.baseline}"
    return [Heading(title), table(columns, rows, EXPLORATORY)]


def _phrasings(results: Results) -> list[Block]:
    rows = [(row.engine, row.measure, row.intents, mean_text(row.mean, row)) for row in results.phrasings]
    return [Heading("One intent, several phrasings"), _group_table(results, rows)] if rows else []


def _layers(results: Results) -> list[Block]:
    rows = [(row.engine, row.measure, row.queries, f"{row.mean:.3f}") for row in results.layers]
    title = "Over the queries whose evaluation layer names the measure"
    return [Heading(title), _group_table(results, rows)] if rows else []


def _adversaries(results: Results) -> list[Block]:
    overall = [row for row in results.adversaries if row.by == "all"]
    if not overall:
        return []

    def cells(row: AdversaryStats) -> list[str]:
        return [str(row.queries), f"{row.found:.0%}", f"{row.displacement:.3f}", f"{row.rank_gap:+.2f}"]

    columns = [">Queries", ">Target found", f">Displacement@{results.k}", f">RankGap@{results.k}"]
    rows = [[results.label(row.engine), *cells(row)] for row in overall]
    blocks: list[Block] = [Heading("Adversaries"), table(["Engine", *columns], rows, adversaries_note(results))]
    parts = [row for row in results.adversaries if row.by != "all" and row.engine == results.leader]
    if parts:
        note = f"{results.leader} only; results.json has every engine. {_few(min(row.queries for row in parts))}"
        rows = [[row.by, row.value, *cells(row)] for row in parts]
        blocks.append(table(["By", "Value", *columns], rows, note.strip()))
    return blocks


def adversaries_note(results: Results) -> str:
    """Return the note below the tables of adversaries; empty without adversaries."""
    sizes = [row.queries for row in results.adversaries if row.by == "all"]
    if not sizes:
        return ""
    return (
        f"Displacement@{results.k}: share of queries with an adversary above every primary target. "
        f"RankGap@{results.k}: best adversary rank minus best target rank, each censored at {results.k + 1}. "
        f"{_few(min(sizes))}"
    ).rstrip()


def _ranks(results: Results) -> list[Block]:
    if not results.ranks:
        return []
    title = f"Rank of the first relevant result, by {level_of(results.comparison.primary)}"
    later = [f">11–{results.k}"] if results.k > _SHOWN_RANKS else []
    columns = ["Engine", *(f">{rank}" for rank in range(1, min(results.k, _SHOWN_RANKS) + 1)), *later, ">Not found"]
    rows = [
        [
            item.engine,
            *map(str, item.counts[:_SHOWN_RANKS]),
            *(str(sum(item.counts[_SHOWN_RANKS:])) for _ in later),
            str(item.missed),
        ]
        for item in results.ranks
    ]
    return [
        Heading(title),
        table(columns, rows, "Queries by rank"),
        *(Paragraph(f"{item.engine}: {item.sentence}") for item in results.ranks),
    ]


def _low_scores(results: Results) -> list[Block]:
    worst = [row for row in results.low_scores if row.engine == results.leader][:_SHOWN_FAILURES]
    if not worst:
        return []
    rows = [
        [
            row.query,
            row.text,
            f"{row.value:.3f}" + (f" (rank {row.rank})" if row.rank else ""),
            ", ".join(row.expected),
            row.error or ", ".join(row.top) or "nothing",
        ]
        for row in worst
    ]
    note = f"Worst first, ranks by {level_of(results.comparison.primary)}; all of them are in results.json."
    columns = ["Query", "Text", f">{measure_text(results.comparison.primary)}", "Expected", "Top three"]
    return [Heading(f"Lowest scores of {results.leader}"), table(columns, rows, note)]


def _inputs(results: Results) -> list[Block]:
    header = results.header
    repositories = repository_names(facts.repository for facts in header.corpora.values())
    rows = [
        [
            mark_synthetic(name, results.synthetic),
            repositories[facts.repository],
            facts.revision or "",
            str(facts.files),
            ", ".join(f"{number} {reason}" for reason, number in facts.skipped.items()) or "nothing",
            facts.digest[:HASH_DIGITS],
        ]
        for name, facts in header.corpora.items()
    ]
    hashes = f"gold {header.gold_hash}, corpora {corpora_hash({n: f.digest for n, f in header.corpora.items()})}"
    columns = ["Gold set", "Repository", "Revision", ">Files", "Excluded", "Corpus hash"]
    inputs = drop_empty_columns(table(columns, rows, f"Assay {header.assay}, {header.date}, {hashes}."))
    return [Heading("Inputs"), inputs, *(Paragraph(note, "quiet") for note in results.notes)]


def unpooled_section(run: Run, plan: AnalysisPlan, full: Results) -> tuple[list[Block], dict[str, Any]]:
    """Score a run without pooled labels; return a section that compares the means, and its JSON."""
    unpooled = without_pooled(run)
    facts = {"labels": unpooled.labels, "queries": list(unpooled.queries), "engines": list(unpooled.engines)}
    title = Heading("Without pooled labels")
    if not unpooled.labels:
        return [title, Paragraph("This run has no pooled labels.")], facts
    if not unpooled.run.suite.golds:
        return [title, Paragraph("Every query has pooled labels only.", "warning")], facts
    results = analyze(unpooled.run, plan)
    gone = (
        f", and {count(len(unpooled.queries), 'query', 'queries')} without another target" if unpooled.queries else ""
    )
    sentence = (
        f"Excluding {count(unpooled.labels, 'label')} pooled from results of {', '.join(unpooled.engines)}{gone}: "
        f"{count(results.queries, 'query', 'queries')}. Everything below this table uses all labels."
    )
    means = [{(row.engine, row.measure): row.mean for row in scored.comparison.means} for scored in (full, results)]
    rows = [
        [engine.name, *(f"{of_run[engine.name, measure]:.3f}" for measure in full.measures for of_run in means)]
        for engine in full.engines
    ]
    columns = ["Engine", *(f">{measure_text(name)}{part}" for name in plan.measures for part in ("", " without"))]
    return [title, Paragraph(sentence), table(columns, rows)], {**facts, "results": results_json(results)}
