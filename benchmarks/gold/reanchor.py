"""Do anchors survive four months of work? octocode moved to its newest commit: `python -m benchmarks reanchor`.

Counts and seconds go to RESULTS.md; SAMPLED moves, drawn with SEED, to moves.csv beside this file: where each label
was, where it is now and how sure that is. Whoever judges them reads both places in the repository.
"""

from __future__ import annotations

import csv
import io
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.files import write_atomic
from assay.gold.reanchor.moves import CONFIDENCES, GoldMoves, locate_commits, reanchor
from benchmarks.gold.judged import judgement
from benchmarks.pages import Section, table
from benchmarks.quality.sources import octocode

#: The newest commit of Muvon/octocode when this was measured, 192 commits after the one the sets were made at.
NEWEST = "8a7b94714f1b91d7ae3ba6ee4fba992cbd7a7920"
SETS = ("code", "docs")
SEED = 5
SAMPLED = 40
SAMPLE = Path(__file__).parent / "moves.csv"


@dataclass(frozen=True, slots=True)
class Timed:
    """Where the labels of a set went, and how long it took to find out."""

    moves: GoldMoves
    seconds: float


def main() -> Section:
    """Move both sets and draw the sample."""
    timed = [_timed(name) for name in SETS]
    write_atomic(SAMPLE, sample([one.moves for one in timed]))
    return section(timed)


def _timed(name: str) -> Timed:
    """Move one set."""
    gold = octocode(name)
    begin = time.perf_counter()
    moves = reanchor(gold, locate_commits(gold, None, None, NEWEST))
    return Timed(moves, time.perf_counter() - begin)


def sample(moves: Sequence[GoldMoves]) -> str:
    """Draw labels of all sets; no words of queries, no code."""
    rows = [
        (one.gold.name, row.query, row.move.old.anchor, row.move.new.anchor if row.move.new else "", row.move)
        for one in moves
        for row in one.rows
    ]
    drawn = sorted(random.Random(SEED).sample(range(len(rows)), SAMPLED))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("set", "query", "old", "new", "confidence"))
    writer.writerows((*rows[place][:4], rows[place][4].confidence) for place in drawn)
    return text.getvalue()


def section(timed: Sequence[Timed]) -> Section:
    """Write the counts of both sets and of all."""
    rows = [
        (one.moves.gold.name, *(one.moves.counts[c] for c in CONFIDENCES), len(one.moves.rows), f"{one.seconds:.1f}")
        for one in timed
    ]
    total = tuple(sum(one.moves.counts[c] for one in timed) for c in CONFIDENCES)
    labels, seconds = sum(len(one.moves.rows) for one in timed), sum(one.seconds for one in timed)
    about = f"From {timed[0].moves.old[:12]} to {timed[0].moves.new[:12]}; drawn with seed {SEED} into {SAMPLE.name}."
    header = ("set", *CONFIDENCES, "labels", "seconds")
    return Section(
        (about, "", judgement(SAMPLE), "", *table(header, [*rows, ("both", *total, labels, f"{seconds:.1f}")]))
    )
