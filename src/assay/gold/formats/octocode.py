"""octocode's benchmark CSV: `query,result1,result2,result3`, each result `path:start-end:grade`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.gold.building import build_gold, build_query, row_id
from assay.gold.formats.table import Row, read_table, require_corpus
from assay.gold.place import Place
from assay.gold.source import Source
from assay.gold.targets import ranged_span
from assay.types import PRIMARY, SECONDARY, CorpusSpec, Gold, Query, Target

_RESULT = re.compile(r"(?P<path>.+):(?P<start>[0-9]{1,9})-(?P<end>[0-9]{1,9}):(?P<grade>[0-9]+)", re.DOTALL)
_GRADES = {"2": PRIMARY, "1": SECONDARY}


def matches(columns: Sequence[str]) -> bool:
    """Tell whether a header is octocode's."""
    return "query" in columns and "result1" in columns


def read_octocode(source: Source, name: str, corpus: CorpusSpec | None) -> Gold:
    """Read one query a row, named by its row."""
    spec = require_corpus(source, corpus)
    table = read_table(source)
    expected = ["query", *(f"result{n}" for n in range(1, len(table.columns)))]
    if list(table.columns) != expected or len(expected) < 2:
        raise source.at(1).error(
            f"the header is {','.join(table.columns)}", "octocode's is query,result1,result2,result3"
        )
    queries = [_query(row, number) for number, row in enumerate(table.rows, 1)]
    return build_gold(name, spec, queries, source.at(1))


def _query(row: Row, number: int) -> Query:
    """Read one row."""
    results = [cell for column, cell in row.cells.items() if column != "query" and cell]
    if not results:
        raise row.place.error(f"row {number} has no result", "add path:start-end:2, or remove the row")
    targets = [_target(result, row.place) for result in results]
    return build_query(row_id(number), {"human": row.text("query")}, targets, row.place)


def _target(result: str, place: Place) -> Target:
    """Read `path:start-end:grade`."""
    match = _RESULT.fullmatch(result)
    if match is None:
        raise place.error(f"'{result}' is not a result", "write it as path:start-end:grade, as in src/main.rs:10-42:2")
    if match["grade"] not in _GRADES:
        raise place.error(f"'{result}' has the grade {match['grade']}", "grades are 2 (primary) and 1 (secondary)")
    span = ranged_span(match["path"], int(match["start"]), int(match["end"]), place)
    return Target(span, _GRADES[match["grade"]])
