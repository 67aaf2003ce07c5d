"""Search filters as arguments of a command, or as a table that is added to a request.

`{path}` and `{language}` stand for one value. In a list, the item with the placeholder is repeated for each value:
`include = ["{path}"]`. Arguments of a command are repeated as a whole.
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
class Filters:
    """The filters of a tool."""

    paths: Template = field(default_factory=dict)
    languages: Template = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The fields of `SearchFilter` that are supported."""
        named = {"paths": self.paths, "languages": self.languages}
        return frozenset(name for name, template in named.items() if template)

    def table(self, wanted: SearchFilter, places: Mapping[str, object], *, flat: bool = False) -> dict[str, object]:
        """Return what is added to a request; in a flat one, such as a form, a key may have several values."""
        table: object = {}
        for template, place, values in self._used(wanted):
            lists = {
                key: [value] if flat and isinstance(value, str) and names_place(value, place) else value
                for key, value in cast("Mapping[str, object]", template).items()
            }
            table = merge(table, fill_filter(lists, place, values, places))
        return cast(dict[str, object], table)

    def arguments(self, wanted: SearchFilter, places: Mapping[str, str]) -> tuple[str, ...]:
        """Return the arguments that are added to a command, once per value."""
        return tuple(
            fill(part, {**places, place: value})
            for template, place, values in self._used(wanted)
            for value in values
            for part in cast("tuple[str, ...]", template)
        )

    def recorded(self) -> dict[str, object]:
        """Return the filters for the records."""
        named = {"path_filter": self.paths, "language_filter": self.languages}
        return {name: one if isinstance(one, Mapping) else list(one) for name, one in named.items() if one}

    def _used(self, wanted: SearchFilter) -> Iterator[tuple[Template, str, tuple[str, ...]]]:
        both = ((self.paths, "path", wanted.paths), (self.languages, "language", wanted.languages))
        return (one for one in both if one[0] and one[2])


def read_filters(paths: Template, languages: Template, known: Sequence[str], where: str) -> Filters:
    """Check the placeholders of filters; each needs its own."""
    for name, template, place in (("path_filter", paths, "path"), ("language_filter", languages, "language")):
        check_template(template, (*known, place), f"{where}: {name}")
        if template and not names_place(template, place):
            raise ConfigError(f"{where}: {name} has no {{{place}}}", hint=f"put {{{place}}} where the value goes")
    return Filters(paths, languages)


def fill_filter(
    template: object, place: str, values: tuple[str, ...], places: Mapping[str, object] | None = None
) -> object:
    """Fill a filter with values and other placeholders."""
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


def merge(given: object, added: object) -> object:
    """Merge tables recursively; lists are joined, other values are replaced."""
    if isinstance(given, Mapping) and isinstance(added, Mapping):
        return {**given, **{key: merge(given[key], added[key]) if key in given else added[key] for key in added}}
    if isinstance(given, list | tuple) and isinstance(added, list | tuple):
        return [*given, *added]
    return added
