"""INI: configparser says what stands there; every value is a text."""

from __future__ import annotations

import configparser
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.engines.configs.paths import Path, Tree
from assay.engines.configs.spots import TextEdit, TextSpan, apply, break_of, line_end

_HEADER = re.compile(r"\[(?P<name>.+)\]")
_SIGN = re.compile(r"\s*[=:][ \t]*")


class _Names(configparser.RawConfigParser):
    """A parser that leaves names as they are."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def parse(text: str) -> Tree:
    """Read INI: sections with texts; DEFAULT is a section like any other."""
    parser = _Names(default_section="\0", allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error as problem:
        raise ValueError(" ".join(str(problem).split())) from problem
    return {section: dict(parser.items(section)) for section in parser.sections()}


def fit(tree: Tree, path: Path) -> Path:
    """Split a key into section and option; both may have dots of their own."""
    ways = [(".".join(path[:cut]), ".".join(path[cut:])) for cut in range(1, len(path))]
    known = [way for way in ways if way[1] in tree.get(way[0], {})] + [way for way in ways if way[0] in tree]
    return known[0] if known else ways[-1] if ways else path


def value(given: object) -> object:
    """Give a value as it is read back."""
    if isinstance(given, list | dict) or given is None:
        raise ValueError("INI has texts, numbers, true and false")
    return str(given).lower() if isinstance(given, bool) else str(given)


def edited(text: str, tree: Tree, changes: Mapping[Path, object]) -> str:
    """Replace values where they stand; what is new goes below the header of its section."""
    spots, headers = _look(text)
    glue, made, appended = break_of(text), [], ""
    for path, new in changes.items():
        said = str(new).replace("\n", f"{glue}\t")
        if path in spots:
            made.append(TextEdit(spots[path].at, f"{spots[path].before}{said}"))
        elif path[0] in headers:
            end = headers[path[0]]
            made.append(TextEdit(TextSpan(end, end), f"{glue}{path[1]} = {said}"))
        else:
            known = path[0] in tree or f"[{path[0]}]" in appended
            appended += f"{'' if known else f'{glue}[{path[0]}]{glue}'}{path[1]} = {said}{glue}"
    text = apply(text, made)
    return text + (glue if appended and text and not text.endswith("\n") else "") + appended


@dataclass(frozen=True, slots=True)
class _Value:
    """Where a value stands, and the sign before it where there is none yet."""

    at: TextSpan
    before: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that says something."""

    start: int
    text: str

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())


def _look(text: str) -> tuple[dict[Path, _Value], dict[str, int]]:
    spots: dict[Path, _Value] = {}
    headers: dict[str, int] = {}
    section, option, indent = "", "", 0
    for line in _lines(text):
        stripped = line.text.strip()
        if option and line.indent > indent:
            old = spots[section, option]
            spots[section, option] = _Value(TextSpan(old.at.start, line.start + len(line.text.rstrip())), old.before)
        elif header := _HEADER.match(stripped):
            section, option, indent = header["name"], "", line.indent
            headers[section] = line_end(text, line.start)
        else:
            option, indent = re.split(r"\s*[=:]|\s*$", stripped, maxsplit=1)[0], line.indent
            spots[section, option] = _value(line, option)
    return spots, headers


def _value(line: _Line, option: str) -> _Value:
    name_end = line.indent + len(option)
    sign = _SIGN.match(line.text, name_end)
    start = sign.end() if sign else name_end
    end = max(start, len(line.text.rstrip()))
    return _Value(TextSpan(line.start + start, line.start + end), "" if sign else " = ")


def _lines(text: str) -> Iterator[_Line]:
    position = 0
    for line in io.StringIO(text, newline="\n"):  # as configparser reads them
        if line.strip() and not line.strip().startswith(("#", ";")):
            yield _Line(position, line.rstrip("\r\n"))
        position += len(line)
