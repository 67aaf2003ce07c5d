from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast

from assay.errors import ConfigError
from assay.report.render.document import Card, Tone
from assay.report.render.formatting import count, plain, strip_control
from assay.report.scored_run import FAILED_SHARE, level_of, short_measure
from assay.scoring import Level, parse_measure
from assay.stats.config import DEFAULT
from assay.stats.paired import mde_from_se
from assay.stats.records import Comparison, ComparisonRow, Verdict, one_digit
from assay.types import Scores

Outcome = Literal[
    "better",
    "slightly better",
    "slightly worse",
    "worse",
    "equivalent",
    "not inferior",
    "inconclusive",
    "identical rankings",
    "same scores",
    "failed",
    "single engine",
]
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
_SILENT: Final = "returned no results for any query"
#: Outcomes whose headline does not say which engine is the better one.
_UNORDERED: Final = ("inconclusive", "equivalent", "not inferior")
#: Columns of a card.
_WIDTH: Final = 80
#: The length to which names are shortened at most.
_SHORTEST: Final = 6
#: Where a warning may end on a card.
_CLAUSE: Final = re.compile(r"[;:.] | \((?!\d*\.\d)|, such as ")
_LEAST_CLAUSE: Final = 21  # characters: it names more than an engine
#: An engine of one of two runs.
_SIDE: Final = re.compile(r"(?P<engine>.+) \((?P<run>.+)\)")
#: The difference that a set should detect.
_DETECT: Final = 0.05
_MAX_LOSSES: Final = 3
_PLAN: Final = " (assay plan)"
_SMALLEST_P: Final = 0.001


@dataclass(frozen=True, slots=True)
class DecidedEngine:
    name: str
    mean: float | None
    low: float | None = None  # of the mean
    high: float | None = None
    failed: int = 0  # queries
    median_ms: float | None = None
    p95_ms: float | None = None
    outcome: str = ""  # of its comparison between two runs


@dataclass(frozen=True, slots=True)
class QueryLoss:
    """A query on which the candidate is worse than the baseline."""

    gold: str
    query: str
    difference: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What a comparison shows, with the numbers that support it."""

    suite: str
    measure: str
    granularity: Level
    queries: int
    repositories: int
    scope: str
    outcome: Outcome
    reason: str  # set if outcome and interval seem to disagree, or if there is no comparison
    candidate: DecidedEngine
    baseline: DecidedEngine | None
    difference: float | None  # candidate − baseline
    low: float | None  # of the confidence interval
    high: float | None
    level: float
    p: float | None  # adjusted for the family
    comparisons: int  # in the family
    margin: float
    wins: int
    ties: int
    losses: int
    mde: float | None
    needed: int | None  # queries to detect a difference of 0.05, to two digits
    largest_losses: tuple[QueryLoss, ...]
    others: tuple[DecidedEngine, ...]  # best first
    warnings: tuple[str, ...]
    report: str  # a file of the run directory; empty without one
    drafts: int = 0  # queries

    @property
    def drafts_only(self) -> bool:
        return 0 < self.queries <= self.drafts

    @property
    def tone(self) -> Tone:
        return "warning" if self.drafts_only else _WORDING[self.outcome][1]

    def to_json(self) -> dict[str, Any]:
        return cast(dict[str, Any], plain(self))


def decide(
    comparison: Comparison,
    candidate: str,
    engines: Iterable[DecidedEngine],
    *,
    suite: str,
    losses: Sequence[QueryLoss] = (),
    failures: Mapping[str, tuple[int, int]] | None = None,
    silent: Collection[str] = (),
    warnings: Sequence[str] = (),
    report: str = "",
    drafts: int = 0,
) -> Decision:
    """Decide on one engine of a comparison.

    `failures` has the failed and all queries of engines that failed; `silent` engines returned no results.
    """
    row = next((row for row in comparison.rows if row.engine == candidate and row.in_family), None)
    baseline = row.baseline if row else comparison.baseline
    known = {engine.name: engine for engine in engines}
    means = [mean for mean in comparison.means if mean.measure == comparison.primary]
    mine = next((mean for mean in means if mean.engine == candidate), None)
    outcome, reason = _outcome(row, candidate, baseline, comparison, failures or {}, silent)
    others = [engine for engine in known.values() if engine.name not in (candidate, baseline)]
    sign = -1.0 if _higher_is_better(comparison.primary) else 1.0
    others.sort(key=lambda engine: (engine.mean is None, sign * (engine.mean or 0.0), engine.name))
    numbers = row or mine
    return Decision(
        suite=suite,
        measure=comparison.primary,
        granularity=_granularity(comparison.primary),
        queries=numbers.queries if numbers else 0,
        repositories=numbers.repositories if numbers else 0,
        scope=_scope(comparison.label),
        outcome=outcome,
        reason=reason,
        candidate=known.get(candidate) or DecidedEngine(candidate, mine.mean if mine else None),
        baseline=(known.get(baseline) or DecidedEngine(baseline, None)) if row or baseline != candidate else None,
        difference=row.difference if row else None,
        low=row.interval.low if row else None,
        high=row.interval.high if row else None,
        level=1 - comparison.alpha,
        p=(row.p if row.p_adjusted is None else row.p_adjusted) if row else None,
        comparisons=comparison.family_size,
        margin=comparison.margin,
        wins=row.wins if row else 0,
        ties=row.ties if row else 0,
        losses=row.losses if row else 0,
        mde=row.mde if row else None,
        needed=_needed(row) if row else None,
        largest_losses=tuple(losses[:_MAX_LOSSES]),
        others=tuple(others),
        warnings=tuple(warnings),
        report=report,
        drafts=drafts,
    )


#: Verdicts, the worst first.
_SEVERITY: Final = (Verdict.WORSE, Verdict.INCONCLUSIVE, Verdict.NOT_INFERIOR, Verdict.EQUIVALENT, Verdict.BETTER)


def decide_comparison(
    comparison: Comparison,
    *,
    suite: str,
    losses: Callable[[ComparisonRow], Sequence[QueryLoss]],
    worst: bool = False,
    blamed: Collection[str] = (),
    failures: Mapping[str, tuple[int, int]] | None = None,
    silent: Collection[str] = (),
    warnings: Sequence[str] = (),
) -> Decision:
    """Decide on the engine of a family with the largest gain; with `worst`, on the one with the worst outcome.

    The worst outcome is that of an engine in `blamed` (a failed check), then of one whose scores changed.
    """
    rows = [row for row in comparison.rows if row.verdict is not None]
    means = [row for row in comparison.means if row.measure == comparison.primary]

    scores = {mean.engine: mean.mean for mean in means}

    def severity(row: ComparisonRow) -> tuple[bool, bool, int, float, float]:
        sign = 1.0 if row.higher_is_better else -1.0
        gain, score = sign * row.difference, -sign * scores.get(row.engine, 0.0)  # the best of unchanged engines
        if not worst:
            return False, False, 0, -gain, score
        unchanged = row.identical or not row.differing
        return row.engine not in blamed, unchanged, _SEVERITY.index(row.verdict) if row.verdict else 0, gain, score

    row = min(rows, key=severity, default=None)
    names = (name for name in (*comparison.failed, *(mean.engine for mean in means)) if name != comparison.baseline)
    if worst and comparison.failed:
        row = None
    candidate = row.engine if row else next(names, comparison.baseline)
    outcomes = {row.engine: _outcome(row, row.engine, row.baseline, comparison, {})[0] for row in rows if worst}
    shown = {candidate, comparison.baseline, *(row.engine for row in rows), *([row.baseline] if row else [])}
    engines = [
        DecidedEngine(
            mean.engine,
            mean.mean,
            mean.interval.low,
            mean.interval.high,
            (failures or {}).get(mean.engine, (0,))[0],
            outcome=outcomes.get(mean.engine, ""),
        )
        for mean in means
        if mean.engine in shown
    ]
    return decide(
        comparison,
        candidate,
        engines,
        suite=suite,
        losses=losses(row) if row else (),
        failures=failures,
        silent=silent,
        warnings=warnings,
    )


def _higher_is_better(measure: str) -> bool:
    try:
        return parse_measure(measure).higher_is_better
    except ConfigError:  # a column of a CSV file
        return True


def _granularity(measure: str) -> Level:
    try:
        return level_of(measure)
    except ConfigError:
        return "file"


def _scope(label: str) -> str:
    """Return the scope of a verdict from its label: `on this repository` becomes `this repository only`."""
    if not label.startswith("on "):
        return label.removeprefix("over ")
    place, comma, rest = label.removeprefix("on ").partition(",")
    return f"{place.removesuffix(' only')} only{comma}{rest}"


def _needed(row: ComparisonRow) -> int | None:
    """Return the queries that detect the difference `_DETECT`, to two digits: an MDE shrinks with the square root."""
    mde = row.mde
    if mde is None and row.se and row.df >= 1:
        mde = mde_from_se(row.se, row.df)
    if not mde or not row.differing:
        return None
    enough_differ = DEFAULT.p_value_clusters / min(row.differing, DEFAULT.p_value_clusters)
    needed = math.ceil(row.queries * max((mde / _DETECT) ** 2, enough_differ))
    step = int(10 ** max(0, len(str(needed)) - 2))
    return math.ceil(needed / step) * step


def _outcome(
    row: ComparisonRow | None,
    candidate: str,
    baseline: str,
    comparison: Comparison,
    failures: Mapping[str, tuple[int, int]],
    silent: Collection[str] = (),
) -> tuple[Outcome, str]:
    for name in (candidate, baseline):
        failed, asked = failures.get(name, (0, 0))
        if failed > FAILED_SHARE * asked or name in comparison.failed:
            return "failed", f"{name} failed on {f'{failed} of {asked} queries' if failed < asked else 'every query'}"
        if name in silent:
            return "failed", f"{name} {_SILENT}"
    if row is None or row.verdict is None:
        return "single engine", "there is no second engine"
    if row.identical:
        return "identical rankings", "is the setting connected?"
    if not row.differing:
        return "same scores", ""
    small = row.within_margin and row.verdict in (Verdict.BETTER, Verdict.WORSE)
    outcome = cast(Outcome, f"slightly {row.verdict}" if small else row.verdict.value)
    return outcome, _reason(row, comparison)


def _reason(row: ComparisonRow, comparison: Comparison) -> str:
    """Return why the verdict is not the one that the interval suggests; empty if it is."""
    excludes_zero = not row.interval.low <= 0.0 <= row.interval.high
    decided = row.verdict in (Verdict.BETTER, Verdict.WORSE)
    if decided:
        return "" if excludes_zero else "the interval includes 0, but the sign-flip test is significant"
    if excludes_zero:
        return _not_significant(row, comparison)
    margin, level = comparison.margin, f"{row.equivalence.level:.0%} CI"
    worst = row.interval.low if row.higher_is_better else -row.interval.high
    if row.verdict is Verdict.EQUIVALENT and not row.interval.inside(margin):
        return f"the {level} is within the margin"
    if row.verdict is Verdict.NOT_INFERIOR and worst <= -margin:
        return f"the {level} excludes a loss of {margin:g}"
    if row.verdict is not Verdict.EQUIVALENT and row.equivalence.inside(margin):
        return f"fewer than {DEFAULT.equivalence_clusters} clusters cannot show equivalence"
    return ""


def _not_significant(row: ComparisonRow, comparison: Comparison) -> str:
    if row.p is None:
        return f"no p-value: fewer than {DEFAULT.p_value_clusters} clusters"
    if row.differing < DEFAULT.p_value_clusters:
        return f"fewer than {DEFAULT.p_value_clusters} differing clusters"
    if row.p > comparison.alpha:
        return "the sign-flip test is not significant"
    if row.p_adjusted is not None and row.p_adjusted > comparison.alpha:
        return f"not significant after correcting for {comparison.family_size} comparisons"
    return "the differences are too skewed to confirm the sign-flip test"


def find_losses(scores: Scores, candidate: str, baseline: str, measure: str) -> list[QueryLoss]:
    """Return the headline queries on which the candidate is worse than the baseline, largest loss first."""
    if not {candidate, baseline} <= set(scores.engines):
        return []
    sign, at = (1.0 if _higher_is_better(measure) else -1.0), scores.measures.index(measure)
    values = scores.values[:, at, :]
    changes = values[scores.engines.index(candidate)] - values[scores.engines.index(baseline)]
    losses = [
        QueryLoss(unit.gold, unit.query, float(change))
        for unit, change in zip(scores.units, changes, strict=True)
        if unit.headline and sign * change < -DEFAULT.tie
    ]
    return sorted(losses, key=lambda loss: (sign * loss.difference, loss.gold, loss.query))


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
    return Card((title, *(line for line in lines if line)), decision.tone)


def _last_line(decision: Decision, place: str, more: str) -> str:
    """Return the first clause of the first warning and the number of others; without a warning, the report."""
    if not decision.warnings:
        return f"{place}/{decision.report}" if place and decision.report else decision.report
    others = len(decision.warnings) - 1
    tail = f" (+{others}{more})" if others else ""
    text, width = decision.warnings[0].rstrip("."), _WIDTH - 4 - len(tail)
    clauses = [text[: match.start()] for match in _CLAUSE.finditer(text, _LEAST_CLAUSE) if match.start() <= width]
    return f"! {text if len(text) <= width else clauses[-1] if clauses else _shorten(text, width)}{tail}"


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
        reason=_shorten(decision.reason, max(length, 40)),
    )


def _namings(decision: Decision) -> list[Decision]:
    """Return variants of the decision with shorter names: without directories, then with the engine named once."""
    other = decision.baseline
    mine, its = (_SIDE.fullmatch(engine.name) if engine else None for engine in (decision.candidate, other))
    if not (other and mine and its and mine["engine"] == its["engine"]):
        return [decision]
    engine, labels = mine["engine"], (mine["run"], its["run"])
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


def p_text(p: float | None) -> str:
    if p is None:
        return "No p-value"
    return "p < 0.001" if p < _SMALLEST_P else f"p = {p:#.2g}"


def _evidence_lines(decision: Decision, show: str) -> list[str]:
    """Return the line of the scope, and one of: the reason, the other engines, the largest losses."""
    if decision.difference is None or decision.outcome == "failed":
        advice = "Next: split the query into words, or compare with --engine ripgrep-keywords"
        return [
            *([f"Scope: {decision.scope}"] if decision.scope else []),
            *([advice] if decision.reason.endswith(_SILENT) else []),
        ]
    sentences = [f"Scope: {decision.scope}"]
    if decision.wins or decision.losses:
        adjusted = decision.p is not None and decision.comparisons > 1 and "correcting" not in decision.reason
        sentences.append(f"Adjusted {p_text(decision.p)}" if adjusted else p_text(decision.p))
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
        side = _SIDE.fullmatch(engine.name) if engine.outcome else None
        name = _shorten(side["engine"] if side else engine.name, 24)
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
