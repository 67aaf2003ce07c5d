r"""Hits from text and from Python values: a location per line, or matches of a regular expression.

Lines in ``` fences are the snippet of the result above them, never locations. In a pattern `^` and `$` match at every
line, and it may span several: `^File: (?P<path>.+)\nLines: (?P<start>\d+)-(?P<end>\d+)`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal

from assay.engines.base import EngineReply
from assay.engines.json_output import Selector
from assay.errors import ConfigError, EngineError
from assay.settings import check_counts
from assay.types import TIME_LIMITS, Hit

Format = Literal["auto", "json", "jsonl", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSettings:
    """Settings of every engine kind whose answers are parsed.

    A subclass with a `__post_init__` calls this one by its name: `super()` does not work with slots.
    """

    where: ClassVar[str] = "engine"  # prefix of messages

    format: Format = field(
        default="auto", metadata={"about": "output format; text is a location on each line, or by pattern"}
    )
    path: str = field(default="", metadata={"about": "where in the JSON the path is, as in results[].file_path"})
    start: str = field(default="", metadata={"about": "where in the JSON the first line is"})
    end: str = field(default="", metadata={"about": "where in the JSON the last line is"})
    score: str = field(default="", metadata={"about": "where in the JSON the score is"})
    snippet: str = field(default="", metadata={"about": "where in the JSON the text of the result is"})
    tokens: str = field(default="", metadata={"about": "where in the JSON the tokens billed are, as in usage.tokens"})
    calls: str = field(default="", metadata={"about": "where in the JSON the calls billed are"})
    pattern: str = field(
        default="",
        metadata={
            "about": "for text: a regular expression with (?P<path>...) and perhaps start, end, score; "
            "text in ``` fences is the snippet of the result before it"
        },
    )
    nothing: str = field(default="", metadata={"about": "a regular expression for the output when nothing is found"})
    failed: str = field(
        default="",
        metadata={
            "about": "a regular expression for the output of a failure; an answer without results in which a line "
            "matches is an error with that text"
        },
    )
    oversample: int = field(
        default=1, metadata={"about": "how many times k results to request, so that k distinct files remain; printed"}
    )
    timeout: float | None = field(
        default=None, metadata={"about": "seconds for a query, if less than the limit of the run"}
    )
    index_timeout: float = field(
        default=TIME_LIMITS.index,
        metadata={"about": "seconds to prepare for a corpus, if less than the limit of the run"},
    )

    def __post_init__(self) -> None:
        check_counts(self.where, oversample=self.oversample)
        for name, seconds in (("timeout", self.timeout), ("index_timeout", self.index_timeout)):
            if seconds is not None and not seconds > 0:
                raise ConfigError(f"{self.where}: {name} = {seconds:g}", hint="it must be more than 0 seconds")

    def recorded(self) -> dict[str, object]:
        """Return the settings for the records, without `index_timeout`, which shapes no ranking."""
        names = [field.name for field in fields(OutputSettings) if field.name != "index_timeout"]
        return {name: getattr(self, name) for name in names}


_LOCATION = re.compile(r"(?P<path>.+?):(?P<start>\d{1,9})(?:-(?P<end>\d{1,9}))?(?::.*)?", re.DOTALL)


MAX_HITS = 100_000  # of an answer: an endless generator ends here


def parse_location(text: str) -> Hit:
    """Parse `path`, `path:line` or `path:start-end`; text after another colon (grep's column and line) is ignored."""
    match = _LOCATION.fullmatch(text)
    if match is None:
        return Hit(text)
    start = int(match["start"])
    return Hit(match["path"], start, int(match["end"] or start))


GROUPS = ("end", "path", "score", "start")

# Not in the corpus, but looks like a path: no blank or quote, a dot or slash, no punctuation at its end.
_PATH = re.compile(r"[^\s\"]*[./][^\s\"]*[^\s\".:,;!?]")
_FENCE = re.compile(r"\s*(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)")


@dataclass(frozen=True, slots=True)
class TextLimits:
    """Limits of parsing text."""

    line: int = 2_000  # characters of a line; bounds a pattern that backtracks
    shown: int = 60  # characters of a line that a message shows
    words: int = 300  # characters of a tool's error that a message shows


TEXT_LIMITS = TextLimits()


@dataclass(frozen=True, slots=True)
class TextRules:
    """Patterns of a result (None: one per line), of an empty answer, and of a failure."""

    pattern: re.Pattern[str] | None = None
    nothing: re.Pattern[str] | None = None
    failed: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class _Fenced:
    """The lines of a text, blank where a fence was, and the fences by line."""

    lines: tuple[str, ...]
    fences: dict[int, str]
    unclosed: int | None  # line of a fence that is not closed


def parse_rules(pattern: str, nothing: str, failed: str, where: str) -> TextRules:
    """Compile the patterns; raise ConfigError if one is invalid."""
    return TextRules(
        _check_groups(_compile(pattern, f"{where}: pattern"), where) if pattern else None,
        _compile(nothing, f"{where}: nothing") if nothing else None,
        _compile(failed, f"{where}: failed") if failed else None,
    )


def _compile(text: str, where: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.MULTILINE)
    except re.error as problem:
        hint = "write a regular expression as Python's re reads it"
        raise ConfigError(f"{where}: {problem} in {text!r}", hint=hint) from problem


def _check_groups(pattern: re.Pattern[str], where: str) -> re.Pattern[str]:
    groups = sorted(pattern.groupindex)
    if "path" not in groups or not set(groups) <= set(GROUPS):
        raise ConfigError(
            f"{where}: pattern has the named groups {', '.join(groups) or 'none'}",
            hint="it needs (?P<path>...), and may have (?P<start>...), (?P<end>...), (?P<score>...)",
        )
    return pattern


def read_text(text: str, rules: TextRules, known: frozenset[str]) -> EngineReply:
    """Parse hits from a text; raise EngineError if a text without any location is not empty."""
    fenced = _split_fences(text)
    found = _by_pattern(fenced, rules.pattern) if rules.pattern else _by_line(fenced, known)
    lines = [line.strip()[: TEXT_LIMITS.line] for line in fenced.lines if line.strip()]
    if lines and not found:
        raise _unread(lines[0], rules)
    left = 0 if rules.pattern else len(lines) - len(found)
    notes = [f"{left} of {len(lines)} lines are no location and were left out"] if left else []
    if fenced.unclosed is not None:
        notes.append(f"a ``` fence is not closed: nothing was read after line {fenced.unclosed + 1}")
    return EngineReply(tuple(_add_snippets(found, fenced.fences)), None, tuple(notes))


def is_empty_result(text: str, rules: TextRules) -> bool:
    """Return whether a text matches the `nothing` pattern."""
    return rules.nothing is not None and any(map(rules.nothing.search, _bounded_lines(text)))


def find_failure(text: str, failed: re.Pattern[str] | None) -> EngineError | None:
    """Return an error with the text from the match of `failed` on; None if it does not match."""
    lines = list(_bounded_lines(text)) if failed is not None else []
    first = next((number for number, line in enumerate(lines) if failed and failed.search(line)), None)
    if first is None:
        return None
    words = textwrap.shorten(" ".join(lines[first:]), TEXT_LIMITS.words, placeholder=" …")
    return EngineError(f"the tool failed: {words}", hint="see what the tool says, and correct that")


def _bounded_lines(text: str) -> Iterator[str]:
    return (line[: TEXT_LIMITS.line] for line in text.split("\n"))


@dataclass(frozen=True, slots=True)
class _TextHit:
    """A hit and the line where it ends."""

    line: int
    hit: Hit


def _by_line(fenced: _Fenced, known: frozenset[str]) -> list[_TextHit]:
    found = []
    for number, raw in enumerate(fenced.lines):
        line = raw.strip()
        hit = Hit(line) if line in known else parse_location(line)
        if hit.path.removeprefix("./") in known or _is_path(hit.path):
            found.append(_TextHit(number, hit))
    return found


def _by_pattern(fenced: _Fenced, pattern: re.Pattern[str]) -> list[_TextHit]:
    text = "\n".join(line[: TEXT_LIMITS.line] for line in fenced.lines)
    found, line, at = [], 0, 0
    for match in pattern.finditer(text):
        if (match["path"] or "").strip():
            line, at = line + text.count("\n", at, match.end()), match.end()
            found.append(_TextHit(line, _matched(match)))
    return found


def _matched(match: re.Match[str]) -> Hit:
    given = match.groupdict()
    start, end = _number(given.get("start")), _number(given.get("end"))
    path = match["path"].strip()
    hit = parse_location(path) if start is None and end is None else Hit(path, start, start if end is None else end)
    return hit._replace(score=_score(given.get("score")))


def _number(text: str | None) -> int | None:
    return int(text) if text and text.strip().isdecimal() else None


def _score(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _add_snippets(found: Sequence[_TextHit], fences: dict[int, str]) -> Iterator[Hit]:
    ends = [one.line for one in found[1:]] + [max(fences, default=0) + 1]
    starts = sorted(fences)
    at = 0
    for one, end in zip(found, ends, strict=False):
        while at < len(starts) and starts[at] <= one.line:
            at += 1
        mine = starts[at] if at < len(starts) and starts[at] < end else None
        yield one.hit if mine is None else one.hit._replace(snippet=fences[mine])


def _split_fences(text: str) -> _Fenced:
    lines: list[str] = []
    fences: dict[int, str] = {}
    marks, begin, inside = "", 0, list[str]()
    for number, line in enumerate(text.split("\n")):
        fence = _FENCE.fullmatch(line)
        if not marks and fence:
            marks, begin, inside = fence["marks"], number, []
        elif fence and marks and fence["marks"].startswith(marks) and not fence["info"].strip():
            fences[begin], marks = "\n".join(inside), ""
        elif marks:
            inside.append(line)
        else:
            lines.append(line)
            continue
        lines.append("")
    if marks:
        fences[begin] = "\n".join(inside)
    return _Fenced(tuple(lines), fences, begin if marks else None)


def suggest_setting(text: str, rules: TextRules) -> str:
    """Return hints on `nothing` and `failed` for an answer without results, unless they are set."""
    words = propose_words(text)
    nothing = "" if rules.nothing else f"; if that says that nothing was found: nothing = {words}"
    return nothing + ("" if rules.failed else f"; if it says what failed: failed = {words}")


def is_location(text: str, known: frozenset[str]) -> bool:
    """Return whether a text is a location, as grep prints in front of a line."""
    hit = parse_location(text)
    return hit.start is not None or text.removesuffix(":") in known or (text.endswith(":") and _is_path(text[:-1]))


def _is_path(text: str) -> bool:
    return _PATH.fullmatch(text) is not None


def _unread(line: str, rules: TextRules) -> EngineError:
    begins = f"it begins {line[: TEXT_LIMITS.shown]!r}"
    nothing = suggest_setting(line, rules)
    if rules.pattern:
        return EngineError(f"the pattern matches nothing in the output; {begins}", hint=f"correct the pattern{nothing}")
    return EngineError(
        f"no line of the output is a location; {begins}",
        hint=f"let the tool print path, path:line or path:start-end on each line, or declare a pattern{nothing}",
    )


#: Names of fields that may hold a path, besides `FieldNames.path`.
_SELDOM = ("uri", "location", "loc", "source", "document", "name", "id")
_FILE = re.compile(r"(?:file://)?\S*\w\.[A-Za-z]\w{0,7}(?::\d+.*)?|\S+/\S+")
# Whole words of letters, so that no part of a secret is shown that redaction would not recognize.
_WORDS = re.compile(r"[A-Za-z]+(?: [A-Za-z]+){0,3}(?=\s|[.,:;!]*(?:\s|$))")


_DEPTH = 6  # of nested tables and lists: no tool nests its results deeper
_SHOWN_KEYS = 8  # in a message


def describe_miss(document: object, field: Selector) -> str:
    """Describe the first result at the point where a selector finds nothing."""
    value, done = document, list[str]()
    for step in field.steps:
        inner = _step(value, step)
        if inner is None:
            break
        value = inner
        done.append(step)
    keys = ", ".join(sorted(map(str, value))[:_SHOWN_KEYS]) if isinstance(value, dict) else type(value).__name__
    return f"{Selector(tuple(done)) if done else 'its top'} has: {keys}"


def _step(value: object, step: str) -> object:
    if step == "[]":
        return value[0] if isinstance(value, list) and value else None
    if isinstance(value, list) and step.isdecimal():
        return value[int(step)] if int(step) < len(value) else None
    return value.get(step) if isinstance(value, dict) else None


def propose_path(document: object, names: Sequence[str]) -> str:
    """Return a `path = ` setting that finds paths in a document; empty if none is found."""
    ranks = {name: rank for rank, name in enumerate((*names, *_SELDOM))}
    found = [
        (ranks.get(steps[-1], len(ranks)), len(steps), steps)
        for steps, text in _leaves(document, ())
        if "[]" in steps and _FILE.fullmatch(text)
    ]
    return f'path = "{Selector(min(found)[2])}"' if found else ""


def _leaves(value: object, steps: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, str):
        yield steps, value
    elif len(steps) < _DEPTH * 2 and isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*steps, str(key)))
    elif len(steps) < _DEPTH * 2 and isinstance(value, list) and value:
        yield from _leaves(value[0], (*steps, "[]"))


def propose_words(text: str) -> str:
    """Return a regular expression, quoted as in TOML, for the beginning of a text."""
    match = _WORDS.match(text)
    return f"'^{match[0]}'" if match else "'…'"
