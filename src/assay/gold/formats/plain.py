"""Plain CSV: `query,path` and, where there is more to say, `id`, `form`, `grade` and `cluster`.

Rows with the same id are one intent; without an id column, rows with the same query are.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.gold.building import build_gold, build_query, row_id
from assay.gold.formats.table import Row, Table, read_table, require_corpus
from assay.gold.schema import suggest
from assay.gold.source import Source
from assay.gold.targets import parse_target
from assay.types import FORMS, PRIMARY, SECONDARY, CorpusSpec, Gold, Query, Target

COLUMNS = ("query", "path", "id", "form", "grade", "cluster")
_GRADES = {"2": PRIMARY, "primary": PRIMARY, "1": SECONDARY, "secondary": SECONDARY}


def matches(columns: Sequence[str]) -> bool:
    """Tell whether a header is that of a plain CSV."""
    return "query" in columns and "path" in columns


def read_plain(source: Source, name: str, corpus: CorpusSpec | None) -> Gold:
    """Read the rows and put those of one intent together."""
    spec = require_corpus(source, corpus)
    table = read_table(source)
    _check_header(source, table)
    queries = [_query(intent, rows) for intent, rows in _intents(table).items()]
    return build_gold(name, spec, queries, source.at(1))


def _check_header(source: Source, table: Table) -> None:
    """Refuse a header with a column we would have to ignore, or without one we need."""
    for column in table.columns:
        if column not in COLUMNS:
            raise source.at(1).error(f"unknown column '{column}'", suggest(column, COLUMNS))
    for column in ("query", "path"):
        if column not in table.columns:
            raise source.at(1).error(f"the header lacks the column '{column}'", "a plain CSV begins with query,path")


def _intents(table: Table) -> dict[str, list[Row]]:
    """Group the rows by intent, in the order the intents begin."""
    groups: dict[str, list[Row]] = {}
    names: dict[str, str] = {}
    for number, row in enumerate(table.rows, 1):
        if "id" in table.columns:
            intent = row.place.name(row.text("id"), "the id")
        else:
            intent = names.setdefault(row.text("query"), row_id(number))
        groups.setdefault(intent, []).append(row)
    return groups


def _query(intent: str, rows: Sequence[Row]) -> Query:
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
    return build_query(intent, forms, targets.values(), rows[0].place, tags=tags)


def _form(row: Row) -> str:
    """Give the form of a row, `human` when it says nothing."""
    form = row.get("form", "human")
    if form not in FORMS:
        raise row.place.error(f"unknown form '{form}'", suggest(form, FORMS))
    return form


def _target(row: Row) -> Target:
    """Give the target of a row, primary when it says nothing."""
    grade = row.get("grade", "2")
    if grade not in _GRADES:
        raise row.place.error(f"'{grade}' is not a grade", "grades are 2 (primary) and 1 (secondary)")
    return parse_target(row.text("path"), row.place, grade=_GRADES[grade])


def _agree(row: Row, what: str, first: object, now: object) -> None:
    """Refuse a row that says something else than an earlier one of the same intent."""
    if first != now:
        raise row.place.error(f"{what} was '{first}' in an earlier row and is '{now}' here", "make the rows agree")
