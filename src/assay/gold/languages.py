"""In which language is the answer? Told by the names of files: where results are read, the files are not at hand."""

from __future__ import annotations

from assay.corpus.languages import detect
from assay.types import Query

#: Of files that no language is known of, and of queries that nothing is right for.
UNKNOWN = "other"


def language_of(query: Query) -> str:
    """Name the language of a query: that of the file of its first primary target."""
    primary = next(iter(query.primaries), None)
    return UNKNOWN if primary is None else detect(primary.span.path, b"").language or UNKNOWN
