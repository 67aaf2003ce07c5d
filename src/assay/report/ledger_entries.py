from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.corpus_changes import change_sentences
from assay.errors import ConfigError, EngineError, NotComparableError
from assay.experiment.ablation import spent_warning
from assay.experiment.ledger import (
    AcceptanceRule,
    Ledger,
    LedgerEntry,
    LedgerEvidence,
    MeasuredChange,
    Tuning,
    as_mapping,
    make_entry,
)
from assay.experiment.spec.analysis_plan import check_plan
from assay.report.comparison import compare_in_run, require_comparable
from assay.report.family import failed_engines, opponents_of, reference_baseline
from assay.report.query_scores import gather
from assay.report.render.document import Block, Cell, Document, Heading, Paragraph, table
from assay.report.render.formatting import count, p_text, repository_names
from assay.report.rows_file import HASH_DIGITS, corpora_hash
from assay.report.scored_run import pick
from assay.report.tuning_report import AblationResult, TuneReport, worst_text
from assay.scoring import score
from assay.stats.compare import by_repository, compare_pairs, worst
from assay.stats.config import DEFAULT, compare_options
from assay.stats.records import SAME
from assay.stats.runs import EngineOfRun, join_sides
from assay.types import AnalysisPlan, EngineRun, Run


def ablation_entries(
    result: AblationResult, run: Run, plan: AnalysisPlan, rule: AcceptanceRule, by: str
) -> list[LedgerEntry]:
    """Return an entry per part that was compared."""
    engines, entries = {engine.name: engine for engine in run.engines}, []
    for row in result.rows:
        step = row.step
        sign = "without" if step.strategy == "left out" else "plus"
        new, old = engines[step.variant], engines[step.against]
        measured = MeasuredChange(run, new, old, row.comparison, row.repositories, result.family)
        title = f"{result.engine} {sign} {step.part}"
        entries.append(make_entry(measured, plan, rule, title=title, how="ablate", by=by))
    return entries


def tuning_entry(report: TuneReport, run: Run, plan: AnalysisPlan, rule: AcceptanceRule, by: str) -> LedgerEntry | None:
    """Return the entry of the best point; None if the best point is the engine itself."""
    tuned = report.tuned
    if tuned.best == 0:
        return None
    engines = {engine.name: engine for engine in run.engines}
    best = tuned.tried[tuned.best].name
    measured = MeasuredChange(run, engines[best], engines[tuned.engine], tuned.gain, tuned.repositories)
    apparent = tuned.honest.mean + tuned.optimism.difference
    tuning = Tuning(len(tuned.tried), tuned.partitions, apparent, tuned.honest.mean)
    return make_entry(measured, plan, rule, title=f"{tuned.engine} tuned: {best}", how="tune", by=by, tuning=tuning)


def measure_engine(run: Run, plan: AnalysisPlan, engine: str) -> MeasuredChange:
    """Compare an engine with the baseline of its run."""
    baseline = plan.baseline or reference_baseline(run)
    family = tuple(name for name in plan.family if name != baseline)
    plan = replace(plan, baseline=baseline, family=family)
    check_plan(plan, run.k, [engine.name for engine in run.engines])
    new, old = _find_engine(run, engine), _find_engine(run, baseline)
    if new is old:
        raise ConfigError(f"cannot compare {new.name} with itself", hint="name another --baseline")
    together = not family and engine in opponents_of(run, baseline)
    comparison = compare_in_run(gather((run,), plan.measures, ""), plan, None if together else engine)
    row = next((row for row in comparison.rows if row.engine == engine), None)
    if row is None:
        raise _all_failed(comparison.failed)
    scores = pick(score(run, (plan.primary,)), engines=(engine, baseline))
    changes = by_repository(scores, engine, baseline, plan.primary)
    return MeasuredChange(run, new, old, row, changes, comparison.family_size)


def measure_runs(
    old_run: Run,
    new_run: Run,
    plan: AnalysisPlan,
    *,
    engines: tuple[str, str],
    names: tuple[str, str],
    allow_changed_corpus: bool,
) -> tuple[MeasuredChange, str]:
    """Compare an engine of an old run with one of a new run, whose names are given in this order.

    Also return a sentence on the queries that both runs have.
    """
    require_comparable(old_run, new_run)
    changed = change_sentences(old_run.header.corpora, new_run.header.corpora)
    if changed and not allow_changed_corpus:
        raise NotComparableError(" ".join(changed), hint="add --allow-changed-corpus to compare anyway")
    old, new = _find_engine(old_run, engines[0]), _find_engine(new_run, engines[1])
    failed = [e.name for run, e in ((old_run, old), (new_run, new)) if e.name in failed_engines(run)]
    if failed:
        raise _all_failed(failed)
    joined = join_sides(
        EngineOfRun(score(old_run, (plan.primary,)), old.name, names[0]),
        EngineOfRun(score(new_run, (plan.primary,)), new.name, names[1]),
        plan.primary,
    )
    pair = (joined.names.new, joined.names.old)
    comparison = compare_pairs(joined.scores, [pair], primary=plan.primary, **compare_options(plan))
    changes = by_repository(joined.scores, *pair, plan.primary)
    return MeasuredChange(new_run, new, old, comparison.rows[0], changes), joined.sentence


def _find_engine(run: Run, name: str) -> EngineRun:
    for engine in run.engines:
        if engine.name == name:
            return engine
    hint = f"known: {', '.join(engine.name for engine in run.engines)}"
    raise ConfigError(f"no engine {name!r} in this run", hint=hint)


def _all_failed(names: Sequence[str]) -> EngineError:
    return EngineError(f"{', '.join(names)} failed on every query", hint="`assay score` shows their errors")


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
        yield Paragraph(f"{_entries(numbers).capitalize()}: {spent_warning(parts)}", "warning")
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
        *([Paragraph(spent_warning(entry.spent), "warning")] if entry.spent else []),
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
        ("made", f"{entry.date}{by}, with `assay {entry.how}`, Assay {entry.assay}"),
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
