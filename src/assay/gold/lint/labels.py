"""Lint rules G3xx: labels of one query that share lines, and copies of labeled code elsewhere in the corpus."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from pathlib import PurePosixPath

from assay.gold.lint.definitions import simple_name
from assay.gold.lint.rules import LintContext, LintFinding, Repair, written_anchor
from assay.syntax.outline import Definition, Outline
from assay.types import Query, Span, Target


def check(view: LintContext) -> Iterator[LintFinding]:
    sources = {query.id: query for query in view.gold.queries}
    for query in view.resolved():
        source = sources[query.id]
        for first_target, other in combinations(query.targets, 2):
            common = first_target.span.common_lines(other.span)
            if not common or (first_target.span.start is None and other.span.start is None):
                continue
            first, second = written_anchor(source, first_target), written_anchor(source, other)
            if first_target.span == other.span:
                message = f"{first} and {second} are the same lines, {first_target.span}"
                fixable = first_target.grade == other.grade and not (first_target.symbol and other.symbol)
                repair = Repair(first if other.symbol else second, None) if fixable else None
                yield view.finding("target-twice", source, second, message, "keep one", repair)
            elif _contains(first_target.span, other.span) or _contains(other.span, first_target.span):
                inner, outer = (second, first) if _contains(first_target.span, other.span) else (first, second)
                message = f"{inner} is inside {outer}, a target of the same query"
                yield view.finding("target-inside-another", source, inner, message)
            else:
                message = f"{first} and {second} share {_count_lines(common)}"
                yield view.finding("targets-overlap", source, second, message)
        for adversary in query.adversaries:
            for target in query.targets:
                if common := adversary.target.span.common_lines(target.span):
                    anchor, right = written_anchor(source, adversary.target), written_anchor(source, target)
                    message = f"the adversary {anchor} shares {_count_lines(common)} with the target {right}"
                    yield view.finding("adversary-overlaps-target", source, anchor, message)


def _count_lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def _contains(outer: Span, inner: Span) -> bool:
    if outer.start is None or inner.start is None:
        return outer.start is None
    return outer.common_lines(inner) == inner.common_lines(inner)


_COMMENT = re.compile(r"(?://|#(?!\w)|/?\*|--|;;|%%|<!--|'''|\"\"\")")
_HEADING = re.compile(r"#+\s")  # in a document, where it may also be a comment in an example
_IMPORT = re.compile(r"(?:#\s*include|import|from\s+\S+\s+import|use|using|package|require|export\s+.*\bfrom)\b")

_Line = tuple[int, str]  # number, and text with runs of blanks collapsed
_Code = tuple[Query, Target, list[str]]  # the code lines of a target


def check_copies(view: LintContext) -> Iterator[LintFinding]:
    """Yield a finding for each unlabeled copy or near-copy of a primary target.

    Whole files are compared with files of the same content or name, and ranges with the lines of all files.
    """
    lines = _CodeLines(view)
    ranges: list[_Code] = []
    for query in view.resolved():
        for target in query.primaries:
            if target.span.start is None:
                yield from _find_file_copies(view, query, target, lines)
                continue
            code = _select(lines.read(target.span.path), target.span)
            if len(code) >= view.config.copied_lines and sum(map(len, code)) >= view.config.copied_characters:
                ranges.append((query, target, code))
    keys = [max(code, key=lambda text: (len(text), text)) for _, _, code in ranges]
    words = [sorted(key.split(), key=lambda word: (-len(word), word)) for key in keys]
    for path in sorted(view.files) if ranges else ():
        text = view.text(path)
        for labeled, key, rare in zip(ranges, keys, words, strict=True):
            # searching for words, the longest first, is cheap and rules out most files before they are split
            if all(word in text for word in rare) and any(line == key for _, line in lines.read(path)):
                yield from _find_range_copies(view, labeled, path, lines)


class _CodeLines:
    def __init__(self, view: LintContext) -> None:
        self._view = view
        self.read = cache(self._read)
        self.by_name: dict[str, list[str]] = {}
        self.by_content: dict[str, list[str]] = {}
        for path in sorted(view.files):
            self.by_name.setdefault(PurePosixPath(path).name, []).append(path)
            self.by_content.setdefault(view.corpus.hashes.get(path, ""), []).append(path)

    def _read(self, path: str) -> list[_Line]:
        skip = _HEADING if self._view.files[path].kind == "docs" else _COMMENT
        lines = enumerate((" ".join(line.split()) for line in self._view.text(path).split("\n")), 1)
        coded = [(number, text) for number, text in lines if re.search(r"\w", text)]
        return [(number, text) for number, text in coded if not skip.match(text) and not _IMPORT.match(text)]


def _select(lines: Sequence[_Line], span: Span) -> list[str]:
    return [text for number, text in lines if (span.start or 1) <= number <= (span.end or 0)]


def _find_file_copies(view: LintContext, query: Query, target: Target, lines: _CodeLines) -> Iterator[LintFinding]:
    path = target.span.path
    code = [text for _, text in lines.read(path)]
    digest = view.corpus.hashes.get(path, "")
    same = lines.by_content.get(digest, ()) if len(code) >= view.config.copied_lines else ()
    for other in same:
        if other != path and not _is_labeled(query, Span(other)):
            yield view.finding("copy-unlabeled", query, target.anchor, f"{other} has the same content as {path}")
    for other in lines.by_name[PurePosixPath(path).name] if len(code) >= view.config.copied_file_lines else ():
        if other == path or other in same or _is_labeled(query, Span(other)):
            continue
        share = _similarity(code, [text for _, text in lines.read(other)], view)
        if share >= view.config.copied_share:
            message = f"{other} and {path} share {share:.0%} of their lines, in order"
            yield view.finding("near-copy-unlabeled", query, target.anchor, message)


def _find_range_copies(view: LintContext, labeled: _Code, path: str, lines: _CodeLines) -> Iterator[LintFinding]:
    query, target, code = labeled
    anchor = written_anchor(query, target)
    there = lines.read(path)
    texts = [text for _, text in there]
    exact = [
        Span(path, there[at][0], there[at + len(code) - 1][0])
        for at in range(len(texts) - len(code) + 1)
        if texts[at] == code[0] and texts[at : at + len(code)] == code
    ]
    exact = [span for span in exact if not _is_labeled(query, span)]
    for span in exact:
        message = f"{span} copies all {len(code)} lines of {anchor}, ignoring comments, headings and imports"
        yield view.finding("copy-unlabeled", query, anchor, message)
    outline = view.outline(path)
    if exact or path == target.span.path or outline is None:
        return
    here, start = view.outline(target.span.path), target.span.start or 0
    own = here.definitions if here else ()
    same = [
        definition
        for definition in own
        if definition.end == target.span.end and definition.start <= start <= definition.name_line
    ]
    scopes = _scopes(same[0], here) if here and same else ()
    for definition in outline.definitions if scopes else ():
        span = Span(path, definition.start, definition.end)
        if _scopes(definition, outline) != scopes or _is_labeled(query, span):
            continue
        share = _similarity(code, _select(there, span), view)
        if share >= view.config.copied_share:
            message = f"{span} and {anchor} define the same name and share {share:.0%} of their lines, in order"
            yield view.finding("near-copy-unlabeled", query, anchor, message)


def _is_labeled(query: Query, span: Span) -> bool:
    labels = (*query.targets, *(adversary.target for adversary in query.adversaries))
    return any(label.span.common_lines(span) for label in labels)


def _similarity(lines: Sequence[str], other: Sequence[str], view: LintContext) -> float:
    if not lines or not other or min(len(lines), len(other)) < view.config.copied_length * max(len(lines), len(other)):
        return 0.0
    matcher = difflib.SequenceMatcher(None, lines, other, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= view.config.copied_share else 0.0


def _scopes(definition: Definition, outline: Outline) -> tuple[str, ...]:
    names = [simple_name(definition.name)]
    while definition.parent >= 0:
        definition = outline.definitions[definition.parent]
        names.append(simple_name(definition.name))
    return tuple(names)
