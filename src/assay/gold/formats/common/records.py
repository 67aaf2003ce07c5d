"""JSON lists of objects, each object with the line it begins in (the json module keeps none)."""

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
_LARGEST_ID = 10**18  # a number with thousands of digits is no id, and Python refuses to write it out
FIX = "check commas, quotes and brackets there"


class DuplicateKeyError(ValueError):
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
        return self.verbatim(key).strip()

    def verbatim(self, key: str) -> str:
        """Give a text that says something, with the blanks around it."""
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.place.error(f"'{key}' of {self.what} is not a text", f'write "{key}": "..."')
        return self.place.text(value, f"'{key}' of {self.what}")

    def mapping(self, key: str) -> Record:
        """Give the object below a key."""
        value = self.values.get(key)
        if not isinstance(value, dict):
            raise self.place.error(f"'{key}' of {self.what} is not an object", f'write "{key}": {{...}}')
        return Record(value, self.place, f"'{key}' of {self.what}")

    def word(self, key: str) -> str:
        """Give a text, or a whole number as it is written: ids are either."""
        value = self.values.get(key)
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST_ID
        return str(self.number(key)) if whole else self.text(key)

    def texts(self, key: str) -> tuple[str, ...]:
        """Give a list of texts that say something."""
        entries = [Record({key: entry}, self.place, self.what) for entry in self.entries(key)]
        return tuple(entry.text(key) for entry in entries)

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


@dataclass(frozen=True, slots=True)
class Listing:
    """A JSON object that holds a list of objects: the list, and what else the object says."""

    about: Record
    records: tuple[Record, ...]


def read_records(source: Source) -> list[Record]:
    """Read a list of objects, or say in which line it is not one."""
    cursor = _Cursor(source)
    records = list(cursor.objects())
    cursor.end()
    if not records:
        raise source.at(1).error("the list is empty", "add an entry")
    return records


def read_listing(source: Source, key: str) -> Listing:
    """Read an object whose `key` is a list of objects."""
    cursor = _Cursor(source)
    about: dict[str, object] = {}
    records: list[Record] | None = None
    place = cursor.place
    for name in cursor.members():
        if name in about or (name == key and records is not None):
            raise cursor.place.error(f"the key '{name}' stands twice", "keep one")
        if name == key:
            records = list(cursor.objects())
        else:
            about[name] = cursor.value()
    cursor.end()
    if not records:
        raise place.error(f"there is no entry in '{key}'", f'write "{key}": [{{...}}, ...]')
    return Listing(Record(about, place, "the set"), tuple(records))


class _Cursor:
    """A place in a JSON text that moves on as values are read; each object of a list knows its line."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.text
        self._position = _skip(source.text, 0)
        self._counted = 0  # up to where lines are counted: the cursor only moves on, so no text is counted twice
        self._line = 1

    @property
    def place(self) -> Place:
        """Where the cursor is."""
        self._line += self._text.count("\n", self._counted, self._position)
        self._counted = self._position
        return self._source.at(self._line)

    def value(self) -> object:
        """Read a value, whatever it is."""
        value, after = _decode(self._source, self._position)
        self._position = _skip(self._text, after)
        return value

    def objects(self) -> Iterator[Record]:
        """Yield each object of a list."""
        self._expect("[", "list")
        if self._take("]"):
            return
        while True:
            place = self.place
            value = self.value()
            if not isinstance(value, dict):
                raise place.error("an entry of the list is not an object", "write it as {...}")
            yield Record(value, place)
            if self._take("]"):
                return
            self._expect(",", "list")

    def members(self) -> Iterator[str]:
        """Yield each key of an object; whoever asks reads its value before the next."""
        self._expect("{", "object")
        if self._take("}"):
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise self.place.error("a key of the object is not a text", FIX)
            self._expect(":", "object")
            yield key
            if self._take("}"):
                return
            self._expect(",", "object")

    def end(self) -> None:
        """Refuse anything after the last value."""
        if self._position < len(self._text):
            raise self.place.error("there is more after the end of the JSON value", FIX)

    def _take(self, mark: str) -> bool:
        """Step over a mark, if it is there."""
        if not self._text.startswith(mark, self._position):
            return False
        self._position = _skip(self._text, self._position + 1)
        return True

    def _expect(self, mark: str, what: str) -> None:
        """Step over a mark that must be there."""
        if not self._take(mark):
            raise self.place.error(f"not a JSON {what}: '{mark}' expected", FIX)


def _decode(source: Source, position: int) -> tuple[object, int]:
    """Decode the value that begins at a position and say where it ends."""
    try:
        return json.JSONDecoder(object_pairs_hook=unique_keys).raw_decode(source.text, position)
    except json.JSONDecodeError as error:
        raise source.at(error.lineno).error(f"not JSON: {error.msg}", FIX) from error
    except DuplicateKeyError as error:
        line = line_at(source.text, position)
        raise source.at(line).error(f"the key '{error}' stands twice in an entry", "keep one") from error
    except (ValueError, RecursionError) as error:  # a number with thousands of digits; brackets nested too deeply
        raise source.at(line_at(source.text, position)).error(f"not JSON: {error}", FIX) from error


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Make a dict of pairs whose keys differ."""
    values: dict[str, object] = {}
    for key, value in pairs:
        if key in values:
            raise DuplicateKeyError(key)
        values[key] = value
    return values


def _skip(text: str, position: int) -> int:
    """Step over blanks."""
    match = _BLANK.match(text, position)
    return match.end() if match else position
