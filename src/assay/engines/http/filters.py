"""Asking for a part of the corpus: what is added to a query for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from assay.engines.base import Wanted
from assay.engines.http.settings import Settings
from assay.engines.templates import fill_json, names_place
from assay.errors import EngineError


@dataclass(frozen=True, slots=True)
class _Filter:
    """A declared filter with what is wanted of it."""

    template: Mapping[str, object]
    place: str
    values: tuple[str, ...]


def declared_filters(settings: Settings) -> frozenset[str]:
    """Name the fields of `Wanted` that can be asked for."""
    tables = {"paths": settings.path_filter, "languages": settings.language_filter}
    return frozenset(name for name, table in tables.items() if table)


def wanted_table(settings: Settings, wanted: Wanted) -> dict[str, object]:
    """Fill the filters in: what is to be added to the body of a query, or to its address where it has none."""
    filters = (
        _Filter(settings.path_filter, "path", wanted.paths),
        _Filter(settings.language_filter, "language", wanted.languages),
    )
    table: object = {}
    for one in (one for one in filters if one.values):
        flat = settings.body is None or settings.form
        table = merge(table, _fill(_listed(one) if flat else one.template, one))
    return cast(dict[str, object], table)


def merge(body: object, added: object) -> object:
    """Put a table into another, table by table; lists are joined, and else the added one holds."""
    if isinstance(body, Mapping) and isinstance(added, Mapping):
        return {**body, **{key: merge(body[key], added[key]) if key in body else added[key] for key in added}}
    if isinstance(body, list | tuple) and isinstance(added, list | tuple):
        return [*body, *added]
    return added


def _listed(wanted: _Filter) -> dict[str, object]:
    """Make lists of the parameters that name a value: they may stand there once for each."""
    named = {key for key, value in wanted.template.items() if names_place(value, wanted.place)}
    return {
        key: [value] if key in named and isinstance(value, str) else value for key, value in wanted.template.items()
    }


def _fill(template: object, wanted: _Filter) -> object:
    """Fill a filter; an item of a list is repeated for each value."""
    if isinstance(template, Mapping):
        return {key: _fill(value, wanted) for key, value in template.items()}
    if isinstance(template, Sequence) and not isinstance(template, str):
        return [filled for item in template for filled in _fill_item(item, wanted)]
    return _fill_one(template, wanted)


def _fill_item(item: object, wanted: _Filter) -> list[object]:
    """Fill an item of a list, once for each value where it names it."""
    if not names_place(item, wanted.place):
        return [item]
    return [fill_json(item, {wanted.place: value}) for value in wanted.values]


def _fill_one(template: object, wanted: _Filter) -> object:
    """Fill a place that has room for one value."""
    if names_place(template, wanted.place) and len(wanted.values) > 1:
        raise EngineError(
            f"the {wanted.place} filter takes one value, and there are {len(wanted.values)}",
            hint=f'write it as a list where the API takes one: ["{{{wanted.place}}}"]',
        )
    return fill_json(template, {wanted.place: wanted.values[0]})
