"""The text of comparisons and decisions: the card of at most six lines, verdicts and tables."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from assay.report.decision import FOREIGN, SILENT, Decision, Outcome
from assay.report.render.document import (
    Block,
    Card,
    Cell,
    Document,
    Heading,
    Paragraph,
    Table,
    Tone,
    drop_empty_columns,
    table,
)
from assay.report.render.formatting import count, difference_text, format_interval, p_text, strip_control
from assay.report.scored_run import NOT_COMPARED, measure_text, short_measure
from assay.stats.config import DEFAULT
from assay.stats.records import AllPairs, Comparison, ComparisonRow, EngineLabel, Verdict, engine_of, one_digit

#: By outcome: sign, tone, headline, and what the margin says about the difference.
_WORDING: Final[Mapping[Outcome, tuple[str, Tone, str, str]]] = {
    "better": ("✓", "good", "{a} is better than {b}{scope}", ""),
    "slightly better": ("✓", "good", "{a} is slightly better than {b}{scope}", ", below margin {:g}"),
    "slightly worse": ("✗", "bad", "{a} is slightly worse than {b}{scope}", ", below margin {:g}"),
    "worse": ("✗", "bad", "{a} is worse than {b}{scope}", ""),
    "equivalent": ("=", "plain", "{a} and {b}: no meaningful difference{scope}", ", within margin {:g}"),
    "not inferior": ("≥", "plain", "{a} is at least as good as {b}{scope}", ", allowing {:g}"),
    "inconclusive": ("?", "warning", "{a} vs {b}: not enough data to tell{scope}", ""),
    "identical rankings": ("=", "warning", "{a} and {b} returned identical rankings{suite}", ""),
    "same scores": ("=", "plain", "{a} and {b} have the same scores{scope}", ""),
    "failed": ("✗", "bad", "{reason}{of}", ""),
    "single engine": ("·", "plain", "{a} scores {mean}{scope}", ""),
}
#: Outcomes whose headline does not say which engine is the better one.
_UNORDERED: Final = ("inconclusive", "equivalent", "not inferior")
#: Columns of a card.
_WIDTH: Final = 80
#: The length to which names are shortened at most.
_SHORTEST: Final = 6
#: Where a warning may end on a card.
_CLAUSE: Final = re.compile(r"[;:.] | \((?!\d*\.\d)|, such as ")
_LEAST_CLAUSE: Final = 21  # characters: it names more than an engine
_FIRST: Final = "First message: "
_PLAN: Final = " (assay plan)"
_SMALLEST_P: Final = 0.001


def card(decision: Decision, *, show: str = "assay show", place: str = "", more: str = " below") -> Card:
    """Return the decision as at most six lines of at most 80 columns.

    `show` is the command that shows a query, `place` the directory of the report, `more` where all warnings are.
    """
    sign = "!" if decision.drafts_only else _WORDING[decision.outcome][0]
    *longer, shortest = _namings(decision)
    lengths = range(_WIDTH, _SHORTEST - 1, -1)
    shortened = [*((_WIDTH, length) for length in lengths), *((length, _SHORTEST) for length in lengths)]
    sentences = [*(headline(naming) for naming in longer), *(headline(shortest, *pair) for pair in shortened)]
    titles = [f"{sign} {sentence}" for sentence in sentences]
    lines = [_scores_line(decision), _queries_line(decision), *_evidence_lines(decision, show)]
    lines.append(_last_line(decision, place, more))
    title = next((title for title in titles if len(title) <= _WIDTH), titles[-1])
    return Card((title, *(line for line in lines if line)), decision_tone(decision))


def decision_tone(decision: Decision) -> Tone:
    return "warning" if decision.drafts_only else _WORDING[decision.outcome][1]


def _last_line(decision: Decision, place: str, more: str) -> str:
    """Return the first clause of the first warning and the number of others; without a warning, the report."""
    if not decision.warnings:
        return f"{place}/{decision.report}" if place and decision.report else decision.report
    others = len(decision.warnings) - 1
    tail = f" (+{others}{more})" if others else ""
    text, width = decision.warnings[0].rstrip("."), _WIDTH - 4 - len(tail)
    if decision.outcome == "failed" and text.startswith(f"{decision.reason} ("):  # the headline has the numbers
        return f"! {_cut_words(text[max(0, text.find(_FIRST)) :], width)}{tail}"
    clauses = [text[: match.start()] for match in _CLAUSE.finditer(text, _LEAST_CLAUSE) if match.start() <= width]
    return f"! {text if len(text) <= width else clauses[-1] if clauses else _cut_words(text, width)}{tail}"


def run_card(decision: Decision, directory: str, *, full: bool = False) -> Card:
    name = shlex.quote(directory)
    argument = "" if name == "results" else f" {name}"
    more = " above" if full else f": assay score{argument} --full"
    return card(decision, show=f"assay show {name}", place=directory, more=more)


def headline(decision: Decision, length: int = _WIDTH, suite_length: int = _WIDTH) -> str:
    """Return the outcome as a sentence, with names of engines and of the gold sets of at most these lengths."""
    suite = f" on {_shorten(decision.suite, suite_length)}" if decision.suite else ""
    measure = short_measure(decision.measure)
    mean = decision.candidate.mean
    prefix = "Drafts only: " if decision.drafts_only else ""
    return prefix + _WORDING[decision.outcome][2].format(
        a=_shorten(decision.candidate.name, length),
        b=_shorten(decision.baseline.name, length) if decision.baseline else "",
        scope=f"{suite}, by {decision.granularity} ({measure})" if suite else "",
        suite=suite,
        of=suite.replace(" on ", " of ", 1),
        mean="–" if mean is None else f"{mean:.3f}",
        reason=_shorten(decision.reason.partition(", such as ")[0], max(length, 40)),
    )


def _namings(decision: Decision) -> list[Decision]:
    """Return variants of the decision with shorter names: without directories, then with the engine named once."""
    other = decision.baseline
    mine, its = decision.candidate.name, other.name if other else ""
    if not (other and isinstance(mine, EngineLabel) and isinstance(its, EngineLabel) and mine.engine == its.engine):
        return [decision]
    engine, labels = mine.engine, (mine.run, its.run)
    parts = [label.rstrip("/").rpartition("/")[2] for label in labels]
    new, old = parts if parts[0] != parts[1] else labels
    names = ((f"{engine} ({new})", f"{engine} ({old})"), (f"{engine}: {new}", old), (engine, "the baseline"))
    renamed = [
        replace(decision, candidate=replace(decision.candidate, name=a), baseline=replace(other, name=b))
        for a, b in names
    ]
    return [decision, *renamed]


def _shorten(text: str, length: int) -> str:
    flat = " ".join(strip_control(text).split())
    return flat if len(flat) <= length else f"{flat[: length - 1]}…"


def _cut_words(text: str, length: int) -> str:
    """Shorten a text at the end of a word, if it has several."""
    words = _shorten(text, length)
    return f"{(words.rpartition(' ')[0] or words[:-1]).rstrip(' :;,(')}…" if words.endswith("…") else words


def _scores_line(decision: Decision) -> str:
    mine, other = decision.candidate, decision.baseline
    level = f"{decision.level:.0%} CI"
    if decision.difference is None or other is None or other.mean is None or mine.mean is None:
        means = [
            f"{engine.name} {engine.mean:.3f}"
            for engine in (other, mine)
            if engine and engine.mean is not None and not decision.reason.startswith(f"{engine.name} failed on every")
        ]
        if decision.outcome == "failed":
            return _shorten(", ".join(means), _WIDTH - 2)
        interval = "" if mine.low is None or mine.high is None else f"{level} {_ends(mine.low, mine.high)}. "
        return f"{interval}No second engine to compare with"
    if not decision.wins and not decision.losses:
        return f"{other.mean:.3f} → {mine.mean:.3f}, no query differs"
    margin = _WORDING[decision.outcome][3].format(decision.margin)
    interval = "" if decision.low is None or decision.high is None else _ends(decision.low, decision.high)
    difference = f"difference {_signed(decision.difference, 3)} ({level} {interval}){margin}"
    named = f"{other.name} {other.mean:.3f} → {mine.name} {mine.mean:.3f}, {difference}"
    if decision.outcome in _UNORDERED and len(named) <= _WIDTH - 2:
        return named
    return f"{other.mean:.3f} → {mine.mean:.3f}, {difference}"


def _ends(low: float, high: float) -> str:
    return f"{_minus(f'{low:.2f}')} to {_minus(f'{high:.2f}')}"


def _signed(value: float, digits: int) -> str:
    return _minus(f"{value:+.{digits}f}")


def _minus(number: str) -> str:
    """Format a number with a minus sign (−), and zero without a sign."""
    return number.replace("-", "−") if float(number) else number.replace("-", "")


def _queries_line(decision: Decision) -> str:
    text = count(decision.queries, "query", "queries")
    if decision.difference is not None:
        text += f": {decision.wins} better, {decision.ties} same, {decision.losses} worse"
    times = [e.median_ms for e in (decision.baseline, decision.candidate) if e and e.median_ms is not None]
    if times and decision.outcome != "failed" and (decision.baseline is None or len(times) == 2):
        text += f" · median {' → '.join(_milliseconds(time) for time in times)}"
    return text


def _milliseconds(time: float) -> str:
    return f"{time:.1f} ms" if time < 10 else f"{time:,.0f} ms"


def _p_sentence(p: float | None) -> str:
    if p is None:
        return "No p-value"
    return "p < 0.001" if p < _SMALLEST_P else f"p = {p:#.2g}"


def _evidence_lines(decision: Decision, show: str) -> list[str]:
    """Return the line of the scope, and one of: the reason, the other engines, the largest losses."""
    if decision.difference is None or decision.outcome == "failed":
        advice = "Next: split the query into words, or compare with --engine keywords"
        returned = decision.reason.partition(FOREIGN)[2]
        if returned:
            advice = _shorten(f"Next: return paths relative to the corpus root, unlike {returned}", _WIDTH - 2)
        return [
            *([f"Scope: {decision.scope}"] if decision.scope else []),
            *([advice] if returned or decision.reason.endswith(SILENT) else []),
        ]
    sentences = [f"Scope: {decision.scope}"]
    if decision.wins or decision.losses:
        adjusted = decision.p is not None and decision.comparisons > 1 and "correcting" not in decision.reason
        sentences.append(f"Adjusted {_p_sentence(decision.p)}" if adjusted else _p_sentence(decision.p))
    reason = decision.reason
    if reason and decision.others and decision.p is not None and "correcting" in reason:
        sentences[-1] += f" after correcting for {decision.comparisons} comparisons"
        reason = ""
    elif decision.mde is not None:
        sentences.append(f"Smallest detectable difference: {one_digit(decision.mde)}")
    elif decision.outcome == "inconclusive":
        sentences.append("Too few queries")
    while len(". ".join(sentences)) > _WIDTH - 2:
        sentences.pop()
    evidence = ". ".join(sentences)
    if decision.outcome == "inconclusive" and len(evidence) + len(_PLAN) <= _WIDTH - 2:
        evidence += _PLAN
    return [evidence, reason[:1].upper() + reason[1:] or _others(decision) or _losses(decision, show)]


def _others(decision: Decision) -> str:
    parts: list[str] = []
    title = "Also checked" if any(engine.outcome for engine in decision.others) else "Others"
    for number, engine in enumerate(decision.others):
        name = _shorten(engine_of(engine.name) if engine.outcome else engine.name, 24)
        part = f"{name} {'failed' if engine.mean is None else f'{engine.mean:.3f}'}"
        part += f" ({engine.outcome})" if engine.outcome else ""
        rest = len(decision.others) - number
        if parts and len(f"{title}: {', '.join([*parts, part])}") > _WIDTH - 14:
            return f"{title}: {', '.join(parts)} and {rest} more"
        parts.append(part)
    return f"{title}: {', '.join(parts)}" if parts else ""


def _losses(decision: Decision, show: str) -> str:
    worst = decision.largest_losses
    if not worst:
        return ""
    losses = [f"{_shorten(loss.query, 54)} {_signed(loss.difference, 2)}" for loss in worst]
    listed = [f"Largest losses: {', '.join(losses[:shown])}" for shown in range(len(losses), 0, -1)]
    command = f"   ({show} {worst[0].query})" if show else ""
    # several losses, with the command if it fits; else one loss
    several, one = [f"{text}{tail}" for tail in (command, "") for text in listed[:-1]], f"{listed[-1]}{command}"
    return next((text for text in (*several, one, listed[-1]) if len(text) <= _WIDTH - 2), "")


_TONES: dict[Verdict, Tone] = {
    Verdict.BETTER: "good",
    Verdict.WORSE: "bad",
    Verdict.EQUIVALENT: "plain",
    Verdict.NOT_INFERIOR: "plain",
    Verdict.INCONCLUSIVE: "warning",
}
_LEGEND = (
    "Verdict: “better” and “worse” follow from the p-value, adjusted by Holm; “same” and “not worse” from the "
    "equivalence interval, which also allows for differences that these queries do not show."
)
#: Columns of the details and what they mean.
_DETAILS = {
    "d_z": "mean of the paired differences divided by their standard deviation",
    "ICC": "the correlation of queries inside a repository or cluster",
    "Effective n": "the number of independent queries with the same information",
    "MDE": "the minimum detectable effect",
}
_BADGES = {
    Verdict.BETTER: "Better",
    Verdict.WORSE: "Worse",
    Verdict.EQUIVALENT: "Same (equivalent)",
    Verdict.NOT_INFERIOR: "Not worse (non-inferior)",
    Verdict.INCONCLUSIVE: "Can't tell (inconclusive)",
}


def comparison_blocks(comparison: Comparison) -> list[Block]:
    """Return the verdicts, notes, and the details of the statistics."""
    rows = [row for row in comparison.rows if row.in_family]
    shown = _verdict_table(comparison, rows)
    if not rows:
        return [shown]
    notes: dict[str, list[str]] = {}
    for row in rows:
        for note in row.notes:
            notes.setdefault(note, []).append(f"{row.engine} − {row.baseline}")
    limits = (Paragraph(f"{', '.join(pairs)}: {note}", "quiet") for note, pairs in notes.items())
    return [shown, Paragraph(_LEGEND, "quiet"), *limits, Heading("Details"), _detail_table(comparison, rows)]


def _verdict_table(comparison: Comparison, rows: Sequence[ComparisonRow]) -> Table:
    means = {row.engine: f"{row.mean:.3f}" for row in comparison.means if row.measure == comparison.primary}
    level = rows[0].interval.level if rows else 1 - comparison.alpha
    columns = ["Engine", ">Mean", f">Difference ({level:.0%} CI)", ">Better/same/worse", ">p", "Verdict"]
    lines: list[list[str | Cell]] = []
    baseline = _only_baseline(comparison)
    if baseline in means and baseline not in comparison.failed:
        lines.append([baseline, means[baseline], "–", "–", "–", "Baseline"])
    lines += [
        [
            _row_name(comparison, row),
            means.get(row.engine, "–"),
            difference_text(row.difference, row.interval),
            f"{row.wins}/{row.ties}/{row.losses}",
            p_text(row.p_adjusted if row.p_adjusted is not None else row.p),
            Cell(verdict_badge(row), verdict_tone(row)),
        ]
        for row in rows
    ]
    failed = Cell(NOT_COMPARED.capitalize(), "bad")
    lines += [[name, means.get(name, "–"), "–", "–", "–", failed] for name in comparison.failed]
    return table(columns, lines, " ".join(comparison.notes))


def _detail_table(comparison: Comparison, rows: Sequence[ComparisonRow]) -> Table:
    interval = f">Equivalence ({rows[0].equivalence.level:.0%} CI)"
    columns = ["Engine", interval, ">d_z", ">Worse (%)", ">ICC", ">Effective n", ">MDE"]
    lines = [
        [
            _row_name(comparison, row),
            format_interval(row.equivalence, "+.2f"),
            "–" if row.d_z is None else f"{row.d_z:.2f}",
            f"{100 * row.worse_share:.0f}",
            "–" if row.icc is None else f"{row.icc:.2f}",
            f"{row.effective_n:.0f}",
            row.mde_text,
        ]
        for row in rows
    ]
    shown = drop_empty_columns(table(columns, lines))
    meanings = [f"{c.title}: {_DETAILS[c.title]}" for c in shown.columns if c.title in _DETAILS]
    return replace(shown, note=f"{'; '.join(meanings)}.")


def _row_name(comparison: Comparison, row: ComparisonRow) -> str:
    return row.engine if _only_baseline(comparison) else f"{row.engine} vs {row.baseline}"


def _only_baseline(comparison: Comparison) -> str:
    """Return the baseline of all rows in the family; empty if there are several."""
    baselines = {row.baseline for row in comparison.rows if row.in_family} or {comparison.baseline}
    return baselines.pop() if len(baselines) == 1 else ""


def verdict_badge(row: ComparisonRow) -> str:
    """Return the verdict in the words of a table."""
    if row.identical:
        return "Identical"
    if row.verdict is None:
        return "–"
    if row.verdict_text == "same scores":
        return "Same scores"
    badge = _BADGES[row.verdict]
    small = row.within_margin and row.verdict in (Verdict.BETTER, Verdict.WORSE)
    return f"Slightly {badge.lower()}" if small else badge


def verdict_tone(row: ComparisonRow) -> Tone:
    """Return the tone of a verdict; identical rankings are a warning, because a setting may not be connected."""
    if row.identical:
        return "warning"
    return "plain" if row.verdict is None else _TONES[row.verdict]


def comparison_document(comparison: Comparison | AllPairs) -> Document:
    """Show the comparisons of the family, the leaders of all pairs, and the secondary measures."""
    judged = [row for row in comparison.rows if row.in_family]
    blocks: list[Block] = [Paragraph(_leader_sentence(comparison))] if isinstance(comparison, AllPairs) else []
    blocks += comparison_blocks(comparison)
    if comparison.secondary:
        level = comparison.secondary[0].interval.level
        cells = [
            [measure_text(row.measure), _row_name(comparison, row), difference_text(row.difference, row.interval)]
            for row in comparison.secondary
        ]
        blocks += [Heading("Other measures"), table(["Measure", "Engine", f">Difference ({level:.0%} CI)"], cells)]
    if len(judged) != 1:
        return Document(f"{measure_text(comparison.primary)} {comparison.label}", tuple(blocks))
    row = judged[0]
    return Document(
        f"{row.engine} against {row.baseline} on {measure_text(row.measure)}: {row.summary}",
        tuple(blocks),
        verdict_tone(row),
    )


def _leader_sentence(comparison: AllPairs) -> str:
    values = {row.engine: row.mean for row in comparison.means if row.measure == comparison.primary}
    sign = 1 if comparison.rows[0].higher_is_better else -1
    ahead = [name for name, mean in values.items() if (mean - values[comparison.leader]) * sign > DEFAULT.tie]
    if ahead:
        return f"{comparison.leader} is the best engine under test; references with a better mean: {', '.join(ahead)}."
    if all(row.verdict is Verdict.INCONCLUSIVE for row in comparison.rows):
        return f"{comparison.leader} has the best mean, but every pair is inconclusive: the gold set is too small."
    others = [name for name in comparison.leaders if name != comparison.leader]
    if not others:
        return f"{comparison.leader} leads; every other engine is significantly worse."
    return f"{comparison.leader} has the best mean, but is not significantly better than {', '.join(others)}."
