"""sia-code's dataset: `{"name", "queries": [{"id", "query_text", "relevant_docs"}]}`.

A document is `path` or `path:symbol`; every document is a primary target.
"""

from __future__ import annotations

from assay.gold.anchors import parse_target
from assay.gold.build import GoldSource, build_gold, build_query, describe_renames, require_corpus, safe_ids
from assay.gold.formats.rows import JsonRecord, json_matcher, read_listing
from assay.types import CorpusSpec, GoldSet, Target

_DATASET = ("name", "corpus", "metadata")
_UNREAD = ("corpus", "metadata")  # the passed corpus has the code
_QUERY = ("id", "query_text", "relevant_docs", "metadata")
_TAGS = ("category", "difficulty")
matches = json_matcher("{", "queries", "query_text", "relevant_docs")


def read_siacode(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    spec = require_corpus(source, corpus)
    about, records = read_listing(source, "queries")
    about.check_keys(_DATASET, required=())
    for record in records:
        record.check_keys(_QUERY, required=("id", "query_text", "relevant_docs"))
    ids = safe_ids(record.word("id") for record in records)
    own = about.text("name") if "name" in about.values else name
    described = [r.mapping("metadata") if "metadata" in r.values else JsonRecord({}, r.location) for r in records]
    queries = []
    for record, metadata in zip(records, described, strict=True):
        targets = [_target(document, record) for document in record.texts("relevant_docs")]
        tags = {key: metadata.text(key) for key in _TAGS if key in metadata.values}
        forms = {"human": record.text("query_text")}
        queries.append(build_query(ids[record.word("id")], forms, targets, record.location, tags=tags))
    unread = [key for key in _UNREAD if key in about.values]
    notes = sorted({key for metadata in described for key in metadata.values}.difference(_TAGS))
    unread += [f"metadata {key} of queries" for key in notes]
    provenance = {"not read": ", ".join(unread)} if unread else {}
    return build_gold(safe_ids([own])[own], spec, queries, source.at(1), provenance | describe_renames(ids))


def _target(document: str, record: JsonRecord) -> Target:
    path, colon, symbol = document.rpartition(":")
    native = not colon or path.endswith(":") or symbol.replace("-", "").isdigit()
    return parse_target(document if native else f"{path}::{symbol}", record.location)
