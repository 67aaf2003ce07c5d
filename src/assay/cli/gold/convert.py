from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.cli.console import emit_blocks, info, warn
from assay.cli.options import default_set
from assay.corpus import open_corpus, read_text
from assay.corpus.spec import is_url
from assay.errors import ConfigError, GoldError
from assay.files import relative_path, write_atomic
from assay.gold.build import NO_CORPUS
from assay.gold.formats.beir_trec import is_document_directory, unpack, write_documents
from assay.gold.formats.benchmarks import mask_prompts
from assay.gold.formats.losses import FieldLoss, describe_losses, needs_lines, resolve_lines, unseals
from assay.gold.load import FORMATS, GoldFormat, find_format, ignored_notes, load_gold, save
from assay.gold.reanchor import moves as reanchoring
from assay.gold.reanchor.commits import DEFAULT, CommitTree
from assay.report.render.document import Block, Heading, Paragraph, table
from assay.syntax.text import split_lines
from assay.types import CorpusSpec, GoldSet, Suite


def convert_command(args: Namespace) -> None:
    if len(args.words) > 2:
        raise ConfigError("expected [SRC] OUT", hint="assay gold convert gold.yaml beir/ --to beir")
    *source, args.out = args.words
    format_ = find_format(args.to, write=True)
    if format_.write is None:
        names = ", ".join(other.name for other in FORMATS if other.write is not None)
        raise ConfigError(f"cannot write the format {args.to}", hint=f"formats that can be written: {names}")
    if args.mask_prompts and format_.name != "native":
        raise ConfigError("--mask-prompts requires --to native", hint="use --to native, or remove --mask-prompts")
    suite = load_gold(default_set(args, *source), format=args.format, corpus=args.corpus or None)
    converted = _convert(args, suite, format_)
    not_read = ignored_notes(suite.golds)
    missing = missing_directory(Path(args.out))
    _write(Path(args.out), converted, format_, force=args.force)
    paths = [str(path) for path in (*converted.documents, *converted.files)]
    data = {
        "schema": "assay/gold-convert/1",
        "to": format_.name,
        "files": paths,
        "sets": [{"name": gold.name, "queries": len(gold.queries)} for gold in suite.golds],
        "lost": list(converted.lost),
        "not_read": list(not_read),
        "notes": list(converted.notes),
        "made": str(missing) if missing else None,
    }
    listed = 20  # --json has all
    more = f" and {len(paths) - listed} more" if len(paths) > listed else ""
    blocks: list[Block | str] = [
        table(["Gold set", ">Queries"], [[gold.name, str(len(gold.queries))] for gold in suite.golds]),
        f"Written: {', '.join(paths[:listed])}{more}",
        *([f"Created the directory {missing}."] if missing else []),
        *([] if converted.lost or not_read or converted.notes else ["Nothing was lost."]),
    ]
    emit_blocks(args, f"Converted to {format_.name}", blocks, data)
    for sentence in converted.lost:
        warn(sentence if unseals(sentence) else f"{format_.name} cannot store: {sentence}")
    for sentence in (*(f"not read from {note}" for note in not_read), *converted.notes):
        warn(sentence)


@dataclass(frozen=True, slots=True)
class _Converted:
    files: Mapping[Path, str | bytes]
    documents: Mapping[Path, Mapping[str, str]]  # directories of texts that are the corpus of a set
    lost: tuple[str, ...]
    notes: tuple[str, ...]  # on the documents


def _convert(args: Namespace, suite: Suite, format_: GoldFormat) -> _Converted:
    lost: list[str] = []
    golds: list[GoldSet] = []
    for gold in suite.golds:
        if needs_lines(gold, symbols=format_.symbols, whole_files=format_.whole_files):
            info(args, f"{gold.name}: resolving anchors")
            corpus = open_corpus(gold.corpus, base=_directory(gold))
            anchored = resolve_lines(gold, corpus, whole_files=format_.whole_files)
            golds.append(anchored.gold)
            lost += anchored.lost
        else:
            golds.append(gold)
    out = Path(args.out)
    several = format_.matches_directory is not None or len(golds) > 1
    inside = several or out.is_dir() or args.out.endswith("/")
    directory = out if inside else out.parent
    unpacked = unpack(suite.golds)
    documents = {directory / name: texts for name, texts in unpacked.directories.items()}
    if args.mask_prompts:
        golds, masked = mask_prompts(golds)
        documents |= {directory / name: texts for name, texts in masked.items()}
    else:
        golds = [
            replace(gold, corpus=unpacked.corpora.get(gold.name) or relative_corpus(gold, directory)) for gold in golds
        ]
    assert format_.write is not None
    written = format_.write(replace(suite, golds=tuple(golds)))
    lost += written.lost
    if inside or len(written.files) > 1:
        files = {out / name: data for name, data in written.files.items()}
    else:
        if not format_.stores_name and "-".join(out.stem.split()) != suite.name:
            lost = [*describe_losses([FieldLoss("name", suite.name)]), *lost]
        (content,) = written.files.values()
        files = {out: content}
    return _Converted(files, documents, tuple(lost), unpacked.notes)


def _directory(gold: GoldSet) -> Path:
    return Path(gold.source).parent if gold.source else Path()


def relative_corpus(gold: GoldSet, directory: Path) -> CorpusSpec:
    """Return the corpus of a set with its path relative to the directory of the new file."""
    spec = gold.corpus
    local = spec.kind == "path" or (spec.kind == "git" and not is_url(spec.value))
    if not local or os.path.isabs(spec.value):
        return spec
    return replace(spec, value=relative_path(_directory(gold) / spec.value, directory))


def missing_directory(out: Path) -> Path | None:
    return None if out.parent.exists() else out.parent


def _write(out: Path, converted: _Converted, format_: GoldFormat, *, force: bool) -> None:
    if format_.matches_directory is not None and not force and out.is_dir() and any(out.iterdir()):
        message = f"expected an empty directory, because {format_.name} reads all files of it"
        raise ConfigError(message, file=out, hint="pass another OUT, or add --force")
    for directory in converted.documents:
        if directory.exists() and not is_document_directory(directory):
            raise ConfigError("the directory has other files than documents", file=directory, hint="pass another OUT")
    for path in converted.files:
        if path.is_dir():
            raise ConfigError("expected a file, got a directory", file=path, hint="pass another OUT")
    for path in (*converted.documents, *converted.files):
        if path.exists() and not force:
            raise ConfigError("file already exists", file=path, hint="add --force, or pass another OUT")
    for directory, texts in converted.documents.items():
        write_documents(directory, texts)
    for path, content in converted.files.items():
        write_atomic(path, content)


def reanchor_command(args: Namespace) -> None:
    if args.new is None and not args.digest:
        raise ConfigError("expected --to REV or --digest", hint="assay gold reanchor --to HEAD")
    args.set = default_set(args, args.set)
    gold = _load_labeled(args)
    if args.new is None:
        _add_digests(args, gold)
        return
    written = {} if args.old or args.repo else reanchoring.find_written(gold)
    old = args.old or next(iter(written.values()), None) or reanchoring.labeled_revision(gold)
    info(args, f"comparing {old} with {args.new}")
    located = reanchoring.locate_commits(gold, args.repo, old, args.new)
    moves = reanchoring.reanchor(gold, replace(located, written=written))
    notes: list[str] = []
    unlabeled = reanchoring.count_unlabeled(gold)
    if written:
        several = len(set(written.values()))
        commits = f"{several} commits" if several > 1 else f"commit {moves.old[:12]}"
        notes.append(f"the set names no commit; its targets are read as of {commits} that changed {args.set}")
    elif unlabeled and not args.old and not gold.corpus.rev:
        commit = reanchoring.labeled_revision(gold)[:12]
        notes.append(f"{unlabeled} anchors name no commit; they are read as of {commit}, like the others")
    if args.out or args.in_place:
        lost: reanchoring.LostPolicy = "drop" if args.drop_lost else "keep" if args.keep_lost else "refuse"
        applied = reanchoring.apply_moves(moves, lost=lost, digest=args.digest)
        notes += (*applied.notes, *_save_moves(args, gold, applied))
    title = f"{moves.gold.name}: {moves.old[:12]} → {moves.new[:12]}"
    emit_blocks(args, title, _move_blocks(moves, notes, every=args.all), _moves_json(moves, notes))


def _load_labeled(args: Namespace) -> GoldSet:
    try:
        golds = load_gold(args.set).golds
    except GoldError as error:
        if args.repo is None and error.message == NO_CORPUS:
            hint = "add --repo PATH and --from REV, the commit of its labels"
            raise GoldError(error.message, file=error.file, line=error.line, hint=hint) from error
        if args.repo is None:
            raise
        golds = load_gold(args.set, corpus=CorpusSpec("git", args.repo, args.old)).golds
    if len(golds) != 1:
        raise GoldError(f"expected one gold set, got {len(golds)}", file=args.set, hint="pass a file with one gold set")
    return golds[0]


def _save_moves(args: Namespace, gold: GoldSet, applied: reanchoring.ReanchoredGold) -> tuple[str, ...]:
    new, out, missing = applied.gold, None, None
    if args.out:
        out = Path(args.out)
        new = replace(new, corpus=relative_corpus(new, out.parent))
        missing = missing_directory(out)
    saved = save(gold, new, out)
    info(args, f"written to {saved.path}" + (f"; created the directory {missing}" if missing else ""))
    return saved.notes


def _add_digests(args: Namespace, gold: GoldSet) -> None:
    applied = reanchoring.add_digests(gold, _line_reader(args, gold))
    notes = applied.notes + (_save_moves(args, gold, applied) if args.out or args.in_place else ())
    count = sum(target.digest is not None for query in applied.gold.queries for target in query.targets)
    blocks: Sequence[Block | str] = (
        f"{count} line anchors of {gold.name} have a content hash",
        *(Paragraph(note, "warning") for note in notes),
    )
    data = {"schema": "assay/gold-reanchor/1", "name": gold.name, "hashed": count, "notes": list(notes)}
    emit_blocks(args, "Content hashes", blocks, data)


def _line_reader(args: Namespace, gold: GoldSet) -> reanchoring.LineReader:
    """Return a function that reads the lines of a file at the old commit, or in the corpus."""
    if args.old or args.repo:
        located = reanchoring.locate_commits(gold, args.repo, args.old, args.old or gold.corpus.rev or "HEAD")
        tree = CommitTree(located.repository, located.old, DEFAULT.file_bytes)
        return lambda path: tree.lines(path) if path in tree else None
    corpus = open_corpus(gold.corpus, base=Path(gold.source).parent if gold.source else None)
    known = frozenset(file.path for file in corpus.files)
    return lambda path: split_lines(read_text(corpus, path)) if path in known else None


def _move_blocks(moves: reanchoring.GoldMoves, notes: Sequence[str], *, every: bool) -> Iterator[Block]:
    counts = [[confidence, str(count)] for confidence, count in moves.counts.items()]
    same = moves.counts["unchanged"] + moves.counts["exact"]
    hidden = f"{same} with unchanged text, {moves.counts['exact']} of them moved (--all lists them)"
    yield table(["Anchors", ">Count"], counts, "" if every or not same else hidden)
    groups = {
        "The same text": ("unchanged", "exact") if every else (),
        "Moved with changes": ("sure",),
        "To check": ("low", "lost"),
    }
    for title, confidences in groups.items():
        rows = [
            [row.query, row.role, row.move.old.anchor, row.move.confidence, _format_move(row.move)]
            for row in moves.rows
            if row.move.confidence in confidences
        ]
        if rows:
            yield Heading(title)
            yield table(["Query", "Role", "Old anchor", "Confidence", "New anchor, or candidates"], rows)
    yield from (Paragraph(note, "warning") for note in notes)


def _format_move(move: reanchoring.TargetMove) -> str:
    if move.new is not None:
        return f"{move.new.anchor} ({move.likeness:.2f}, {move.reason})"
    candidates = [f"{other.span}? ({other.likeness:.2f}, {other.reason})" for other in move.candidates]
    return "; ".join(candidates) or move.reason


def _moves_json(moves: reanchoring.GoldMoves, notes: Sequence[str]) -> dict[str, object]:
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
