r"""Text as hits: a location on each line, or by a regular expression that the user declares.

Lines in ``` fences are the text of the result above them and are never read as locations. A pattern sees `^` and `$`
at every line, and may go over several: `^File: (?P<path>.+)\nLines: (?P<start>\d+)-(?P<end>\d+)`.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import ClassVar, Literal

from assay.engines.base import EngineReply
from assay.engines.json_answers import Selector
from assay.errors import ConfigError, EngineError
from assay.settings import check_counts
from assay.types import TIME_LIMITS, Hit

_LOCATION = re.compile(r"(?P<path>.+?):(?P<start>\d{1,9})(?:-(?P<end>\d{1,9}))?(?::.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HitLimits:
    """What is read of an answer at most."""

    hits: int = 100_000  # an endless generator ends here; nobody is asked for so many


HIT_LIMITS = HitLimits()


def parse_location(text: str) -> Hit:
    """Read `path`, `path:line`, `path:start-end`; what follows a further colon (grep's column and text) is left out."""
    match = _LOCATION.fullmatch(text)
    if match is None:
        return Hit(text)
    start = int(match["start"])
    return Hit(match["path"], start, int(match["end"] or start))


def read_reply(answer: object) -> EngineReply:
    """Read a whole answer: a Reply, or an iterable as `read_hits` takes it."""
    if isinstance(answer, EngineReply):
        return replace(answer, hits=read_hits(answer.hits))
    return EngineReply(read_hits(answer))


def read_hits(answer: object) -> tuple[Hit, ...]:
    """Read a whole answer: an iterable of Hit, location text, path object or mapping; raise EngineError otherwise."""
    if isinstance(answer, str | bytes | Mapping | Hit) or not isinstance(answer, Iterable):
        raise EngineError(
            f"the engine returned {type(answer).__name__}, not a list of results",
            hint="return a list of Hit, of paths or of 'path:10-20'",
        )
    return tuple(map(read_hit, islice(answer, HIT_LIMITS.hits)))


def read_hit(result: object) -> Hit:
    """Read one result."""
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


Format = Literal["auto", "json", "jsonl", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSettings:
    """What every kind of engine takes whose answers are read.

    A record that adds a `__post_init__` of its own calls this one by its name: slots leave `super()` no class.
    """

    where: ClassVar[str] = "engine"  # begins the messages; each kind has its own

    format: Format = field(
        default="auto", metadata={"about": "what the tool gives; text is a location on each line, or by pattern"}
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
            "what stands in ``` fences is the text of the result before it"
        },
    )
    nothing: str = field(
        default="", metadata={"about": "a regular expression for what the tool says when it finds nothing"}
    )
    failed: str = field(
        default="",
        metadata={
            "about": "a regular expression for what the tool says when it fails; an answer without results in which a "
            "line matches is an error with its words"
        },
    )
    oversample: int = field(
        default=1, metadata={"about": "how many times k to ask for, so that k distinct files are left; printed"}
    )
    timeout: float | None = field(
        default=None, metadata={"about": "seconds for a query, when less than the run's own limit"}
    )
    index_timeout: float = field(
        default=TIME_LIMITS.index,
        metadata={"about": "seconds to get ready for a corpus, when less than the run's own limit"},
    )

    def __post_init__(self) -> None:
        """Refuse numbers without a meaning."""
        check_counts(self.where, oversample=self.oversample)
        for name, seconds in (("timeout", self.timeout), ("index_timeout", self.index_timeout)):
            if seconds is not None and not seconds > 0:
                raise ConfigError(f"{self.where}: {name} = {seconds:g}", hint="it must be more than 0 seconds")

    def recorded(self) -> dict[str, object]:
        """Give how answers are read, for the records; how long an index may take shapes no ranking."""
        names = [field.name for field in fields(ReadingSettings) if field.name != "index_timeout"]
        return {name: getattr(self, name) for name in names}


#: Where a path may stand besides the names that are read without being declared.
_SELDOM = ("uri", "location", "loc", "source", "document", "name", "id")
_FILE = re.compile(r"(?:file://)?\S*\w\.[A-Za-z]\w{0,7}(?::\d+.*)?|\S+/\S+")
# Whole words of letters: no part of a secret may be left that is no longer known as one.
_WORDS = re.compile(r"[A-Za-z]+(?: [A-Za-z]+){0,3}(?=\s|[.,:;!]*(?:\s|$))")


@dataclass(frozen=True, slots=True)
class AdviceLimits:
    """How far an answer is looked at to say what to declare."""

    depth: int = 6  # tables and lists in each other: no tool nests its results deeper
    keys: int = 8  # that a message names


ADVICE = AdviceLimits()


def there_is(document: object, field: Selector) -> str:
    """Say what stands where a field was looked for in the first result, from the place where it goes astray."""
    value, done = document, list[str]()
    for step in field.steps:
        inner = _step(value, step)
        if inner is None:
            break
        value = inner
        done.append(step)
    keys = ", ".join(sorted(map(str, value))[: ADVICE.keys]) if isinstance(value, dict) else type(value).__name__
    return f"{Selector(tuple(done)) if done else 'its top'} has: {keys}"


def _step(value: object, step: str) -> object:
    if step == "[]":
        return value[0] if isinstance(value, list) and value else None
    if isinstance(value, list) and step.isdecimal():
        return value[int(step)] if int(step) < len(value) else None
    return value.get(step) if isinstance(value, dict) else None


def propose_path(document: object, names: Sequence[str]) -> str:
    """Give the setting that would find paths in a document, behind `path = `; empty when none is seen."""
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
    elif len(steps) < ADVICE.depth * 2 and isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*steps, str(key)))
    elif len(steps) < ADVICE.depth * 2 and isinstance(value, list) and value:
        yield from _leaves(value[0], (*steps, "[]"))


def propose_words(text: str) -> str:
    """Give a regular expression, quoted as in TOML, for how a text begins."""
    match = _WORDS.match(text)
    return f"'^{match[0]}'" if match else "'…'"


GROUPS = ("end", "path", "score", "start")

# Without knowing the corpus: no blank or quote in it, a dot or a slash, and no full stop at its end.
_PATH = re.compile(r"[^\s\"]*[./][^\s\"]*[^\s\".:,;!?]")
_FENCE = re.compile(r"\s*(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)")


@dataclass(frozen=True, slots=True)
class TextLimits:
    """What is read of a text at most."""

    line: int = 2_000  # characters of a line: a path and what stands around it; bounds a pattern that backtracks
    shown: int = 60  # characters of a line that a message shows
    words: int = 300  # characters of what a tool says of its failure


TEXT_LIMITS = TextLimits()


@dataclass(frozen=True, slots=True)
class TextRules:
    """How a text is read: what a result looks like (None is by the line), what is said of none, and of a failure."""

    pattern: re.Pattern[str] | None = None
    nothing: re.Pattern[str] | None = None
    failed: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class _Fenced:
    """A text without what stands in its fences: the lines (blank where a fence was), and each fence by its line."""

    lines: tuple[str, ...]
    fences: dict[int, str]
    unclosed: int | None  # the line where a fence begins that never ends


def parse_rules(pattern: str, nothing: str, failed: str, where: str) -> TextRules:
    """Check declared patterns."""
    return TextRules(
        _with_groups(_compiled(pattern, f"{where}: pattern"), where) if pattern else None,
        _compiled(nothing, f"{where}: nothing") if nothing else None,
        _compiled(failed, f"{where}: failed") if failed else None,
    )


def _compiled(text: str, where: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.MULTILINE)
    except re.error as problem:
        hint = "write a regular expression as Python's re reads it"
        raise ConfigError(f"{where}: {problem} in {text!r}", hint=hint) from problem


def _with_groups(pattern: re.Pattern[str], where: str) -> re.Pattern[str]:
    groups = sorted(pattern.groupindex)
    if "path" not in groups or not set(groups) <= set(GROUPS):
        raise ConfigError(
            f"{where}: pattern has the named groups {', '.join(groups) or 'none'}",
            hint="it needs (?P<path>...), and may have (?P<start>...), (?P<end>...), (?P<score>...)",
        )
    return pattern


def read_text(text: str, rules: TextRules, known: frozenset[str]) -> EngineReply:
    """Read hits from a text; raise EngineError when there is text and nothing of it is a location."""
    fenced = _split_fences(text)
    found = _by_pattern(fenced, rules.pattern) if rules.pattern else _by_line(fenced, known)
    said = [line.strip()[: TEXT_LIMITS.line] for line in fenced.lines if line.strip()]
    if said and not found:
        raise _unread(said[0], rules)
    left = 0 if rules.pattern else len(said) - len(found)
    notes = _tell(left, len(said), fenced.unclosed)
    return EngineReply(tuple(_with_snippets(found, fenced.fences)), None, notes)


def is_empty_result(text: str, rules: TextRules) -> bool:
    """Tell whether a text says, in the words that are declared for it, that nothing was found."""
    return rules.nothing is not None and any(map(rules.nothing.search, _bounded_lines(text)))


def failure_text(text: str, failed: re.Pattern[str] | None) -> EngineError | None:
    """Give what a text says, in the words that are declared for it, that failed; None when it says no such thing."""
    lines = list(_bounded_lines(text)) if failed is not None else []
    first = next((number for number, line in enumerate(lines) if failed and failed.search(line)), None)
    if first is None:
        return None
    words = textwrap.shorten(" ".join(lines[first:]), TEXT_LIMITS.words, placeholder=" …")
    return EngineError(f"the tool failed: {words}", hint="see what the tool says, and correct that")


def _bounded_lines(text: str) -> Iterator[str]:
    return (line[: TEXT_LIMITS.line] for line in text.split("\n"))


def _tell(left: int, lines: int, unclosed: int | None) -> tuple[str, ...]:
    notes = [f"{left} of {lines} lines are no location and were left out"] if left else []
    if unclosed is not None:
        notes.append(f"a ``` fence is not closed: nothing was read after line {unclosed + 1}")
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class _Found:
    """A hit and the line it ends at."""

    line: int
    hit: Hit


def _by_line(fenced: _Fenced, known: frozenset[str]) -> list[_Found]:
    found = []
    for number, raw in enumerate(fenced.lines):
        line = raw.strip()
        hit = Hit(line) if line in known else parse_location(line)
        if hit.path.removeprefix("./") in known or _is_path(hit.path):
            found.append(_Found(number, hit))
    return found


def _by_pattern(fenced: _Fenced, pattern: re.Pattern[str]) -> list[_Found]:
    text = "\n".join(line[: TEXT_LIMITS.line] for line in fenced.lines)
    found, line, at = [], 0, 0
    for match in pattern.finditer(text):
        if (match["path"] or "").strip():
            line, at = line + text.count("\n", at, match.end()), match.end()
            found.append(_Found(line, _matched(match)))
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


def _with_snippets(found: Sequence[_Found], fences: dict[int, str]) -> Iterator[Hit]:
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
    """Say what to declare for an answer that is no list of results, where that is not declared yet."""
    words = propose_words(text)
    nothing = "" if rules.nothing else f"; if that says that nothing was found: nothing = {words}"
    return nothing + ("" if rules.failed else f"; if it says what failed: failed = {words}")


def is_location(text: str, known: frozenset[str]) -> bool:
    """Tell whether a text names a place, as grep does in front of a line it shows."""
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
