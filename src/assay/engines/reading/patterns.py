r"""Text as hits: a location on each line, or by a regular expression that the user declares.

Lines in ``` fences are the text of the result above them and are never read as locations. A pattern sees `^` and `$`
at every line, and may go over several: `^File: (?P<path>.+)\nLines: (?P<start>\d+)-(?P<end>\d+)`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.engines.base import Reply
from assay.engines.reading.advice import propose_words
from assay.engines.reading.hits import parse_location
from assay.errors import ConfigError, EngineError
from assay.types import Hit

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
    """Compile a regular expression."""
    try:
        return re.compile(text, re.MULTILINE)
    except re.error as problem:
        hint = "write a regular expression as Python's re reads it"
        raise ConfigError(f"{where}: {problem} in {text!r}", hint=hint) from problem


def _with_groups(pattern: re.Pattern[str], where: str) -> re.Pattern[str]:
    """Check the names of the groups."""
    groups = sorted(pattern.groupindex)
    if "path" not in groups or not set(groups) <= set(GROUPS):
        raise ConfigError(
            f"{where}: pattern has the named groups {', '.join(groups) or 'none'}",
            hint="it needs (?P<path>...), and may have (?P<start>...), (?P<end>...), (?P<score>...)",
        )
    return pattern


def read_text(text: str, rules: TextRules, known: frozenset[str]) -> Reply:
    """Read hits from a text; raise EngineError when there is text and nothing of it is a location."""
    fenced = _split_fences(text)
    found = _by_pattern(fenced, rules.pattern) if rules.pattern else _by_line(fenced, known)
    said = [line.strip()[: TEXT_LIMITS.line] for line in fenced.lines if line.strip()]
    if said and not found:
        raise _unread(said[0], rules)
    left = 0 if rules.pattern else len(said) - len(found)
    notes = _tell(left, len(said), fenced.unclosed)
    return Reply(tuple(_with_snippets(found, fenced.fences)), None, notes)


def says_nothing(text: str, rules: TextRules) -> bool:
    """Tell whether a text says, in the words that are declared for it, that nothing was found."""
    return rules.nothing is not None and any(map(rules.nothing.search, _bounded_lines(text)))


def told_failure(text: str, failed: re.Pattern[str] | None) -> EngineError | None:
    """Give what a text says, in the words that are declared for it, that failed; None when it says no such thing."""
    lines = list(_bounded_lines(text)) if failed is not None else []
    first = next((number for number, line in enumerate(lines) if failed and failed.search(line)), None)
    if first is None:
        return None
    words = textwrap.shorten(" ".join(lines[first:]), TEXT_LIMITS.words, placeholder=" …")
    return EngineError(f"the tool failed: {words}", hint="see what the tool says, and correct that")


def _bounded_lines(text: str) -> Iterator[str]:
    """List the lines of a text, each up to a bound."""
    return (line[: TEXT_LIMITS.line] for line in text.split("\n"))


def _tell(left: int, lines: int, unclosed: int | None) -> tuple[str, ...]:
    """Say what of a text was not read."""
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
    """Read a location from each line; lines that hold none are talk."""
    found = []
    for number, raw in enumerate(fenced.lines):
        line = raw.strip()
        hit = Hit(line) if line in known else parse_location(line)
        if hit.path.removeprefix("./") in known or _is_path(hit.path):
            found.append(_Found(number, hit))
    return found


def _by_pattern(fenced: _Fenced, pattern: re.Pattern[str]) -> list[_Found]:
    """Read a hit from each match."""
    text = "\n".join(line[: TEXT_LIMITS.line] for line in fenced.lines)
    found, line, at = [], 0, 0
    for match in pattern.finditer(text):
        if (match["path"] or "").strip():
            line, at = line + text.count("\n", at, match.end()), match.end()
            found.append(_Found(line, _matched(match)))
    return found


def _matched(match: re.Match[str]) -> Hit:
    """Make a hit of a match; numbers that are none are left to `normalise`, as those of any engine."""
    given = match.groupdict()
    start, end = _number(given.get("start")), _number(given.get("end"))
    path = match["path"].strip()
    hit = parse_location(path) if start is None and end is None else Hit(path, start, start if end is None else end)
    return hit._replace(score=_score(given.get("score")))


def _number(text: str | None) -> int | None:
    """Read a line number."""
    return int(text) if text and text.strip().isdecimal() else None


def _score(text: str | None) -> float | None:
    """Read a score."""
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _with_snippets(found: Sequence[_Found], fences: dict[int, str]) -> Iterator[Hit]:
    """Give each hit the first fence between it and the next one."""
    ends = [one.line for one in found[1:]] + [max(fences, default=0) + 1]
    starts = sorted(fences)
    at = 0
    for one, end in zip(found, ends, strict=False):
        while at < len(starts) and starts[at] <= one.line:
            at += 1
        mine = starts[at] if at < len(starts) and starts[at] < end else None
        yield one.hit if mine is None else one.hit._replace(snippet=fences[mine])


def _split_fences(text: str) -> _Fenced:
    """Part a text from its fences; a fence ends at as many marks as it began with, as in CommonMark."""
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


def declarable(text: str, rules: TextRules) -> str:
    """Say what to declare for an answer that is no list of results, where that is not declared yet."""
    words = propose_words(text)
    nothing = "" if rules.nothing else f"; if that says that nothing was found: nothing = {words}"
    return nothing + ("" if rules.failed else f"; if it says what failed: failed = {words}")


def is_location(text: str, known: frozenset[str]) -> bool:
    """Tell whether a text names a place, as grep does in front of a line it shows."""
    hit = parse_location(text)
    return hit.start is not None or text.removesuffix(":") in known or (text.endswith(":") and _is_path(text[:-1]))


def _is_path(text: str) -> bool:
    """Tell whether a text looks like a path."""
    return _PATH.fullmatch(text) is not None


def _unread(line: str, rules: TextRules) -> EngineError:
    """Say that nothing in a text is a location."""
    begins = f"it begins {line[: TEXT_LIMITS.shown]!r}"
    nothing = declarable(line, rules)
    if rules.pattern:
        return EngineError(f"the pattern matches nothing in the output; {begins}", hint=f"correct the pattern{nothing}")
    return EngineError(
        f"no line of the output is a location; {begins}",
        hint=f"let the tool print path, path:line or path:start-end on each line, or declare a pattern{nothing}",
    )
