"""Paths into a JSON document: `results[].file_path`, `[].path`, `data.items[].lines.start`, `[].range.0`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.errors import ConfigError, EngineError

_CORRECT = "correct path, start, end and score to what the tool prints"
_STEP = re.compile(r"\[\]|[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Selector:
    """Steps from the document to a value; `[]` is every item of a list."""

    steps: tuple[str, ...]

    def __str__(self) -> str:
        return re.sub(r"\.\[\]", "[]", ".".join(self.steps))

    @property
    def lists(self) -> tuple[str, ...]:
        """The steps up to and including the last list."""
        last = max((n + 1 for n, step in enumerate(self.steps) if step == "[]"), default=0)
        return self.steps[:last]


def parse_selector(text: str, where: str) -> Selector:
    """Read a selector."""
    steps = tuple(_STEP.findall(text))
    if not steps or re.sub(r"[.]", "", text) != "".join(steps):
        raise ConfigError(f"{where}: {text!r} is no path into a document", hint="write it like results[].file_path")
    return Selector(steps)


@dataclass(frozen=True, slots=True)
class Row:
    """The values of one result, in the order of the selectors; None where there is none."""

    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """An item of a list, with the steps that led there and what it lies in."""

    steps: tuple[str, ...]
    value: object
    outer: _Place | None


def select(document: object, fields: Sequence[Selector | None]) -> Iterator[Row]:
    """Give one row for each item of the innermost list; a field of an outer list is the same for all inside it."""
    deepest = max((field.lists for field in fields if field), key=len, default=())
    for field in fields:
        if field and deepest[: len(field.lists)] != field.lists:
            raise ConfigError(f"{field} lies in another list than {'.'.join(deepest)}", hint="lists must be nested")
    for place in _walk(_Place((), document, None), deepest):
        yield Row(tuple(_value(place, field) for field in fields))


def _walk(place: _Place, steps: tuple[str, ...]) -> Iterator[_Place]:
    """Go down to the items of the innermost list."""
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
    """Look a field up in the item of its own list."""
    if field is None:
        return None
    at: _Place | None = place
    while at is not None and at.steps != field.lists:
        at = at.outer
    return None if at is None else _descend(at.value, field.steps[len(field.lists) :], strict=False)


def _descend(value: object, steps: tuple[str, ...], *, strict: bool) -> object:
    """Follow keys, and numbers into lists; where one is missing give None, or say so."""
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
