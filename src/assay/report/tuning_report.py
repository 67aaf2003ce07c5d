from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.errors import EngineError
from assay.experiment.ablation import AblationStep, DataNote, Strategy
from assay.experiment.tuning import GridPoint, TuneOutcome, tune_scores
from assay.report.comparison_text import verdict_tone
from assay.report.family import failed_engines
from assay.report.render.document import Block, Cell, Code, Document, Heading, Paragraph, Table, table
from assay.report.render.formatting import difference_text, format_interval, p_text, repository_names, signed_ends
from assay.report.scored_run import mark_identical, pick
from assay.report.sentences import synthetic_notes
from assay.scoring import score
from assay.stats import means
from assay.stats.compare import RepositoryChange, RepositoryTally, by_repository, compare_pairs, tally, worst
from assay.stats.config import compare_options
from assay.stats.records import ComparisonRow, MeanRow, Verdict
from assay.stats.verdicts import undecidable
from assay.toml import write_key, write_value
from assay.types import AnalysisPlan, Run

#: Points of a grid in the document, those chosen most often first; --json has all.
_SHOWN_POINTS = 12


@dataclass(frozen=True, slots=True)
class TuneReport:
    tuned: TuneOutcome
    points: tuple[GridPoint, ...]
    notes: tuple[DataNote, ...] = ()

    @property
    def moved(self) -> Mapping[str, object]:
        return self.points[self.tuned.best - 1].moved if self.tuned.worthwhile else {}

    @property
    def toml(self) -> str:
        """The recommended settings as a table of assay.toml, with dotted keys."""
        if not self.moved:
            return ""
        lines = (f"{key} = {write_value(value)}" for key, value in self.moved.items())
        return "\n".join([f"[{write_key(('engines', self.tuned.engine))}]", *lines])


def tune_report(
    run: Run,
    plan: AnalysisPlan,
    engine: str,
    points: Sequence[GridPoint],
    partitions: int,
    notes: Sequence[DataNote] = (),
) -> TuneReport:
    """Score the points of a grid; those that failed on every query are left out."""
    failed = failed_engines(run)
    names = ", ".join(sorted(failed))
    left = tuple(point for point in points if point.change.name not in failed)
    if engine in failed or not left:
        raise EngineError(f"{names} failed on every query", hint=f"run `assay engines check {sorted(failed)[0]}`")
    scores = pick(score(run, (plan.primary,)), engines=[e.name for e in run.engines if e.name not in failed])
    if failed:
        notes = (*notes, DataNote("failed", f"Left out of the grid, because every query failed: {names}."))
    return TuneReport(tune_scores(scores, engine, left, plan, partitions), left, tuple(notes))


def tune_document(report: TuneReport) -> Document:
    outcome = report.tuned
    how = (
        f"{outcome.label} were split in half at random {outcome.partitions} times; the best of {len(outcome.tried)} "
        f"points on one half was scored on the other half, both ways, over {outcome.queries} queries. Selecting on "
        "all queries is at least as good as on half of them. Intervals are cluster-robust and "
        "account for the selection: each cluster is left out in turn."
    )
    blocks = [*_note_blocks(report.notes), Paragraph(_recommendation(report))]
    blocks += [Code(report.toml)] if report.toml else []
    blocks += [
        _tune_numbers(outcome),
        Paragraph(how, "quiet"),
        Heading("Points chosen by the halves"),
        _tune_choices(outcome),
    ]
    title = f"{outcome.engine} tuned over {len(outcome.tried)} points: {outcome.measure} {outcome.gain.label}"
    return Document(title, tuple(blocks))


def _note_blocks(notes: Sequence[DataNote]) -> list[Block]:
    return [Paragraph(note.text, "quiet" if note.kind == "used" else "warning") for note in notes]


def _recommendation(report: TuneReport) -> str:
    outcome, gain = report.tuned, report.tuned.gain
    best = outcome.tried[outcome.best]
    shown = f"{gain.difference:+.3f} {signed_ends(gain.interval)}"
    gained = f"points chosen on one half of the queries gained {shown} on the other half"
    if outcome.worthwhile:
        return f"Use {best.name}: this point has the best mean, and {gained}."
    if outcome.best == 0:
        return f"Keep the default: no point has a better mean, and {gained}."
    decided = "" if gain.p is not None else f"; {outcome.label} are too few for a verdict"
    return f"Keep the default: {best.name} has the best mean, but {gained}: {gain.verdict}{decided}."


def _tune_numbers(outcome: TuneOutcome) -> Table:
    best, gain = outcome.tried[outcome.best], outcome.gain
    apparent = outcome.honest.mean + outcome.optimism.difference
    p = "no p-value" if gain.p is None else f"p {p_text(gain.p)}"
    rows: list[list[str | Cell]] = [
        ["tuned, on held-out halves (honest)", f"{outcome.honest.mean:.3f}", format_interval(outcome.honest.interval)],
        ["default, on the same queries", f"{outcome.default.mean:.3f}", format_interval(outcome.default.interval)],
        ["tuned − default (honest)", f"{gain.difference:+.3f}", signed_ends(gain.interval)],
        ["tuned, on the selecting halves (apparent)", f"{apparent:.3f}", ""],
        [
            "optimism: apparent − honest",
            f"{outcome.optimism.difference:+.3f}",
            signed_ends(outcome.optimism.interval),
        ],
        [f"{best.name}, on all queries", f"{best.mean:.3f}", "biased: chosen on these queries"],
        ["verdict on the gain", Cell(str(gain.verdict), verdict_tone(gain)), f"{p}, {gain.label}"],
    ]
    return table(["", f">{outcome.measure}", f"{gain.interval.level:.0%} CI"], rows)


def _tune_choices(outcome: TuneOutcome) -> Table:
    sign = -1.0 if outcome.gain.higher_is_better else 1.0
    order = sorted(
        range(len(outcome.tried)), key=lambda at: (-outcome.tried[at].chosen, sign * outcome.tried[at].mean, at)
    )
    shown = sorted({0, outcome.best, *order[:_SHOWN_POINTS]}, key=order.index)
    rows = []
    for at in shown:
        point = outcome.tried[at]
        name = point.name if at else f"{point.name} (default)"
        rows.append([name, f"{point.mean:.3f}", f"{point.chosen} of {2 * outcome.partitions}"])
    left = len(outcome.tried) - len(shown)
    return table(["Point", ">Mean", ">Chosen by"], rows, f"--json has {left} more points." if left else "")


def tune_json(report: TuneReport) -> dict[str, Any]:
    outcome = report.tuned
    changes = [{}, *(dict(point.change.changes) for point in report.points)]
    tried = [{**asdict(point), "changes": change} for point, change in zip(outcome.tried, changes, strict=True)]
    return {
        "schema": "assay/tune/1",
        **asdict(outcome),
        "tried": tried,
        "apparent": outcome.honest.mean + outcome.optimism.difference,
        "recommended": dict(report.moved),
        "keep_default": not report.moved,
        "toml": report.toml,
        "recommendation": _recommendation(report),
        "notes": [asdict(note) for note in report.notes],
    }


#: The verdict on one part of an engine.
Standing = Literal["earns its place", "hurts", "makes no difference", "cannot be told", "changed no ranking"]


@dataclass(frozen=True, slots=True)
class PartRow:
    step: AblationStep
    comparison: ComparisonRow
    repositories: tuple[RepositoryChange, ...]
    tally: RepositoryTally
    worst: RepositoryChange
    standing: Standing


@dataclass(frozen=True, slots=True)
class AblationResult:
    """The comparisons of an ablation, which are one family."""

    engine: str
    measure: str
    whole: MeanRow
    rows: tuple[PartRow, ...]
    family: int
    reading: tuple[str, ...]
    notes: tuple[str, ...]
    data: tuple[DataNote, ...]  # on the queries that were used
    failed: tuple[str, ...]  # variants that failed on every query, not compared


def ablation_result(
    run: Run, plan: AnalysisPlan, engine: str, steps: Sequence[AblationStep], data: Sequence[DataNote] = ()
) -> AblationResult:
    """Compare every step; variants that failed on every query are left out."""
    dead = failed_engines(run)
    left = [step for step in steps if not {step.variant, step.against} & dead]
    if not left:
        names = ", ".join(sorted(dead))
        hint = "run `assay engines check ENGINE`"
        raise EngineError(f"{names} failed on every query: nothing is left to compare", hint=hint)
    scores = pick(score(run, (plan.primary,)), engines=[e.name for e in run.engines if e.name not in dead])
    pairs = [(step.variant, step.against) for step in left]
    comparison = mark_identical(compare_pairs(scores, pairs, primary=plan.primary, **compare_options(plan)), run)
    rows = []
    for step, row in zip(left, comparison.rows, strict=True):
        changes = by_repository(scores, step.variant, step.against, plan.primary)
        rows.append(PartRow(step, row, changes, tally(changes), worst(changes), _standing(step, row)))
    limits = (undecidable(row.comparison, comparison.family_size, plan.alpha) for row in rows)
    return AblationResult(
        engine=engine,
        measure=plan.primary,
        whole=next(r for r in means(scores, alpha=plan.alpha, cluster=plan.cluster) if r.engine == engine),
        rows=tuple(rows),
        family=comparison.family_size,
        reading=tuple(_reading(rows)),
        notes=(*synthetic_notes(run), *comparison.notes, *dict.fromkeys(filter(None, limits))),
        data=tuple(data),
        failed=tuple(sorted(dead)),
    )


def _standing(step: AblationStep, row: ComparisonRow) -> Standing:
    if row.identical:
        return "changed no ranking"
    good, bad = (Verdict.WORSE, Verdict.BETTER) if step.strategy == "left out" else (Verdict.BETTER, Verdict.WORSE)
    if row.verdict is good:
        return "earns its place"
    if row.verdict is bad:
        return "hurts"
    return "makes no difference" if row.verdict is Verdict.EQUIVALENT else "cannot be told"


_SENTENCES: dict[Standing, str] = {
    "earns its place": "Useful: {names}.",
    "hurts": "Harmful: {names}.",
    "makes no difference": "No effect beyond the margin: {names}.",
    "cannot be told": "Inconclusive: {names}.",
    "changed no ranking": "Identical rankings: {names}. Is the setting connected, and do these queries need it?",
}
_OPENINGS: dict[Strategy, str] = {
    "left out": "Without each part. ",
    "added": "With parts added in order. ",
}


def _reading(rows: Sequence[PartRow]) -> list[str]:
    sentences = []
    for way, opening in _OPENINGS.items():
        parts: dict[Standing, list[str]] = {}
        for row in rows:
            if row.step.strategy == way:
                parts.setdefault(row.standing, []).append(row.step.part)
        texts = [
            text.format(names=", ".join(parts[standing])) for standing, text in _SENTENCES.items() if standing in parts
        ]
        sentences += [opening + " ".join(texts)] if texts else []
    return sentences


def ablation_document(result: AblationResult) -> Document:
    blocks = [*_note_blocks(result.data), *(Paragraph(text) for text in result.reading)]
    dead = [row.step.part for row in result.rows if row.standing == "changed no ranking"]
    if dead:
        names = ", ".join(dict.fromkeys(dead))
        blocks.append(
            Paragraph(f"{names} changed no ranking: not connected, or not needed by these queries.", "warning")
        )
    if result.failed:
        blocks.append(Paragraph(f"Failed on every query, not compared: {', '.join(result.failed)}.", "warning"))
    for way in _OPENINGS:
        blocks += _ablation_table(result, way)
    blocks += [Paragraph(note, "quiet") for note in result.notes]
    whole = result.whole
    return Document(f"Ablation of {result.engine}: {whole.mean:.3f} {result.measure} {whole.label}", tuple(blocks))


def _ablation_table(result: AblationResult, way: Strategy) -> list[Block]:
    rows = [row for row in result.rows if row.step.strategy == way]
    if not rows:
        return []
    level, added = rows[0].comparison.interval.level, way == "added"
    columns = [
        way.capitalize(),
        *(["Baseline"] if added else []),
        ">Mean",
        f">Difference ({level:.0%} CI)",
        ">p",
        "Verdict",
    ]
    cells: list[list[str | Cell]] = []
    for row in rows:
        comparison, names = row.comparison, repository_names(change.repository for change in row.repositories)
        cells.append(
            [
                row.step.part,
                *([row.step.against] if added else []),
                f"{comparison.mean:.3f}",
                difference_text(comparison.difference, comparison.interval),
                p_text(comparison.p_adjusted if comparison.p_adjusted is not None else comparison.p),
                Cell(comparison.summary.partition(",")[0], verdict_tone(comparison)),
                str(row.tally),
                worst_text(row.worst, names),
            ]
        )
    title = "Parts added one by one" if added else f"{result.engine} without each part"
    return [Heading(title), table([*columns, ">Repositories better/same/worse", "Worst repository"], cells)]


def worst_text(change: RepositoryChange, names: Mapping[str, str]) -> str:
    return f"{names[change.repository]} {change.difference:+.3f} (n={change.queries})"


def ablation_json(result: AblationResult) -> dict[str, Any]:
    return {"schema": "assay/ablation/1", **asdict(result)}
