from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import emit_blocks, info
from assay.errors import ConfigError, GoldError

if TYPE_CHECKING:
    from assay.gold.reanchor.moves import GoldMoves, LineReader, LostPolicy, ReanchoredGold, TargetMove
    from assay.report.render.document import Block
    from assay.types import GoldSet


def reanchor_command(args: Namespace) -> int:
    gold = _load_set(args)
    if args.new is None:
        if not args.digest:
            raise ConfigError("there is nothing to do", hint="name the commit to move to with --to, or use --digest")
        return _add_digests(args, gold)
    from assay.gold.reanchor.moves import apply_moves, count_unlabeled, labeled_revision, locate_commits, reanchor

    old = args.old or labeled_revision(gold)
    info(args, f"comparing {old} with {args.new}")
    moves = reanchor(gold, locate_commits(gold, args.repo, old, args.new))
    notes: list[str] = []
    unlabeled = count_unlabeled(gold)
    if unlabeled and not args.old and not gold.corpus.rev:
        count = f"anchors without a label that says their commit: {unlabeled}"
        notes.append(f"{count}; taken as made at {labeled_revision(gold)[:12]}, as the others are")
    if args.out or args.in_place:
        lost: LostPolicy = "drop" if args.drop_lost else "keep" if args.keep_lost else "refuse"
        applied = apply_moves(moves, lost=lost, digest=args.digest)
        notes += (*applied.notes, *_write(args, gold, applied))
    title = f"{moves.gold.name}: {moves.old[:12]} → {moves.new[:12]}"
    emit_blocks(args, title, _move_blocks(moves, notes, every=args.all), _moves_json(moves, notes))
    return 0


def _load_set(args: Namespace) -> GoldSet:
    from assay.gold import load_gold
    from assay.gold.build import NO_CORPUS
    from assay.types import CorpusSpec

    try:
        golds = load_gold(args.gold).golds
    except GoldError as error:
        if args.repo is None and error.message == NO_CORPUS:
            hint = "name its repository with --repo, and the commit it was made at with --from"
            raise GoldError(error.message, file=error.file, line=error.line, hint=hint) from error
        if args.repo is None:
            raise
        golds = load_gold(args.gold, corpus=CorpusSpec("git", args.repo, args.old)).golds
    if len(golds) != 1:
        names = ", ".join(gold.name for gold in golds[:3])
        raise GoldError(f"it holds {len(golds)} sets: {names}", file=args.gold, hint="move them one by one")
    return golds[0]


def _write(args: Namespace, gold: GoldSet, applied: ReanchoredGold) -> tuple[str, ...]:
    from assay.cli.gold.convert import missing_directory, relative_corpus
    from assay.gold.formats.registry import save

    new, out, missing = applied.gold, None, None
    if args.out:
        out = Path(args.out)
        new = replace(new, corpus=relative_corpus(new, out.parent))
        missing = missing_directory(out)
    saved = save(gold, new, out)
    info(args, f"written to {saved.path}" + (f"; the folder {missing} was made for it" if missing else ""))
    return saved.notes


def _add_digests(args: Namespace, gold: GoldSet) -> int:
    from assay.gold.reanchor.moves import add_digests
    from assay.report.render.document import Paragraph

    applied = add_digests(gold, _line_reader(args, gold))
    notes = applied.notes + (_write(args, gold, applied) if args.out or args.in_place else ())
    count = sum(target.digest is not None for query in applied.gold.queries for target in query.targets)
    blocks: Sequence[Block | str] = (
        f"{count} line anchors of {gold.name} carry a content hash",
        *(Paragraph(note, "warning") for note in notes),
    )
    data = {"schema": "assay/gold-reanchor/1", "name": gold.name, "hashed": count, "notes": list(notes)}
    emit_blocks(args, "Content hashes", blocks, data)
    return 0


def _line_reader(args: Namespace, gold: GoldSet) -> LineReader:
    """Return a function that reads the lines of a file at the old commit, or in the corpus."""
    from assay.corpus import open_corpus, read_text
    from assay.gold.reanchor.commits import CommitTree
    from assay.gold.reanchor.config import DEFAULT
    from assay.gold.reanchor.moves import locate_commits
    from assay.syntax.text import split_lines

    if args.old or args.repo:
        located = locate_commits(gold, args.repo, args.old, args.old or gold.corpus.rev or "HEAD")
        tree = CommitTree(located.repository, located.old, DEFAULT.file_bytes)
        return lambda path: tree.lines(path) if path in tree else None
    corpus = open_corpus(gold.corpus, base=Path(gold.source).parent if gold.source else None)
    known = frozenset(file.path for file in corpus.files)
    return lambda path: split_lines(read_text(corpus, path)) if path in known else None


def _move_blocks(moves: GoldMoves, notes: Sequence[str], *, every: bool) -> Iterator[Block]:
    from assay.report.render.document import Heading, Paragraph, table

    counts = [[confidence, str(count)] for confidence, count in moves.counts.items()]
    same = moves.counts["unchanged"] + moves.counts["exact"]
    hidden = f"with the same text: {same}, {moves.counts['exact']} of them elsewhere; --all lists them"
    yield table(["anchors", ">count"], counts, "" if every or not same else hidden)
    groups = {
        "The same text": ("unchanged", "exact") if every else (),
        "Moved with changes": ("sure",),
        "To look at": ("low", "lost"),
    }
    for title, confidences in groups.items():
        rows = [
            [row.query, row.role, row.move.old.anchor, row.move.confidence, _format_move(row.move)]
            for row in moves.rows
            if row.move.confidence in confidences
        ]
        if rows:
            yield Heading(title)
            yield table(["query", "as", "anchor", "moved", "to, or candidates"], rows)
    yield from (Paragraph(note, "warning") for note in notes)


def _format_move(move: TargetMove) -> str:
    if move.new is not None:
        return f"{move.new.anchor} ({move.likeness:.2f}, {move.reason})"
    candidates = [f"{other.span}? ({other.likeness:.2f}, {other.reason})" for other in move.candidates]
    return "; ".join(candidates) or move.reason


def _moves_json(moves: GoldMoves, notes: Sequence[str]) -> dict[str, object]:
    rows = [
        {
            "query": row.query,
            "role": row.role,
            "grade": row.move.old.grade if row.role == "target" else None,
            "old": row.move.old.anchor,
            "new": row.move.new.anchor if row.move.new else None,
            "confidence": row.move.confidence,
            "likeness": round(row.move.likeness, 4),
            "reason": row.move.reason,
            "candidates": [
                {"anchor": str(other.span), "likeness": round(other.likeness, 4), "reason": other.reason}
                for other in row.move.candidates
            ],
        }
        for row in moves.rows
    ]
    return {
        "schema": "assay/gold-reanchor/1",
        "name": moves.gold.name,
        "from": moves.old,
        "to": moves.new,
        "counts": dict(moves.counts),
        "moves": rows,
        "notes": list(notes),
    }
