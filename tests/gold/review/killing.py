"""A reviewer who votes and accepts without end; run in a process of its own by test_kills, and killed there.

python -m tests.gold.review.killing FILE FIRST
"""

from __future__ import annotations

import sys
from pathlib import Path

from assay.clock import timestamp
from assay.gold import load_gold
from assay.gold.review.acceptance import accept
from assay.gold.review.items import ItemOrigin, ReviewQueue, make_item
from assay.gold.review.votes import Vote, VoteLog
from assay.types import Query, Span, Target


def main(path: Path, first: int) -> None:
    """Propose, vote twice and accept, one item after the other; say each thing that is done."""
    queue = ReviewQueue(path)
    for number in range(first, first + 10_000):
        query = Query(f"q{number}", {"human": f"number {number}?"}, (Target(Span(f"f{number}.py")),))
        item = make_item("query", query, ItemOrigin("docs"))
        queue.add([item])
        print("item", item.id, flush=True)  # noqa: T201
        for name in ("ada", "bob"):
            VoteLog(queue, name).cast([Vote(item.id, name, "accept", "why", timestamp())])
            print("vote", item.id, name, flush=True)  # noqa: T201
        accept(queue, lambda: load_gold(path).golds[0], lambda gold: (), on=timestamp())
        print("gold", query.id, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
