"""Columns and document names of TREC files."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote, unquote

from assay.types import Hit

#: Prefix of the last column of a run that Assay wrote.
TAG = "assay:"
#: Characters to escape: column separators, terminal controls, and the escape character.
_ESCAPED = re.compile("[\\s%\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def to_column(text: str) -> str:
    """Escape a text for one column."""
    return _ESCAPED.sub(lambda found: quote(found[0], safe="", errors="surrogatepass"), text) or "%"


def from_column(text: str) -> str:
    return "" if text == "%" else unquote(text, errors="surrogatepass")


@lru_cache(maxsize=10_000)  # the same files are in many rankings
def path_column(path: str) -> str:
    """Escape a path, including the colon that separates path and lines."""
    return to_column(path).replace(":", "%3A")


def to_docno(hit: Hit) -> str:
    """Format a hit as `path` or `path:start-end`."""
    path = path_column(hit.path)
    return path if hit.start is None else f"{path}:{hit.start}-{hit.end}"
