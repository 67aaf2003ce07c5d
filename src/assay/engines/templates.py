"""Templates with `{placeholders}`, filled in a single pass, so that braces in a query are kept.

{query} and {k} belong to the query; {root}, {here}, {store} and {preset} are directories; {config} is a file that was
rendered for the engine; {path} and {language} are for filters. `{env:NAME}` is an environment variable and a secret: it
is never recorded. `{python:PROGRAM}` is the interpreter of an installed PROGRAM, so that a driver can import its
packages; `{python}` is the interpreter that runs Assay.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from assay.errors import ConfigError, EngineError, SetupError, closest_match

if TYPE_CHECKING:
    from assay.engines.base import SearchFilter

#: Have a value once a corpus is opened.
PATH_PLACEHOLDERS = ("here", "preset", "root", "store", "config")
#: Always has a value.
INTERPRETER: Mapping[str, str] = {"python": sys.executable}
#: Have a value with a query.
QUERY_PLACEHOLDERS = ("k", "query")
#: Prefixes of placeholders with an argument.
_OUTSIDE = ("env", "python")
#: Similar to our placeholders, but used by tools in their own templates.
_TOOL_NAMES = frozenset({"path", "reset", "score", "source", "stores"})
_PLACEHOLDER = re.compile(r"\{(\w+(?::[^{}\s]*)?)\}")
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: How installers write a `#!` line that is too long for the kernel or has a blank in it.
_EXEC_LINE = re.compile(r"'''exec' (?P<program>\"[^\"]+\"|\S+) ")
_HEAD = 4_096  # bytes of a program that may hold its first two lines: no path is longer


def fill(template: str, placeholders: Mapping[str, str]) -> str:
    """Fill the placeholders of a text; unknown ones belong to the tool and stay."""
    return _PLACEHOLDER.sub(lambda match: _text(match, placeholders), template)


def fill_json(template: object, placeholders: Mapping[str, object]) -> object:
    """Fill every text in tables and lists; a text that is only a placeholder becomes the value itself."""
    if isinstance(template, str):
        match = _PLACEHOLDER.fullmatch(template)
        if match is not None and match[1] in placeholders:
            return placeholders[match[1]]
        return _PLACEHOLDER.sub(lambda found: _text(found, placeholders), template)
    if isinstance(template, Mapping):
        return {key: fill_json(value, placeholders) for key, value in template.items()}
    if isinstance(template, Sequence):
        return [fill_json(value, placeholders) for value in template]
    return template


def fill_url(template: str, placeholders: Mapping[str, object]) -> str:
    """Fill a URL with quoted values; only a variable at its beginning is not quoted."""

    def value(match: re.Match[str]) -> str:
        text = _text(match, placeholders)
        base = match.start() == 0 and match[1].startswith("env:")
        return text if base or text == match[0] else quote(text, safe="")

    return _PLACEHOLDER.sub(value, template)


def _text(match: re.Match[str], placeholders: Mapping[str, object]) -> str:
    name = match[1]
    if name in placeholders:
        return str(placeholders[name])
    kind, colon, argument = name.partition(":")
    return _READERS[kind](argument) if colon and kind in _READERS else match[0]


def check_template(template: object, known: Sequence[str], where: str) -> None:
    """Raise ConfigError for a placeholder that looks misspelled or has no value here."""
    for name in _names(template):
        kind, colon, argument = name.partition(":")
        if colon and kind in _OUTSIDE:
            _check_argument(kind, argument, where)
        elif name not in known and _resembles(
            kind, (*known, *PATH_PLACEHOLDERS, *QUERY_PLACEHOLDERS, *(_OUTSIDE if colon else ()))
        ):
            shown = [*sorted(known), "env:NAME", "python:PROGRAM"]
            raise ConfigError(
                f"{where} has {{{name}}}", hint=f"placeholders: {', '.join(f'{{{place}}}' for place in shown)}"
            )


def _resembles(name: str, placeholders: Sequence[str]) -> bool:
    return name not in _TOOL_NAMES and bool(closest_match(name, placeholders))


def _check_argument(kind: str, argument: str, where: str) -> None:
    fits = _VARIABLE.fullmatch(argument) if kind == "env" else argument
    if not fits:
        example = "{env:MY_TOKEN}" if kind == "env" else "{python:semble}"
        raise ConfigError(f"{where} has {{{kind}:{argument}}}", hint=f"write it like {example}")


def named_secrets(template: object) -> tuple[str, ...]:
    """Return the values of all variables that a template names; raise ConfigError if one is not set."""
    names = dict.fromkeys(name[4:] for name in _names(template) if name.startswith("env:"))
    return tuple(_read_variable(name) for name in names)


def has_placeholder(template: object, place: str) -> bool:
    """Return whether a template has a placeholder."""
    return place in _names(template)


def strip_placeholders(text: str) -> str:
    """Remove placeholders from a text."""
    return _PLACEHOLDER.sub("", text)


def _names(template: object) -> Iterator[str]:
    if isinstance(template, str):
        yield from _PLACEHOLDER.findall(template)
    elif isinstance(template, Mapping):
        for value in template.values():
            yield from _names(value)
    elif isinstance(template, Sequence):
        for value in template:
            yield from _names(value)


def _read_variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ConfigError(f"the variable {name} is not set", hint=f"export {name}=... before you run Assay")
    return value


def find_python(program: str) -> str:
    """Return the interpreter in the `#!` line of a program on the PATH."""
    path = shutil.which(program)
    if path is None:
        raise SetupError(f"no program {program}", hint="install it, or put its folder on the PATH")
    with Path(path).open("rb") as file:
        first, _, second = file.read(_HEAD).decode("utf-8", "replace").partition("\n")
    interpreter = _interpreter(first, second)
    if interpreter is None:
        raise SetupError(
            f"{path} does not begin with a Python: {first[:40]!r}",
            hint=f"name the interpreter of {program} by its path",
        )
    return interpreter


def _interpreter(first: str, second: str) -> str | None:
    if not first.startswith("#!"):
        return None
    line = _EXEC_LINE.match(second)
    words = shlex.split(line["program"]) if line and first.strip() == "#!/bin/sh" else first[2:].split()
    if len(words) > 1 and words[0].endswith("/env"):
        words = [shutil.which(words[-1]) or ""]
    return words[0] if words and "python" in words[0].rpartition("/")[2] else None


_READERS: Mapping[str, Callable[[str], str]] = {"env": _read_variable, "python": find_python}


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

    def table(
        self, wanted: SearchFilter, placeholders: Mapping[str, object], *, flat: bool = False
    ) -> dict[str, object]:
        """Return what is added to a request; in a flat one, such as a form, a key may have several values."""
        table: object = {}
        for template, place, values in self._used(wanted):
            lists = {
                key: [value] if flat and isinstance(value, str) and has_placeholder(value, place) else value
                for key, value in cast("Mapping[str, object]", template).items()
            }
            table = merge(table, fill_filter(lists, place, values, placeholders))
        return cast(dict[str, object], table)

    def arguments(self, wanted: SearchFilter, placeholders: Mapping[str, str]) -> tuple[str, ...]:
        """Return the arguments that are added to a command, once per value."""
        return tuple(
            fill(part, {**placeholders, place: value})
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


def make_filters(paths: Template, languages: Template, known: Sequence[str], where: str) -> Filters:
    """Check the placeholders of filters; each needs its own."""
    for name, template, place in (("path_filter", paths, "path"), ("language_filter", languages, "language")):
        check_template(template, (*known, place), f"{where}: {name}")
        if template and not has_placeholder(template, place):
            raise ConfigError(f"{where}: {name} has no {{{place}}}", hint=f"put {{{place}}} where the value goes")
    return Filters(paths, languages)


def fill_filter(
    template: object, place: str, values: tuple[str, ...], placeholders: Mapping[str, object] | None = None
) -> object:
    """Fill a filter with values and other placeholders."""
    if isinstance(template, Mapping):
        return {key: fill_filter(value, place, values, placeholders) for key, value in template.items()}
    if isinstance(template, Sequence) and not isinstance(template, str):
        return [filled for item in template for filled in _fill_item(item, place, values, placeholders)]
    if has_placeholder(template, place) and len(values) > 1:
        raise EngineError(
            f"the {place} filter takes one value, and there are {len(values)}",
            hint=f'write it as a list where the tool takes one: ["{{{place}}}"]',
        )
    return fill_json(template, {**(placeholders or {}), place: values[0]})


def _fill_item(
    item: object, place: str, values: tuple[str, ...], placeholders: Mapping[str, object] | None
) -> list[object]:
    wanted = values if has_placeholder(item, place) else values[:1]
    return [fill_json(item, {**(placeholders or {}), place: value}) for value in wanted]


def merge(given: object, added: object) -> object:
    """Merge tables recursively; lists are joined, other values are replaced."""
    if isinstance(given, Mapping) and isinstance(added, Mapping):
        return {**given, **{key: merge(given[key], added[key]) if key in given else added[key] for key in added}}
    if isinstance(given, list | tuple) and isinstance(added, list | tuple):
        return [*given, *added]
    return added
