"""What makes two queries the same question: the hashes that decide what may be compared."""

from __future__ import annotations

import json

from assay.digests import text_digest
from assay.types import CorpusSpec, Gold, Query


def query_hash(query: Query, corpus: CorpusSpec) -> str:
    """Hash id, forms, labels as written, and the corpus; not lines, rationale, measures or tags."""
    return _digest(
        {
            "id": query.id,
            "forms": dict(query.forms),
            "targets": [[target.anchor, target.grade] for target in query.targets],
            "adversaries": [[a.target.anchor, a.relationship, a.strength, a.confusion] for a in query.adversaries],
            **({"irrelevant": [target.anchor for target in query.irrelevant]} if query.irrelevant else {}),
            "corpus": [corpus.kind, corpus.value, corpus.rev, corpus.root, list(corpus.include), list(corpus.exclude)],
        }
    )


def gold_hash(gold: Gold) -> str:
    """Hash the set of its queries and its corpus; their order, its name and where it was read from do not count."""
    return _digest(sorted(query_hash(query, gold.corpus) for query in gold.queries))


def _digest(value: object) -> str:
    """Hash a JSON value in its canonical writing."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return text_digest(text)
