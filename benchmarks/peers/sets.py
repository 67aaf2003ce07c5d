"""Where everybody is asked: the standard library, and five repositories of semble's visible half."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from assay.gold import load_gold
from assay.types import Suite
from benchmarks.pages import Unavailable
from benchmarks.quality.sources import visible

#: Five languages that all of them read (ChunkHound 6.1 has no Ruby), 62 to 215 files: a peer indexes one in minutes.
FIVE: Final = ("aiohttp", "axum", "gin", "gson", "trpc")


@dataclass(frozen=True, slots=True)
class Asked:
    """A suite, with what is not as it should be."""

    suite: Suite
    notes: tuple[str, ...] = ()


def library() -> Asked:
    """Take the standard library whole, with its questions as people ask them."""
    gold = load_gold("stdlib").golds[0]
    queries = tuple(replace(query, forms={"human": query.forms["human"]}) for query in gold.queries)
    return Asked(Suite((replace(gold, queries=queries),)))


def repositories() -> Asked:
    """Take five repositories, as far as they are here."""
    found = visible()
    golds = tuple(gold for gold in found.golds if gold.name in FIVE)
    missing = sorted(set(FIVE) - {gold.name for gold in golds})
    if not golds:
        raise Unavailable(f"none of {', '.join(FIVE)} is here: set ASSAY_BENCH_MIRRORS")
    notes = tuple(f"{name} is not here" for name in missing)
    return Asked(Suite(golds), notes)
