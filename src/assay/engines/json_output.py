from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce

from assay.errors import ConfigError, EngineError

# ECMA-48: control sequences, operating system commands (hyperlinks) and the remaining two-character sequences.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OPENING = re.compile(r"[{\[]")
_LINE_OPENING = re.compile(r"^[ \t]*[{\[]", re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t]*$", re.MULTILINE)
# The start of broken JSON; `[INFO]` and `[1/3]` are log output.
_BROKEN = re.compile(r"\{|\[\s*(?:[{\[\"]|$)")
_DECODER = json.JSONDecoder()
_MAX_ATTEMPTS = 1_000  # maximum failed starts of a document, because each parses the rest of the text
_SHOWN = 60  # characters of non-JSON text that a message quotes
_SHOWN_KEYS = 8


@dataclass(frozen=True, slots=True)
class Documents:
    values: tuple[object, ...]
    other_lines: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        if not self.other_lines:
            return ()
        count = len(self.other_lines)
        return (f"ignored {count} non-JSON {'line' if count == 1 else 'lines'}: {self.other_lines[0][:_SHOWN]!r}",)


def clean(data: bytes | str) -> str:
    """Decode an output, remove escape sequences and outer whitespace, and convert carriage returns to line breaks."""
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    return strip_ansi(text).replace("\r\n", "\n").replace("\r", "\n").strip("\ufeff \t\n\x00")


def strip_ansi(text: str) -> str:
    return _ANSI.sub("", text) if "\x1b" in text else text


def parse_json(text: str) -> Documents:
    try:
        return Documents((json.loads(text),))
    except RecursionError as error:
        raise ValueError("the document is nested too deeply") from error


def parse_json_lines(text: str) -> Documents:
    """Parse JSON lines and collect other lines; raise ValueError for broken JSON or non-empty text without JSON."""
    values, other = list[object](), list[str]()
    for line in filter(None, map(str.strip, text.split("\n"))):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            other.append(line)
    return _check(Documents(tuple(values), tuple(other)))


def find_documents(text: str, *, anywhere: bool) -> Documents:
    """Find JSON documents that fill whole lines or, with `anywhere`, end a line; raise ValueError for invalid JSON."""
    values, other, at = list[object](), list[str](), 0
    position = failures = 0
    opening = _OPENING if anywhere else _LINE_OPENING
    while failures < _MAX_ATTEMPTS and (match := opening.search(text, position)):
        start = match.end() - 1
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = -1
        if end > 0 and _REST_OF_LINE.match(text, end):
            other += text[at:start].split("\n")
            values.append(value)
            at = position = end
        else:
            failures += 1
            position = match.end()
    other += text[at:].split("\n")
    if any(line.count("{") > line.count("}") or line.count("[") > line.count("]") for line in other):
        raise ValueError("a JSON document is truncated or invalid")
    return _check(Documents(tuple(values), tuple(filter(None, map(str.strip, other)))))


def _check(documents: Documents) -> Documents:
    broken = next(filter(_BROKEN.match, documents.other_lines), None)
    if broken is not None:
        raise ValueError(f"a JSON document is truncated or invalid: {broken[:_SHOWN]!r}")
    if documents.other_lines and not documents.values:
        raise ValueError("no JSON document found")
    return documents


# ---------------------------------------------------------------------------------------------- selectors

Steps = tuple[str, ...]
_STEP = re.compile(r"\[\]|[^.\[\]]+")
_HINT = "correct the selectors, such as `path`, to match the output"
#: Names of fields that may hold a path, besides the common ones.
_RARE_PATH_NAMES = ("uri", "location", "loc", "source", "document", "name", "id")
_FILE = re.compile(r"(?:file://)?\S*\w\.[A-Za-z]\w{0,7}(?::\d+.*)?|\S+/\S+")
_MAX_STEPS = 12  # known tools nest results at most six levels deep, each a key and a list


@dataclass(frozen=True, slots=True)
class Selector:
    """A path from a document to a value, such as `results[].file`; `[]` selects every item of a list."""

    steps: Steps

    def __str__(self) -> str:
        return ".".join(self.steps).replace(".[]", "[]")

    @property
    def lists(self) -> Steps:
        """The steps up to and including the last list."""
        last = max((n + 1 for n, step in enumerate(self.steps) if step == "[]"), default=0)
        return self.steps[:last]


def parse_selector(text: str, where: str, key: str) -> Selector:
    steps = tuple(_STEP.findall(text))
    if not steps or text.replace(".", "") != "".join(steps):
        message = f"{where}: {key}: invalid selector {text!r}"
        raise ConfigError(message, hint="use a path such as results[].file_path", keys=[key])
    return Selector(steps)


def select(document: object, fields: Sequence[Selector | None]) -> Iterator[tuple[object, ...]]:
    """Yield a row of values per item of the innermost list; values outside that list are repeated.

    Missing values are None. Raise EngineError if the document does not contain the list, and ConfigError for fields in
    different lists.
    """
    deepest = max((field.lists for field in fields if field), key=len, default=())
    for field in fields:
        if field and deepest[: len(field.lists)] != field.lists:
            raise ConfigError(
                f"{field} and {Selector(deepest)} are in different lists",
                hint="use fields of one list and its outer lists",
            )
    paths = [field and (field.lists, field.steps[len(field.lists) :]) for field in fields]
    for items in _walk({(): document}, (), deepest):
        yield tuple(path and _get(items[path[0]], path[1]) for path in paths)


def _walk(items: Mapping[Steps, object], done: Steps, rest: Steps) -> Iterator[Mapping[Steps, object]]:
    if not rest:
        yield items
        return
    cut = rest.index("[]")
    value = items[done]
    for step in rest[:cut]:
        try:
            value = _child(value, step)
        except LookupError:
            raise EngineError(f"the output has no {step!r}; found: {_describe(value)}", hint=_HINT) from None
    if value is not None and not isinstance(value, list):
        where = Selector((*done, *rest[:cut])) if done or cut else "the top level"
        raise EngineError(f"expected a list at {where}, got {type(value).__name__}", hint=_HINT)
    inner = (*done, *rest[: cut + 1])
    for item in value or ():
        yield from _walk({**items, inner: item}, inner, rest[cut + 1 :])


def _get(value: object, steps: Steps) -> object:
    with suppress(LookupError):
        return reduce(_child, steps, value)
    return None


def _child(value: object, step: str) -> object:
    if isinstance(value, list) and step.isdecimal():
        return value[int(step)]
    if isinstance(value, dict):
        return value[step]
    raise LookupError(step)


def _describe(value: object) -> str:
    return ", ".join(sorted(map(str, value))[:_SHOWN_KEYS]) if isinstance(value, dict) else type(value).__name__


def describe_miss(document: object, field: Selector) -> str:
    value, done = document, list[str]()
    for step in field.steps:
        try:
            inner = _child(value, "0" if step == "[]" else step)
        except LookupError:
            break
        if inner is None:
            break
        value = inner
        done.append(step)
    return f"{Selector(tuple(done)) if done else 'the top level'} has: {_describe(value)}"


def propose_path(document: object, names: Sequence[str]) -> str:
    """Return a `path = ...` setting that selects paths in a document; empty if no path is found."""
    ranks = {name: rank for rank, name in enumerate((*names, *_RARE_PATH_NAMES))}
    candidates = [
        (ranks.get(steps[-1], len(ranks)), len(steps), steps)
        for steps, text in _strings(document, ())
        if "[]" in steps and _FILE.fullmatch(text)
    ]
    return f'path = "{Selector(min(candidates)[2])}"' if candidates else ""


def _strings(value: object, steps: Steps) -> Iterator[tuple[Steps, str]]:
    if isinstance(value, str):
        yield steps, value
    elif isinstance(value, dict) and len(steps) < _MAX_STEPS:
        for key, item in value.items():
            yield from _strings(item, (*steps, str(key)))
    elif isinstance(value, list) and value and len(steps) < _MAX_STEPS:
        yield from _strings(value[0], (*steps, "[]"))
