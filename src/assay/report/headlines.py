"""The verdict in one sentence."""

from __future__ import annotations

from assay.report.analysis import FAILED_SHARE
from assay.report.comparison import verdict_tone
from assay.report.render.document import Tone
from assay.report.results import EngineSummary, Results
from assay.stats.config import DEFAULT


def headline_tone(results: Results) -> Tone:
    """Say how the headline is to be taken."""
    facts = next(f for f in results.engines if f.name == results.challenger)
    if facts.failed > FAILED_SHARE * facts.asked:
        return "bad"
    row = next((r for r in results.comparison.rows if r.engine == results.challenger), None)
    if row is None:
        return "warning" if _lost_baseline(results) else "plain"
    return verdict_tone(row)


def headline(results: Results) -> str:
    """Say what was measured, and the verdict."""
    return f"{results.suite}: {verdict_sentence(results)}"


def verdict_sentence(results: Results) -> str:
    """Say the verdict on the best rival of the baseline, and where none has a better mean say that first.

    Of an engine that mostly failed nothing is claimed.
    """
    name = results.challenger
    rows = [r for r in results.comparison.rows if r.engine == name]
    facts = next(f for f in results.engines if f.name == name)
    if facts.failed > FAILED_SHARE * facts.asked:
        return _failure_sentence(results, facts)
    if not rows:
        return f"{name} on {results.comparison.primary}{_lost_baseline(results)}"
    row = rows[0]
    if (row.difference if row.higher_is_better else -row.difference) <= DEFAULT.tie:
        return f"nothing beats {row.baseline} on {row.measure}; {row.engine} against it: {row.claim}"
    return f"{row.engine} against {row.baseline} on {row.measure}: {row.claim}"


def _failure_sentence(results: Results, facts: EngineSummary) -> str:
    dead = [other.name for other in results.engines if other.answered_nothing]
    if facts.name not in dead or len(dead) == 1:
        return f"{facts.name} failed on {facts.failed} of {facts.asked} queries"
    who = f"all {len(dead)} engines" if len(dead) == len(results.engines) else ", ".join(dead)
    return f"{who} failed on every query"


def _lost_baseline(results: Results) -> str:
    facts = next(f for f in results.engines if f.name == results.comparison.baseline)
    said = f"; nothing is compared with {facts.name}, which failed on {facts.failed} of {facts.asked} queries"
    return said if facts.answered_nothing else ""
