"""Report inter-reviewer agreement beyond chance.

Cohen's κ for two reviewers, Krippendorff's α for any number; votes that say unsure count as missing.
Only votes that were cast before an item was decided or accepted are taken: after that nobody is blind. Of a reviewer
who voted again after looking at what others said, the vote from before is.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.gold.vote import open_review, warn_truncated
from assay.cli.output import emit, pluralize
from assay.errors import GoldError

if TYPE_CHECKING:
    from assay.gold.review.agreement import Coefficient, KindAgreement, PairAgreement
    from assay.report.render.document import Block, Table

_NOTE = "Intervals: 95 %, bootstrap over items. A dash: everybody said the same, which chance would have done as well."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    parser.add_argument("set", metavar="SET", help="the gold file that was reviewed")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the intervals (0)")


def handle(args: argparse.Namespace) -> int:
    """Compute the agreement and show it."""
    from assay.gold.review.accepting import read_taken
    from assay.gold.review.agreement import Resampling, agreement
    from assay.gold.review.votes import all_votes, read_decisions
    from assay.report.render.document import Document

    desk = open_review(Path(args.set), None)
    warn_truncated(desk)
    votes = all_votes(desk.queue)
    if not votes:
        raise GoldError("nobody voted yet", file=desk.queue.folder, hint="vote: assay gold review SET --as NAME")
    taken = read_taken(desk.queue)
    found = agreement(desk.items(), votes, read_decisions(desk.queue), Resampling(seed=args.seed), taken)
    blocks = tuple(block for kind in found for block in _blocks(kind))
    data = {"schema": "assay/gold-agreement/1", "kinds": [asdict(kind) for kind in found]}
    emit(args, Document(f"Agreement on {desk.path.name}", blocks), data)
    return 0


def _blocks(kind: KindAgreement) -> list[Block]:
    from assay.report.render.document import Heading, Paragraph, table

    many = (
        f"{pluralize(kind.items, 'item')} with two votes or more, {pluralize(kind.votes, 'vote')}, {kind.unsure} unsure"
    )
    share = "" if kind.percent is None else f"; {kind.percent:.0%} of the pairs of votes agree"
    anew = (
        f" {pluralize(kind.changed, 'vote')} cast anew after a look at those of others: the ones from before are taken."
    )
    rows = [[f"Krippendorff's α ({metric})", *_cells(value)] for metric, value in kind.alpha.items()]
    for pair in kind.pairs:
        rows.append([f"Cohen's κ: {pair.first}, {pair.second}", *_cells(pair.kappa)])
        rows += (
            [[f"κ with squared weights: {pair.first}, {pair.second}", *_cells(pair.weighted)]] if pair.weighted else []
        )
    blocks: list[Block] = [
        Heading(kind.kind),
        Paragraph(f"{many}{share}.{anew if kind.changed else ''}"),
        table(_COLUMNS, rows, _NOTE),
    ]
    return [*blocks, *(_confusion(kind, pair) for pair in kind.pairs)]


_COLUMNS = ["", ">value", ">interval", ">items"]


def _cells(value: Coefficient) -> list[str]:
    if value.value is None:
        return ["–", "", str(value.items)]
    return [f"{value.value:.3f}", f"[{value.low:.3f}, {value.high:.3f}]", str(value.items)]


def _confusion(kind: KindAgreement, pair: PairAgreement) -> Table:
    from assay.report.render.document import table

    columns = [f"{pair.first} ↓ {pair.second} →", *(f">{value}" for value in kind.values)]
    rows = [[value, *map(str, row)] for value, row in zip(kind.values, pair.table, strict=True)]
    return table(columns, rows)
