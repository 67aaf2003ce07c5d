"""The sections of a run's document; nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from assay.report.analysis import FEW_QUERIES
from assay.report.comparison import comparison_blocks, p_text
from assay.report.costs import spending_blocks
from assay.report.failures import behaviour_blocks, breach_blocks, mishap_blocks, stderr_blocks
from assay.report.groups import PAGE_CUTS
from assay.report.headlines import headline, headline_tone
from assay.report.render.document import (
    Bar,
    Bars,
    Block,
    Document,
    Forest,
    Heading,
    IntervalPoint,
    Paragraph,
    Spark,
    Sparks,
    Table,
    table,
)
from assay.report.render.text import difference_text, mean_text, repository_names
from assay.report.results import AdversaryStats, Breakdown, LowScore, Ranks, Results
from assay.report.rows import HASH_DIGITS, corpora_hash, row_blocks, skipped_blocks
from assay.report.scored_run import level_of
from assay.report.synthetic import marked
from assay.report.tables import table_blocks
from assay.scoring import parse_measure
from assay.stats.records import MeanRow, SliceRow
from assay.stats.slices import EXPLORATORY
from assay.types import CorpusInfo

#: How many failures people read before they stop; results.json and the records hold them all.
_SHOWN_FAILURES = 8


def document(results: Results, *, full: bool = True) -> Document:
    """Build the report; the short one keeps what decides, the full one has every section."""
    short = [
        *_rows(results, full=full),
        Paragraph(results.reading),
        *_warnings(results),
        *_scores(results),
        *_verdicts(results),
        *table_blocks(results),
        *_breakdowns(results, full=full),
        *_traps(results, full=full),
        *_ranks(results, full=full),
        *_failures(results),
        *mishap_blocks(results),
    ]
    more = [
        *_slices(results),
        *_phrasings(results),
        *_layers(results),
        *spending_blocks(results),
        *behaviour_blocks(results),
        *breach_blocks(results),
        *stderr_blocks(results),
        *_inputs(results),
    ]
    return Document(headline(results), tuple([*short, *more] if full else short), headline_tone(results))


def _rows(results: Results, *, full: bool) -> list[Block]:
    if not full:
        return skipped_blocks(results.rows)
    return row_blocks(results.rows, results.comparison.primary, results.measures)


def _warnings(results: Results) -> list[Block]:
    return [Paragraph(text, "warning") for text in results.warnings]


def _scores(results: Results) -> list[Block]:
    means = {(m.engine, m.measure): m for m in results.comparison.means}
    names = _ranked(results)
    rows = [[results.shown(name), *(_mean(means.get((name, m))) for m in results.measures)] for name in names]
    columns = ["engine", *(f">{m}" for m in results.measures)]
    blocks: list[Block] = [Heading("Scores"), table(columns, rows, scores_note(results))]
    if results.repositories > 1:
        blocks.append(_macro(results, names, means))
    primary = [means[name, results.comparison.primary] for name in names]
    points = tuple(IntervalPoint(results.shown(m.engine), m.mean, m.interval.low, m.interval.high) for m in primary)
    measure = parse_measure(results.comparison.primary)
    return [*blocks, Forest(points, measure.low, measure.high)]


def scores_note(results: Results) -> str:
    """Name the estimand and the intervals."""
    level = f"{1 - results.comparison.alpha:.0%}"
    roles = {f.role: f.name for f in results.engines}
    ends = [f"{roles[role]} is the {role}" for role in ("floor", "ceiling") if role in roles]
    sentences = [
        f"Mean over {results.queries} queries ({results.headline}) {results.comparison.label}; {level} intervals "
        "(Wilson at the effective n), not adjusted for multiplicity.",
        f"{', '.join(ends)}." if ends else "",
        _failed(results),
        "At line level any overlap counts; SpanR and RecallAtTokens make size pay." if _has_lines(results) else "",
        _few(results.queries),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _failed(results: Results) -> str:
    dead = [facts.name for facts in results.engines if facts.answered_nothing]
    said = f"(failed): {', '.join(dead)} answered no query; each value is the worst there is, here and below."
    return said if dead else ""


def _macro(results: Results, names: Iterable[str], means: dict[tuple[str, str], MeanRow]) -> Table:
    rows = [
        [
            results.shown(n),
            *(f"{means[n, m].repository_mean:.3f}" if (n, m) in means else "–" for m in results.measures),
        ]
        for n in names
    ]
    note = f"The same, each of the {results.repositories} repositories counted once. {_few(results.queries)}".strip()
    return table(["engine", *(f">{m}" for m in results.measures)], rows, note)


def _has_lines(results: Results) -> bool:
    return any("level=lines" in measure for measure in results.measures)


def _few(queries: int) -> str:
    return f"Fewer than {FEW_QUERIES} queries: noise." if queries < FEW_QUERIES else ""


def _ranked(results: Results) -> list[str]:
    primary = {m.engine: m.mean for m in results.comparison.means if m.measure == results.comparison.primary}
    sign = -1 if parse_measure(results.comparison.primary).higher_is_better else 1
    return sorted(primary, key=lambda name: (sign * primary[name], name))


def _mean(row: MeanRow | None) -> str:
    return "–" if row is None else mean_text(row.mean, row.interval)


def _verdicts(results: Results) -> list[Block]:
    comparison = results.comparison
    if not comparison.failed and not any(row.in_family for row in comparison.rows):
        return []
    return [Heading(f"Against {comparison.baseline}, on {comparison.primary}"), *comparison_blocks(comparison)]


#: The cuts that the short report shows.
_SHORT_CUTS = ("form", "difficulty")


def _breakdowns(results: Results, *, full: bool) -> list[Block]:
    blocks: list[Block] = []
    told = [cut for cut in results.breakdowns if cut.by not in PAGE_CUTS]
    for cut in told if full else [c for c in told if c.by in _SHORT_CUTS]:
        blocks += [Heading(f"By {cut.by}"), _groups(results, cut)]
    return blocks


def _groups(results: Results, cut: Breakdown) -> Table:
    groups = list(dict.fromkeys(g.group for g in cut.groups))
    sizes = {g.group: g.queries for g in cut.groups}
    cells = {(g.engine, g.group): mean_text(g.mean, g) for g in cut.groups}
    rows = [[results.shown(name), *(cells.get((name, group), "–") for group in groups)] for name in _ranked(results)]
    columns = ["engine", *(f">{group} (n={sizes[group]})" for group in groups)]
    small = f" Groups below {FEW_QUERIES} queries are noise." if min(sizes.values()) < FEW_QUERIES else ""
    return table(columns, rows, f"{cut.measure}; groups are exploratory.{small}")


def _slices(results: Results) -> list[Block]:
    if not results.slices:
        return []
    rows = [_slice(item) for item in results.slices]
    columns = ["by", "value", ">queries", ">difference", ">p (BH)", ">win/tie/loss"]
    title = f"Where {results.challenger} helps and where it hurts, against {results.comparison.baseline}"
    return [Heading(title), table(columns, rows, EXPLORATORY)]


def _slice(item: SliceRow) -> list[str]:
    row = item.row
    p = "–" if row.p_adjusted is None else p_text(row.p_adjusted)
    shown = difference_text(row.difference, row.interval)
    return [item.by, item.value, str(row.queries), shown, p, f"{row.wins}/{row.ties}/{row.losses}"]


def _phrasings(results: Results) -> list[Block]:
    if not results.phrasings:
        return []
    names = list(dict.fromkeys(p.measure for p in results.phrasings))
    cells = {(p.engine, p.measure): mean_text(p.mean, p) for p in results.phrasings}
    sizes = {p.measure: p.intents for p in results.phrasings}
    rows = [[results.shown(name), *(cells.get((name, m), "–") for m in names)] for name in _ranked(results)]
    return [
        Heading("One intent, several phrasings"),
        table(["engine", *(f">{m} (n={sizes[m]})" for m in names)], rows, _few(min(sizes.values()))),
    ]


def _traps(results: Results, *, full: bool) -> list[Block]:
    overall = [t for t in results.traps if t.by == "all"]
    if not overall:
        return []
    rows = [[results.shown(t.engine), *_trap(t)] for t in overall]
    note = traps_note(results)
    columns = ["engine", ">queries", ">answer found", f">Displacement@{results.k}", f">RankGap@{results.k}"]
    blocks: list[Block] = [Heading("Adversaries"), table(columns, rows, note)]
    parts = [t for t in results.traps if t.by != "all" and t.engine == results.leader]
    if parts and full:
        cut = [[t.by, t.value, *_trap(t)] for t in parts]
        short = f"{results.leader} only; results.json has every engine. {_few(min(t.queries for t in parts))}"
        blocks.append(table(["by", "value", *columns[1:]], cut, short.strip()))
    return blocks


def traps_note(results: Results) -> str:
    """Say what the tables of adversaries count; empty where there are none."""
    sizes = [t.queries for t in results.traps if t.by == "all"]
    if not sizes:
        return ""
    return (
        f"Displacement@{results.k}: an adversary stands in the first {results.k} and above every primary answer. "
        f"RankGap@{results.k}: by how many ranks the answer leads, both censored at {results.k + 1}. {_few(min(sizes))}"
    ).rstrip()


def _trap(trap: AdversaryStats) -> list[str]:
    return [str(trap.queries), f"{trap.found:.0%}", f"{trap.displacement:.3f}", f"{trap.rank_gap:+.2f}"]


def _layers(results: Results) -> list[Block]:
    if not results.layers:
        return []
    measures = list(dict.fromkeys(x.measure for x in results.layers))
    sizes = {x.measure: x.queries for x in results.layers}
    cells = {(x.engine, x.measure): f"{x.mean:.3f}" for x in results.layers}
    rows = [[results.shown(name), *(cells.get((name, m), "–") for m in measures)] for name in _ranked(results)]
    columns = ["engine", *(f">{m} (n={sizes[m]})" for m in measures)]
    note = _few(min(sizes.values()))
    return [Heading("Over the queries whose evaluation layer names the measure"), table(columns, rows, note)]


def _ranks(results: Results, *, full: bool) -> list[Block]:
    if not results.ranks:
        return []
    blocks: list[Block] = [Heading(f"Rank of the first right answer, {_by_level(results)}"), _sparks(results)]
    leading = [item for item in results.ranks if item.engine == results.leader]
    if full:
        blocks += [Paragraph(f"{item.engine}, rank by rank:") for item in leading]
        blocks += [_bars(item) for item in leading]
    told = results.ranks if full else leading
    return [*blocks, *(Paragraph(f"{item.engine}: {item.sentence}") for item in told)]


def _sparks(results: Results) -> Sparks:
    items = {item.engine: item for item in results.ranks}
    sparks = tuple(_spark(results.shown(name), items[name]) for name in _ranked(results) if name in items)
    last = f" to {results.k}" if results.k > 1 else ""
    drawn = Sparks(sparks)
    note = f"One column a rank, 1{last}; apart: not found. The tallest is {drawn.most:.0%} of the queries."
    return replace(drawn, note=note)


def _spark(name: str, item: Ranks) -> Spark:
    total = (sum(item.counts) + item.missed) or 1
    shares = tuple(count / total for count in item.counts)
    words = f"{shares[0] if shares else 0:.0%} at 1, {item.missed / total:.0%} not found"
    return Spark(name, shares, item.missed / total, words)


def _bars(item: Ranks) -> Bars:
    total = (sum(item.counts) + item.missed) or 1
    bars = [Bar(f"rank {r}", n, f"{n} ({n / total:.0%})") for r, n in enumerate(item.counts, start=1)]
    return Bars((*bars, Bar("not found", item.missed, f"{item.missed} ({item.missed / total:.0%})")))


def _by_level(results: Results) -> str:
    return f"by {level_of(results.comparison.primary)}"


def _failures(results: Results) -> list[Block]:
    worst = [f for f in results.failures if f.engine == results.leader][:_SHOWN_FAILURES]
    if not worst:
        return []
    rows = [[f.query, f.text, _value(f), ", ".join(f.expected), _top(f)] for f in worst]
    note = f"Worst first, ranks {_by_level(results)}; all of them are in results.json."
    columns = ["query", "asked", f">{results.comparison.primary}", "expected", "top three"]
    return [Heading(f"Where {results.leader} failed"), table(columns, rows, note)]


def _value(failure: LowScore) -> str:
    return f"{failure.value:.3f}" + (f" (rank {failure.rank})" if failure.rank else "")


def _top(failure: LowScore) -> str:
    return f"{failure.error}" if failure.error else ", ".join(failure.top) or "nothing"


def _inputs(results: Results) -> list[Block]:
    called = repository_names(facts.repository for facts in results.header.corpora.values())
    rows = [
        _corpus_row(marked(name, results.synthetic), facts, called[facts.repository])
        for name, facts in results.header.corpora.items()
    ]
    header = results.header
    hashes = f"gold {header.gold_hash}, corpora {corpora_hash({n: f.digest for n, f in header.corpora.items()})}"
    made = f"Assay {header.assay}, {header.date}, {hashes}."
    columns = ["gold", "repository", "revision", ">files", "left out", "corpus hash"]
    notes = [Paragraph(note, "quiet") for note in results.notes]
    return [Heading("Inputs"), table(columns, rows, made), *notes]


def _corpus_row(name: str, facts: CorpusInfo, repository: str) -> list[str]:
    skipped = ", ".join(f"{count} {reason}" for reason, count in facts.skipped.items()) or "nothing"
    return [name, repository, facts.revision or "", str(facts.files), skipped, facts.digest[:HASH_DIGITS]]
