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
from assay.stats.compare import RepositoryChange, worst
from assay.stats.config import DEFAULT
from assay.stats.records import SAME


def ledger_document(book: Ledger) -> Document:
    """Show every change in the order it was tried, with the running total of what was accepted."""
    accepted = sum(entry.accepted for entry in book.entries)
    many = "1 change" if len(book.entries) == 1 else f"{len(book.entries)} changes"
    title = f"{book.path.name}: {many} tried, {accepted} accepted"
    blocks: list[Block] = [Paragraph(note, "warning") for note in book.notes]
    if not book.entries:
        hint = "`assay ledger add RESULTS --engine NEW --baseline OLD` adds the first"
        return Document(title, (*blocks, Paragraph(f"It is empty; {hint}.")))
    marked = any(entry.spent for entry in book.entries)
    columns = [*_COLUMNS[:_PARTS_AT], *(["queries"] if marked else []), *_COLUMNS[_PARTS_AT:]]
    blocks.append(table(columns, list(_rows(book.entries, marked=marked))))
    blocks += [Paragraph(text) for text in _rules(book.entries)]
    blocks += [Paragraph(text, tone) for text, tone in _cautions(book.entries)]
    return Document(title, tuple(blocks))


_COLUMNS = [
    ">#", "date", "change", "measure", ">difference", ">p", "verdict", "worst repository", ">tried before", "rule",
    "outcome", ">total",
]  # fmt: skip
_PARTS_AT = 3  # where the parts of the queries stand, in a ledger that used up others than dev


def _rows(entries: Sequence[LedgerEntry], *, marked: bool) -> Iterator[list[str | Cell]]:
    totals: dict[str, float] = {}
    for entry in entries:
        seen = entry.evidence
        if entry.accepted and entry.how != "ablate":
            totals[seen.measure] = totals.get(seen.measure, 0.0) + seen.difference
        yield [
            str(entry.number),
            entry.date,
            entry.title,
            *([_parts(entry)] if marked else []),
            seen.measure,
            difference_text(seen),
            "–" if seen.p is None else p_text(seen.p),
            verdict_text(seen) or "–",
            _worst(seen.repositories),
            str(entry.tried),
            entry.rule.preset,
            _outcome(entry),
            f"{totals.get(seen.measure, 0.0):+.4f}",
        ]


def _parts(entry: LedgerEntry) -> Cell:
    return Cell(", ".join(entry.parts) or "–", "warning" if entry.spent else "plain")


def difference_text(seen: LedgerEvidence) -> str:
    """Write a difference with its interval."""
    low, high = ("–" if end is None else f"{end:+.3f}" for end in (seen.low, seen.high))
    return f"{seen.difference:+.4f} [{low}, {high}]"


def verdict_text(seen: LedgerEvidence) -> str:
    """Write the verdict, or that there was nothing to judge; empty where there is none."""
    return SAME if seen.identical else seen.verdict or ""


def _worst(changes: Sequence[RepositoryChange]) -> str:
    if not changes:
        return "–"
    return worst_text(worst(changes), repository_names(change.repository for change in changes))


def _outcome(entry: LedgerEntry) -> Cell:
    return Cell("accepted", "good") if entry.accepted else Cell("rejected", "bad")


def _rules(entries: Sequence[LedgerEntry]) -> list[str]:
    spans: dict[str, list[int]] = {}
    for entry in entries:
        spans.setdefault(f"{entry.rule.preset}: {entry.rule}", []).append(entry.number)
    every = len(spans) == 1
    return [f"Rule {text}{'' if every else f' ({_entries(numbers)})'}." for text, numbers in spans.items()]


def _entries(numbers: Sequence[int]) -> str:
    return f"{'entry' if len(numbers) == 1 else 'entries'} {_ranges(numbers)}"


def _ranges(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _cautions(entries: Sequence[LedgerEntry]) -> Iterator[tuple[str, Any]]:
    for parts, numbers in _spent(entries).items():
        yield (
            f"{'Entry' if len(numbers) == 1 else 'Entries'} {_ranges(numbers)}: {spent_warning(parts).text}",
            "warning",
        )
    by_gold: dict[tuple[str, ...], list[LedgerEntry]] = {}
    for entry in entries:
        by_gold.setdefault(entry.gold, []).append(entry)
    for tried in by_gold.values():
        if len(tried) > 1:
            yield _many(tried), "warning"
    small = {c.queries for e in entries for c in e.evidence.repositories if c.queries < DEFAULT.small_set}
    if small:
        few = f"as few as {count(min(small), 'query', 'queries')}"
        yield (
            f"Repositories with {few} are shown with their n: differences of so few are mostly noise.",
            "quiet",
        )
    if sum(entry.accepted and entry.how != "ablate" for entry in entries) > 1:
        yield (
            "The total adds up differences that were accepted for being good, so it promises too much; measure the "
            "result against the beginning, on queries that decided on none of the changes.",
            "quiet",
        )


def _spent(entries: Sequence[LedgerEntry]) -> dict[tuple[str, ...], list[int]]:
    numbers: dict[tuple[str, ...], list[int]] = {}
    for entry in entries:
        if entry.spent:
            numbers.setdefault(entry.spent, []).append(entry.number)
    return numbers


def _many(tried: Sequence[LedgerEntry]) -> str:
    named = "+".join(tried[0].gold)
    alpha = max(entry.evidence.alpha for entry in tried)
    lucky = len(tried) * alpha / 2.0
    half = count(round(len(tried) / 2), "time")
    return (
        f"{len(tried)} changes were tried on {named}. If none of them did anything, a verdict of better at α = "
        f"{alpha:g} would still come up about {lucky:.1f} times by luck; a mean above zero, {half}."
    )


def entry_document(entry: LedgerEntry) -> Document:
    """Show one entry with all that it rests on."""
    seen = entry.evidence
    title = f"{entry.number}. {entry.title}: {'accepted' if entry.accepted else 'rejected'}"
    facts = [
        ["change", _change_text(entry)],
        ["engines", f"{entry.new.engine} ({entry.new.config}) against {entry.old.engine} ({entry.old.config})"],
        ["means", f"{entry.new.mean:.4f} against {entry.old.mean:.4f} {seen.measure}, k = {seen.k}"],
        ["difference", f"{difference_text(seen)}, {seen.level:.0%} interval"],
        ["p", "none: too few clusters" if seen.p is None else f"{p_text(seen.p)} in a family of {seen.family}"],
        ["verdict", f"{verdict_text(seen) or 'none'}, {seen.label}; margin {seen.margin:g}, α {seen.alpha:g}"],
        ["queries", _extent(seen)],
        ["gold", f"{'+'.join(entry.gold)} {entry.gold_hash}" + (f", {', '.join(entry.parts)}" if entry.parts else "")],
        ["corpora", _corpora(entry.corpora)],
        ["tried before", f"{entry.tried} on the same gold"],
        ["made", f"{entry.date}{f' by {entry.by}' if entry.by else ''}, by assay {entry.how} of Assay {entry.assay}"],
    ]
    if entry.tuning:
        told = entry.tuning
        text = f"{told.points} points, {told.partitions} halvings; seen {told.apparent:.4f}, unseen {told.honest:.4f}"
        facts.append(["tuned", text])
    blocks: list[Block] = [
        *([Paragraph(spent_warning(entry.spent).text, "warning")] if entry.spent else []),
        table(["", ""], facts),
        Heading("The rule"),
        Paragraph(f"{entry.rule.preset}: {entry.rule}."),
    ]
    reasons: list[list[str | Cell]] = [
        [_plain_names(reason.text, seen), Cell("held", "good") if reason.held else Cell("failed", "bad")]
        for reason in entry.reasons
    ]
    return Document(title, (*blocks, table(["", ""], reasons), *_repositories(seen)))


def _change_text(entry: LedgerEntry) -> str:
    if not entry.changes:
        return "no setting: the program, or the engine itself"
    return "; ".join(f"{key}: {_setting(old)} → {_setting(new)}" for key, (old, new) in entry.changes.items())


def _setting(value: object) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)


def _extent(seen: LedgerEvidence) -> str:
    repositories = count(len(seen.repositories), "repository", "repositories")
    return f"{seen.queries} in {repositories}; {count(seen.clusters, 'cluster')}"


def _corpora(corpora: Mapping[str, str]) -> str:
    every = ", ".join(f"{name} {digest[:HASH_DIGITS]}" for name, digest in corpora.items())
    one = f"{corpora_hash(corpora)[:HASH_DIGITS]}: " if len(set(corpora.values())) > 1 else ""
    return f"{one}{every}" or "–"


def _plain_names(text: str, seen: LedgerEvidence) -> str:
    for name, called in repository_names(change.repository for change in seen.repositories).items():
        text = text.replace(name, called)
    return text


def _repositories(seen: LedgerEvidence) -> Iterator[Block]:
    if seen.repositories:
        rows = sorted(seen.repositories, key=lambda c: (c.gain, c.repository))
        called = repository_names(change.repository for change in rows)
        cells = [[called[c.repository], str(c.queries), f"{c.difference:+.4f}"] for c in rows]
        note = f"Below {DEFAULT.small_set} queries a repository's difference is mostly noise."
        yield Heading("By repository")
        yield table(["repository", ">queries", ">difference"], cells, note)


def ledger_json(book: Ledger) -> dict[str, Any]:
    """Give a ledger as JSON can hold it."""
    entries = [_shown(entry) for entry in book.entries]
    return {"schema": "assay/ledger/1", "file": str(book.path), "entries": entries, "notes": list(book.notes)}


def entry_json(entry: LedgerEntry) -> dict[str, Any]:
    """Give an entry as JSON can hold it."""
    return {"schema": "assay/ledger-entry/1", **_shown(entry)}


def _shown(entry: LedgerEntry) -> dict[str, Any]:
    return {**as_mapping(entry), "used_up": list(entry.spent)}
