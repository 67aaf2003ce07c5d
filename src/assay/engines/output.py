from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal, cast

from assay.engines.base import MAX_HITS, EngineReply
from assay.engines.json_output import (
    Documents,
    Selector,
    clean,
    describe_miss,
    find_documents,
    parse_json,
    parse_json_lines,
    parse_selector,
    propose_path,
    select,
    strip_ansi,
)
from assay.engines.text_output import (
    TextRules,
    find_failure,
    is_empty_result,
    is_location,
    parse_location,
    parse_rules,
    parse_text,
    suggest_setting,
)
from assay.errors import ConfigError, EngineError
from assay.settings import setting
from assay.types import TIME_LIMITS, Cost, Hit

Format = Literal["auto", "json", "jsonl", "text"]
_RESULT_FIELDS = ("path", "start", "end", "score", "snippet")
_COST_FIELDS = ("tokens", "calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSettings:
    """Settings of engine kinds whose output is parsed."""

    format: Format = setting("auto", "output format; text has one location per line")
    path: str = setting("", "JSON: selector of the path, such as results[].file_path")
    start: str = setting("", "JSON: selector of the first line")
    end: str = setting("", "JSON: selector of the last line")
    score: str = setting("", "JSON: selector of the score")
    snippet: str = setting("", "JSON: selector of the result's code")
    tokens: str = setting("", "JSON: selector of the billed tokens, such as usage.tokens")
    calls: str = setting("", "JSON: selector of the billed API calls")
    pattern: str = setting(
        "",
        "text: regular expression that matches a result, with the group path and optionally start, end "
        "and score; a ``` fence after a result is its snippet",
    )
    order: Literal["output", "score"] = setting(
        "output", "order of the results; score: highest first, for tools that print results in another order"
    )
    nothing: str = setting("", "regular expression that matches output without results")
    failed: str = setting(
        "", "regular expression that matches the output of a failure; applied to output without results"
    )
    oversample: int = setting(1, "multiple of k results to request, so that k distinct files remain", least=1)
    timeout: float | None = setting(None, "maximum seconds per query; the run's limit also applies", above=0)
    index_timeout: float = setting(
        TIME_LIMITS.index, "maximum seconds for indexing and startup; the run's limit also applies", above=0
    )

    def recorded(self) -> dict[str, object]:
        names = [field.name for field in fields(OutputSettings) if field.name != "index_timeout"]
        return {name: getattr(self, name) for name in names if name != "order" or self.order != "output"}


#: Common field names, used without selectors; the first that is present wins.
FIELD_NAMES: Mapping[str, tuple[str, ...]] = {
    "results": ("results", "hits", "matches", "items", "data", "chunks", "files", "result"),
    "path": ("path", "file_path", "filepath", "filePath", "file", "filename", "relative_path"),
    "start": ("start", "start_line", "startLine", "line_start", "line", "line_number", "lineno"),
    "end": ("end", "end_line", "endLine", "line_end"),
    "score": ("score", "similarity", "relevance", "rank_score"),
}


@dataclass(frozen=True, slots=True)
class OutputLayout:
    format: Format = "auto"
    selectors: Mapping[str, Selector] = field(default_factory=dict)
    text: TextRules = field(default_factory=TextRules)
    by_score: bool = False


def make_layout(settings: OutputSettings, where: str) -> OutputLayout:
    """Parse selectors and patterns; raise ConfigError for invalid combinations."""
    texts = {name: getattr(settings, name) for name in (*_RESULT_FIELDS, *_COST_FIELDS)}
    selectors = {name: parse_selector(text, where, name) for name, text in texts.items() if text}
    path, names, form = selectors.get("path"), ", ".join(sorted(selectors)), settings.format
    checks = (
        (
            path is None and not selectors.keys() <= set(_COST_FIELDS),
            f"missing `path` for {names}",
            "set `path`",
            sorted(selectors),
        ),
        (
            selectors and form == "text",
            f"{names} cannot be used with format text",
            'set format = "json" or "jsonl"',
            [*sorted(selectors), "format"],
        ),
        (
            settings.pattern and form in ("json", "jsonl"),
            f"`pattern` cannot be used with format {form}",
            'set format = "text"',
            ["pattern", "format"],
        ),
        (
            settings.pattern and selectors,
            f"`pattern` cannot be combined with {names}",
            "set `pattern` for text, or `path` and the other selectors for JSON",
            ["pattern", *sorted(selectors)],
        ),
    )
    for is_wrong, message, hint, keys in checks:
        if is_wrong:
            raise ConfigError(f"{where}: {message}", hint=hint, keys=keys)
    if path is not None and path.lists:
        for name in selectors.keys() & set(_RESULT_FIELDS):
            if "[]" not in selectors[name].steps:
                selectors[name] = Selector((*path.lists, *selectors[name].steps))
    rules = parse_rules(settings.pattern, settings.nothing, settings.failed, where)
    return OutputLayout(form, selectors, rules, by_score=settings.order == "score")


def parse_output(data: bytes | str, layout: OutputLayout, known: frozenset[str]) -> EngineReply:
    """Parse an output; `known` are the paths of the corpus.

    Raise EngineError if the output has no hits and matches `failed`, or cannot be parsed and does not match `nothing`.
    """
    text = clean(data)
    return _apply_rules(lambda: _parse(text, layout, known), lambda: text, layout)


def parse_document(document: object, layout: OutputLayout) -> EngineReply:
    return _apply_rules(
        lambda: _read_all(Documents((document,)), layout), lambda: json.dumps(document, ensure_ascii=False), layout
    )


def _apply_rules(parse: Callable[[], EngineReply], text: Callable[[], str], layout: OutputLayout) -> EngineReply:
    rules = layout.text
    problem: EngineError | None = None
    try:
        reply = parse()
    except EngineError as error:
        reply, problem = EngineReply(()), error
    failure = None if reply.hits else find_failure(text(), rules.failed)
    if failure is not None:
        raise failure from None
    if problem is not None and not is_empty_result(text(), rules):
        raise problem
    if layout.by_score:
        reply = replace(reply, hits=tuple(sorted(reply.hits, key=_sort_key)))
    if len(reply.hits) > MAX_HITS:
        note = f"only the first {MAX_HITS} of {len(reply.hits)} results were used"
        return replace(reply, hits=reply.hits[:MAX_HITS], notes=(*reply.notes, note))
    return reply


def _sort_key(hit: object) -> float:
    score = getattr(hit, "score", None)
    return -score if isinstance(score, int | float) and score == score else 0.0


def _parse(text: str, layout: OutputLayout, known: frozenset[str]) -> EngineReply:
    if layout.format == "text" or layout.text.pattern:
        return parse_text(text, layout.text, known)
    if layout.format == "auto":
        return _parse_auto(text, layout, known)
    try:
        if layout.format == "jsonl":
            return _read_all(parse_json_lines(text), layout)
        documents = _attempt(parse_json, text)
        if documents is None:
            documents = find_documents(text, anywhere=True) if text else parse_json(text)
        return _read_last(documents, layout)
    except ValueError as error:
        is_text = text and not any(mark in text for mark in "{[")
        raise EngineError(
            f"the output is not {layout.format}: {error}; it starts with {text[:60]!r}",
            hint=f"change `format`{suggest_setting(text, layout.text)}"
            if is_text
            else "change `format`, or print only JSON to stdout",
        ) from error


def _parse_auto(text: str, layout: OutputLayout, known: frozenset[str]) -> EngineReply:
    """Try JSON, JSON lines, JSON among other lines, JSON after progress output, and text, in this order."""
    for parse in (parse_json, parse_json_lines) if text[:1] in ("{", "[") else ():
        documents = _attempt(parse, text)
        if documents and not documents.other_lines:
            return _read_all(documents, layout)
    reply: EngineReply | None = None
    problem: EngineError | None = None
    documents = _attempt(partial(find_documents, anywhere=False), text)
    if documents and documents.values:
        reply = _read_last(documents, layout)
    else:
        documents = _attempt(partial(find_documents, anywhere=True), text)
        # JSON after a location is a line of code that grep found
        if documents and documents.values and not any(is_location(line, known) for line in documents.other_lines):
            try:
                reply = _read_last(documents, layout)
            except EngineError as error:
                problem = error
            if reply and not reply.hits and not isinstance(documents.values[-1], dict):
                reply = None
    if reply and reply.hits:
        return reply
    try:
        return parse_text(text, layout.text, known)
    except EngineError as error:
        if reply is None:
            raise problem or error from None
        return reply


def _attempt(parse: Callable[[str], Documents], text: str) -> Documents | None:
    with suppress(ValueError):
        return parse(text)
    return None


def _read_last(documents: Documents, layout: OutputLayout) -> EngineReply:
    """Read all documents or, among other text, only the last one with hits, because the others may be logs."""
    if not documents.other_lines:
        return _read_all(documents, layout)
    replies, problem = list[EngineReply](), None
    for value in documents.values:
        try:
            replies.append(_read_all(Documents((value,), documents.other_lines), layout))
        except EngineError as error:
            problem = error
    if not replies and problem is not None:
        raise problem
    return next((reply for reply in reversed(replies) if reply.hits), replies[-1])


def _read_all(documents: Documents, layout: OutputLayout) -> EngineReply:
    hits = tuple(hit for document in documents.values for hit in _read_hits(document, layout))
    calls, tokens = (_read_sum(documents.values, layout.selectors.get(name)) for name in ("calls", "tokens"))
    cost = None if calls is None and tokens is None else Cost(calls, tokens)
    is_missing = cost is None and not layout.selectors.keys().isdisjoint(_COST_FIELDS)
    return EngineReply(hits, cost, (*documents.notes, *(("no cost found in the output",) if is_missing else ())))


def _read_sum(documents: Sequence[object], selector: Selector | None) -> int | None:
    numbers: list[float] = []
    for document in documents if selector else ():
        with suppress(EngineError):
            values = [row[0] for row in select(document, (selector,))]
            numbers += [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return round(sum(numbers)) if numbers else None


def _read_hits(document: object, layout: OutputLayout) -> list[Hit]:
    path = layout.selectors.get("path")
    if path is None:
        return [_guess_hit(item, document) for item in _guess_results(document)]
    try:
        rows = list(select(document, [layout.selectors.get(name) for name in _RESULT_FIELDS]))
    except EngineError as error:
        raise EngineError(error.message, hint=_path_hint(document, error.hint)) from error
    hits = [_make_hit(*row) for row in rows if isinstance(row[0], str)]
    if rows and not hits and path.lists:
        miss = f"no result has a string at {path}; {describe_miss(document, path)}"
        raise EngineError(miss, hint=_path_hint(document))
    return hits


def _guess_results(document: object) -> Sequence[object]:
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        for name in FIELD_NAMES["results"]:
            if isinstance(document.get(name), list):
                return cast(list[object], document[name])
        if _first(document, "path") is not None:
            return [document]
    raise EngineError(f"no list of results in the output: {json.dumps(document)[:60]}", hint=_path_hint(document))


def _guess_hit(item: object, document: object) -> Hit:
    if isinstance(item, str):
        return _make_hit(item, None, None, None)
    path = _first(item, "path") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(path, str):
        raise EngineError(f"no path in the result {json.dumps(item)[:60]}", hint=_path_hint(document))
    return _make_hit(path, *(_first(item, name) for name in ("start", "end", "score")))


def _first(item: Mapping[str, object], field: str) -> object:
    return next((item[name] for name in FIELD_NAMES[field] if item.get(name) is not None), None)


def _path_hint(document: object, default: str | None = 'set a selector, such as path = "results[].file"') -> str | None:
    proposed = propose_path(document, FIELD_NAMES["path"])
    return f"set {proposed}" if proposed else default


def _make_hit(path: Any, start: Any, end: Any, score: Any, snippet: Any = None) -> Hit:  # noqa: ANN401 - unchecked JSON
    """Return a hit with unchecked values, which `normalize` checks; without lines, parse the path as a location."""
    location = strip_ansi(path)
    if start is None and end is None:
        location, start, end, *_ = parse_location(location)
    return Hit(location, start, end, score, snippet)
