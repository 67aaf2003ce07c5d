"""Filters of a search, as arguments or as a table that is added to what a tool is given.

`{path}` and `{language}` stand for one value. In a list, the item that names it is repeated for each value that is
wanted: `include = ["{path}"]`. Arguments of a command are repeated as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from assay.engines.base import SearchFilter
from assay.engines.templates import check_template, fill, fill_json, names_place
from assay.errors import ConfigError, EngineError

Template = tuple[str, ...] | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Filter:
    """A filter that is declared, with what is wanted of it."""

    template: Template
    place: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters that are declared for a tool."""

    paths: Template = field(default_factory=dict)
    languages: Template = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The fields of `SearchFilter` that it can be asked for."""
        named = {"paths": self.paths, "languages": self.languages}
        return frozenset(name for name, template in named.items() if template)

    def table(self, wanted: SearchFilter, places: Mapping[str, object], *, flat: bool = False) -> dict[str, object]:
        """Fill in what is added to a table; in a flat one, like a form, a value may stand there several times."""
        table: object = {}
        for one in self._asked(wanted):
            template = _listed(one) if flat else one.template
            table = merge(table, fill_filter(template, one.place, one.values, places))
        return cast(dict[str, object], table)

    def arguments(self, wanted: SearchFilter, places: Mapping[str, str]) -> tuple[str, ...]:
        """Fill in what is added to a command, once for each value."""
        return tuple(
            fill(part, {**places, one.place: value})
            for one in self._asked(wanted)
            for value in one.values
            for part in cast("tuple[str, ...]", one.template)
        )

    def recorded(self) -> dict[str, object]:
        """Write down what is declared, as JSON has it."""
        named = {"path_filter": self.paths, "language_filter": self.languages}
        return {name: one if isinstance(one, Mapping) else list(one) for name, one in named.items() if one}

    def _asked(self, wanted: SearchFilter) -> Iterator[_Filter]:
        both = (_Filter(self.paths, "path", wanted.paths), _Filter(self.languages, "language", wanted.languages))
        return (one for one in both if one.template and one.values)


def read_filters(paths: Template, languages: Template, known: Sequence[str], where: str) -> Filters:
    """Check filters: misspelt placeholders, and a filter without the place of its value."""
    for name, template, place in (("path_filter", paths, "path"), ("language_filter", languages, "language")):
        check_template(template, (*known, place), f"{where}: {name}")
        if template and not names_place(template, place):
            raise ConfigError(f"{where}: {name} has no {{{place}}}", hint=f"put {{{place}}} where the value goes")
    return Filters(paths, languages)


def fill_filter(
    template: object, place: str, values: tuple[str, ...], places: Mapping[str, object] | None = None
) -> object:
    """Fill a filter with the values that are wanted, and with what else is known."""
    if isinstance(template, Mapping):
        return {key: fill_filter(value, place, values, places) for key, value in template.items()}
    if isinstance(template, Sequence) and not isinstance(template, str):
        return [filled for item in template for filled in _fill_item(item, place, values, places)]
    if names_place(template, place) and len(values) > 1:
        raise EngineError(
            f"the {place} filter takes one value, and there are {len(values)}",
            hint=f'write it as a list where the tool takes one: ["{{{place}}}"]',
        )
    return fill_json(template, {**(places or {}), place: values[0]})


def _fill_item(item: object, place: str, values: tuple[str, ...], places: Mapping[str, object] | None) -> list[object]:
    wanted = values if names_place(item, place) else values[:1]
    return [fill_json(item, {**(places or {}), place: value}) for value in wanted]


def _listed(wanted: _Filter) -> dict[str, object]:
    template = cast("Mapping[str, object]", wanted.template)
    return {
        key: [value] if isinstance(value, str) and names_place(value, wanted.place) else value
        for key, value in template.items()
    }


def merge(given: object, added: object) -> object:
    """Put a table into another, table by table; lists are joined, and else the added one holds."""
    if isinstance(given, Mapping) and isinstance(added, Mapping):
        return {**given, **{key: merge(given[key], added[key]) if key in given else added[key] for key in added}}
    if isinstance(given, list | tuple) and isinstance(added, list | tuple):
        return [*given, *added]
    return added
