"""What each part of an engine is worth: the comparisons of an ablation, and what may be said of every part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.errors import EngineError
from assay.experiment.tuning.ablating import Rung, Way
from assay.experiment.tuning.devdata import DataNote
from assay.report.case import dead_engines, pick
from assay.report.commands.data_notes import data_notes
from assay.report.comparing import mark_identical
from assay.report.comparison_blocks import p_text, verdict_tone
from assay.report.pages.document import Block, Cell, Document, Heading, Paragraph, table
from assay.report.pages.texts import repository_names
from assay.report.synthetic import synthetic_notes
from assay.report.wording import difference_text
from assay.scoring import score
from assay.stats import means
from assay.stats.compare import Versus, compare_pairs
from assay.stats.config import settings_of
from assay.stats.family import undecidable
from assay.stats.records import ComparisonRow, MeanRow, Verdict
from assay.stats.slices import RepositoryChange, Tally, by_repository, tally, worst
from assay.types import Claim, Run

#: What a part does, as far as it can be told.
Standing = Literal["earns its place", "hurts", "makes no difference", "cannot be told", "changed no ranking"]


@dataclass(frozen=True, slots=True)
class PartRow:
    """One step of an ablation with its comparison."""

    step: Rung
    comparison: ComparisonRow
    repositories: tuple[RepositoryChange, ...]
    tally: Tally
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
    run: Run, claim: Claim, engine: str, steps: Sequence[Rung], data: Sequence[DataNote] = ()
) -> AblationResult:
    """Compare every step; what answered nothing is named and left out."""
    dead = dead_engines(run)
    left = [step for step in steps if not {step.variant, step.against} & dead]
    if not left:
        names = ", ".join(sorted(dead))
        hint = "`assay engines check` tells why"
        raise EngineError(f"{names} answered no query: nothing is left to compare", hint=hint)
    scores = pick(score(run, (claim.primary,)), engines=[e.name for e in run.engines if e.name not in dead])
    pairs = compare_pairs(
        scores,
        [Versus(step.variant, step.against) for step in left],
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


def _standing(step: Rung, row: ComparisonRow) -> Standing:
    """Say what a part does: leaving out one that helps makes it worse, adding it makes it better."""
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
    """Put every part into one of five sentences, for each way of an ablation."""
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
    """Say once what limits several comparisons."""
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
    """Show the steps of one way."""
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
    """Write one step as a row."""
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
