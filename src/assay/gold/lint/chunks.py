"""Read the chunks of an engine: JSON lines `{"path": …, "start": …, "end": …}`, the range left out for whole files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from assay.gold.lint.reaching import chunk_list
from assay.gold.lint.records import Reach
from assay.gold.place import Place
from assay.gold.source import read_source
from assay.types import Span

_FORM = 'write {"path": "src/a.py", "start": 1, "end": 20}, one a line'


def read_chunks(path: Path) -> Reach:
    """Read a file of chunks."""
    source = read_source(path)
    found: dict[str, list[Span]] = {}
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            span = _span(line, source.at(number))
            found.setdefault(span.path, []).append(span)
    if not found:
        raise source.at(1).error("the file lists no chunk", _FORM)
    return chunk_list(f"the engine of {path.name}", found)


def _span(line: str, place: Place) -> Span:
    """Read one chunk."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise place.error(f"not JSON: {error}", _FORM) from error
    if not isinstance(value, Mapping) or not isinstance(value.get("path"), str) or not value["path"]:
        raise place.error("a chunk has no path", _FORM)
    start, end = value.get("start"), value.get("end")
    if start is None and end is None:
        return Span(value["path"])
    if type(start) is not int or type(end) is not int or not 1 <= start <= end:
        raise place.error(f"{start}-{end} is no range of lines", "lines are counted from 1, both ends included")
    return Span(value["path"], start, end)
