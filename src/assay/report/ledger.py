"""The ledger as text: table of changes, one entry in detail."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.experiment.ablation import spent_warning
from assay.experiment.ledger import Ledger, LedgerEntry, LedgerEvidence, as_mapping
from assay.report.render.document import Block, Cell, Document, Heading, Paragraph, table
from assay.report.render.text import count, p_text, repository_names
from assay.report.rows import HASH_DIGITS, corpora_hash
from assay.report.tuning import worst_text
from assay.stats.compare import worst
from assay.stats.config import DEFAULT
from assay.stats.records import SAME


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
