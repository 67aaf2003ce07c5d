r"""Parsing of hits from text: one location per line, or matches of a regular expression.

Lines in ``` fences are the snippet of the result above the fence, never locations. In a pattern, `^` and `$` match at
every line, and a match may span several lines: `^File: (?P<path>.+)\nLines: (?P<start>\d+)-(?P<end>\d+)`.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.engines.base import EngineReply
from assay.errors import ConfigError, EngineError
from assay.patterns import UserPattern
from assay.types import Hit

_LOCATION = re.compile(r"(?P<path>.+?):(?P<start>\d{1,9})(?:-(?P<end>\d{1,9}))?(?::.*)?", re.DOTALL)
# A plausible path that is not in the corpus: no space or quote, a dot or slash, no punctuation at its end.
_PATH = re.compile(r"[^\s\"]*[./][^\s\"]*[^\s\".:,;!?]")
_FENCE = re.compile(r"\s*(?P<marks>`{3,}|~{3,})(?P<info>[^`]*)")
# Whole words only, because redaction does not recognize a part of a secret.
_WORDS = re.compile(r"[A-Za-z]+(?: [A-Za-z]+){0,3}(?=\s|[.,:;!]*(?:\s|$))")


@dataclass(frozen=True, slots=True)
class TextLimits:
    line: int = 2_000  # searched part of a line; limits patterns that backtrack
    shown: int = 60  # quoted part of a line in a message
    error: int = 300  # quoted part of a tool's error in a message


TEXT_LIMITS = TextLimits()


@dataclass(frozen=True, slots=True)
class TextRules:
    """Regular expressions for a result (None: one location per line), for an empty result, and for a failure."""

    pattern: UserPattern | None = None
    nothing: UserPattern | None = None
    failed: UserPattern | None = None


def parse_rules(pattern: str, nothing: str, failed: str, where: str) -> TextRules:
    texts = {"pattern": pattern, "nothing": nothing, "failed": failed}
    compiled = {
        name: UserPattern(text, f"{where}: {name}: ", (name,), EngineError) for name, text in texts.items() if text
    }
    groups = compiled["pattern"].compiled.groupindex.keys() if pattern else {"path"}
    if "path" not in groups:
        message = f"{where}: `pattern` has no group named path"
        raise ConfigError(message, hint="add (?P<path>...)", keys=["pattern"])
    if unknown := groups - {"end", "path", "score", "start"}:
        message = f"{where}: unknown named group {min(unknown)!r} in `pattern`"
        raise ConfigError(message, hint="use the groups path, start, end and score", keys=["pattern"])
    return TextRules(**compiled)


def parse_location(text: str) -> Hit:
    """Parse `path`, `path:line` or `path:start-end`; ignore text after another colon, such as code from grep."""
    match = _LOCATION.fullmatch(text)
    if match is None:
        return Hit(text)
    start = int(match["start"])
    return Hit(match["path"], start, int(match["end"] or start))


def is_location(text: str, known: frozenset[str]) -> bool:
    hit = parse_location(text)
    path = text.removesuffix(":")
    return hit.start is not None or path in known or (text.endswith(":") and _PATH.fullmatch(path) is not None)


def parse_text(text: str, rules: TextRules, known: frozenset[str]) -> EngineReply:
    """Parse hits from a text; raise EngineError if the text is not empty and contains no location."""
    lines, fences, unclosed = _split_fences(text)
    located = _match_pattern(lines, rules.pattern) if rules.pattern else _match_lines(lines, known)
    filled = [line.strip() for line in lines if line.strip()]
    if filled and not located:
        start = f"it starts with {filled[0][: TEXT_LIMITS.shown]!r}"
        advice = suggest_setting(filled[0][: TEXT_LIMITS.line], rules)
        if rules.pattern:
            raise EngineError(f"`pattern` does not match the output; {start}", hint=f"correct `pattern`{advice}")
        hint = f"print path, path:line or path:start-end on each line, or set `pattern`{advice}"
        raise EngineError(f"no location in the output; {start}", hint=hint)
    ignored = 0 if rules.pattern else len(filled) - len(located)
    notes = [f"{ignored} of {len(filled)} lines have no location and were ignored"] if ignored else []
    if unclosed is not None:
        notes.append(f"unclosed ``` fence at line {unclosed + 1}; locations after it were ignored")
    starts, hits = list(fences), []
    for number, (line, hit) in enumerate(located):
        at = bisect_right(starts, line)
        is_last = number + 1 == len(located)
        has_snippet = at < len(starts) and (is_last or starts[at] < located[number + 1][0])
        hits.append(hit._replace(snippet=fences[starts[at]]) if has_snippet else hit)
    return EngineReply(tuple(hits), None, tuple(notes))


def _split_fences(text: str) -> tuple[list[str], dict[int, str], int | None]:
    """Return the lines with fences blanked, the snippets by first line, and the first line of an unclosed fence."""
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
    return lines, fences, begin if marks else None


def _match_lines(lines: Sequence[str], known: frozenset[str]) -> list[tuple[int, Hit]]:
    located = []
    for number, line in enumerate(map(str.strip, lines)):
        hit = Hit(line) if line in known else parse_location(line)
        if hit.path.removeprefix("./") in known or _PATH.fullmatch(hit.path):
            located.append((number, hit))
    return located


def _match_pattern(lines: Sequence[str], pattern: UserPattern) -> list[tuple[int, Hit]]:
    text = "\n".join(line[: TEXT_LIMITS.line] for line in lines)
    located, number, end_of_last = [], 0, 0
    for match in pattern.fresh().finditer(text):
        path = (match["path"] or "").strip()
        if not path:
            continue
        number, end_of_last = number + text.count("\n", end_of_last, match.end()), match.end()
        groups = match.groupdict()
        start, end = (
            int(value) if (value := groups.get(name)) and value.strip().isdecimal() else None
            for name in ("start", "end")
        )
        hit = parse_location(path) if start is end is None else Hit(path, start, start if end is None else end)
        try:
            score = float(groups.get("score") or "")
        except ValueError:
            score = None
        located.append((number, hit._replace(score=score)))
    return located


def is_empty_result(text: str, rules: TextRules) -> bool:
    return rules.nothing is not None and any(map(rules.nothing.fresh().search, _bounded_lines(text)))


def find_failure(text: str, failed: UserPattern | None) -> EngineError | None:
    """Return an error with the output from the first line that matches `failed` onward, or None without a match."""
    if failed is None:
        return None
    lines, failed = list(_bounded_lines(text)), failed.fresh()
    first = next((number for number, line in enumerate(lines) if failed.search(line)), None)
    if first is None:
        return None
    error = textwrap.shorten(" ".join(lines[first:]), TEXT_LIMITS.error, placeholder=" …")
    return EngineError(f"the tool failed: {error}", hint="fix the error that the tool reports, or correct `failed`")


def _bounded_lines(text: str) -> Iterator[str]:
    return (line[: TEXT_LIMITS.line] for line in text.split("\n"))


def suggest_setting(text: str, rules: TextRules) -> str:
    """Return advice to set `nothing` and `failed`, without the settings that are already set."""
    match = _WORDS.match(text)
    words = f"'^{match[0]}'" if match else "'…'"
    advice = "" if rules.nothing else f"; if this output means no results, set nothing = {words}"
    return advice + ("" if rules.failed else f"; if this output reports a failure, set failed = {words}")
