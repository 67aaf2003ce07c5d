"""octocode's benchmark CSV: `query,result1,result2,result3`, each result `path:start-end:grade`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from assay.gold.anchors import ranged_span
from assay.gold.build import GoldLocation, GoldSource, build_gold, build_query, require_corpus, row_id
from assay.gold.formats.losses import WriterOutput, comes_from, corpus_losses, file_name, read_back, verify_output
from assay.gold.formats.rows import CsvRow, header, read_table, render_table
from assay.types import PRIMARY, SECONDARY, CorpusSpec, GoldSet, Query, Suite, Target

_GRADES = {"2": PRIMARY, "1": SECONDARY}
_RESULT = re.compile(r"(?P<path>.+):(?P<start>[0-9]{1,9})-(?P<end>[0-9]{1,9}):(?P<grade>[0-9]+)", re.DOTALL)
_RESULTS = 3  # columns of octocode's own files; more are written if a query has more targets


def matches(source: GoldSource) -> bool:
    """Return whether a file has octocode's header."""
    columns = header(source.text)
    return "query" in columns and "result1" in columns


def read_octocode(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    """Read one query per row, named by its row."""
    spec = require_corpus(source, corpus)
    table = read_table(source)
    expected = ["query", *(f"result{n}" for n in range(1, len(table.columns)))]
    if list(table.columns) != expected or len(expected) < 2:
        raise source.at(1).error(
            f"the header is {','.join(table.columns)}", "octocode's is query,result1,result2,result3"
        )
    queries = [_query(row, number) for number, row in enumerate(table.rows, 1)]
    return build_gold(name, spec, queries, source.at(1))


def _query(row: CsvRow, number: int) -> Query:
    results = [cell for column, cell in row.cells.items() if column != "query" and cell]
    if not results:
        raise row.place.error(f"row {number} has no result", "add path:start-end:2, or remove the row")
    targets = [_target(result, row.place) for result in results]
    return build_query(row_id(number), {"human": row.text("query")}, targets, row.place)


def _target(result: str, place: GoldLocation) -> Target:
    match = _RESULT.fullmatch(result)
    if match is None:
        raise place.error(f"'{result}' is not a result", "write it as path:start-end:grade, as in src/main.rs:10-42:2")
    if match["grade"] not in _GRADES:
        raise place.error(f"'{result}' has the grade {match['grade']}", "grades are 2 (primary) and 1 (secondary)")
    span = ranged_span(match["path"], int(match["start"]), int(match["end"]), place)
    return Target(span, _GRADES[match["grade"]])


def write_octocode(suite: Suite) -> WriterOutput:
    """Write one CSV per set: the headline of each query and its targets, which must have lines."""
    files = {file_name(gold, ".csv"): _render(gold) for gold in suite.golds}
    return verify_output(suite, files, read_back(suite, ".csv", read_octocode), lost=corpus_losses(suite, matches))


def _render(gold: GoldSet) -> str:
    rows = {q.id: [q.headline, *(_result(target, q, gold) for target in q.targets)] for q in gold.queries}
    source = comes_from(gold, matches)
    before = len(header(source.text)) - 1 if source else _RESULTS
    most = max(before, *(len(query.targets) for query in gold.queries))
    columns = ["query", *(f"result{number}" for number in range(1, most + 1))]
    filled = {name: row + [""] * (len(columns) - len(row)) for name, row in rows.items()}
    return _render_like(source, columns, filled) if source else render_table(columns, filled.values())


def _result(target: Target, query: Query, gold: GoldSet) -> str:
    if target.span.start is None:
        raise GoldLocation(gold.source or gold.name, query.line).error(
            f"octocode's format holds line ranges only, and query '{query.id}' has the target {target.anchor}",
            "have the lines looked up in the corpus first: `assay gold convert --corpus PATH`",
        )
    return f"{target.span}:{PRIMARY if target in query.primaries else SECONDARY}"


def _render_like(source: GoldSource, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """Return the CSV of rows by id, with the quotes, blank lines and line ends of an existing file."""
    table = read_table(source)
    end = "\r\n" if source.text.partition("\n")[0].endswith("\r") else "\n"
    lines = [f"{line}\n" for line in source.text.removesuffix("\n").split("\n")]
    starts = [1, *(row.place.line or 1 for row in table.rows), len(lines) + 1]
    head, *raw = ["".join(lines[start - 1 : stop - 1]) for start, stop in pairwise(starts)]
    before = {row_id(number): pair for number, pair in enumerate(zip(table.rows, raw, strict=True), 1)}
    written = [_render_row(cells, before.get(name), end) for name, cells in rows.items()]
    head = head if list(table.columns) == list(columns) else _render_line(columns, end)
    return "".join(part if part.endswith("\n") else part + end for part in (head, *written))


def _render_row(cells: Sequence[str], before: tuple[CsvRow, str] | None, end: str) -> str:
    def content(cells: Sequence[str]) -> tuple[str, list[str]]:
        return cells[0], sorted(cell for cell in cells[1:] if cell)

    if before is None:
        return _render_line(cells, end)
    row, raw = before
    if content(cells) == content(list(row.cells.values())):
        return raw
    blank_lines = raw[len(raw.rstrip("\r\n")) :].partition("\n")[2]
    return _render_line(cells, end, quoted=raw.startswith('"')) + blank_lines


def _render_line(cells: Sequence[str], end: str, *, quoted: bool = False) -> str:
    text = render_table(cells, ())
    if not quoted or text.startswith('"'):
        return text.removesuffix("\n") + end
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="", quoting=csv.QUOTE_ALL).writerow(cells[:1])
    return f"{stream.getvalue()},{render_table(cells[1:], ())}".removesuffix("\n") + end
