"""octocode's benchmark CSV: `query,result1,result2,result3`, each result `path:start-end:grade`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from assay.gold.anchors import ranged_span
from assay.gold.build import GoldLocation, GoldSource, build_gold, build_query, require_corpus, row_id
from assay.gold.formats.losses import WriterOutput, corpus_losses, file_name, find_source, read_back, verify_output
from assay.gold.formats.rows import read_header, read_table, render_table
from assay.types import PRIMARY, SECONDARY, CorpusSpec, GoldSet, Suite, Target

_GRADES = {"2": PRIMARY, "1": SECONDARY}
_RESULT = re.compile(r"(?P<path>.+):(?P<start>[0-9]{1,9})-(?P<end>[0-9]{1,9}):(?P<grade>[0-9]+)", re.DOTALL)
_RESULTS = 3  # columns of octocode's files; more are written if needed


def matches(source: GoldSource) -> bool:
    columns = read_header(source.text)
    return "query" in columns and "result1" in columns


def read_octocode(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    spec = require_corpus(source, corpus)
    columns, rows = read_table(source)
    expected = ["query", *(f"result{n}" for n in range(1, len(columns)))]
    if list(columns) != expected or len(expected) < 2:
        raise source.at(1).error(f"unexpected header {','.join(columns)}", "use query,result1,result2,result3")
    queries = []
    for number, row in enumerate(rows, 1):
        targets = [_target(cell, row.location) for column, cell in row.cells.items() if column != "query" and cell]
        if not targets:
            raise row.location.error(f"row {number} has no result", "add path:start-end:2, or remove the row")
        queries.append(build_query(row_id(number), {"human": row.text("query")}, targets, row.location))
    return build_gold(name, spec, queries, source.at(1))


def _target(result: str, location: GoldLocation) -> Target:
    match = _RESULT.fullmatch(result)
    if match is None:
        raise location.error(f"invalid result '{result}'", "use path:start-end:grade, such as src/main.rs:10-42:2")
    if match["grade"] not in _GRADES:
        raise location.error(f"invalid grade {match['grade']} of '{result}'", "use 2 (primary) or 1 (secondary)")
    span = ranged_span(match["path"], int(match["start"]), int(match["end"]), location)
    return Target(span, _GRADES[match["grade"]])


def write_octocode(suite: Suite) -> WriterOutput:
    files = {file_name(gold, ".csv"): _render(gold) for gold in suite.golds}
    return verify_output(suite, files, read_back(suite, ".csv", read_octocode), lost=corpus_losses(suite, matches))


def _render(gold: GoldSet) -> str:
    source = find_source(gold, matches)
    before = len(read_header(source.text)) - 1 if source else _RESULTS
    most = max(before, *(len(query.targets) for query in gold.queries))
    columns = ["query", *(f"result{number}" for number in range(1, most + 1))]
    rows: dict[str, list[str]] = {}
    for query in gold.queries:
        for target in query.targets:
            if target.span.start is None:
                message = f"octocode supports only line ranges, got target {target.anchor} of query '{query.id}'"
                hint = "resolve the lines with `assay gold convert --corpus PATH`"
                raise GoldLocation(gold.source or gold.name, query.line).error(message, hint)
        results = [f"{t.span}:{PRIMARY if t in query.primaries else SECONDARY}" for t in query.targets]
        rows[query.id] = [query.headline, *results, *[""] * (most - len(results))]
    return _render_like(source, columns, rows) if source else render_table(columns, rows.values())


def _render_like(source: GoldSource, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """Render rows (id -> cells) as CSV with the quotes, blank lines and line ends of an existing file."""
    old_columns, old_rows = read_table(source)
    end = "\r\n" if source.text.partition("\n")[0].endswith("\r") else "\n"
    lines = [f"{line}\n" for line in source.text.removesuffix("\n").split("\n")]
    starts = [1, *(row.location.line or 1 for row in old_rows), len(lines) + 1]
    head, *raw = ["".join(lines[start - 1 : stop - 1]) for start, stop in pairwise(starts)]
    before = {row_id(number): pair for number, pair in enumerate(zip(old_rows, raw, strict=True), 1)}
    parts = [head if list(old_columns) == list(columns) else _render_line(columns, end)]
    for name, cells in rows.items():
        row, text = before.get(name, (None, ""))
        old = list(row.cells.values()) if row else []
        if old and (cells[0], sorted(filter(None, cells[1:]))) == (old[0], sorted(filter(None, old[1:]))):
            parts.append(text)
        else:
            blank_lines = text[len(text.rstrip("\r\n")) :].partition("\n")[2]
            parts.append(_render_line(cells, end, quoted=text.startswith('"')) + blank_lines)
    return "".join(part if part.endswith("\n") else part + end for part in parts)


def _render_line(cells: Sequence[str], end: str, *, quoted: bool = False) -> str:
    text = render_table(cells, ())
    if not quoted or text.startswith('"'):
        return text.removesuffix("\n") + end
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="", quoting=csv.QUOTE_ALL).writerow(cells[:1])
    return f"{stream.getvalue()},{render_table(cells[1:], ())}".removesuffix("\n") + end
