"""Every variant against every other, as a square."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from assay.report.case import Case, competing, dead_engines, pick
from assay.report.comparing import mark_identical
from assay.report.pages.document import Block, Cell, Heading, Tone, table
from assay.report.results import Results
from assay.report.tables.base import OnDemand
from assay.scoring import parse_measure
from assay.stats import all_pairs
from assay.stats.config import settings_of
from assay.stats.records import Comparison, Interval, Verdict


@dataclass(frozen=True, slots=True)
class Duel:
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


def duels(case: Case, comparison: Comparison, config: DuelConfig = DUELS) -> tuple[Duel, ...]:
    """Compare every engine that competes with every other on the primary measure; all pairs are one family."""
    alive = [name for name in competing(case.run, case.claim) if name not in dead_engines(case.run)]
    names = _best(comparison, case.primary, alive)[: config.most]
    if len(names) < 2:
        return ()
    claim = case.claim
    scores = pick(case.scores, engines=names, measures=(case.primary,))
    found = all_pairs(scores, case.primary, **settings_of(claim))
    return tuple(
        Duel(row.engine, row.baseline, row.measure, row.difference, row.interval, row.verdict, row.identical)
        for row in mark_identical(found, case.scorer).rows
    )


def _best(comparison: Comparison, primary: str, names: Sequence[str]) -> list[str]:
    """Order engines by the primary measure, best first."""
    means = {row.engine: row.mean for row in comparison.means if row.measure == primary and row.engine in names}
    sign = -1 if parse_measure(primary).higher_is_better else 1
    return sorted(means, key=lambda name: (sign * means[name], name))


def _blocks(results: Results) -> list[Block]:
    """Show the square, best engine first."""
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


def _sign(duel: Duel) -> str:
    """Write a verdict on the first; who ranks alike is as equal as can be."""
    return _SIGNS[Verdict.EQUIVALENT] if duel.identical else _SIGNS.get(duel.verdict, _UNDECIDED)


def _turned(sign: str) -> str:
    """See a verdict from the other side."""
    return {"+": "−", "−": "+"}.get(sign, sign)


def _cell(sign: str | None) -> Cell:
    """Write one cell; nobody meets itself."""
    return Cell("") if sign is None else Cell(sign, _TONES.get(sign, "plain"))


PAIRS: Final = OnDemand("pairs", _blocks, duels)
