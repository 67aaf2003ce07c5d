"""Names that fit into a column of a TREC file: whatever is in a path or an id, it comes back as it was.

Only lines that Assay wrote, told by their last column, are read so: elsewhere a `%` is a `%`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

from assay.engines.reading.hits import parse_location
from assay.types import Hit

#: How the last column of a run that Assay wrote begins.
TAG = "assay:"
#: What would end a column, steer a screen, or be read as something else.
_UNFIT = re.compile("[\\s%\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def to_column(text: str) -> str:
    """Write a text that is one column."""
    return _UNFIT.sub(_percent, text) or "%"


def to_docno(hit: Hit) -> str:
    """Write where a hit points: `path` or `path:start-end`."""
    path = path_column(hit.path)
    return path if hit.start is None else f"{path}:{hit.start}-{hit.end}"


@lru_cache(maxsize=10_000)  # the same files come up again and again, in every ranking of every engine
def path_column(path: str) -> str:
    """Write a path; a colon is where lines begin."""
    return to_column(path).replace(":", "%3A")


def from_column(text: str) -> str:
    """Read a text that was written into one column."""
    return "" if text == "%" else unquote(text, errors="surrogatepass")


def from_docno(text: str) -> Hit:
    """Read where a hit points."""
    place = parse_location(text)
    return Hit(from_column(place.path), place.start, place.end)


def _percent(found: re.Match[str]) -> str:
    """Write the bytes of a character as addresses do."""
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass"))
