"""Tuning results, ablation results and ledgers as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.errors import EngineError
from assay.experiment.ablation import AblationStep, DataNote, Strategy, spent_warning
from assay.experiment.ledger import Ledger, LedgerEntry, LedgerEvidence, as_mapping
from assay.experiment.tuning import GridPoint, TuneOutcome
from assay.report.comparison import mark_identical, verdict_tone
from assay.report.render.document import Block, Cell, Code, Document, Heading, Paragraph, Table, table
from assay.report.render.text import count, difference_text, format_interval, p_text, repository_names, signed_ends
from assay.report.rows import HASH_DIGITS, corpora_hash
from assay.report.scored_run import failed_engines, pick, synthetic_notes
from assay.scoring import score
from assay.stats import means
from assay.stats.compare import RepositoryChange, RepositoryTally, by_repository, compare_pairs, tally, worst
from assay.stats.config import DEFAULT, compare_options
from assay.stats.records import SAME, ComparisonRow, MeanRow, Verdict
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


def tune_document(report: TuneReport) -> Document:
    outcome = report.tuned
    how = (
        f"{outcome.label} were split in half at random {outcome.partitions} times; the best of {len(outcome.tried)} "
        f"points on one half was scored on the other half, both ways, over {outcome.queries} queries. A choice by all "
        "queries is at least as good as a choice by half of them. Intervals are by cluster and include the effect of "
        "leaving out one cluster on the choice."
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
    return [Paragraph(note.text, "warning" if note.is_grave else "quiet") for note in notes]


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
        ["tuned, on the choosing halves (apparent)", f"{apparent:.3f}", ""],
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
    run: Run, claim: AnalysisPlan, engine: str, steps: Sequence[AblationStep], data: Sequence[DataNote] = ()
) -> AblationResult:
    """Compare every step; variants that failed on every query are left out."""
    dead = failed_engines(run)
    left = [step for step in steps if not {step.variant, step.against} & dead]
    if not left:
        names = ", ".join(sorted(dead))
        hint = "run `assay engines check ENGINE`"
        raise EngineError(f"{names} failed on every query: nothing is left to compare", hint=hint)
    scores = pick(score(run, (claim.primary,)), engines=[e.name for e in run.engines if e.name not in dead])
    pairs = [(step.variant, step.against) for step in left]
    comparison = mark_identical(compare_pairs(scores, pairs, primary=claim.primary, **compare_options(claim)), run)
    rows = []
    for step, row in zip(left, comparison.rows, strict=True):
        changes = by_repository(scores, step.variant, step.against, claim.primary)
        rows.append(PartRow(step, row, changes, tally(changes), worst(changes), _standing(step, row)))
    limits = (undecidable(row.comparison, comparison.family_size, claim.alpha) for row in rows)
    return AblationResult(
        engine=engine,
        measure=claim.primary,
        whole=next(r for r in means(scores, alpha=claim.alpha, cluster=claim.cluster) if r.engine == engine),
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
_OPENINGS: dict[Strategy, str] = {"left out": "Without each part. ", "added": "With each part added to those before. "}


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


def ledger_document(book: Ledger) -> Document:
    entries = book.entries
    accepted = sum(entry.accepted for entry in entries)
    title = f"{book.path.name}: {count(len(entries), 'change')} tried, {accepted} accepted"
    blocks: list[Block] = [Paragraph(note, "warning") for note in book.notes]
    if not entries:
        hint = "add one with `assay ledger add RESULTS --engine NEW --baseline OLD`"
        return Document(title, (*blocks, Paragraph(f"No entries; {hint}.")))
    has_spent = any(entry.spent for entry in entries)
    columns = [">#", "Date", "Change", *(["Queries"] if has_spent else []), "Measure", ">Difference", ">p", "Verdict"]
    columns += ["Worst repository", ">Tried before", "Rule", "Outcome", ">Total"]
    blocks.append(table(columns, list(_rows(entries, has_spent=has_spent))))
    rules: dict[str, list[int]] = {}
    for entry in entries:
        rules.setdefault(f"{entry.rule.preset}: {entry.rule}", []).append(entry.number)
    for text, numbers in rules.items():
        which = f" ({_entries(numbers)})" if len(rules) > 1 else ""
        blocks.append(Paragraph(f"Rule {text}{which}."))
    return Document(title, (*blocks, *_cautions(entries)))


def _rows(entries: Sequence[LedgerEntry], *, has_spent: bool) -> Iterator[list[str | Cell]]:
    totals: dict[str, float] = {}
    for entry in entries:
        evidence = entry.evidence
        if entry.accepted and entry.how != "ablate":
            totals[evidence.measure] = totals.get(evidence.measure, 0.0) + evidence.difference
        parts = Cell(", ".join(entry.parts) or "–", "warning" if entry.spent else "plain")
        names = repository_names(change.repository for change in evidence.repositories)
        yield [
            str(entry.number),
            entry.date,
            entry.title,
            *([parts] if has_spent else []),
            evidence.measure,
            _difference_text(evidence),
            p_text(evidence.p),
            _verdict_text(evidence) or "–",
            worst_text(worst(evidence.repositories), names) if evidence.repositories else "–",
            str(entry.tried),
            entry.rule.preset,
            Cell("accepted", "good") if entry.accepted else Cell("rejected", "bad"),
            f"{totals.get(evidence.measure, 0.0):+.4f}",
        ]


def _difference_text(evidence: LedgerEvidence) -> str:
    low, high = ("–" if end is None else f"{end:+.3f}" for end in (evidence.low, evidence.high))
    return f"{evidence.difference:+.4f} [{low}, {high}]"


def _verdict_text(evidence: LedgerEvidence) -> str:
    return SAME if evidence.identical else evidence.verdict or ""


def _entries(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    ranges = ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return f"{'entry' if len(numbers) == 1 else 'entries'} {ranges}"


def _cautions(entries: Sequence[LedgerEntry]) -> Iterator[Paragraph]:
    spent: dict[tuple[str, ...], list[int]] = {}
    by_gold: dict[tuple[str, ...], list[LedgerEntry]] = {}
    for entry in entries:
        by_gold.setdefault(entry.gold, []).append(entry)
        if entry.spent:
            spent.setdefault(entry.spent, []).append(entry.number)
    for parts, numbers in spent.items():
        yield Paragraph(f"{_entries(numbers).capitalize()}: {spent_warning(parts).text}", "warning")
    for gold, tried in by_gold.items():
        if len(tried) > 1:
            alpha = max(entry.evidence.alpha for entry in tried)
            yield Paragraph(
                f"{len(tried)} changes were tried on {'+'.join(gold)}. Without any real effect, about "
                f"{len(tried) * alpha / 2.0:.1f} of them would be better at α = {alpha:g} by chance, and "
                f"{round(len(tried) / 2)} would have a positive mean.",
                "warning",
            )
    small = {c.queries for e in entries for c in e.evidence.repositories if c.queries < DEFAULT.small_set}
    if small:
        few = count(min(small), "query", "queries")
        yield Paragraph(f"Some repositories have as few as {few}: their differences are mostly noise.", "quiet")
    if sum(entry.accepted and entry.how != "ablate" for entry in entries) > 1:
        yield Paragraph(
            "The total adds differences that were accepted because they were high, so it is too high; compare the "
            "result with the start on queries that decided none of the changes.",
            "quiet",
        )


def entry_document(entry: LedgerEntry) -> Document:
    evidence, names = entry.evidence, repository_names(change.repository for change in entry.evidence.repositories)
    blocks: list[Block] = [
        *([Paragraph(spent_warning(entry.spent).text, "warning")] if entry.spent else []),
        table(["", ""], _facts(entry)),
        Heading("Rule"),
        Paragraph(f"{entry.rule.preset}: {entry.rule}."),
    ]
    reasons: list[list[str | Cell]] = []
    for reason in entry.reasons:
        text = reason.text
        for repository, name in names.items():
            text = text.replace(repository, name)
        reasons.append([text, Cell("met", "good") if reason.held else Cell("not met", "bad")])
    blocks.append(table(["", ""], reasons))
    if evidence.repositories:
        changes = sorted(evidence.repositories, key=lambda change: (change.gain, change.repository))
        rows = [[names[c.repository], str(c.queries), f"{c.difference:+.4f}"] for c in changes]
        note = f"Below {DEFAULT.small_set} queries a repository's difference is mostly noise."
        blocks += [Heading("By repository"), table(["Repository", ">Queries", ">Difference"], rows, note)]
    outcome = "accepted" if entry.accepted else "rejected"
    return Document(f"{entry.number}. {entry.title}: {outcome}", tuple(blocks))


def _facts(entry: LedgerEntry) -> list[tuple[str, str]]:
    evidence, new, old = entry.evidence, entry.new, entry.old
    changes = (f"{key}: {_setting(before)} → {_setting(after)}" for key, (before, after) in entry.changes.items())
    repositories = count(len(evidence.repositories), "repository", "repositories")
    by = f" by {entry.by}" if entry.by else ""
    facts = [
        ("change", "; ".join(changes) or "no setting changed"),
        ("engines", f"{new.engine} ({new.config}) against {old.engine} ({old.config})"),
        ("means", f"{new.mean:.4f} against {old.mean:.4f} {evidence.measure}, k = {evidence.k}"),
        ("difference", f"{_difference_text(evidence)}, {evidence.level:.0%} CI"),
        (
            "p",
            "none: too few clusters"
            if evidence.p is None
            else f"{p_text(evidence.p)} in a family of {evidence.family}",
        ),
        (
            "verdict",
            f"{_verdict_text(evidence) or 'none'}, {evidence.label}; margin {evidence.margin:g}, α {evidence.alpha:g}",
        ),
        ("queries", f"{evidence.queries} in {repositories}; {count(evidence.clusters, 'cluster')}"),
        ("gold", f"{'+'.join(entry.gold)} {entry.gold_hash}" + (f", {', '.join(entry.parts)}" if entry.parts else "")),
        ("corpora", _corpora_text(entry.corpora)),
        ("tried before", f"{entry.tried} on the same gold set"),
        ("made", f"{entry.date}{by}, with `assay {entry.how}` of Assay {entry.assay}"),
    ]
    if entry.tuning:
        tuned = entry.tuning
        text = f"{tuned.points} points, {tuned.partitions} splits; "
        text += f"apparent {tuned.apparent:.4f}, held-out {tuned.honest:.4f}"
        facts.append(("tuned", text))
    return facts


def _setting(value: object) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)


def _corpora_text(corpora: Mapping[str, str]) -> str:
    each = ", ".join(f"{name} {digest[:HASH_DIGITS]}" for name, digest in corpora.items())
    joined = f"{corpora_hash(corpora)[:HASH_DIGITS]}: " if len(set(corpora.values())) > 1 else ""
    return f"{joined}{each}" or "–"


def ledger_json(book: Ledger) -> dict[str, Any]:
    entries = [_entry_json(entry) for entry in book.entries]
    return {"schema": "assay/ledger/1", "file": str(book.path), "entries": entries, "notes": list(book.notes)}


def entry_json(entry: LedgerEntry) -> dict[str, Any]:
    return {"schema": "assay/ledger-entry/1", **_entry_json(entry)}


def _entry_json(entry: LedgerEntry) -> dict[str, Any]:
    return {**as_mapping(entry), "used_up": list(entry.spent)}
