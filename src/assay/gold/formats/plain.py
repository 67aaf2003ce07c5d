"""Plain CSV: `query,path` and, where there is more to say, `id`, `form`, `grade` and `cluster`.

Rows with the same id are one intent; without an id column, rows with the same query are. JSON lines with the same keys
are the same; there `targets`, a list, may stand for several rows that differ in `path` only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.gold.building import GoldSource, build_gold, build_query, parse_target, read_source, row_id
from assay.gold.formats.export import WriterOutput, corpus_losses, file_name, renamed, safe_ids, verified
from assay.gold.formats.multi_repo import require_corpus
from assay.gold.formats.rows import (
    CsvRow,
    CsvTable,
    Record,
    header,
    json_has,
    opening,
    read_entries,
    read_table,
    render_table,
)
from assay.gold.native.nodes import suggest
from assay.types import FORMS, PRIMARY, SECONDARY, CorpusSpec, GoldSet, Query, Suite, Target

COLUMNS = ("query", "path", "id", "form", "grade", "cluster")
_WRITTEN = ("id", "query", "path", "form", "grade", "cluster")
_GRADES = {"primary": PRIMARY, "secondary": SECONDARY}
_GRADE = re.compile("[0-9]{1,9}")


def matches(source: GoldSource) -> bool:
    """Tell a plain file by its header, or by the keys of its first line."""
    if _is_json(source):
        return any(json_has(source, "{[", "query", key) for key in ("path", "targets"))
    return {"query", "path"} <= set(header(source.text))


def read_plain(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    """Read the rows and put those of one intent together."""
    spec = require_corpus(source, corpus)
    table = _json_table(source) if _is_json(source) else read_table(source)
    _check_header(source, table)
    ids = safe_ids(row.get("id") for row in table.rows)
    queries = [_query(intent, rows) for intent, rows in _intents(table, ids).items()]
    return build_gold(name, spec, queries, source.at(1), renamed(ids))


def _is_json(source: GoldSource) -> bool:
    return opening(source) in ("{", "[")


def _json_table(source: GoldSource) -> CsvTable:
    rows = tuple(row for record in read_entries(source) for row in _json_rows(record))
    return CsvTable(tuple(dict.fromkeys(column for row in rows for column in row.cells)), rows)


def _json_rows(record: Record) -> Iterator[CsvRow]:
    record.check_keys((*COLUMNS, "targets"), required=("query",))
    cells = {key: _cell(record, key) for key in record.values if key != "targets"}
    if ("path" in cells) == ("targets" in record.values):
        raise record.place.error(f"{record.what} needs one of 'path' and 'targets'", 'write "path": "..."')
    if "path" in cells:
        yield CsvRow(cells, record.place)
        return
    targets = record.texts("targets")
    if not targets:
        raise record.place.error(f"'targets' of {record.what} is empty", "name the code that answers the query")
    yield from (CsvRow({**cells, "path": target}, record.place) for target in targets)


def _cell(record: Record, key: str) -> str:
    return record.word(key) if key in ("id", "grade") else record.text(key)


def _check_header(source: GoldSource, table: CsvTable) -> None:
    for column in table.columns:
        if column not in COLUMNS:
            raise source.at(1).error(f"unknown column '{column}'", suggest(column, COLUMNS))
    for column in ("query", "path"):
        if column not in table.columns:
            raise source.at(1).error(f"the header lacks the column '{column}'", "a plain CSV begins with query,path")


def _intents(table: CsvTable, ids: Mapping[str, str]) -> dict[str, list[CsvRow]]:
    groups: dict[str, list[CsvRow]] = {}
    names: dict[str, str] = {}
    for number, row in enumerate(table.rows, 1):
        if "id" in table.columns:
            intent = row.place.name(ids[row.text("id")], "the id")
        else:
            intent = names.setdefault(row.text("query"), row_id(number))
        groups.setdefault(intent, []).append(row)
    return groups


def _query(intent: str, rows: Sequence[CsvRow]) -> Query:
    """Make one intent of its rows; all must agree on what they say twice."""
    forms: dict[str, str] = {}
    targets: dict[str, Target] = {}
    clusters: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    for row in rows:
        form, target = _form(row), _target(row)
        if (form, target.anchor) in seen:
            raise row.place.error(f"'{intent}' has {target.anchor} twice", "remove one of the rows")
        seen.add((form, target.anchor))
        _agree(row, f"the {form} form of '{intent}'", forms.setdefault(form, row.text("query")), row.text("query"))
        _agree(row, f"the grade of {target.anchor}", targets.setdefault(target.anchor, target).grade, target.grade)
        cluster = row.get("cluster")
        _agree(row, f"the cluster of '{intent}'", clusters.setdefault("cluster", cluster), cluster)
    tags = {key: value for key, value in clusters.items() if value}
    return build_query(intent, forms, targets.values(), rows[0].place, tags=tags, least=1)


def _form(row: CsvRow) -> str:
    form = row.get("form", "human")
    if form not in FORMS:
        raise row.place.error(f"unknown form '{form}'", suggest(form, FORMS))
    return form


def _target(row: CsvRow) -> Target:
    grade = row.get("grade", str(PRIMARY))
    if grade not in _GRADES and not _GRADE.fullmatch(grade):
        hint = "grades are whole numbers: 2 (primary), 1 (secondary), 0 (judged, not relevant), or others"
        raise row.place.error(f"'{grade}' is not a grade", hint)
    return parse_target(row.text("path"), row.place, grade=_GRADES.get(grade) or int(grade))


def _agree(row: CsvRow, what: str, first: object, now: object) -> None:
    if first != now:
        raise row.place.error(f"{what} was '{first}' in an earlier row and is '{now}' here", "make the rows agree")


def write_plain(suite: Suite) -> WriterOutput:
    """Write one CSV a set."""
    files = {file_name(gold, ".csv"): _render(gold) for gold in suite.golds}

    def read(folder: Path) -> list[GoldSet]:
        sources = [(read_source(folder / file_name(gold, ".csv")), gold) for gold in suite.golds]
        return [read_plain(source, gold.name, gold.corpus) for source, gold in sources]

    return verified(suite, files, read, lost=corpus_losses(suite, matches))


def _render(gold: GoldSet) -> str:
    return render_table(_WRITTEN, [row for query in gold.queries for row in _rows(query)])


def _rows(query: Query) -> Iterator[list[str]]:
    headline, *others = query.ordered_forms
    cluster = query.tags.get("cluster", "")
    pairs = [(headline, target) for target in (*query.targets, *query.irrelevant)]
    pairs += [(form, query.targets[0]) for form in others]
    for form, target in pairs:
        yield [query.id, query.forms[form], target.anchor, form, str(target.grade), cluster]
