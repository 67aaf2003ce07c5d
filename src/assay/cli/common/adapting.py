"""`assay train --adapt`: what it says of a model that was made fit for one code base."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.common.output import emit, say
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.report.pages.document import Block, Tone
    from assay.training.adapt import AdaptConfig, Adapted

_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


def adapt(args: argparse.Namespace, config: AdaptConfig) -> int:
    """Adapt, and report; that the old model is kept is no failure."""
    from assay.report.pages.document import Document
    from assay.training.adapt import Order, adapt

    _check(args)
    order = Order(Path(args.adapt), Path(args.out), Path(args.start) if args.start else None)
    began = time.perf_counter()
    adapted = adapt(order, config, lambda line: say(args, f"{time.perf_counter() - began:7.1f} s  {line}"))
    seconds = round(time.perf_counter() - began, 1)
    folder = None if adapted.folder is None else str(adapted.folder)
    earlier = None if adapted.earlier is None else str(adapted.earlier)
    data = {"schema": "assay/adapt/1", "folder": folder, "earlier": earlier, "seconds": seconds, **adapted.about()}
    emit(args, Document(f"Adapted to {adapted.repository.name}", tuple(_blocks(adapted, seconds))), data)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse what has no meaning for one repository."""
    if args.folder is not None:
        raise ConfigError(f"both {args.folder} and --adapt", hint="train on a folder, or adapt to one repository")
    for flag in ("exclude", "exclude_corpora", "workers"):
        if getattr(args, flag) is not None:
            name = f"--{flag.replace('_', '-')}"
            raise ConfigError(f"{name} with --adapt", hint="it is for a folder of repositories; leave it out")


def _blocks(adapted: Adapted, seconds: float) -> list[Block]:
    """Say it in sentences."""
    from assay.report.pages.document import Paragraph

    test, learned = adapted.judgement, sum(adapted.pairs.values())
    return [
        Paragraph(
            f"Learned from {learned:,} pairs of {adapted.repository.name} at {adapted.repository.commit[:12]}, with "
            f"{adapted.terms:,} words that are new; {seconds:.0f} s."
        ),
        Paragraph(_figures(test.to_json())),
        Paragraph(f"The adapted model is {test.verdict} here.", _TONES.get(test.verdict, "warning")),
        Paragraph(_outcome(adapted)),
    ]


def _figures(test: dict[str, Any]) -> str:
    """Say what was measured."""
    low, high = test["interval"]
    chance = "no p-value" if test["p"] is None else f"p = {test['p']:.2g}"
    return (
        f"Test on {test['questions']:,} comments of {test['files']} files that were not learned from: "
        f"{test['measure']} {test['old']:.3f} before, {test['new']:.3f} after, difference {test['difference']:+.3f} "
        f"({test['level']:.0%} interval {low:+.3f} to {high:+.3f}, {chance}; {test['wins']} better, "
        f"{test['losses']} worse, {test['ties']} the same)."
    )


def _outcome(adapted: Adapted) -> str:
    """Say what to do with it, or why there is nothing new."""
    if adapted.folder is not None:
        model = f"static:{adapted.folder}"
        return f"Use it with: assay search ... --set dense.model={model} --set translation.model={model}"
    row = adapted.judgement.row
    least = f"Differences below {row.mde_text} could hardly show on so many files; " if row.mde else ""
    kept = "the old model is kept, and nothing was written in its place."
    if adapted.earlier is not None:
        kept += f" What lies in {adapted.earlier} is of an earlier run, and was not made by this one."
    return f"{least}{kept}" if least else f"T{kept[1:]}"
