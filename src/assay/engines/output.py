"""What a program printed, as hits: JSON, JSON lines, or text with a location on each line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from assay.engines.hits import parse_location
from assay.engines.selectors import Selector, parse_selector, select
from assay.errors import ConfigError, EngineError
from assay.types import Hit

Format = Literal["auto", "json", "jsonl", "text"]

# ECMA-48: control sequences, operating system commands (hyperlinks), and the two-character rest.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# Without knowing the corpus: no blank in it, a dot or a slash, and no full stop at its end.
_PATH = re.compile(r"\S*[./]\S*[^\s.:,;!?]")


@dataclass(frozen=True, slots=True)
class FieldNames:
    """What tools call the same things; the first that is there is taken when no field is declared."""

    results: tuple[str, ...] = ("results", "hits", "matches", "items", "data", "chunks", "files")
    path: tuple[str, ...] = ("path", "file_path", "filepath", "filePath", "file", "filename", "relative_path")
    start: tuple[str, ...] = ("start", "start_line", "startLine", "line_start", "line", "line_number", "lineno")
    end: tuple[str, ...] = ("end", "end_line", "endLine", "line_end")
    score: tuple[str, ...] = ("score", "similarity", "relevance", "rank_score")


FIELD_NAMES = FieldNames()


@dataclass(frozen=True, slots=True)
class Layout:
    """How a program's output is to be read."""

    format: Format = "auto"
    path: Selector | None = None
    start: Selector | None = None
    end: Selector | None = None
    score: Selector | None = None


def make_layout(form: Format, fields: Mapping[str, str], where: str) -> Layout:
    """Check declared fields; `start`, `end` and `score` may be written from the document or from the result."""
    declared = {name: parse_selector(text, f"{where}: {name}") for name, text in fields.items() if text}
    path = declared.get("path")
    if declared and path is None:
        raise ConfigError(f"{where}: {', '.join(sorted(declared))} without path", hint="declare path as well")
    if declared and form == "text":
        raise ConfigError(f"{where}: fields are declared, but format is text", hint="use format json or jsonl")
    rooted = {name: _rooted(field, path) for name, field in declared.items()}
    return Layout(form, rooted.get("path"), rooted.get("start"), rooted.get("end"), rooted.get("score"))


def _rooted(field: Selector, path: Selector | None) -> Selector:
    """Write a field from the document when it is written from the result."""
    if path is None or "[]" in field.steps or not path.lists:
        return field
    return Selector((*path.lists, *field.steps))


def read_output(data: bytes, layout: Layout, known: frozenset[str]) -> list[Hit]:
    """Read hits; raise EngineError when there is output and no way to read it. `known` are the corpus's paths."""
    text = _ANSI.sub("", data.decode("utf-8", "replace")).strip("\ufeff \t\r\n")
    if layout.format == "text" or (layout.format == "auto" and text[:1] not in ("{", "[")):
        return _read_text(text, known)
    try:
        documents = _parse(text, layout.format)
    except (ValueError, RecursionError) as problem:
        if layout.format == "auto":
            return _read_text(text, known)
        raise EngineError(
            f"the output is no {layout.format}: {problem}; it begins {text[:60]!r}",
            hint="let the tool print nothing else, or change format",
        ) from problem
    return [hit for document in documents for hit in _read_document(document, layout)]


def _parse(text: str, form: Format) -> list[object]:
    """Parse one document, or one on each line."""
    if form != "jsonl":
        try:
            return [json.loads(text)]
        except ValueError:
            if form == "json":
                raise
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def _read_text(text: str, known: frozenset[str]) -> list[Hit]:
    """Read a location from each line; lines that hold none are talk, unless there is nothing else."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    places = [Hit(line) if line in known else parse_location(line) for line in lines]
    hits = [hit for hit in places if hit.path.removeprefix("./") in known or _PATH.fullmatch(hit.path)]
    if lines and not hits:
        raise EngineError(
            f"no line of the output is a location; it begins {lines[0][:60]!r}",
            hint="let the tool print path, path:line or path:start-end on each line, or JSON",
        )
    return hits


def _read_document(document: object, layout: Layout) -> list[Hit]:
    """Read the results of a document by the declared fields, or by the names tools usually give them."""
    if layout.path is None:
        return [_guess(item) for item in _guess_results(document)]
    rows = list(select(document, (layout.path, layout.start, layout.end, layout.score)))
    hits = [_hit(*row.values) for row in rows if isinstance(row.values[0], str)]
    if rows and not hits and layout.path.lists:
        raise EngineError(
            f"no result in the output has a text at {layout.path}", hint="correct path to what the tool prints"
        )
    return hits


def _hit(path: object, start: object, end: object, score: object) -> Hit:
    """Make a hit of declared values; `normalise` checks them as those of any engine."""
    clean = _ANSI.sub("", cast(str, path))
    if start is None and end is None:
        place = parse_location(clean)
        clean, start, end = place.path, place.start, place.end
    return Hit(clean, cast("int | None", start), cast("int | None", end), cast("float | None", score))


def _guess_results(document: object) -> Sequence[object]:
    """Find the list of results."""
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        for name in FIELD_NAMES.results:
            if isinstance(document.get(name), list):
                return cast(list[object], document[name])
        if _first(document, FIELD_NAMES.path) is not None:
            return [document]
    raise EngineError(
        f"no list of results in the output: {json.dumps(document)[:60]}", hint='declare it: path = "results[].file"'
    )


def _guess(item: object) -> Hit:
    """Read one result."""
    if isinstance(item, str):
        return _hit(item, None, None, None)
    path = _first(item, FIELD_NAMES.path) if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(path, str):
        raise EngineError(f"no path in the result {json.dumps(item)[:60]}", hint='declare it: path = "results[].file"')
    found = (_first(item, names) for names in (FIELD_NAMES.start, FIELD_NAMES.end, FIELD_NAMES.score))
    return _hit(path, *found)


def _first(item: Mapping[str, object], names: Sequence[str]) -> object:
    """Give the first of several fields that is there."""
    return next((item[name] for name in names if item.get(name) is not None), None)
