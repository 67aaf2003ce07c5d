"""Embedders of the seam, their cost and their worth: `python -m benchmarks embedders`.

The texts are the units of the modules that the standard library's gold set names, as answers or as traps; a network
takes some minutes for them, and seven times as long for all of the library. Everything runs in this process; speeds are
of one core, in seconds of processor, in turns.
"""

from __future__ import annotations

import sys

from benchmarks.embedders.cost import LEAST, SHARE, share_rows, shares, speed
from benchmarks.embedders.library import library
from benchmarks.embedders.models import CARRIER
from benchmarks.embedders.timing import ROUNDS
from benchmarks.embedders.worth import worth, worth_rows
from benchmarks.pages import Section
from benchmarks.quality.model import identity


def main() -> Section:
    """Time, then ask."""
    model, gold = identity(), library()
    fast, parts = speed(gold), shares(gold)
    scores = worth(gold)
    lines = (
        f"Model {model}. The units of {len(gold.corpus.include)} files of the standard library: those that its gold "
        "set names, as answers or as traps, without the tests. The whole library has seven times as many units.",
        "",
        f"{fast.texts} texts, one core, {ROUNDS} rounds in turns, seconds of processor; ratios are of one round, with "
        f"the interval of their median (96 %, sign test). Wanted: at least {LEAST:g} times the peer's. The model2vec "
        f"model has MiniLM's tokenizer and vectors of chance of the same length; MiniLM is the one in {CARRIER}.",
        "",
        *fast.rows(),
        f"A query with the default settings, and the embedding of its text alone. Wanted: below {SHARE:.0%}.",
        "",
        *share_rows(parts),
        f"Quality on these files: {len(scores.units)} questions as people ask them, per span, intervals by module.",
        "",
        *worth_rows(scores),
    )
    for line in lines:
        print(line)
    return Section(lines, passed=fast.met and all(part.met for part in parts))


if __name__ == "__main__":
    sys.exit(0 if main().passed else 1)
