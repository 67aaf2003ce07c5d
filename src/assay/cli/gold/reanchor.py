from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import emit, info
from assay.errors import ConfigError, GoldError

if TYPE_CHECKING:
    from assay.gold.reanchor.moves import Confidence, GoldMoves, LineReader, LostPolicy, ReanchoredGold, TargetMove
    from assay.report.render.document import Block, Document
    from assay.types import GoldSet


def reanchor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("gold", metavar="SET", help="the gold set, a file in any format")
    parser.add_argument("--from", dest="old", metavar="REV", help="commit it was made at (of its corpus or labels)")
    parser.add_argument("--to", dest="new", metavar="REV", help="commit to move it to")
    parser.add_argument("--repo", metavar="PATH", help="git repository with both, bare or not (that of its corpus)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", metavar="FILE", help="write the moved set there, in the format of SET")
    where.add_argument("--in-place", action="store_true", help="write the moved set over SET")
    lost = parser.add_mutually_exclusive_group()
    lost.add_argument("--drop-lost", action="store_true", help="leave out what was lost, and queries without a primary")
    lost.add_argument("--keep-lost", action="store_true", help="keep the old anchors of what was lost")
    parser.add_argument("--all", action="store_true", help="list every anchor, also those that keep their text")
    parser.add_argument("--digest", action="store_true", help="add content hashes to line anchors")


def reanchor_command(args: argparse.Namespace) -> int:
    """Migrate the anchors of a gold set from one commit to another.

    assay gold reanchor gold.yaml --to HEAD                     what would move, what could not, and where it may be
    assay gold reanchor gold.yaml --to HEAD --all               the same, with what keeps its text listed too
    assay gold reanchor gold.yaml --to HEAD --in-place          write it, and the new commit as the set's revision
    assay gold reanchor code.csv --repo ../octocode --from b1771ba --to master --out moved.csv
    assay gold reanchor gold.yaml --digest --in-place           add content hashes to the line anchors

    Line ranges follow the lines that git says stayed and the definition or section they belong to, through edits,
    renames and moves to other files; symbols and whole files are checked and followed too. What cannot be moved is
    listed with the places it may have gone to, and the set is not written unless you say what to do with it.

      unchanged  the anchor holds the same text         exact  the same text, elsewhere
      sure       found by name, most of it survives     low    some evidence: look at it        lost  nothing like it
    """
    gold = _one(args)
    if args.new is None:
        if not args.digest:
            raise ConfigError("there is nothing to do", hint="name the commit to move to with --to, or use --digest")
        return _hash(args, gold)
    from assay.gold.reanchor.moves import apply_moves, labeled_revision, locate_commits, reanchor

    old = args.old or labeled_revision(gold)
    info(args, f"comparing {old} with {args.new}")
    moves = reanchor(gold, locate_commits(gold, args.repo, old, args.new))
    applied = None
    if args.out or args.in_place:
        lost: LostPolicy = "drop" if args.drop_lost else "keep" if args.keep_lost else "refuse"
        applied = apply_moves(moves, lost=lost, digest=args.digest)
    notes = _assumed(args, gold) + (applied.notes if applied else ()) + _written(args, gold, applied)
    emit(args, _document(moves, notes, every=args.all), _data(moves, notes))
    return 0


def _assumed(args: argparse.Namespace, gold: GoldSet) -> tuple[str, ...]:
    from assay.gold.reanchor.moves import count_unlabeled, labeled_revision

    count = count_unlabeled(gold)
    if args.old or gold.corpus.rev or not count:
        return ()
    said = labeled_revision(gold)[:12]
    return (f"anchors without a label that says their commit: {count}; taken as made at {said}, as the others are",)


def _one(args: argparse.Namespace) -> GoldSet:
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


def _written(args: argparse.Namespace, gold: GoldSet, applied: ReanchoredGold | None) -> tuple[str, ...]:
    from assay.cli.gold.convert import missing_folder, named_from
    from assay.gold.formats.registry import save

    if applied is None:
        return ()
    out = Path(args.out) if args.out else None
    new = applied.gold if out is None else replace(applied.gold, corpus=named_from(applied.gold, out.parent))
    missing = missing_folder(out) if out else None
    saved = save(gold, new, out)
    info(args, f"written to {saved.path}" + (f"; the folder {missing} was made for it" if missing else ""))
    return saved.notes


def _hash(args: argparse.Namespace, gold: GoldSet) -> int:
    from assay.gold.reanchor.moves import add_digests
    from assay.report.render.document import Document, Paragraph

    applied = add_digests(gold, _reader(args, gold))
    notes = applied.notes + (_written(args, gold, applied) if args.out or args.in_place else ())
    count = sum(target.digest is not None for query in applied.gold.queries for target in query.targets)
    said = f"{count} line anchors of {gold.name} carry a content hash"
    data = {"schema": "assay/gold-reanchor/1", "name": gold.name, "hashed": count, "notes": list(notes)}
    emit(args, Document("Content hashes", (Paragraph(said), *(Paragraph(note, "warning") for note in notes))), data)
    return 0


def _reader(args: argparse.Namespace, gold: GoldSet) -> LineReader:
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


def _document(moves: GoldMoves, notes: Sequence[str], *, every: bool) -> Document:
    from assay.report.render.document import Document, Paragraph, table

    counts = [[confidence, str(count)] for confidence, count in moves.counts.items()]
    same = moves.counts["unchanged"] + moves.counts["exact"]
    hidden = f"with the same text: {same}, {moves.counts['exact']} of them elsewhere; --all lists them"
    blocks: list[Block] = [table(["anchors", ">count"], counts, "" if every or not same else hidden)]
    if every:
        blocks += _listed("The same text", moves, ("unchanged", "exact"))
    blocks += _listed("Moved with changes", moves, ("sure",))
    blocks += _listed("To look at", moves, ("low", "lost"))
    blocks += [Paragraph(note, "warning") for note in notes]
    return Document(f"{moves.gold.name}: {moves.old[:12]} → {moves.new[:12]}", tuple(blocks))


def _listed(title: str, moves: GoldMoves, confidences: Sequence[Confidence]) -> list[Block]:
    from assay.report.render.document import Heading, table

    rows = [row for row in moves.rows if row.move.confidence in confidences]
    cells = [[row.query, row.role, row.move.old.anchor, row.move.confidence, _where(row.move)] for row in rows]
    return [Heading(title), table(["query", "as", "anchor", "moved", "to, or candidates"], cells)] if rows else []


def _where(done: TargetMove) -> str:
    if done.new is not None:
        return f"{done.new.anchor} ({done.likeness:.2f}, {done.reason})"
    found = [f"{one.span}? ({one.likeness:.2f}, {one.reason})" for one in done.candidates]
    return "; ".join(found) if found else done.reason


def _data(moves: GoldMoves, notes: Sequence[str]) -> dict[str, object]:
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
                {"anchor": str(one.span), "likeness": round(one.likeness, 4), "reason": one.reason}
                for one in row.move.candidates
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
