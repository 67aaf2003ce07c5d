"""JSON documents in the output of a program (alone, one per line, or among other text), and selectors of values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.errors import ConfigError, EngineError

# ECMA-48: control sequences, operating system commands (hyperlinks), and the two-character rest.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OPENING = re.compile(r"[{\[]")
_LINE_OPENING = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
_REST = re.compile(r"[ \t]*$", re.MULTILINE)
# How broken JSON begins; `[INFO]` and `[1/3]` are other text.
_BROKEN = re.compile(r"\{|\[\s*(?:[{\[\"]|$)")
_DECODER = json.JSONDecoder()


_ATTEMPTS = 1_000  # failed starts of a document: each costs a parse of what follows
_SHOWN = 60  # characters of other text that a note shows


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents in an output, in order, and the text around them."""

    values: tuple[object, ...]
    talk: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on the text around them."""
        if not self.talk:
            return ()
        count, first = len(self.talk), self.talk[0][:_SHOWN]
        return (f"{count} {'line' if count == 1 else 'lines'} around the JSON left out, e.g. {first!r}",)


def clean(data: bytes | str) -> str:
    """Return output without escape sequences, and with a line for each overwritten one."""
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    return strip_ansi(text).replace("\r\n", "\n").replace("\r", "\n").strip("\ufeff \t\n\x00")


def strip_ansi(text: str) -> str:
    """Remove escape sequences."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def parse_json(text: str) -> Documents:
    """Parse a text that is one document; raise ValueError or RecursionError if it is not."""
    return Documents((json.loads(text),))


def parse_json_lines(text: str) -> Documents:
    """Parse one document per line; other lines are talk; raise ValueError if a document is broken."""
    values, talk = list[object](), list[str]()
    for line in filter(None, map(str.strip, text.split("\n"))):
        try:
            values.append(json.loads(line))
        except ValueError:
            talk.append(line)
    return _check(Documents(tuple(values), tuple(talk)))


def find_documents(text: str, *, anywhere: bool) -> Documents:
    """Find documents that end with a line, and begin with one or anywhere; raise ValueError if one is broken."""
    values, talk, at = list[object](), list[str](), 0
    for begin, end, value in _find(text, _OPENING if anywhere else _LINE_OPENING):
        talk += text[at:begin].split("\n")
        values.append(value)
        at = end
    talk += text[at:].split("\n")
    if any(line.count("{") > line.count("}") or line.count("[") > line.count("]") for line in talk):
        raise ValueError("a document breaks off or is broken: what was found lies inside it")
    return _check(Documents(tuple(values), tuple(filter(None, map(str.strip, talk)))))


def _find(text: str, opening: re.Pattern[str]) -> Iterator[tuple[int, int, object]]:
    """Decode wherever a document may begin; the rest of its last line must be blank."""
    at = failures = 0
    while failures < _ATTEMPTS and (match := opening.search(text, at)):
        begin = match.end() - 1
        try:
            value, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            end = -1
        if end > 0 and _REST.match(text, end):
            yield begin, end, value
            at = end
        else:
            failures += 1
            at = match.end()


def _check(found: Documents) -> Documents:
    broken = next(filter(_BROKEN.match, found.talk), None)
    if broken is not None:
        raise ValueError(f"a document breaks off or is broken: {broken[:_SHOWN]!r}")
    if found.talk and not found.values:
        raise ValueError("there is no document in it")
    return found


_CORRECT = "correct path, start, end and score to what the tool prints"
_STEP = re.compile(r"\[\]|[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Selector:
    """Path from the document to a value; `[]` is every item of a list."""

    steps: tuple[str, ...]

    def __str__(self) -> str:
        return re.sub(r"\.\[\]", "[]", ".".join(self.steps))

    @property
    def lists(self) -> tuple[str, ...]:
        """The steps up to and including the last list."""
        last = max((n + 1 for n, step in enumerate(self.steps) if step == "[]"), default=0)
        return self.steps[:last]


def parse_selector(text: str, where: str) -> Selector:
    """Parse a selector."""
    steps = tuple(_STEP.findall(text))
    if not steps or re.sub(r"[.]", "", text) != "".join(steps):
        raise ConfigError(f"{where}: {text!r} is not a path into a document", hint="write it like results[].file_path")
    return Selector(steps)


@dataclass(frozen=True, slots=True)
class SelectedRow:
    """The values of one result, in the order of the selectors; None if missing."""

    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """An item of a list, with its path and the item around it."""

    steps: tuple[str, ...]
    value: object
    outer: _Place | None


def select(document: object, fields: Sequence[Selector | None]) -> Iterator[SelectedRow]:
    """Return one row per item of the innermost list, with the values of the items around it."""
    deepest = max((field.lists for field in fields if field), key=len, default=())
    for field in fields:
        if field and deepest[: len(field.lists)] != field.lists:
            raise ConfigError(f"{field} lies in another list than {'.'.join(deepest)}", hint="lists must be nested")
    for place in _walk(_Place((), document, None), deepest):
        yield SelectedRow(tuple(_value(place, field) for field in fields))


def _walk(place: _Place, steps: tuple[str, ...]) -> Iterator[_Place]:
    if not steps:
        yield place
        return
    cut = steps.index("[]")
    items = _descend(place.value, steps[:cut], strict=True)
    if items is not None and not isinstance(items, list):
        where = ".".join((*place.steps, *steps[:cut])) or "its top"
        raise EngineError(f"the output has no list at {where}", hint=_CORRECT)
    for item in items or ():
        inner = _Place((*place.steps, *steps[: cut + 1]), item, place)
        yield from _walk(inner, steps[cut + 1 :])


def _value(place: _Place, field: Selector | None) -> object:
    if field is None:
        return None
    at: _Place | None = place
    while at is not None and at.steps != field.lists:
        at = at.outer
    return None if at is None else _descend(at.value, field.steps[len(field.lists) :], strict=False)


def _descend(value: object, steps: tuple[str, ...], *, strict: bool) -> object:
    for step in steps:
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
            continue
        if not isinstance(value, dict) or step not in value:
            if strict:
                there = ", ".join(sorted(map(str, value))[:8]) if isinstance(value, dict) else type(value).__name__
                raise EngineError(f"the output has no {step!r}; there is: {there}", hint=_CORRECT)
            return None
        value = value[step]
    return value
