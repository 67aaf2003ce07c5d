"""Filters of a search, as a table that is added to what a tool is given.

`{path}` and `{language}` stand for one value. In a list, the item that names it is repeated for each value that is
wanted: `include = ["{path}"]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.engines.templates import fill_json, names_place
from assay.errors import EngineError


def fill_filter(template: object, place: str, values: tuple[str, ...]) -> object:
    """Fill a filter with the values that are wanted."""
    if isinstance(template, Mapping):
        return {key: fill_filter(value, place, values) for key, value in template.items()}
    if isinstance(template, Sequence) and not isinstance(template, str):
        return [filled for item in template for filled in _fill_item(item, place, values)]
    if names_place(template, place) and len(values) > 1:
        raise EngineError(
            f"the {place} filter takes one value, and there are {len(values)}",
            hint=f'write it as a list where the tool takes one: ["{{{place}}}"]',
        )
    return fill_json(template, {place: values[0]})


def _fill_item(item: object, place: str, values: tuple[str, ...]) -> list[object]:
    """Fill an item of a list, once for each value where it names it."""
    if not names_place(item, place):
        return [item]
    return [fill_json(item, {place: value}) for value in values]


def merge(given: object, added: object) -> object:
    """Put a table into another, table by table; lists are joined, and else the added one holds."""
    if isinstance(given, Mapping) and isinstance(added, Mapping):
        return {**given, **{key: merge(given[key], added[key]) if key in given else added[key] for key in added}}
    if isinstance(given, list | tuple) and isinstance(added, list | tuple):
        return [*given, *added]
    return added
