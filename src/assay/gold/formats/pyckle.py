"""Pyckle-style eval sets: `{"query", "expected"}` pairs in a JSON list, in a Python literal, or in a file of results.

`expected` is a path or a list of paths; what follows `query` and `expected` in a file of results is not gold.
"""

from __future__ import annotations

import re

from assay.gold.building import build_gold, build_query, row_id
from assay.gold.formats.common.corpora import require_corpus
from assay.gold.formats.common.ids import renamed, sound_ids
from assay.gold.formats.common.jsonlines import read_entries, unread
from assay.gold.formats.common.literal import NAME, read_literal
from assay.gold.formats.common.records import Listing, Record, read_listing
from assay.gold.formats.common.sniffing import json_has, opening
from assay.gold.source import Source
from assay.gold.targets import parse_target
from assay.types import CorpusSpec, Gold, Query

_TAGS = ("category", "difficulty")
_READ = ("id", "query", "expected", *_TAGS)
_ASSIGNED = re.compile(rf"^{NAME}\b.*=", re.MULTILINE)
_RESULTS = "results"
_JSON = ("{", "[")


def matches(source: Source) -> bool:
    """Tell an eval set by its keys, or by the name it is assigned to in a Python file."""
    return json_has(source, "[{", "query", "expected") or _is_python(source)


def read_pyckle(source: Source, name: str, corpus: CorpusSpec | None) -> Gold:
    """Read the pairs; a set without ids is named by its rows."""
    spec = require_corpus(source, corpus)
    listing = _listing(source)
    records = listing.records
    ids = sound_ids(_id(record, n) for n, record in enumerate(records, 1))
    queries = [_query(record, ids[_id(record, n)]) for n, record in enumerate(records, 1)]
    return build_gold(name, spec, queries, source.at(1), unread([listing.about, *records], _READ) | renamed(ids))


def _is_python(source: Source) -> bool:
    """Tell a Python file."""
    return source.path.suffix == ".py" or (opening(source) not in _JSON and _ASSIGNED.search(source.text) is not None)


def _listing(source: Source) -> Listing:
    """Read the entries, whatever they are written in."""
    if json_has(source, "{", _RESULTS):
        return read_listing(source, _RESULTS)
    records = read_entries(source) if opening(source) in _JSON else read_literal(source)
    return Listing(Record({}, source.at(1)), tuple(records))


def _id(record: Record, number: int) -> str:
    """Give the id of an entry, or name it by its place."""
    return record.word("id") if "id" in record.values else row_id(number)


def _query(record: Record, query_id: str) -> Query:
    """Read one pair."""
    record.check_keys(tuple(record.values), required=("query", "expected"))
    expected = record.values["expected"]
    paths = record.texts("expected") if isinstance(expected, list) else (record.text("expected"),)
    targets = [parse_target(path, record.place) for path in paths]
    tags = {key: record.text(key) for key in _TAGS if key in record.values}
    return build_query(query_id, {"human": record.text("query")}, targets, record.place, tags=tags)
