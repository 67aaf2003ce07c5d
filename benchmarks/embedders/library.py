"""The standard library's gold set over the modules that it speaks of: a network takes long for all of the library."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from assay.gold import load_gold
from assay.types import GoldSet

#: Its package that is as large as a usual repository.
SMALL: Final = "asyncio/**"


def library() -> GoldSet:
    """Take the questions as people ask them, over the files that hold an answer, or a trap outside the tests."""
    gold = load_gold("stdlib").golds[0]
    answers = {target.span.path for query in gold.queries for target in query.targets}
    traps = {trap.target.span.path for query in gold.queries for trap in query.adversaries}
    files = answers | {path for path in traps if not path.startswith("test/")}
    queries = (replace(query, forms={"human": query.forms["human"]}) for query in gold.queries)
    return replace(gold, corpus=replace(gold.corpus, include=tuple(sorted(files))), queries=tuple(queries))
