"""Hits from the output of a tool: JSON, JSON lines or text, by selectors or by common field names."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import cast

from assay.engines.base import EngineReply
from assay.engines.json_output import (
    Documents,
    SelectedRow,
    Selector,
    clean,
    find_documents,
    parse_json,
    parse_json_lines,
    parse_selector,
    select,
    strip_ansi,
)
from assay.engines.text_output import (
    MAX_HITS,
    Format,
    OutputSettings,
    TextRules,
    describe_miss,
    find_failure,
    is_empty_result,
    is_location,
    parse_location,
    parse_rules,
    propose_path,
    read_text,
    suggest_setting,
)
from assay.errors import ConfigError, EngineError
from assay.types import Cost, Hit

_RESULT = ("path", "start", "end", "score", "snippet")
_BILL = ("tokens", "calls")


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Common field names; the first that is present is used when no selector is set."""

    results: tuple[str, ...] = ("results", "hits", "matches", "items", "data", "chunks", "files", "result")
    path: tuple[str, ...] = ("path", "file_path", "filepath", "filePath", "file", "filename", "relative_path")
    start: tuple[str, ...] = ("start", "start_line", "startLine", "line_start", "line", "line_number", "lineno")
    end: tuple[str, ...] = ("end", "end_line", "endLine", "line_end")
    score: tuple[str, ...] = ("score", "similarity", "relevance", "rank_score")


FIELD_NAMES = FieldNames()


@dataclass(frozen=True, slots=True)
class OutputLayout:
    """How the output of a tool is parsed."""

    format: Format = "auto"
    path: Selector | None = None
    start: Selector | None = None
    end: Selector | None = None
    score: Selector | None = None
    snippet: Selector | None = None
    tokens: Selector | None = None
    calls: Selector | None = None
    text: TextRules = field(default_factory=TextRules)


def make_layout(settings: OutputSettings, where: str) -> OutputLayout:
    """Parse the selectors and patterns; a selector may start at the document or at the result."""
    written = {name: getattr(settings, name) for name in (*_RESULT, *_BILL)}
    declared = {name: parse_selector(text, f"{where}: {name}") for name, text in written.items() if text}
    path, rules = declared.get("path"), parse_rules(settings.pattern, settings.nothing, settings.failed, where)
    if declared and path is None and not set(declared) <= set(_BILL):
        raise ConfigError(f"{where}: {', '.join(sorted(declared))} without path", hint="declare path as well")
    _check_format(settings, bool(declared), where)
    rooted = {name: _root(field, path) if name in _RESULT else field for name, field in declared.items()}
    return OutputLayout(settings.format, text=rules, **rooted)


def _check_format(settings: OutputSettings, fields: bool, where: str) -> None:
    if fields and settings.format == "text":
        raise ConfigError(f"{where}: fields are declared, but format is text", hint="use format json or jsonl")
    if settings.pattern and settings.format in ("json", "jsonl"):
        raise ConfigError(f"{where}: pattern is for text, but format is {settings.format}", hint="use format text")
    if fields and settings.pattern:
        raise ConfigError(
            f"{where}: fields and a pattern are declared", hint="fields are for JSON, pattern is for text"
        )


def _root(field: Selector, path: Selector | None) -> Selector:
    if path is None or "[]" in field.steps or not path.lists:
        return field
    return Selector((*path.lists, *field.steps))


def parse_output(data: bytes | str, layout: OutputLayout, known: frozenset[str]) -> EngineReply:
    """Parse output; raise EngineError if it cannot be parsed. `known` are the paths of the corpus."""
    text = clean(data)
    return _check_failure(lambda: text, layout.text, lambda: _read(text, layout, known))


def _check_failure(text: Callable[[], str], rules: TextRules, read: Callable[[], EngineReply]) -> EngineReply:
    try:
        reply = _limit(read())
    except EngineError:
        failure = find_failure(text(), rules.failed)
        if failure is not None:
            raise failure from None
        if is_empty_result(text(), rules):
            return EngineReply(())
        raise
    failure = None if reply.hits else find_failure(text(), rules.failed)
    if failure is not None:
        raise failure
    return reply


def _read(text: str, layout: OutputLayout, known: frozenset[str]) -> EngineReply:
    if layout.format == "text" or layout.text.pattern:
        return read_text(text, layout.text, known)
    if layout.format == "auto":
        return _read_auto(text, layout, known)
    try:
        found = _find_documents(text, layout.format)
    except (ValueError, RecursionError) as problem:
        raise EngineError(
            f"the output is not {layout.format}: {problem}; it begins {text[:60]!r}",
            hint=_advice(text, layout),
        ) from problem
    return _read_found(found, layout)


def _advice(text: str, layout: OutputLayout) -> str:
    if text and not any(sign in text for sign in "{["):
        return f"see what the tool says, or change format{suggest_setting(text, layout.text)}"
    return "let the tool print nothing else, or change format"


def parse_document(document: object, layout: OutputLayout) -> EngineReply:
    """Convert an answer that is a parsed JSON document."""
    return _check_failure(
        lambda: json.dumps(document, ensure_ascii=False), layout.text, lambda: _read_all(Documents((document,)), layout)
    )


def _read_auto(text: str, layout: OutputLayout, known: frozenset[str]) -> EngineReply:
    among: EngineReply | None = None
    problem: EngineError | None = None
    for find in (parse_json, parse_json_lines) if text[:1] in ("{", "[") else ():
        found = _attempt(find, text)
        if found and not found.talk:
            return _read_all(found, layout)
    found = _attempt(lambda talk: find_documents(talk, anywhere=False), text)
    if found and found.values:
        among = _read_found(found, layout)
    try:
        among = among or _read_glued(text, layout, known)
    except EngineError as unread:
        problem = unread
    if among and among.hits:
        return among
    try:
        return read_text(text, layout.text, known)
    except EngineError as unread:
        if among is None:
            raise problem or unread from None
        return among


def _read_glued(text: str, layout: OutputLayout, known: frozenset[str]) -> EngineReply | None:
    """Parse JSON that follows progress output in a line; None if it follows a location, as grep prints."""
    found = _attempt(lambda talk: find_documents(talk, anywhere=True), text)
    if not found or not found.values or any(is_location(talk, known) for talk in found.talk):
        return None
    reply = _read_found(found, layout)
    return reply if reply.hits or isinstance(found.values[-1], dict) else None


def _attempt(find: Callable[[str], Documents], text: str) -> Documents | None:
    try:
        return find(text)
    except (ValueError, RecursionError):
        return None


def _find_documents(text: str, form: Format) -> Documents:
    if form == "jsonl":
        return parse_json_lines(text)
    try:
        return parse_json(text)
    except ValueError:
        if not text:
            raise
    return find_documents(text, anywhere=True)


def _read_found(found: Documents, layout: OutputLayout) -> EngineReply:
    if not found.talk or layout.format == "jsonl":
        return _read_all(found, layout)
    replies, problem = list[EngineReply](), None
    for value in found.values:
        try:
            replies.append(_read_all(Documents((value,), found.talk), layout))
        except EngineError as unread:
            problem = unread
    if not replies and problem is not None:
        raise problem
    return next((reply for reply in reversed(replies) if reply.hits), replies[-1])


def _read_all(found: Documents, layout: OutputLayout) -> EngineReply:
    hits = tuple(hit for document in found.values for hit in _read_results(document, layout))
    cost = _read_cost(found.values, layout)
    unbilled = ("no cost is where it is declared",) if cost is None and (layout.tokens or layout.calls) else ()
    return EngineReply(hits, cost, (*found.notes, *unbilled))


def _limit(reply: EngineReply) -> EngineReply:
    hits = tuple(islice(reply.hits, MAX_HITS))
    if len(hits) == len(reply.hits):
        return reply
    note = f"{len(reply.hits)} results: only the first {len(hits)} were read"
    return EngineReply(hits, reply.cost, (*reply.notes, note))


def _read_cost(documents: Iterable[object], layout: OutputLayout) -> Cost | None:
    documents = tuple(documents)
    calls, tokens = _sum(documents, layout.calls), _sum(documents, layout.tokens)
    return None if calls is None and tokens is None else Cost(calls, tokens)


def _sum(documents: Sequence[object], field: Selector | None) -> int | None:
    if field is None:
        return None
    rows = (row.values[0] for document in documents for row in _rows(document, field))
    numbers = [value for value in rows if isinstance(value, int | float) and not isinstance(value, bool)]
    return round(sum(numbers)) if numbers else None


def _rows(document: object, field: Selector) -> Sequence[SelectedRow]:
    try:
        return tuple(select(document, (field,)))
    except EngineError:
        return ()


def _read_results(document: object, layout: OutputLayout) -> list[Hit]:
    if layout.path is None:
        return [_guess(item, document) for item in _guess_results(document)]
    fields = (layout.path, layout.start, layout.end, layout.score, layout.snippet)
    try:
        rows = list(select(document, fields))
    except EngineError as problem:
        raise EngineError(problem.message, hint=_correct(document, problem.hint)) from problem
    hits = [_hit(*row.values) for row in rows if isinstance(row.values[0], str)]
    if rows and not hits and layout.path.lists:
        raise EngineError(
            f"no result in the output has a text at {layout.path}; {describe_miss(document, layout.path)}",
            hint=_correct(document, "correct path to what the tool prints"),
        )
    return hits


def _correct(document: object, advice: str | None) -> str | None:
    proposed = propose_path(document, FIELD_NAMES.path)
    return f"{advice}, perhaps {proposed}" if proposed else advice


def _declare(document: object) -> str:
    proposed = propose_path(document, FIELD_NAMES.path) or 'path = "results[].file"'
    return f"declare it: {proposed}"


def _hit(path: object, start: object, end: object, score: object, snippet: object = None) -> Hit:
    place = strip_ansi(cast(str, path))
    if start is None and end is None:
        hit = parse_location(place)
        place, start, end = hit.path, hit.start, hit.end
    lines = cast("int | None", start), cast("int | None", end)
    return Hit(place, *lines, cast("float | None", score), cast("str | None", snippet))


def _guess_results(document: object) -> Sequence[object]:
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        for name in FIELD_NAMES.results:
            if isinstance(document.get(name), list):
                return cast(list[object], document[name])
        if _first(document, FIELD_NAMES.path) is not None:
            return [document]
    raise EngineError(f"no list of results in the output: {json.dumps(document)[:60]}", hint=_declare(document))


def _guess(item: object, document: object) -> Hit:
    if isinstance(item, str):
        return _hit(item, None, None, None)
    path = _first(item, FIELD_NAMES.path) if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(path, str):
        raise EngineError(f"no path in the result {json.dumps(item)[:60]}", hint=_declare(document))
    found = (_first(item, names) for names in (FIELD_NAMES.start, FIELD_NAMES.end, FIELD_NAMES.score))
    return _hit(path, *found)


def _first(item: Mapping[str, object], names: Sequence[str]) -> object:
    return next((item[name] for name in names if item.get(name) is not None), None)


def read_reply(answer: object) -> EngineReply:
    """Convert the return value of an engine: an EngineReply, or an iterable for `read_hits`."""
    if isinstance(answer, EngineReply):
        return replace(answer, hits=read_hits(answer.hits))
    return EngineReply(read_hits(answer))


def read_hits(answer: object) -> tuple[Hit, ...]:
    """Convert an iterable of Hit, location, path object or mapping; raise EngineError for anything else."""
    if isinstance(answer, str | bytes | Mapping | Hit) or not isinstance(answer, Iterable):
        raise EngineError(
            f"the engine returned {type(answer).__name__}, not a list of results",
            hint="return a list of Hit, of paths or of 'path:10-20'",
        )
    return tuple(map(read_hit, islice(answer, MAX_HITS)))


def read_hit(result: object) -> Hit:
    """Convert one result."""
    if isinstance(result, Hit):
        return result
    if isinstance(result, str):
        return parse_location(result)
    if isinstance(result, os.PathLike):
        return Hit(str(os.fspath(result)))
    if isinstance(result, Mapping) and isinstance(result.get("path"), str):
        known = {name: result[name] for name in Hit._fields if name in result}
        return Hit(**known)  # the values are checked by `normalise`, as those of any Hit
    raise EngineError(
        f"the engine returned a result of type {type(result).__name__}: {result!r:.80}",
        hint="a result is a Hit, a path, 'path:10-20' or a mapping with path, start, end, score",
    )
