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
from pathlib import Path
from urllib.parse import quote

from assay.errors import ConfigError, SetupError, closest_match

#: Have a value once a corpus is opened.
FOLDERS = ("here", "preset", "root", "store", "config")
#: Always has a value.
INTERPRETER: Mapping[str, str] = {"python": sys.executable}
#: Have a value with a query.
ASKED = ("k", "query")
#: Prefixes of placeholders with an argument.
_OUTSIDE = ("env", "python")
#: Similar to our placeholders, but used by tools in their own templates.
_TOOL_NAMES = frozenset({"path", "reset", "score", "source", "stores"})
_PLACEHOLDER = re.compile(r"\{(\w+(?::[^{}\s]*)?)\}")
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: How installers write a `#!` line that is too long for the kernel or has a blank in it.
_EXEC_LINE = re.compile(r"'''exec' (?P<program>\"[^\"]+\"|\S+) ")
_HEAD = 4_096  # bytes of a program that may hold its first two lines: no path is longer


def fill(template: str, places: Mapping[str, str]) -> str:
    """Fill the placeholders of a text; unknown ones belong to the tool and stay."""
    return _PLACEHOLDER.sub(lambda match: _text(match, places), template)


def fill_json(template: object, places: Mapping[str, object]) -> object:
    """Fill every text in tables and lists; a text that is only a placeholder becomes the value itself."""
    if isinstance(template, str):
        match = _PLACEHOLDER.fullmatch(template)
        if match is not None and match[1] in places:
            return places[match[1]]
        return _PLACEHOLDER.sub(lambda found: _text(found, places), template)
    if isinstance(template, Mapping):
        return {key: fill_json(value, places) for key, value in template.items()}
    if isinstance(template, Sequence):
        return [fill_json(value, places) for value in template]
    return template


def fill_texts(template: object, places: Mapping[str, str]) -> object:
    """Fill every text in tables and lists; the results are texts."""
    if isinstance(template, str):
        return fill(template, places)
    if isinstance(template, Mapping):
        return {key: fill_texts(value, places) for key, value in template.items()}
    return [fill_texts(value, places) for value in template] if isinstance(template, list | tuple) else template


def fill_url(template: str, places: Mapping[str, object]) -> str:
    """Fill a URL with quoted values; only a variable at its beginning is not quoted."""

    def value(match: re.Match[str]) -> str:
        text = _text(match, places)
        base = match.start() == 0 and match[1].startswith("env:")
        return text if base or text == match[0] else quote(text, safe="")

    return _PLACEHOLDER.sub(value, template)


def _text(match: re.Match[str], places: Mapping[str, object]) -> str:
    name = match[1]
    if name in places:
        return str(places[name])
    kind, colon, argument = name.partition(":")
    return _READERS[kind](argument) if colon and kind in _READERS else match[0]


def check_template(template: object, known: Sequence[str], where: str) -> None:
    """Raise ConfigError for a placeholder that looks misspelled or has no value here."""
    for name in _names(template):
        kind, colon, argument = name.partition(":")
        if colon and kind in _OUTSIDE:
            _check_argument(kind, argument, where)
        elif name not in known and _resembles(kind, (*known, *FOLDERS, *ASKED, *(_OUTSIDE if colon else ()))):
            shown = [*sorted(known), "env:NAME", "python:PROGRAM"]
            raise ConfigError(
                f"{where} has {{{name}}}", hint=f"placeholders: {', '.join(f'{{{place}}}' for place in shown)}"
            )


def _resembles(name: str, places: Sequence[str]) -> bool:
    return name not in _TOOL_NAMES and bool(closest_match(name, places))


def _check_argument(kind: str, argument: str, where: str) -> None:
    fits = _VARIABLE.fullmatch(argument) if kind == "env" else argument
    if not fits:
        example = "{env:MY_TOKEN}" if kind == "env" else "{python:semble}"
        raise ConfigError(f"{where} has {{{kind}:{argument}}}", hint=f"write it like {example}")


def named_secrets(template: object) -> tuple[str, ...]:
    """Return the values of all variables that a template names; raise ConfigError if one is not set."""
    names = dict.fromkeys(name[4:] for name in _names(template) if name.startswith("env:"))
    return tuple(_read_variable(name) for name in names)


def names_place(template: object, place: str) -> bool:
    """Return whether a template has a placeholder."""
    return place in _names(template)


def remove_places(text: str) -> str:
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
