"""How much an engine differs from itself: what several repeats of one experiment say of its chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.report.evidence.record import EngineEvidence, Evidence, Trouble
from assay.report.pages.document import Block, Cell, Heading, Paragraph, table
from assay.report.wording import count
from assay.stats.repeating import RunChance, run_chance

#: Queries that a sentence names; the JSON has them all.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Steadiness:
    """What one engine did over the repeats of one side."""

    side: str
    engine: str
    measure: str
    means: tuple[float, ...]  # of the headline, one a repeat
    sd: float | None  # of those means; None of a single run
    changed: float  # share of questions whose ranking is not the same in every repeat
    wavering: tuple[Trouble, ...]  # questions that failed in some repeats only
    noise: float = 0.0  # variance of a run's mean by chance of single queries

    @property
    def repeats(self) -> int:
        """How often it was run."""
        return len(self.means)


def steadiness(seen: Evidence, name: str, measure: str) -> Steadiness:
    """Say how steady an engine is on one measure."""
    engine, place = seen.engine(name), seen.scores.measures.index(measure)
    means = tuple(row[place] for row in engine.means)
    return Steadiness(seen.name, name, measure, means, _sd(means), engine.changed, engine.wavering, engine.noise[place])


def _sd(values: Sequence[float]) -> float | None:
    """Give the standard deviation of a sample; one value has none."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def chance_between(old: Steadiness, new: Steadiness) -> RunChance | None:
    """Return how much runs of the two sides vary by chance; None where neither was repeated."""
    return run_chance(old.means, new.means, (old.noise, new.noise))


def wavering_text(found: Sequence[Trouble]) -> str:
    """Name the questions that failed in some repeats only."""
    named = [f"{one.gold}/{one.query} ({one.form}: {one.failed} of {len(one.statuses)})" for one in found[:_NAMED]]
    more = [f"{len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return ", ".join(named + more)


def steadiness_blocks(found: Sequence[Steadiness]) -> list[Block]:
    """Show how steady engines are; nothing where nothing was repeated."""
    repeated = [one for one in found if one.repeats > 1]
    if not repeated:
        return []
    columns = ["run", "engine", ">repeats", ">mean", ">sd between repeats", ">rankings that changed", "fails sometimes"]
    return [Heading("Between repeats"), table(columns, [_row(one) for one in repeated]), Paragraph(_LEGEND, "quiet")]


_LEGEND = (
    "Each query counts once, with its mean over the repeats: repeats are no further queries. The standard deviation is "
    "that of the mean of one whole run."
)


def _row(one: Steadiness) -> list[str | Cell]:
    """Write one engine of one side."""
    mean = math.fsum(one.means) / one.repeats
    fails = Cell(wavering_text(one.wavering), "warning") if one.wavering else Cell("–")
    sd = "–" if one.sd is None else f"±{one.sd:.3f}"
    return [one.side, one.engine, str(one.repeats), f"{one.measure} {mean:.3f}", sd, f"{one.changed:.0%}", fails]


def answered_text(engine: EngineEvidence, repeats: int, borne: float) -> str:
    """Say how many answers failed, and whether none found anything."""
    share = engine.failed / engine.asked if engine.asked else 1.0
    over = f" over {count(repeats, 'repeat')}" if repeats > 1 else ""
    told = f"{engine.failed} of {engine.asked} queries failed{over} ({share:.1%}; {borne:.0%} are borne)"
    return f"{told}; {_silent_text(engine, repeats)}" if engine.silent and not engine.dead else told


def _silent_text(engine: EngineEvidence, repeats: int) -> str:
    """Say that an engine found nothing at all: most often it is broken, and no number is about its ranking."""
    empty = engine.answers.count("")
    where = f" in {empty} of {repeats} repeats" if repeats > 1 else ""
    return (
        f"no query found anything{where}, which is how a tool looks that prints nothing and ends with 0 or 1: "
        "run it by hand"
    )
