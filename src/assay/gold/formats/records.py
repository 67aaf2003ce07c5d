"""A JSON list of objects, each with the line it begins in (the json module keeps none)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.gold.place import Place
from assay.gold.schema import suggest
from assay.gold.source import Source
from assay.syntax.lines import line_at

_BLANK = re.compile(r"[ \t\n\r]*")
_FIX = "check commas, quotes and brackets there"


class _DuplicateKeyError(ValueError):
    """An object has one key twice; json would keep the last in silence."""


@dataclass(frozen=True, slots=True)
class Record:
    """An object, where it stands, and what it is called in messages."""

    values: Mapping[str, object]
    place: Place
    what: str = "an entry"

    def check_keys(self, known: Sequence[str], *, required: Sequence[str]) -> None:
        """Refuse unknown keys and the lack of required ones."""
        for key in self.values:
            if key not in known:
                raise self.place.error(f"unknown key '{key}' in {self.what}", suggest(key, known))
        for key in required:
            if key not in self.values:
                raise self.place.error(f"{self.what} lacks the key '{key}'", f'add "{key}"')

    def text(self, key: str) -> str:
        """Give a text that says something."""
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.place.error(f"'{key}' of {self.what} is not a text", f'write "{key}": "..."')
        return self.place.text(value.strip(), f"'{key}' of {self.what}")

    def number(self, key: str) -> int:
        """Give a whole number."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.place.error(f"'{key}' of {self.what} is not a whole number", f'write "{key}": 1')
        return value

    def entries(self, key: str) -> Sequence[object]:
        """Give a list, empty when the key is missing."""
        value = self.values.get(key, [])
        if not isinstance(value, list):
            raise self.place.error(f"'{key}' of {self.what} is not a list", f'write "{key}": [...]')
        return value


def read_records(source: Source) -> list[Record]:
    """Read a list of objects, or say in which line it is not one."""
    records = [Record(value, source.at(line)) for value, line in _objects(source)]
    if not records:
        raise source.at(1).error("the list is empty", "add an entry")
    return records


def _objects(source: Source) -> Iterator[tuple[Mapping[str, object], int]]:
    """Yield each object of the list with its line."""
    text = source.text
    position = _expect(source, 0, "[")
    if text.startswith("]", position):
        _end(source, position)
        return
    while True:
        value, after = _decode(source, position)
        line = line_at(text, position)
        if not isinstance(value, dict):
            raise source.at(line).error("an entry of the list is not an object", "write it as {...}")
        yield value, line
        position = _skip(text, after)
        if text.startswith("]", position):
            _end(source, position)
            return
        position = _expect(source, position, ",")


def _decode(source: Source, position: int) -> tuple[object, int]:
    """Decode the value that begins at a position and say where it ends."""
    try:
        return json.JSONDecoder(object_pairs_hook=_unique).raw_decode(source.text, position)
    except json.JSONDecodeError as error:
        raise source.at(error.lineno).error(f"not JSON: {error.msg}", _FIX) from error
    except _DuplicateKeyError as error:
        line = line_at(source.text, position)
        raise source.at(line).error(f"the key '{error}' stands twice in an entry", "keep one") from error
    except (ValueError, RecursionError) as error:  # a number with thousands of digits; brackets nested too deeply
        raise source.at(line_at(source.text, position)).error(f"not JSON: {error}", _FIX) from error


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make a dict of pairs whose keys differ."""
    values: dict[str, object] = {}
    for key, value in pairs:
        if key in values:
            raise _DuplicateKeyError(key)
        values[key] = value
    return values


def _expect(source: Source, position: int, mark: str) -> int:
    """Step over blanks, a mark and blanks."""
    position = _skip(source.text, position)
    if not source.text.startswith(mark, position):
        raise source.at(line_at(source.text, position)).error(f"not a JSON list: '{mark}' expected", _FIX)
    return _skip(source.text, position + 1)


def _end(source: Source, position: int) -> None:
    """Refuse anything after the list."""
    position = _skip(source.text, position + 1)
    if position < len(source.text):
        raise source.at(line_at(source.text, position)).error("there is more after the end of the JSON list", _FIX)


def _skip(text: str, position: int) -> int:
    """Step over blanks."""
    match = _BLANK.match(text, position)
    return match.end() if match else position
