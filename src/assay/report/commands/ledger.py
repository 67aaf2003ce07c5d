"""The ledger for people: the table that seed 001 kept by hand, and one entry with all that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.experiment.ledger.book import Ledger
from assay.experiment.ledger.entry import Entry, Evidence, as_mapping
from assay.report.comparison import p_text
from assay.report.pages.document import Block, Cell, Document, Heading, Paragraph, table
from assay.stats.config import DEFAULT
from assay.stats.repositories import RepositoryChange, worst


def ledger_document(book: Ledger) -> Document:
    """Show every change in the order it was tried, with the running total of what was accepted."""
    accepted = sum(entry.accepted for entry in book.entries)
    many = "1 change" if len(book.entries) == 1 else f"{len(book.entries)} changes"
    title = f"{book.path.name}: {many} tried, {accepted} accepted"
    blocks: list[Block] = [Paragraph(note, "warning") for note in book.notes]
    if not book.entries:
        hint = "`assay ledger add RESULTS --engine NEW --baseline OLD` adds the first"
        return Document(title, (*blocks, Paragraph(f"It is empty; {hint}.")))
    blocks.append(table(_COLUMNS, list(_rows(book.entries))))
    blocks += [Paragraph(text) for text in _rules(book.entries)]
    blocks += [Paragraph(text, tone) for text, tone in _cautions(book.entries)]
    return Document(title, tuple(blocks))


_COLUMNS = [
    ">#", "date", "change", "measure", ">difference", ">p", "verdict", "worst repository", ">tried before", "rule",
    "outcome", ">total",
]  # fmt: skip


def _rows(entries: Sequence[Entry]) -> Iterator[list[str | Cell]]:
    """Write one row for each entry; an ablation takes no part in the total: nobody changed anything."""
    totals: dict[str, float] = {}
    for entry in entries:
        seen = entry.evidence
        if entry.accepted and entry.how != "ablate":
            totals[seen.measure] = totals.get(seen.measure, 0.0) + seen.difference
        yield [
            str(entry.number),
            entry.date,
            entry.title,
            seen.measure,
            difference_text(seen),
            "–" if seen.p is None else p_text(seen.p),
            seen.verdict or "–",
            _worst(seen.repositories),
            str(entry.tried),
            entry.rule.preset,
            _outcome(entry),
            f"{totals.get(seen.measure, 0.0):+.4f}",
        ]


def difference_text(seen: Evidence) -> str:
    """Write a difference with its interval."""
    low, high = ("–" if end is None else f"{end:+.3f}" for end in (seen.low, seen.high))
    return f"{seen.difference:+.4f} [{low}, {high}]"


def _worst(changes: Sequence[RepositoryChange]) -> str:
    """Write the repository that gained least; of a few queries a difference is noise, so their number is shown."""
    if not changes:
        return "–"
    least = worst(changes)
    return f"{least.repository} {least.difference:+.3f} (n={least.queries})"


def _outcome(entry: Entry) -> Cell:
    """Write what became of a change."""
    return Cell("accepted", "good") if entry.accepted else Cell("rejected", "bad")


def _rules(entries: Sequence[Entry]) -> list[str]:
    """Say each rule that was in force, and for which entries."""
    spans: dict[str, list[int]] = {}
    for entry in entries:
        spans.setdefault(f"{entry.rule.preset}: {entry.rule}", []).append(entry.number)
    every = len(spans) == 1
    return [f"Rule {text}{'' if every else f' (entries {_ranges(numbers)})'}." for text, numbers in spans.items()]


def _ranges(numbers: Sequence[int]) -> str:
    """Write rising numbers as ranges: 1–3, 7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _cautions(entries: Sequence[Entry]) -> Iterator[tuple[str, Any]]:
    """Say what the table does not: many tries on one set, small repositories, sums of picked numbers."""
    by_gold: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        by_gold.setdefault(entry.gold, []).append(entry)
    for tried in by_gold.values():
        if len(tried) > 1:
            yield _many(tried), "warning"
    small = {c.queries for e in entries for c in e.evidence.repositories if c.queries < DEFAULT.small_set}
    if small:
        few = f"as few as {min(small)}" if len(small) > 1 else str(min(small))
        yield (
            f"Repositories with {few} queries are shown with their n: differences of so few are mostly noise.",
            "quiet",
        )
    if sum(entry.accepted and entry.how != "ablate" for entry in entries) > 1:
        yield (
            "The total adds up differences that were accepted for being good, so it promises too much; measure the "
            "result against the beginning, on queries that decided on none of the changes.",
            "quiet",
        )


def _many(tried: Sequence[Entry]) -> str:
    """Say how many changes were tried on one gold set, and what luck alone would have accepted."""
    named = "+".join(tried[0].gold)
    alpha = max(entry.evidence.alpha for entry in tried)
    lucky = len(tried) * alpha / 2.0
    return (
        f"{len(tried)} changes were tried on {named}. If none of them did anything, a verdict of better at α = "
        f"{alpha:g} would still come up about {lucky:.1f} times by luck; a mean above zero, {len(tried) / 2:.0f} times."
    )


def entry_document(entry: Entry) -> Document:
    """Show one entry with all that it rests on."""
    seen = entry.evidence
    title = f"{entry.number}. {entry.title}: {'accepted' if entry.accepted else 'rejected'}"
    facts = [
        ["change", _change_text(entry)],
        ["engines", f"{entry.new.engine} ({entry.new.config}) against {entry.old.engine} ({entry.old.config})"],
        ["means", f"{entry.new.mean:.4f} against {entry.old.mean:.4f} {seen.measure}, k = {seen.k}"],
        ["difference", f"{difference_text(seen)}, {seen.level:.0%} interval"],
        ["p", "none: too few clusters" if seen.p is None else f"{p_text(seen.p)} in a family of {seen.family}"],
        ["verdict", f"{seen.verdict or 'none'}, {seen.label}; margin {seen.margin:g}, α {seen.alpha:g}"],
        ["queries", f"{seen.queries} in {len(seen.repositories)} repositories; {seen.clusters} clusters"],
        ["gold", f"{'+'.join(entry.gold)} {entry.gold_hash}" + (f", {', '.join(entry.parts)}" if entry.parts else "")],
        ["corpora", ", ".join(f"{name} {digest[:16]}" for name, digest in entry.corpora.items()) or "–"],
        ["tried before", f"{entry.tried} on the same gold"],
        ["made", f"{entry.date}{f' by {entry.by}' if entry.by else ''}, by `{entry.how}` of Assay {entry.assay}"],
    ]
    if entry.tuning:
        told = entry.tuning
        text = f"{told.points} points, {told.partitions} halvings; seen {told.apparent:.4f}, unseen {told.honest:.4f}"
        facts.append(["tuned", text])
    blocks: list[Block] = [
        table(["", ""], facts),
        Heading("The rule"),
        Paragraph(f"{entry.rule.preset}: {entry.rule}."),
    ]
    reasons: list[list[str | Cell]] = [
        [reason.text, Cell("held", "good") if reason.held else Cell("failed", "bad")] for reason in entry.reasons
    ]
    return Document(title, (*blocks, table(["", ""], reasons), *_repositories(seen)))


def _change_text(entry: Entry) -> str:
    """Write the settings that changed."""
    if not entry.changes:
        return "no setting: the program, or the engine itself"
    return "; ".join(f"{key}: {before} → {after}" for key, (before, after) in entry.changes.items())


def _repositories(seen: Evidence) -> Iterator[Block]:
    """Show the difference of every repository, the worst first."""
    if seen.repositories:
        rows = sorted(seen.repositories, key=lambda c: (c.gain, c.repository))
        cells = [[c.repository, str(c.queries), f"{c.difference:+.4f}"] for c in rows]
        note = f"Below {DEFAULT.small_set} queries a repository's difference is mostly noise."
        yield Heading("By repository")
        yield table(["repository", ">queries", ">difference"], cells, note)


def ledger_json(book: Ledger) -> dict[str, Any]:
    """Give a ledger as JSON can hold it."""
    entries = [as_mapping(entry) for entry in book.entries]
    return {"schema": "assay/ledger/1", "file": str(book.path), "entries": entries, "notes": list(book.notes)}


def entry_json(entry: Entry) -> dict[str, Any]:
    """Give an entry as JSON can hold it."""
    return {"schema": "assay/ledger-entry/1", **as_mapping(entry)}
