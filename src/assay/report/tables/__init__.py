"""Tables that a run asks for by name, beside those that every report has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from assay.report.case import Case
from assay.report.pages.document import Block
from assay.report.results import Results
from assay.report.tables.base import OnDemand
from assay.report.tables.bootstrap import BOOTSTRAP
from assay.report.tables.duels import PAIRS
from assay.report.tables.forest import FOREST
from assay.report.tables.matrix import MATRIX
from assay.report.tables.spread import RANKS
from assay.stats.records import Comparison

#: By the name that `[run] tables` knows them by.
TABLES: Final[Mapping[str, OnDemand[Any]]] = {each.name: each for each in (MATRIX, BOOTSTRAP, FOREST, RANKS, PAIRS)}


def table_numbers(names: tuple[str, ...], case: Case, comparison: Comparison) -> dict[str, tuple[object, ...]]:
    """Compute what some tables show, beside what every report has."""
    found = {name: tuple(TABLES[name].numbers(case, comparison)) for name in names}
    return {name: numbers for name, numbers in found.items() if numbers}


def table_blocks(results: Results) -> list[Block]:
    """Show the tables that were asked for, in that order."""
    return [block for name in results.tables for block in TABLES[name].blocks(results)]


def table_files(results: Results) -> dict[str, str]:
    """Write the files of the tables that were asked for."""
    return {file: text for name in results.tables for file, text in TABLES[name].files(results).items()}
