"""JSON lines: one object a line, each with its number. A list of objects is read too, since exports come as either."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from assay.gold.formats.common.records import FIX, DuplicateKeyError, Record, read_records, unique_keys
from assay.gold.place import Place
from assay.gold.source import Source


def read_entries(source: Source) -> list[Record]:
    """Read the objects of a file of JSON lines or of a JSON list; each is called after its place."""
    if _is_list(source):
        found = [(record.values, record.place) for record in read_records(source)]
    else:
        found = [(parse_object(text, place), place) for text, place in _lines(source)]
    if not found:
        raise source.at(1).error("the file is empty", "write one JSON object a line")
    return [Record(values, place, f"row {number}") for number, (values, place) in enumerate(found, 1)]


def parse_object(text: str, place: Place) -> Mapping[str, object]:
    """Parse one JSON object whose keys differ."""
    value = parse(text, place)
    if not isinstance(value, dict):
        raise place.error("not a JSON object", "write one object a line: {...}")
    return value


def parse(text: str, place: Place, what: str = "the line") -> object:
    """Parse one JSON value; objects with a key twice are refused."""
    try:
        value: object = json.loads(text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        raise place.error(f"{what} is not JSON: {error.msg} at character {error.pos + 1}", FIX) from error
    except DuplicateKeyError as error:
        raise place.error(f"the key '{error}' stands twice in {what}", "keep one") from error
    except (ValueError, RecursionError) as error:  # a number with thousands of digits; brackets nested too deeply
        raise place.error(f"{what} is not JSON: {error}", FIX) from error
    return value


def unread(records: Sequence[Record], read: Sequence[str]) -> dict[str, str]:
    """Say, as provenance, which keys of the entries are not read."""
    keys = sorted({key for record in records for key in record.values}.difference(read))
    return {"not read": ", ".join(keys)} if keys else {}


def _is_list(source: Source) -> bool:
    """Tell a JSON list from JSON lines."""
    return source.text.lstrip(" \t\r\n").startswith("[")


def _lines(source: Source) -> Iterator[tuple[str, Place]]:
    r"""Yield the lines that are not blank; only `\n` ends one, since a JSON text may hold other separators raw."""
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            yield line, source.at(number)
