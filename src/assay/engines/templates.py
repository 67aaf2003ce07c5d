"""Templates with `{placeholders}`, filled in a single pass so that braces in a query are preserved.

- `{query}` and `{k}`: the query and the maximum number of results
- `{root}`, `{here}`, `{store}`, `{preset}`: directories; `{config}`: the configuration file rendered for the engine
- `{path}` and `{language}`: one value of a search filter
- `{env:NAME}`: an environment variable, treated as a secret and never recorded
- `{python}`: the interpreter that runs Assay; `{python:PROGRAM}`: the interpreter of an installed program, so that a
  script can import the packages of the program
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

PATH_PLACEHOLDERS = ("here", "preset", "root", "store", "config")
QUERY_PLACEHOLDERS = ("k", "query")
INTERPRETER: Mapping[str, str] = {"python": sys.executable}
_PREFIXES = ("env", "python")
#: Placeholders of other tools that resemble those of Assay.
_TOOL_NAMES = frozenset({"path", "reset", "score", "source", "stores"})
_PLACEHOLDER = re.compile(r"\{(\w+(?::[^{}\s]*)?)\}")
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: Second line of a script whose interpreter path is too long for a `#!` line or contains a space.
_EXEC_LINE = re.compile(r"'''exec' (?P<program>\"[^\"]+\"|\S+) ")
_HEAD_BYTES = 4_096  # PATH_MAX on Linux, enough for the first two lines


def fill(template: str, values: Mapping[str, object]) -> str:
    """Fill the placeholders in a string; keep unknown ones, which may belong to the tool."""
    return _PLACEHOLDER.sub(lambda match: _value_text(match, values), template)


def fill_json(template: object, values: Mapping[str, object]) -> object:
    """Fill every string in tables and lists; a string that is only a placeholder becomes the value itself."""
    if isinstance(template, str):
        match = _PLACEHOLDER.fullmatch(template)
        return values[match[1]] if match and match[1] in values else fill(template, values)
    if isinstance(template, Mapping):
        return {key: fill_json(value, values) for key, value in template.items()}
    if isinstance(template, Sequence):
        return [fill_json(value, values) for value in template]
    return template


def fill_url(template: str, values: Mapping[str, object]) -> str:
    """Fill a URL with percent-encoded values; only the value of an {env:NAME} at the start is not encoded."""

    def encode(match: re.Match[str]) -> str:
        text = _value_text(match, values)
        is_base = match.start() == 0 and match[1].startswith("env:")
        return text if is_base or text == match[0] else quote(text, safe="")

    return _PLACEHOLDER.sub(encode, template)


def _value_text(match: re.Match[str], values: Mapping[str, object]) -> str:
    name = match[1]
    if name in values:
        return str(values[name])
    prefix, colon, argument = name.partition(":")
    return _READERS[prefix](argument) if colon and prefix in _READERS else match[0]


def check_template(template: object, known: Sequence[str], where: str, key: str) -> None:
    """Raise ConfigError for a placeholder that is misspelled or unavailable in the setting `key`."""
    for name in _names(template):
        prefix, colon, argument = name.partition(":")
        if colon and prefix in _PREFIXES:
            if not (_VARIABLE.fullmatch(argument) if prefix == "env" else argument):
                example = "{env:MY_TOKEN}" if prefix == "env" else "{python:semble}"
                message = f"{where}: {key}: invalid placeholder {{{name}}}"
                raise ConfigError(message, hint=f"use a name, such as {example}", keys=[key])
            continue
        candidates = (*known, *PATH_PLACEHOLDERS, *QUERY_PLACEHOLDERS, *(_PREFIXES if colon else ()))
        if name not in known and prefix not in _TOOL_NAMES and closest_match(prefix, candidates):
            shown = [*sorted(known), "env:NAME", "python:PROGRAM"]
            is_known = name in PATH_PLACEHOLDERS or name in QUERY_PLACEHOLDERS
            problem = f"placeholder {{{name}}} cannot be used here" if is_known else f"unknown placeholder {{{name}}}"
            placeholders = ", ".join(f"{{{placeholder}}}" for placeholder in shown)
            raise ConfigError(f"{where}: {key}: {problem}", hint=f"use {placeholders}", keys=[key])


def named_secrets(template: object) -> tuple[str, ...]:
    """Return the values of the environment variables in a template; raise ConfigError if a variable is not set."""
    names = dict.fromkeys(name[4:] for name in _names(template) if name.startswith("env:"))
    return tuple(_read_variable(name) for name in names)


def has_placeholder(template: object, name: str) -> bool:
    return name in _names(template)


def strip_placeholders(text: str) -> str:
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
        raise ConfigError(f"environment variable {name} is not set", hint=f"export {name}=...")
    return value


def find_python(program: str) -> str:
    """Return the interpreter of a Python script on the PATH, from its `#!` line; raise SetupError if there is none."""
    path = shutil.which(program)
    if path is None:
        raise SetupError(f"program {program} not found", hint=f"install {program}, or add its directory to PATH")
    with Path(path).open("rb") as file:
        first, _, second = file.read(_HEAD_BYTES).decode("utf-8", "replace").partition("\n")
    words: list[str] = []
    if first.startswith("#!"):
        line = _EXEC_LINE.match(second)
        words = shlex.split(line["program"]) if line and first.strip() == "#!/bin/sh" else first[2:].split()
        if len(words) > 1 and words[0].endswith("/env"):
            words = [shutil.which(words[-1]) or ""]
    if not words or "python" not in os.path.basename(words[0]):
        raise SetupError(
            f"{path} is not a Python script: its first line is {first[:40]!r}",
            hint=f"use the path of the interpreter of {program} instead of {{python:{program}}}",
        )
    return words[0]


_READERS: Mapping[str, Callable[[str], str]] = {"env": _read_variable, "python": find_python}


# ---------------------------------------------------------------------------------------------- filters

FilterTemplate = tuple[str, ...] | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Filters:
    """Filter templates: command arguments to repeat for each value, or tables to merge into a request.

    In a list inside a table, the item with the placeholder is repeated for each value: `include = ["{path}"]`.
    """

    paths: FilterTemplate = field(default_factory=dict)
    languages: FilterTemplate = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name in ("paths", "languages") if getattr(self, name))

    def table(self, wanted: SearchFilter, values: Mapping[str, object], *, flat: bool = False) -> dict[str, object]:
        """Return the table to merge into a request; in a flat table, such as a form, a key may have several values."""
        table: object = {}
        for template, name, selected in self._used(wanted):
            lists = {
                key: [value] if flat and isinstance(value, str) and has_placeholder(value, name) else value
                for key, value in cast("Mapping[str, object]", template).items()
            }
            table = merge(table, _fill_filter(lists, name, selected, values))
        return cast(dict[str, object], table)

    def arguments(self, wanted: SearchFilter, values: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(
            fill(part, {**values, name: value})
            for template, name, selected in self._used(wanted)
            for value in selected
            for part in cast("tuple[str, ...]", template)
        )

    def recorded(self) -> dict[str, object]:
        templates = {"path_filter": self.paths, "language_filter": self.languages}
        used = {name: template for name, template in templates.items() if template}
        return {name: template if isinstance(template, Mapping) else list(template) for name, template in used.items()}

    def _used(self, wanted: SearchFilter) -> Iterator[tuple[FilterTemplate, str, tuple[str, ...]]]:
        both = ((self.paths, "path", wanted.paths), (self.languages, "language", wanted.languages))
        return (entry for entry in both if entry[0] and entry[2])


def make_filters(paths: FilterTemplate, languages: FilterTemplate, known: Sequence[str], where: str) -> Filters:
    """Return the filters; raise ConfigError if a template has unknown placeholders, or lacks {path} or {language}."""
    for name, template, value in (("path_filter", paths, "path"), ("language_filter", languages, "language")):
        check_template(template, (*known, value), where, name)
        if template and not has_placeholder(template, value):
            hint = f"add {{{value}}} where the value belongs"
            raise ConfigError(f"{where}: {name} has no {{{value}}}", hint=hint, keys=[name])
    return Filters(paths, languages)


def _fill_filter(template: object, name: str, selected: tuple[str, ...], values: Mapping[str, object]) -> object:
    if isinstance(template, Mapping):
        return {key: _fill_filter(value, name, selected, values) for key, value in template.items()}
    if isinstance(template, Sequence) and not isinstance(template, str):
        return [
            fill_json(item, {**values, name: value})
            for item in template
            for value in (selected if has_placeholder(item, name) else selected[:1])
        ]
    if has_placeholder(template, name) and len(selected) > 1:
        raise EngineError(
            f"the {name} filter takes one value, got {len(selected)}",
            hint=f'use one value or, if the tool accepts a list, write ["{{{name}}}"]',
        )
    return fill_json(template, {**values, name: selected[0]})


def merge(base: object, added: object) -> object:
    """Merge tables recursively; join lists and replace other values."""
    if isinstance(base, Mapping) and isinstance(added, Mapping):
        return {**base, **{key: merge(base[key], added[key]) if key in base else added[key] for key in added}}
    if isinstance(base, list | tuple) and isinstance(added, list | tuple):
        return [*base, *added]
    return added
