"""Plain CSV with the columns `query`, `path` and optionally `id`, `form`, `grade`, `cluster`, or the same as JSON.

Rows with the same id form one query; without an id column, rows with the same text do. In JSON, a list `targets`
replaces several rows that differ only in `path`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.gold.anchors import parse_target
from assay.gold.build import (
    GoldSource,
    build_gold,
    build_query,
    describe_renames,
    require_corpus,
    row_id,
    safe_ids,
    suggest,
)
from assay.gold.formats.losses import WriterOutput, corpus_losses, file_name, read_back, verify_output
from assay.gold.formats.rows import (
    CsvRow,
    JsonRecord,
    first_character,
    json_has,
    read_entries,
    read_header,
    read_table,
    render_table,
)
from assay.types import FORMS, PRIMARY, SECONDARY, CorpusSpec, GoldSet, Query, Suite, Target

COLUMNS = ("query", "path", "id", "form", "grade", "cluster")
_WRITTEN = ("id", "query", "path", "form", "grade", "cluster")
_GRADES = {"primary": PRIMARY, "secondary": SECONDARY}
_GRADE = re.compile("[0-9]{1,9}")


def matches(source: GoldSource) -> bool:
    if _is_json(source):
        return any(json_has(source, "{[", "query", key) for key in ("path", "targets"))
    return {"query", "path"} <= set(read_header(source.text))


def read_plain(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    spec = require_corpus(source, corpus)
    if _is_json(source):
        rows = [row for record in read_entries(source) for row in _json_rows(record)]
        columns = tuple(dict.fromkeys(column for row in rows for column in row.cells))
    else:
        columns, rows = read_table(source)
    for column in columns:
        if column not in COLUMNS:
            raise source.at(1).error(f"unknown column '{column}'", suggest(column, COLUMNS))
    for column in ("query", "path"):
        if column not in columns:
            raise source.at(1).error(f"missing column '{column}'", "start the header with query,path")
    ids = safe_ids(row.get("id") for row in rows)
    groups: dict[str, list[CsvRow]] = {}
    names: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        if "id" in columns:
            query_id = row.location.name(ids[row.text("id")], "the id")
        else:
            query_id = names.setdefault(row.text("query"), row_id(number))
        groups.setdefault(query_id, []).append(row)
    queries = [_query(query_id, group) for query_id, group in groups.items()]
    return build_gold(name, spec, queries, source.at(1), describe_renames(ids))


def _is_json(source: GoldSource) -> bool:
    return first_character(source) in ("{", "[")


def _json_rows(record: JsonRecord) -> Iterator[CsvRow]:
    record.check_keys((*COLUMNS, "targets"), required=("query",))
    keys = [key for key in record.values if key != "targets"]
    cells = {key: record.word(key) if key in ("id", "grade") else record.text(key) for key in keys}
    if ("path" in cells) == ("targets" in record.values):
        raise record.location.error(f"{record.subject} needs either 'path' or 'targets'", "write exactly one of them")
    if "path" in cells:
        yield CsvRow(cells, record.location)
        return
    targets = record.texts("targets")
    if not targets:
        raise record.location.error(f"'targets' of {record.subject} is empty", "add at least one target")
    yield from (CsvRow({**cells, "path": target}, record.location) for target in targets)


def _query(query_id: str, rows: Sequence[CsvRow]) -> Query:
    forms: dict[str, str] = {}
    targets: dict[str, Target] = {}
    cluster = rows[0].get("cluster")
    earlier: set[tuple[str, str]] = set()
    for row in rows:
        form, grade = row.get("form", "human"), row.get("grade", str(PRIMARY))
        if form not in FORMS:
            raise row.location.error(f"unknown phrasing '{form}'", suggest(form, FORMS))
        if grade not in _GRADES and not _GRADE.fullmatch(grade):
            hint = "use an integer, such as 2 (primary), 1 (secondary) or 0 (judged irrelevant)"
            raise row.location.error(f"invalid grade '{grade}'", hint)
        target = parse_target(row.text("path"), row.location, grade=_GRADES.get(grade) or int(grade))
        if (form, target.anchor) in earlier:
            raise row.location.error(f"duplicate target {target.anchor} of '{query_id}'", "remove one of the rows")
        earlier.add((form, target.anchor))
        for subject, first, now in (
            (f"the {form} phrasing of '{query_id}'", forms.setdefault(form, row.text("query")), row.text("query")),
            (f"the grade of {target.anchor}", targets.setdefault(target.anchor, target).grade, target.grade),
            (f"the cluster of '{query_id}'", cluster, row.get("cluster")),
        ):
            if first != now:
                message = f"{subject} is '{now}', but '{first}' in an earlier row"
                raise row.location.error(message, "use the same value in all rows")
    tags = {"cluster": cluster} if cluster else {}
    return build_query(query_id, forms, targets.values(), rows[0].location, tags=tags, least=1)


def write_plain(suite: Suite) -> WriterOutput:
    files = {
        file_name(gold, ".csv"): render_table(_WRITTEN, [row for query in gold.queries for row in _rows(query)])
        for gold in suite.golds
    }
    return verify_output(suite, files, read_back(suite, ".csv", read_plain), lost=corpus_losses(suite, matches))


def _rows(query: Query) -> Iterator[list[str]]:
    headline, *others = query.ordered_forms
    cluster = query.tags.get("cluster", "")
    pairs = [(headline, target) for target in (*query.targets, *query.irrelevant)]
    pairs += [(form, query.targets[0]) for form in others]
    for form, target in pairs:
        yield [query.id, query.forms[form], target.anchor, form, str(target.grade), cluster]
