from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from assay.report.analysis import PAGE_BREAKDOWNS, analyze
from assay.report.comparison_text import card, comparison_blocks
from assay.report.engine_behavior import LEAST_INDEX_SECONDS, LEAST_QUERY_MS
from assay.report.extra_tables import table_blocks
from assay.report.render.document import (
    Block,
    Cell,
    Document,
    Heading,
    Paragraph,
    Table,
    Tone,
    drop_empty_columns,
    table,
)
from assay.report.render.formatting import clip, count, difference_text, mean_text, p_text, repository_names
from assay.report.results_file import (
    AdversaryStats,
    ContractViolation,
    EngineResources,
    QueryFailure,
    Results,
    TimingConditions,
    results_json,
)
from assay.report.rows_file import HASH_DIGITS, EngineRow, corpora_hash
from assay.report.scored_run import ScoredRun, level_of, measure_text, rank_measure
from assay.report.sentences import FEW_QUERIES, mark_synthetic
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
    title = f"Where {results.challenger} is better and worse than {results.comparison.baseline}"
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


_NOTE = (
    "Each row has its date, the version of Assay and the hashes of gold set, corpora and settings; rows.json has the "
    "full hashes."
)
_STALE_NOTE = (
    "Measured in earlier runs and not comparable with the rows above. `assay run` measures declared engines again; "
    "`assay run --drop-stale` drops the other rows."
)
_ORIGIN = ["Date", "Assay", "Gold set", "Corpora", "Settings"]


def row_blocks(rows: Sequence[EngineRow], primary: str, measures: Sequence[str], note: str) -> list[Block]:
    """Return the tables of measured, skipped and stale engines; `note` explains the means."""
    sign = -1 if parse_measure(primary).higher_is_better else 1

    def rank(row: EngineRow) -> tuple[float, str]:
        value = row.value(primary)
        return (float("inf") if value is None else sign * value.mean, row.engine)

    others = [measure for measure in measures if measure != primary]
    columns = ["Engine", *(f">{measure_text(measure)}" for measure in (primary, *others)), ">Failed", "Verdict"]
    columns += [">Queries", ">Repositories", ">k", *_ORIGIN]
    measured = sorted((row for row in rows if row.state == "measured"), key=rank)
    lines = [_row_cells(row, [primary, *others]) for row in measured]
    for row in rows:
        if row.state == "skipped":
            known: dict[str, str | Cell] = {"Engine": row.engine, "Verdict": Cell(f"skipped: {row.reason}", "warning")}
            lines.append([known.get(column, "–") for column in columns])
    blocks: list[Block] = [Heading("Results"), table(columns, lines, f"{note} {_NOTE}")]
    stale = [row for row in rows if row.state == "stale"]
    if stale:
        columns = ["Engine", "Reason", "Measure", ">Mean", ">Queries", ">k", *_ORIGIN]
        lines = [
            [r.engine, r.reason, r.primary, _interval(r, r.primary), str(r.queries), str(r.k), *_origin(r)]
            for r in stale
        ]
        blocks += [Heading("Stale rows"), table(columns, lines, _STALE_NOTE)]
    return blocks


def _row_cells(row: EngineRow, measures: Sequence[str]) -> list[str | Cell]:
    ends = {"floor": "floor", "ceiling": "ceiling"}
    verdict = row.verdict or ("baseline" if row.engine == row.baseline else ends.get(row.role, "–"))
    tone: Tone = "good" if row.verdict.startswith("better") else "bad" if row.verdict.startswith("worse") else "plain"
    return [
        f"{row.engine} (failed)" if 0 < row.asked == row.failed else row.engine,
        *(_interval(row, measure) for measure in measures),
        Cell(f"{row.failed} of {row.asked}", "bad") if row.failed else "0",
        Cell(verdict, tone),
        str(row.queries),
        str(row.repositories),
        str(row.k),
        *_origin(row),
    ]


def _interval(row: EngineRow, measure: str) -> str:
    value = row.value(measure)
    return "–" if value is None else mean_text(value.mean, value)


def _origin(row: EngineRow) -> list[str]:
    hashes = (row.gold_hash, row.corpora_hash, row.config_hash)
    return [row.date, row.assay, *(digest[:HASH_DIGITS] for digest in hashes)]


_MEGABYTE = 1_000_000
#: Ratios from here on are written without tenths.
_WHOLE = 100
_FAILED = "failed"
#: Columns that are left out if no engine has a value.
_OPTIONAL = ("Version", ">API calls", ">Tokens")
#: Replaces times that cannot be compared.
NO_TIMES = (
    "Engines ran concurrently or results came from the cache, so times are not comparable. "
    "timings.json has the recorded times."
)


def cost_blocks(results: Results) -> list[Block]:
    rows, timed = results.spending, results.header.timed
    cells = [_cost_cells(row) for row in rows]
    titles = [title for title, _ in cells[0]] if cells else []
    shown = [
        at
        for at, title in enumerate(titles)
        if (any(row[at][1] not in ("", "–") for row in cells) if title in _OPTIONAL else timed)
    ]
    lines = [[row.engine, *(of_row[at][1] for at in shown)] for row, of_row in zip(rows, cells, strict=True)]
    columns = ["Engine", *(titles[at] for at in shown)]
    blocks: list[Block] = [Heading("Time and memory")]
    if not timed:
        return [*blocks, Paragraph(NO_TIMES), *([table(columns, lines)] if shown else [])]
    shown_table = drop_empty_columns(table(columns, lines, " ".join(_footnotes(results))))
    if any(cell.text == "–" for row in shown_table.rows for cell in row):
        shown_table = replace(shown_table, note=f"{shown_table.note} –: not measured.")
    blocks.append(shown_table)
    golds = list(results.header.corpora)
    if len(golds) > 1:
        lines = [[row.engine, *(_number(row.index_by_gold.get(gold), 2) for gold in golds)] for row in rows]
        blocks.append(table(["Engine", *(f">{gold}" for gold in golds)], lines, "Index time by gold set, in seconds."))
    return [*blocks, Paragraph(conditions_text(results.conditions), "quiet")]


def _cost_cells(row: EngineResources) -> tuple[tuple[str, str], ...]:
    warm = _number(row.warm_ms)
    if row.mostly_failed:
        warm = _FAILED if row.answered_ms is None else f"{_FAILED} ({_number(row.answered_ms)} answered)"
    return (
        ("Version", row.version or "–"),
        (">Startup (s)", _number(row.startup_seconds, 2)),
        (">Index (s)", _number(row.index_seconds, 2)),
        (">Ratio", _times(row.index_ratio)),
        (">First query (ms)", _FAILED if row.first_failed else _number(row.first_ms)),
        (">Median (ms)", warm),
        (">Ratio", _times(row.warm_ratio)),
        (">p95 (ms)", _FAILED if row.mostly_failed else _number(row.warm_p95_ms)),
        (">Peak memory (MB)", _number(row.peak_bytes, scale=_MEGABYTE)),
        (">Index (MB)", _number(row.index_bytes, scale=_MEGABYTE)),
        (">API calls", _number(row.calls, 0)),
        (">Tokens", _number(row.tokens, 0)),
    )


def _number(value: float | None, digits: int = 1, scale: int = 1) -> str:
    return "–" if value is None else f"{value / scale:,.{digits}f}"


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:,.{1 if ratio < _WHOLE else 0}f}×"


def _footnotes(results: Results) -> Iterator[str]:
    several = len(results.header.corpora) > 1
    first = "each corpus (median over corpora)" if several else "the corpus"
    yield f"First query: on {first}; median and p95: of the other queries. 1 MB is 1,000,000 bytes."
    charged = []
    for row in results.spending:
        took = "none was sent" if row.failed_ms is None else f"median time {row.failed_ms:,.1f} ms"
        charged += [f"{row.engine} {row.charged} (timeout {row.limit_seconds:g} s; {took})"] if row.charged else []
    if charged:
        yield (
            "Failed queries count as the timeout; “failed” replaces the median of an engine that failed on most "
            f"queries. Failed queries: {'; '.join(charged)}."
        )
    yield (
        "Ratio: relative to the fastest competing engine; omitted for index times below "
        f"{LEAST_INDEX_SECONDS * 1000:g} ms, query times below {LEAST_QUERY_MS:g} ms and medians of failed queries."
    )
    yield (
        "Index: built from a fresh copy of the corpus at a new path; a tool that caches by content, such as in the "
        "home directory, may reuse its cache."
    )
    if several:
        yield "Startup, index time and index size are sums over gold sets; memory is the maximum."


def conditions_text(conditions: TimingConditions) -> str:
    cores = f" ({conditions.cores} cores)" if conditions.cores else ""
    threads = "1 thread" if conditions.pinned == 1 else f"{conditions.pinned} threads"
    order = (
        "Queries were interleaved across engines."
        if conditions.interleaved
        else "Engines ran one after the other, so changes of the machine's load affect their times."
    )
    sentences = [
        f"Each engine was pinned to {threads}." if conditions.pinned else "Threads were not pinned.",
        f"Machine: {conditions.machine}{cores}." if conditions.machine else "",
        "" if conditions.alone else order,
        *(
            f"{name} had up to {number} queries in flight, after the others: its times are those of a loaded engine."
            for name, number in conditions.in_flight.items()
        ),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


_Finding = TypeVar("_Finding", QueryFailure, ContractViolation)
#: Kinds of failures and violations shown per engine; results.json has all.
SHOWN_KINDS = 6


def failure_blocks(results: Results) -> list[Block]:
    if not results.failed_queries:
        return []
    shown, left = _shown(results, results.failed_queries)
    rows: list[list[str | Cell]] = [
        [f.engine, Cell(f.kind, "bad"), str(f.queries), f"{f.share:.0%}", f.message or "–", f.first] for f in shown
    ]
    worst = ", ".join(f"{name} {parse_measure(name).worst:g}" for name in results.measures)
    timeout = results.header.timeout
    own = [row for row in results.spending if row.charged and row.limit_seconds < timeout]
    limits = [f"{timeout:g} s", *(f"{row.engine} {row.limit_seconds:g} s" for row in own)]
    failed = {failure.engine for failure in results.failed_queries}
    stderr = any(tail.engine in failed for tail in results.stderr)
    note = (
        f"Failed queries get the worst value of every measure ({worst}) and count as the timeout "
        f"({', '.join(limits)}). {left}{'report.html has the stderr of these engines.' if stderr else ''}"
    )
    columns = ["Engine", "Error", ">Queries", ">Share", "First message", "Example"]
    return [Heading("Failed queries"), table(columns, rows, note.strip())]


def violation_blocks(results: Results) -> list[Block]:
    if not results.contract_violations:
        return []
    shown, left = _shown(results, results.contract_violations)
    rows = [
        [v.engine, v.kind, str(v.queries), f"{v.times:,} of {v.of:,}" if v.of else "–", v.example or "–"] for v in shown
    ]
    note = f"Repaired where the intent is certain, otherwise scored as returned. {left}"
    columns = ["Engine", "Violation", ">Queries", ">Results", "Example"]
    return [Heading("Contract violations"), table(columns, rows, note.strip())]


def _shown(results: Results, findings: Sequence[_Finding]) -> tuple[list[_Finding], str]:
    """Return the first findings of each engine and a sentence on the number of the others."""
    shown: list[_Finding] = []
    for engine in results.engines:
        shown += [finding for finding in findings if finding.engine == engine.name][:SHOWN_KINDS]
    left = len(findings) - len(shown)
    return shown, f"results.json has {left} more kinds. " if left else ""


def behavior_blocks(results: Results) -> list[Block]:
    rows: list[list[str | Cell]] = []
    for facts in results.engines:
        ties = "–" if facts.tie_range is None else " … ".join(f"{value:.3f}" for value in facts.tie_range)
        failed = Cell(f"{facts.failed} of {facts.asked}", "bad") if facts.failed else "0"
        notes = "; ".join(facts.notes)
        rows.append([facts.name, failed, f"{facts.distinct:.1f}", f"{facts.tie_rate:.0%}", ties, notes])
    columns = ["Engine", ">Failed", f">Distinct files of {results.k}", ">Queries with ties"]
    columns += [">Primary measure over shuffled ties", "Notes"]
    return [Heading("Failures, duplicates and ties"), drop_empty_columns(table(columns, rows))]


def stderr_blocks(results: Results) -> list[Block]:
    if not results.stderr:
        return []
    names = ", ".join(dict.fromkeys(tail.engine for tail in results.stderr))
    text = f"report.html has the last lines of {names}."
    return [Heading("Engine stderr"), Paragraph(text, "quiet")]
