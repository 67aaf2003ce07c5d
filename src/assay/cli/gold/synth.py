"""Generate synthetic gold sets from a repository.

The repository asks about itself: seconds, no labels, line spans.

  symbol    a name that is defined once            -> its definition
  doc       the first sentence of a doc comment    -> what it documents
  keyword   the rarest three words of the sentence -> the same
  commit    the subject of a commit                -> the definitions it changed

doc and keyword are asked on a copy of the corpus in which those comments are blank, so any engine can be measured.
Synthetic sets tell engines apart; they do not replace questions that people ask. They are marked in every report.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import emit, info
from assay.errors import InputError

if TYPE_CHECKING:
    from assay.gold.synth import Sets
    from assay.report.render.document import Document
    from assay.types import CorpusSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    parser.add_argument("repo", metavar="REPO", help="folder, pypi:NAME==V, git:URL@REV, ... (a corpus)")
    parser.add_argument("--out", default="gold-synth", metavar="DIR", help="where the sets go (gold-synth)")
    parser.add_argument("--kinds", metavar="LIST", help="kinds to make, by commas (all)")
    parser.add_argument("--count", type=int, default=40, metavar="N", help="most queries of a kind (40)")
    parser.add_argument("--max-per-file", type=int, default=4, metavar="N", help="most queries about one file (4)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the draw (0)")


def handle(args: argparse.Namespace) -> int:
    """Make the sets, write them, say what there is."""
    from assay.corpus import open_corpus, parse_spec
    from assay.gold.synth import KINDS, SampleSize, check_folder, synthesize, write_sets

    folder = check_folder(Path(args.out))
    kinds = tuple(kind.strip() for kind in args.kinds.split(",")) if args.kinds else KINDS
    wanted = SampleSize(args.count, args.max_per_file, args.seed)
    spec = parse_spec(args.repo)
    info(args, f"reading {args.repo}")
    sets = synthesize(open_corpus(spec), name=_name(spec), kinds=kinds, wanted=wanted)
    if not sets.golds:
        raise InputError("; ".join(sets.notes), file=args.repo, hint="nothing was written; name another repository")
    files = write_sets(sets, folder)
    rows = [
        {"kind": gold.provenance["synthetic"], "name": gold.name, "queries": len(gold.queries), "file": str(file)}
        for gold, file in zip(sets.golds, files, strict=True)
    ]
    data = {"schema": "assay/gold-synth/1", "folder": str(folder), "sets": rows, "notes": list(sets.notes)}
    emit(args, _document(sets, files, folder), data)
    return 0


def _name(spec: CorpusSpec) -> str:
    repository = spec.repository.partition(":")[2] if spec.kind != "path" else Path(spec.value).resolve().name
    last = repository.removesuffix(f"/{spec.root}").rstrip("/").rpartition("/")[2]
    return "-".join(last.split()) or spec.kind


def _document(sets: Sets, files: tuple[Path, ...], folder: Path) -> Document:
    from assay.report.render.document import Document, Paragraph, table

    rows = [
        [gold.provenance["synthetic"], str(len(gold.queries)), str(file)]
        for gold, file in zip(sets.golds, files, strict=True)
    ]
    notes = [Paragraph(note, "warning") for note in sets.notes]
    hidden = Paragraph(f"{folder}/ has a .gitignore and an .assayignore: neither git nor a search finds it.", "quiet")
    then = Paragraph(f"Then: assay run --gold {folder}")
    return Document("Synthetic gold", (table(["kind", ">queries", "file"], rows), *notes, hidden, then))
