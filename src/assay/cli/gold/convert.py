from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import emit, info, warn
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.gold.formats.losses import LineAnchored
    from assay.gold.formats.registry import GoldFormat
    from assay.report.render.document import Document
    from assay.types import CorpusSpec, GoldSet, Suite


_SHOWN = 20  # written files that are listed on a screen; --json lists them all


def convert_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SRC", help="gold file or folder, or 'stdlib'")
    parser.add_argument("out", metavar="OUT", help="file or folder to write")
    parser.add_argument("--to", required=True, metavar="FORMAT", help="format to write: native, octocode, plain, …")
    parser.add_argument("--format", metavar="FORMAT", help="format of SRC (told from its content)")
    parser.add_argument("--corpus", metavar="SPEC", help="where the code is: folder, git:URL@REV, pypi:NAME==V, …")
    parser.add_argument("--force", action="store_true", help="overwrite what is there")


def convert_command(args: argparse.Namespace) -> int:
    """Convert a gold set to another format and list what that format cannot hold.

    assay gold convert octocode/code.csv code.yaml --to native --corpus git:../octocode@b1771ba
    assay gold convert gold.yaml beir/ --to beir
    assay gold convert scifact/ scifact.yaml --to native    a BEIR set without a corpus: documents become files
    assay gold convert gold.yaml code.csv --to octocode     symbol anchors are looked up in the corpus: it wants lines

    SRC is read in whatever format it looks like. OUT is a file, or a folder where the format or several sets need one.
    """
    from assay.gold import load_gold
    from assay.gold.formats.registry import ignored_notes

    known = _writable(args.to)
    suite = load_gold(args.source, format=args.format, corpus=args.corpus or None)
    converted = replace(_convert(args, suite, known), not_read=ignored_notes(suite.golds))
    _check_out(Path(args.out), known, force=args.force)
    missing = missing_folder(Path(args.out))
    _write(converted, force=args.force)
    data = {
        "schema": "assay/gold-convert/1",
        "to": known.name,
        "files": converted.places,
        "sets": [{"name": gold.name, "queries": len(gold.queries)} for gold in suite.golds],
        "lost": list(converted.lost),
        "not_read": list(converted.not_read),
        "notes": list(converted.notes),
        "made": str(missing) if missing else None,
    }
    emit(args, _document(suite, known, converted, missing), data)
    _warn(known, converted)
    return 0


def _warn(known: GoldFormat, converted: _Converted) -> None:
    from assay.gold.formats.losses import unseals

    for sentence in converted.lost:
        warn(f"WARNING: {sentence}" if unseals(sentence) else f"{known.name} does not hold: {sentence}")
    for sentence in (*(f"not taken from {one}" for one in converted.not_read), *converted.notes):
        warn(sentence)


@dataclass(frozen=True, slots=True)
class _Converted:
    """What is going to be written where, and what is not in it."""

    files: Mapping[Path, str | bytes]
    lost: tuple[str, ...]
    documents: Mapping[Path, Mapping[str, str]]  # folders of texts that are the corpus of a set
    notes: tuple[str, ...] = ()  # what to know about these

    not_read: tuple[str, ...] = ()  # what its reader left in the source

    @property
    def places(self) -> list[str]:
        return [str(path) for path in (*self.documents, *self.files)]


def _writable(name: str) -> GoldFormat:
    from assay.gold.formats.registry import FORMATS, find_format

    known = find_format(name, write=True)
    if known.write is None:
        names = ", ".join(other.name for other in FORMATS if other.write is not None)
        raise ConfigError(f"gold sets are read from the format {name}, not written", hint=f"written are: {names}")
    return known


def _convert(args: argparse.Namespace, suite: Suite, known: GoldFormat) -> _Converted:
    from assay.gold.formats.beir_trec import unpack
    from assay.gold.formats.losses import FieldLoss, describe_losses

    out = Path(args.out)
    ready = [_with_lines(args, gold, known) for gold in suite.golds]
    several = known.matches_directory is not None or len(suite.golds) > 1
    inside = several or out.is_dir() or args.out.endswith("/")
    folder = out if inside else out.parent
    unpacked = unpack(suite.golds)
    own = {folder / name: texts for name, texts in unpacked.directories.items()}
    corpora = [unpacked.corpora.get(done.gold.name) or named_from(done.gold, folder) for done in ready]
    moved = [replace(done.gold, corpus=corpus) for done, corpus in zip(ready, corpora, strict=True)]
    assert known.write is not None
    written = known.write(replace(suite, golds=tuple(moved)))
    lost = [sentence for done in ready for sentence in done.lost] + list(written.lost)
    if inside or len(written.files) > 1:
        return _Converted({out / name: data for name, data in written.files.items()}, tuple(lost), own, unpacked.notes)
    renamed = not known.stores_name and "-".join(out.stem.split()) != suite.name
    before = describe_losses([FieldLoss("name", suite.name)]) if renamed else ()
    (data,) = written.files.values()
    return _Converted({out: data}, (*before, *lost), own, unpacked.notes)


def _with_lines(args: argparse.Namespace, gold: GoldSet, known: GoldFormat) -> LineAnchored:
    from assay.corpus import open_corpus
    from assay.gold.formats.losses import LineAnchored, needs_lines, resolve_lines

    if not needs_lines(gold, symbols=known.symbols, whole_files=known.whole_files):
        return LineAnchored(gold)
    info(args, f"{gold.name}: looking its anchors up in the corpus")
    return resolve_lines(gold, open_corpus(gold.corpus, base=_folder(gold)), whole_files=known.whole_files)


def _folder(gold: GoldSet) -> Path:
    return Path(gold.source).parent if gold.source else Path()


def named_from(gold: GoldSet, folder: Path) -> CorpusSpec:
    """Write a local corpus as the new file will have to: relative to itself."""
    from assay.corpus.spec import is_url

    spec = gold.corpus
    local = spec.kind == "path" or (spec.kind == "git" and not is_url(spec.value))
    if not local or os.path.isabs(spec.value):
        return spec
    return replace(spec, value=os.path.relpath(_folder(gold) / spec.value, folder))


def missing_folder(out: Path) -> Path | None:
    """Give the folder that will be made for a file, where there is none yet."""
    return None if out.parent.exists() else out.parent


def _check_out(out: Path, known: GoldFormat, *, force: bool) -> None:
    if known.matches_directory is not None and not force and out.is_dir() and any(out.iterdir()):
        raise ConfigError(
            f"the folder is not empty, and {known.name} is read as a whole folder",
            file=out,
            hint="name a new folder, or give --force to write into this one",
        )


def _write(converted: _Converted, *, force: bool) -> None:
    from assay.files import write_atomic
    from assay.gold.formats.beir_trec import is_document_directory, write_documents

    for folder in converted.documents:
        if folder.exists() and not is_document_directory(folder):
            raise ConfigError("holds something else than documents", file=folder, hint="name another OUT")
    for path in converted.files:
        if path.is_dir():
            raise ConfigError("is a folder", file=path, hint="name a file, or move the folder out of the way")
    for path in (*converted.documents, *converted.files):
        if path.exists() and not force:
            raise ConfigError("is already there", file=path, hint="give --force to overwrite it, or another OUT")
    for folder, texts in converted.documents.items():
        write_documents(folder, texts)
    for path, data in converted.files.items():
        write_atomic(path, data)


def _document(suite: Suite, known: GoldFormat, converted: _Converted, made: Path | None) -> Document:
    from assay.report.render.document import Document, Paragraph, table

    rows = [[gold.name, str(len(gold.queries))] for gold in suite.golds]
    shown = converted.places[:_SHOWN]
    more = len(converted.places) - len(shown)
    files = Paragraph("Written: " + ", ".join(shown) + (f" and {more} more" if more else ""))
    new = [Paragraph(f"The folder {made} was made for it.")] if made else []
    less = converted.lost or converted.not_read or converted.notes
    nothing = [] if less else [Paragraph("Nothing was lost.")]
    return Document(f"Converted to {known.name}", (table(["set", ">queries"], rows), files, *new, *nothing))
