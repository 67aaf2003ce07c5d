"""Tables that a run asks for by name, beside those that every report has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from assay.report.pages.document import Block
from assay.report.results import Results
from assay.report.tables.bootstrap import bootstrap_blocks
from assay.report.tables.duels import duel_blocks
from assay.report.tables.forest import forest_blocks
from assay.report.tables.matrix import matrix_blocks
from assay.report.tables.spread import rank_blocks
from assay.types import Claim, Header

#: By the name that `[run] tables` knows them by.
TABLES: Final[Mapping[str, Callable[[Results], list[Block]]]] = {
    "matrix": matrix_blocks,
    "bootstrap": bootstrap_blocks,
    "forest": forest_blocks,
    "ranks": rank_blocks,
    "pairs": duel_blocks,
}


def wanted(claim: Claim, header: Header) -> tuple[str, ...]:
    """Give the tables that are shown: those declared, else the matrix where cells were run and no times taken."""
    return claim.tables or (() if header.timed else ("matrix",))


def table_blocks(results: Results) -> list[Block]:
    """Show the tables that were asked for, in that order."""
    return [block for name in results.tables for block in TABLES[name](results)]
