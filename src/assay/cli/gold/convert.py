from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import emit_blocks, info, warn
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.gold.formats.registry import GoldFormat
    from assay.report.render.document import Block
    from assay.types import CorpusSpec, GoldSet, Suite


def convert_command(args: Namespace) -> int:
    from assay.gold import load_gold
    from assay.gold.formats.losses import unseals
    from assay.gold.formats.registry import FORMATS, find_format, ignored_notes
    from assay.report.render.document import table

    format_ = find_format(args.to, write=True)
    if format_.write is None:
        names = ", ".join(other.name for other in FORMATS if other.write is not None)
        raise ConfigError(f"gold sets are read from the format {args.to}, not written", hint=f"written are: {names}")
    suite = load_gold(args.source, format=args.format, corpus=args.corpus or None)
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
        table(["set", ">queries"], [[gold.name, str(len(gold.queries))] for gold in suite.golds]),
        f"Written: {', '.join(paths[:listed])}{more}",
        *([f"The folder {missing} was made for it."] if missing else []),
        *([] if converted.lost or not_read or converted.notes else ["Nothing was lost."]),
    ]
    emit_blocks(args, f"Converted to {format_.name}", blocks, data)
    for sentence in converted.lost:
        warn(sentence if unseals(sentence) else f"{format_.name} does not hold: {sentence}")
    for sentence in (*(f"not taken from {note}" for note in not_read), *converted.notes):
        warn(sentence)
    return 0


@dataclass(frozen=True, slots=True)
class _Converted:
    """Files to write, and what they do not hold."""

    files: Mapping[Path, str | bytes]
    documents: Mapping[Path, Mapping[str, str]]  # directories of texts that are the corpus of a set
    lost: tuple[str, ...]
    notes: tuple[str, ...]  # on the documents


def _convert(args: Namespace, suite: Suite, format_: GoldFormat) -> _Converted:
    from assay.corpus import open_corpus
    from assay.gold.formats.beir_trec import unpack
    from assay.gold.formats.losses import FieldLoss, describe_losses, needs_lines, resolve_lines

    lost: list[str] = []
    golds: list[GoldSet] = []
    for gold in suite.golds:
        if needs_lines(gold, symbols=format_.symbols, whole_files=format_.whole_files):
            info(args, f"{gold.name}: looking its anchors up in the corpus")
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
    from assay.corpus.spec import is_url

    spec = gold.corpus
    local = spec.kind == "path" or (spec.kind == "git" and not is_url(spec.value))
    if not local or os.path.isabs(spec.value):
        return spec
    return replace(spec, value=os.path.relpath(_directory(gold) / spec.value, directory))


def missing_directory(out: Path) -> Path | None:
    """Return the directory of a file if it must be created."""
    return None if out.parent.exists() else out.parent


def _write(out: Path, converted: _Converted, format_: GoldFormat, *, force: bool) -> None:
    from assay.files import write_atomic
    from assay.gold.formats.beir_trec import is_document_directory, write_documents

    if format_.matches_directory is not None and not force and out.is_dir() and any(out.iterdir()):
        message = f"the folder is not empty, and {format_.name} is read as a whole folder"
        raise ConfigError(message, file=out, hint="name a new folder, or give --force to write into this one")
    for directory in converted.documents:
        if directory.exists() and not is_document_directory(directory):
            raise ConfigError("holds something else than documents", file=directory, hint="name another OUT")
    for path in converted.files:
        if path.is_dir():
            raise ConfigError("is a folder", file=path, hint="name a file, or move the folder out of the way")
    for path in (*converted.documents, *converted.files):
        if path.exists() and not force:
            raise ConfigError("is already there", file=path, hint="give --force to overwrite it, or another OUT")
    for directory, texts in converted.documents.items():
        write_documents(directory, texts)
    for path, content in converted.files.items():
        write_atomic(path, content)
