"""What tuning found, for people: the honest number first, what flatters it beside it, and the settings to paste."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay.experiment.tuning.devdata import DataNote
from assay.experiment.tuning.grid import GridPoint
from assay.experiment.tuning.tuned import Tuned
from assay.report.commands.data_notes import data_notes
from assay.report.comparison_blocks import p_text, verdict_tone
from assay.report.pages.document import Block, Cell, Code, Document, Heading, Paragraph, table
from assay.report.wording import difference_text, ends, signed_ends
from assay.stats.records import ComparisonRow
from assay.toml import write_key, write_value


@dataclass(frozen=True, slots=True)
class TuneShown:
    """How much of a grid is printed; --json has it all."""

    points: int = 12  # those that were chosen most often, then those with the best mean


SHOWN = TuneShown()


@dataclass(frozen=True, slots=True)
class TuneReport:
    """The outcome, the points it is about, and what must be said of the data."""

    tuned: Tuned
    points: tuple[GridPoint, ...]
    notes: tuple[DataNote, ...] = ()

    @property
    def moved(self) -> Mapping[str, object]:
        """The settings to change; none when the default is kept."""
        return self.points[self.tuned.best - 1].moved if self.tuned.worthwhile else {}

    @property
    def toml(self) -> str:
        """What to paste into assay.toml."""
        return settings_toml(self.tuned.engine, self.moved) if self.moved else ""


def settings_toml(engine: str, settings: Mapping[str, object]) -> str:
    """Write settings as a table of assay.toml, by dotted keys."""
    lines = (f"{key} = {write_value(value)}" for key, value in settings.items())
    return "\n".join([f"[{write_key(('engines', engine))}]", *lines])


def tune_document(report: TuneReport) -> Document:
    """Show the recommendation, the honest and the apparent numbers, and what was chosen how often."""
    found = report.tuned
    blocks = data_notes(report.notes)
    blocks.append(Paragraph(recommendation(report)))
    if report.toml:
        blocks.append(Code(report.toml))
    blocks += [_numbers(found), Paragraph(_how(found), "quiet")]
    blocks += [Heading("What the halves chose"), _choices(found)]
    title = f"{found.engine} tuned over {len(found.tried)} points: {found.measure} {found.gain.label}"
    return Document(title, tuple(blocks))


def recommendation(report: TuneReport) -> str:
    """Say what to do, and why."""
    found, gain = report.tuned, report.tuned.gain
    best = found.tried[found.best]
    shown = difference_text(gain.difference, gain.interval)
    if found.worthwhile:
        return (
            f"Take {best.name}: all of the data choose it, and choices like it gained {shown} on queries that did not "
            "make them."
        )
    if found.best == 0:
        return (
            f"Keep the default: no point of the grid has a better mean. Choices of halves were worth {shown}, unseen."
        )
    decided = "" if gain.p is not None else f"; {found.label} are too few for any verdict"
    return (
        f"Keep the default. {best.name} has the best mean here, but choices like it gained {shown} on queries that did "
        f"not make them: {gain.verdict}{decided}."
    )


def _numbers(found: Tuned) -> Block:
    """Put the honest number beside what flatters it."""
    best = found.tried[found.best]
    seen = found.honest.mean + found.optimism.difference
    honest, default = found.honest, found.default
    rows: list[list[str | Cell]] = [
        ["tuned, on unseen halves (honest)", f"{honest.mean:.3f}", ends(honest.interval)],
        ["the default, on the same queries", f"{default.mean:.3f}", ends(default.interval)],
        ["tuned − default (honest)", _signed(found.gain), signed_ends(found.gain.interval)],
        ["tuned, on the halves that chose (apparent)", f"{seen:.3f}", ""],
        ["optimism: apparent − honest", _signed(found.optimism), signed_ends(found.optimism.interval)],
        [f"{best.name}, on all that chose it", f"{best.mean:.3f}", "no claim: it was chosen for this"],
        ["verdict on the gain", Cell(str(found.gain.verdict), verdict_tone(found.gain)), _p(found.gain)],
    ]
    return table(["", f">{found.measure}", f"[{found.gain.interval.level:.0%}]"], rows)


def _signed(row: ComparisonRow) -> str:
    """Write a difference."""
    return f"{row.difference:+.3f}"


def _p(row: ComparisonRow) -> str:
    """Write what the verdict rests on, and how far it reaches."""
    return f"{'no p-value' if row.p is None else f'p {p_text(row.p)}'}, {row.label}"


def _how(found: Tuned) -> str:
    """Say how it was done."""
    return (
        f"{found.label} were halved at random {found.partitions} times; the best of {len(found.tried)} points on one "
        f"half was scored on the other, both ways, over {found.queries} queries. Half of the data chose, so all of "
        "them would choose at least as well. Intervals are by cluster, widened by what leaving one out does to the "
        "choices."
    )


def _choices(found: Tuned) -> Block:
    """Show the points that were chosen most often, then those with the best mean."""
    sign = -1.0 if found.gain.higher_is_better else 1.0
    order = sorted(range(len(found.tried)), key=lambda at: (-found.tried[at].chosen, sign * found.tried[at].mean, at))
    shown = sorted({0, found.best, *order[: SHOWN.points]}, key=order.index)
    total = 2 * found.partitions
    rows = [[_called(found, at), f"{found.tried[at].mean:.3f}", f"{found.tried[at].chosen} of {total}"] for at in shown]
    left = len(found.tried) - len(shown)
    note = f"{left} more points are in --json." if left else ""
    return table(["point", ">mean on all", ">chosen by"], rows, note)


def _called(found: Tuned, at: int) -> str:
    """Name a point."""
    return f"{found.tried[at].name} (the default)" if at == 0 else found.tried[at].name


def tune_json(report: TuneReport) -> dict[str, Any]:
    """Give all of it as JSON can hold it."""
    found = report.tuned
    changes = [{}, *(dict(point.change.changes) for point in report.points)]
    tried = [{**asdict(one), "changes": change} for one, change in zip(found.tried, changes, strict=True)]
    return {
        "schema": "assay/tune/1",
        **asdict(found),
        "tried": tried,
        "apparent": found.honest.mean + found.optimism.difference,
        "recommended": dict(report.moved),
        "keep_default": not report.moved,
        "toml": report.toml,
        "recommendation": recommendation(report),
        "notes": [asdict(note) for note in report.notes],
    }
