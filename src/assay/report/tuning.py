"""Tuning and ablation results as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.errors import EngineError
from assay.experiment.ablation import AblationStep, DataNote, Way
from assay.experiment.tuning import GridPoint, TuneOutcome
from assay.report.comparison import mark_identical, verdict_tone
from assay.report.render.document import Block, Cell, Code, Document, Heading, Paragraph, table
from assay.report.render.text import difference_text, format_interval, p_text, repository_names, signed_ends
from assay.report.scored_run import failed_engines, pick, synthetic_notes
from assay.scoring import score
from assay.stats import means
from assay.stats.compare import RepositoryChange, RepositoryTally, by_repository, compare_pairs, tally, worst
from assay.stats.config import settings_of
from assay.stats.records import ComparisonRow, MeanRow, Verdict
from assay.stats.verdicts import undecidable
from assay.toml import write_key, write_value
from assay.types import AnalysisPlan, Run


def data_notes(notes: Sequence[DataNote]) -> list[Block]:
    """Show them, aloud where they take something from what may be claimed."""
    return [Paragraph(note.text, "warning" if note.is_grave else "quiet") for note in notes]


@dataclass(frozen=True, slots=True)
class TuneShown:
    """How much of a grid is printed; --json has it all."""

    points: int = 12  # those that were chosen most often, then those with the best mean


SHOWN = TuneShown()


@dataclass(frozen=True, slots=True)
class TuneReport:
    """The outcome, the points it is about, and what must be said of the data."""

    tuned: TuneOutcome
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


def _numbers(found: TuneOutcome) -> Block:
    best = found.tried[found.best]
    seen = found.honest.mean + found.optimism.difference
    honest, default = found.honest, found.default
    rows: list[list[str | Cell]] = [
        ["tuned, on unseen halves (honest)", f"{honest.mean:.3f}", format_interval(honest.interval)],
        ["the default, on the same queries", f"{default.mean:.3f}", format_interval(default.interval)],
        ["tuned − default (honest)", _signed(found.gain), signed_ends(found.gain.interval)],
        ["tuned, on the halves that chose (apparent)", f"{seen:.3f}", ""],
        ["optimism: apparent − honest", _signed(found.optimism), signed_ends(found.optimism.interval)],
        [f"{best.name}, on all that chose it", f"{best.mean:.3f}", "no claim: it was chosen for this"],
        ["verdict on the gain", Cell(str(found.gain.verdict), verdict_tone(found.gain)), _p(found.gain)],
    ]
    return table(["", f">{found.measure}", f"[{found.gain.interval.level:.0%}]"], rows)


def _signed(row: ComparisonRow) -> str:
    return f"{row.difference:+.3f}"


def _p(row: ComparisonRow) -> str:
    return f"{'no p-value' if row.p is None else f'p {p_text(row.p)}'}, {row.label}"


def _how(found: TuneOutcome) -> str:
    return (
        f"{found.label} were halved at random {found.partitions} times; the best of {len(found.tried)} points on one "
        f"half was scored on the other, both ways, over {found.queries} queries. Half of the data chose, so all of "
        "them would choose at least as well. Intervals are by cluster, widened by what leaving one out does to the "
        "choices."
    )


def _choices(found: TuneOutcome) -> Block:
    sign = -1.0 if found.gain.higher_is_better else 1.0
    order = sorted(range(len(found.tried)), key=lambda at: (-found.tried[at].chosen, sign * found.tried[at].mean, at))
    shown = sorted({0, found.best, *order[: SHOWN.points]}, key=order.index)
    total = 2 * found.partitions
    rows = [[_called(found, at), f"{found.tried[at].mean:.3f}", f"{found.tried[at].chosen} of {total}"] for at in shown]
    left = len(found.tried) - len(shown)
    note = f"{left} more points are in --json." if left else ""
    return table(["point", ">mean on all", ">chosen by"], rows, note)


def _called(found: TuneOutcome, at: int) -> str:
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


#: What a part does, as far as it can be told.
Standing = Literal["earns its place", "hurts", "makes no difference", "cannot be told", "changed no ranking"]


@dataclass(frozen=True, slots=True)
class PartRow:
    """One step of an ablation with its comparison."""

    step: AblationStep
    comparison: ComparisonRow
    repositories: tuple[RepositoryChange, ...]
    tally: RepositoryTally
    worst: RepositoryChange
    standing: Standing


@dataclass(frozen=True, slots=True)
class AblationResult:
    """What an ablation found; all its comparisons are one family."""

    engine: str
    measure: str
    whole: MeanRow
    rows: tuple[PartRow, ...]
    family: int
    reading: tuple[str, ...]
    notes: tuple[str, ...]
    data: tuple[DataNote, ...]  # on the queries that were used
    failed: tuple[str, ...]  # variants that answered nothing: not compared


def ablation_result(
    run: Run, claim: AnalysisPlan, engine: str, steps: Sequence[AblationStep], data: Sequence[DataNote] = ()
) -> AblationResult:
    """Compare every step; what answered nothing is named and left out."""
    dead = failed_engines(run)
    left = [step for step in steps if not {step.variant, step.against} & dead]
    if not left:
        names = ", ".join(sorted(dead))
        hint = "`assay engines check` tells why"
        raise EngineError(f"{names} answered no query: nothing is left to compare", hint=hint)
    scores = pick(score(run, (claim.primary,)), engines=[e.name for e in run.engines if e.name not in dead])
    pairs = compare_pairs(
        scores,
        [(step.variant, step.against) for step in left],
        primary=claim.primary,
        **settings_of(claim),
    )
    found = mark_identical(pairs, run)
    rows = []
    for step, row in zip(left, found.rows, strict=True):
        changes = by_repository(scores, step.variant, step.against, claim.primary)
        rows.append(PartRow(step, row, changes, tally(changes), worst(changes), _standing(step, row)))
    whole = next(r for r in means(scores, alpha=claim.alpha, cluster=claim.cluster) if r.engine == engine)
    return AblationResult(
        engine=engine,
        measure=claim.primary,
        whole=whole,
        rows=tuple(rows),
        family=found.family_size,
        reading=tuple(_reading(rows)),
        notes=(*synthetic_notes(run), *found.notes, *_limits(rows, found.family_size, claim.alpha)),
        data=tuple(data),
        failed=tuple(sorted(dead)),
    )


def _standing(step: AblationStep, row: ComparisonRow) -> Standing:
    if row.identical:
        return "changed no ranking"
    good, bad = (Verdict.WORSE, Verdict.BETTER) if step.way == "left out" else (Verdict.BETTER, Verdict.WORSE)
    if row.verdict is good:
        return "earns its place"
    if row.verdict is bad:
        return "hurts"
    return "makes no difference" if row.verdict is Verdict.EQUIVALENT else "cannot be told"


_SENTENCES: dict[Standing, str] = {
    "earns its place": "Earn their place: {names}.",
    "hurts": "Hurt: {names}.",
    "makes no difference": "Make no difference worth the margin: {names}.",
    "cannot be told": "Cannot be told on these queries: {names}.",
    "changed no ranking": "Changed no ranking at all: {names}. Is the setting connected, and do these queries need it?",
}
_OPENINGS: dict[Way, str] = {"left out": "Left out of the whole. ", "added": "Added to those before. "}


def _reading(rows: Sequence[PartRow]) -> list[str]:
    sentences = []
    for way, opening in _OPENINGS.items():
        here = [row for row in rows if row.step.way == way]
        said = [
            text.format(names=", ".join(row.step.part for row in here if row.standing == standing))
            for standing, text in _SENTENCES.items()
            if any(row.standing == standing for row in here)
        ]
        sentences += [opening + " ".join(said)] if here else []
    return sentences


def _limits(rows: Sequence[PartRow], family: int, alpha: float) -> list[str]:
    limits = (undecidable(row.comparison, family, alpha) for row in rows)
    return list(dict.fromkeys(filter(None, limits)))


def ablation_document(found: AblationResult) -> Document:
    """Show both ways as tables, what they mean first."""
    blocks: list[Block] = [*data_notes(found.data), *(Paragraph(text) for text in found.reading)]
    dead = [row.step.part for row in found.rows if row.standing == "changed no ranking"]
    if dead:
        named = ", ".join(dict.fromkeys(dead))
        blocks.append(Paragraph(f"Not connected, or not needed here: {named} changed no ranking.", "warning"))
    if found.failed:
        blocks.append(Paragraph(f"Failed, not compared: {', '.join(found.failed)} answered no query.", "warning"))
    for way in _OPENINGS:
        blocks += _table(found, way)
    blocks += [Paragraph(note, "quiet") for note in found.notes]
    whole = found.whole
    title = f"{found.engine} taken apart: {whole.mean:.3f} {found.measure} {whole.label}"
    return Document(title, tuple(blocks))


def _table(found: AblationResult, way: Way) -> list[Block]:
    rows = [row for row in found.rows if row.step.way == way]
    if not rows:
        return []
    level = rows[0].comparison.interval.level
    first = "left out" if way == "left out" else "added"
    columns = [first, ">mean", f">difference [{level:.0%}]", ">p", "verdict", ">repositories +/=/−", "worst repository"]
    against = ["against"] if way == "added" else []
    cells = [_cells(row, shown=bool(against)) for row in rows]
    title = f"Each part left out of {found.engine}" if way == "left out" else "Parts added one by one"
    return [Heading(title), table([*columns[:1], *against, *columns[1:]], cells)]


def _cells(row: PartRow, *, shown: bool) -> list[str | Cell]:
    seen = row.comparison
    p = seen.p_adjusted if seen.p_adjusted is not None else seen.p
    return [
        row.step.part,
        *([row.step.against] if shown else []),
        f"{seen.mean:.3f}",
        difference_text(seen.difference, seen.interval),
        "–" if p is None else p_text(p),
        Cell(seen.claim.partition(",")[0], verdict_tone(seen)),
        str(row.tally),
        worst_text(row.worst, repository_names(change.repository for change in row.repositories)),
    ]


def worst_text(change: RepositoryChange, called: Mapping[str, str]) -> str:
    """Write a repository with its difference and how many queries that rests on."""
    return f"{called[change.repository]} {change.difference:+.3f} (n={change.queries})"


def ablation_json(found: AblationResult) -> dict[str, Any]:
    """Give an ablation as JSON can hold it."""
    return {"schema": "assay/ablation/1", **asdict(found)}
