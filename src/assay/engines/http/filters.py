"""Asking for a part of the corpus: what is added to a query for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from assay.engines.base import Wanted
from assay.engines.filtering import fill_filter, merge
from assay.engines.http.settings import Settings
from assay.engines.templates import names_place


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
        table = merge(table, fill_filter(_listed(one) if flat else one.template, one.place, one.values))
    return cast(dict[str, object], table)


def _listed(wanted: _Filter) -> dict[str, object]:
    """Make lists of the parameters that name a value: they may stand there once for each."""
    named = {key for key, value in wanted.template.items() if names_place(value, wanted.place)}
    return {
        key: [value] if key in named and isinstance(value, str) else value for key, value in wanted.template.items()
    }
