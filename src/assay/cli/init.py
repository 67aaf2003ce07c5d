"""Write a commented assay.toml and a gold file with five drafts for this repository.

The drafts are places worth asking about, found in the code; the questions are yours to write.
Nothing that exists is overwritten.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.output import emit
from assay.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("folder", nargs="?", default=".", help="the repository (this folder)")


def handle(args: argparse.Namespace) -> int:
    """Write both files, or neither."""
    from assay.corpus import open_corpus, parse_spec
    from assay.experiment.spec.starter import starter_config, starter_gold
    from assay.files import write_atomic
    from assay.report.render.document import Document, Paragraph

    folder = Path(args.folder)
    config, gold = folder / "assay.toml", folder / "gold.yaml"
    for path in (config, gold):
        if path.exists():
            raise ConfigError("exists already", file=path, hint="remove it first, or edit it: init overwrites nothing")
    corpus = open_corpus(parse_spec(str(folder)))
    text, drafts = starter_gold(corpus)
    write_atomic(gold, text)
    write_atomic(config, starter_config())
    sentences = (
        f"{gold}: {len(drafts)} drafts, from {len(corpus.files)} files. Rewrite each `human` line as one would ask it.",
        f"{config}: what to run. Add your own engine under [engines.NAME].",
        "Then: assay run",
    )
    emit(
        args,
        Document("A first gold set", tuple(Paragraph(s) for s in sentences)),
        {"schema": "assay/init/1", "config": str(config), "gold": str(gold), "targets": list(drafts)},
    )
    return 0
