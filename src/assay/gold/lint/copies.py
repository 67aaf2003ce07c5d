"""G31: code that stands in the corpus twice, of which one copy is labelled."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.gold.lint.owners import simple
from assay.gold.lint.rules import LintFinding, LintRule
from assay.gold.lint.view import LintContext, written
from assay.syntax.outline import Definition, Outline
from assay.types import Query, Span, Target

EXACT = LintRule(
    "G311",
    "copy-unlabelled",
    "warning",
    "The code of a primary target stands again in the corpus, comments and imports aside, and is not labelled there.",
    "An engine that returns the copy is marked wrong. Label it too, or leave one copy out of the corpus.",
)
NEAR = LintRule(
    "G312",
    "near-copy-unlabelled",
    "info",
    "A definition or file of the same name as a primary target is nearly the same code, and is not labelled.",
    "An engine that returns it is marked wrong. Label it too, or leave one of them out of the corpus.",
)
RULES = (EXACT, NEAR)

_COMMENT = re.compile(r"(?://|#(?!\w)|/?\*|--|;;|%%|<!--|'''|\"\"\")")
_HEADING = re.compile(r"#+\s")  # of a document, or a comment in its examples
_IMPORT = re.compile(r"(?:#\s*include|import|from\s+\S+\s+import|use|using|package|require|export\s+.*\bfrom)\b")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that says something: its number and its text with blanks made one."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The code of a target."""

    query: Query
    target: Target
    said: tuple[str, ...]


def check(view: LintContext) -> Iterator[LintFinding]:
    """Yield copies of primary targets: of whole files by name or content, of ranges by their lines."""
    pages = _Pages(view)
    stretches: list[_Stretch] = []
    for query in view.resolved():
        for target in query.primaries:
            if target.span.start is None:
                yield from _file_copies(view, query, target, pages)
            elif _is_long(said := _said(pages.lines(target.span.path), target.span), view):
                stretches.append(_Stretch(query, target, said))
    yield from _range_copies(view, stretches, pages)


class _Pages:
    """The lines of files that say something, found once."""

    def __init__(self, view: LintContext) -> None:
        self._view = view
        self._lines: dict[str, tuple[_Line, ...]] = {}
        self.by_name: dict[str, list[str]] = {}
        self.by_content: dict[str, list[str]] = {}
        for path in sorted(view.files):
            self.by_name.setdefault(PurePosixPath(path).name, []).append(path)
            self.by_content.setdefault(view.corpus.hashes.get(path, ""), []).append(path)

    def lines(self, path: str) -> tuple[_Line, ...]:
        if path not in self._lines:
            aside = _HEADING if self._view.files[path].kind == "docs" else _COMMENT
            self._lines[path] = tuple(_telling(self._view.text(path), aside))
        return self._lines[path]


def _telling(text: str, aside: re.Pattern[str]) -> Iterator[_Line]:
    for number, line in enumerate(text.split("\n"), 1):
        said = " ".join(line.split())
        if re.search(r"\w", said) and not aside.match(said) and not _IMPORT.match(said):
            yield _Line(number, said)


def _said(lines: Sequence[_Line], span: Span) -> tuple[str, ...]:
    start, end = span.start or 1, span.end or 0
    return tuple(line.text for line in lines if start <= line.number <= end)


def _is_long(said: Sequence[str], view: LintContext) -> bool:
    config = view.config
    return len(said) >= config.copied_lines and sum(map(len, said)) >= config.copied_characters


def _is_labelled(query: Query, span: Span) -> bool:
    labels = (*query.targets, *(adversary.target for adversary in query.adversaries))
    return any(label.span.common_lines(span) for label in labels)


def _file_copies(view: LintContext, query: Query, target: Target, pages: _Pages) -> Iterator[LintFinding]:
    path = target.span.path
    digest = view.corpus.hashes.get(path)
    same = pages.by_content.get(digest or "", ()) if len(pages.lines(path)) >= view.config.copied_lines else ()
    for other in same:
        if other != path and not _is_labelled(query, Span(other)):
            yield view.finding(EXACT, query, target.anchor, f"{other} has the same content as {path}")
    for other in pages.by_name[PurePosixPath(path).name]:
        if other == path or other in same or _is_labelled(query, Span(other)):
            continue
        share = _likeness([line.text for line in pages.lines(path)], [line.text for line in pages.lines(other)], view)
        if share >= view.config.near and len(pages.lines(path)) >= view.config.copied_file_lines:
            message = f"{other} has {share:.0%} of its lines in common with {path}, in order"
            yield view.finding(NEAR, query, target.anchor, message)


def _likeness(one: Sequence[str], other: Sequence[str], view: LintContext) -> float:
    if not one or not other or min(len(one), len(other)) < view.config.near_length * max(len(one), len(other)):
        return 0.0
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() >= view.config.near else 0.0


def _range_copies(view: LintContext, stretches: Sequence[_Stretch], pages: _Pages) -> Iterator[LintFinding]:
    if not stretches:
        return
    keys = [max(stretch.said, key=lambda text: (len(text), text)) for stretch in stretches]
    words = [sorted(key.split(), key=lambda word: (-len(word), word)) for key in keys]
    for path in sorted(view.files):
        text = view.text(path)
        for stretch, key, rare in zip(stretches, keys, words, strict=True):
            # words are cheap to look for, the longest first: few files have them all, and only those are taken apart
            if all(word in text for word in rare) and any(line.text == key for line in pages.lines(path)):
                yield from _again(view, stretch, path, pages)


def _again(view: LintContext, stretch: _Stretch, path: str, pages: _Pages) -> Iterator[LintFinding]:
    exact = [span for span in _exact(stretch.said, pages.lines(path), path) if not _is_labelled(stretch.query, span)]
    anchor = written(stretch.query, stretch.target)
    for span in exact:
        message = (
            f"{anchor} stands again in {span}: all its {len(stretch.said)} lines, comments, headings and imports aside"
        )
        yield view.finding(EXACT, stretch.query, anchor, message)
    if exact or path == stretch.target.span.path:
        return
    for span, share in _near(view, stretch, path, pages):
        if not _is_labelled(stretch.query, span):
            message = f"{span} defines the same name and has {share:.0%} of its lines in common with {anchor}, in order"
            yield view.finding(NEAR, stretch.query, anchor, message)


def _exact(said: Sequence[str], lines: Sequence[_Line], path: str) -> Iterator[Span]:
    texts = [line.text for line in lines]
    for at in range(len(texts) - len(said) + 1):
        if texts[at] == said[0] and texts[at : at + len(said)] == list(said):
            yield Span(path, lines[at].number, lines[at + len(said) - 1].number)


def _near(view: LintContext, stretch: _Stretch, path: str, pages: _Pages) -> Iterator[tuple[Span, float]]:
    scopes, outline = _scopes(view, stretch.target), view.outline(path)
    for one in outline.definitions if scopes and outline else ():
        span = Span(path, one.start, one.end)
        if outline is not None and _chain(one, outline) == scopes:
            share = _likeness(stretch.said, _said(pages.lines(path), span), view)
            if share >= view.config.near:
                yield span, share


def _scopes(view: LintContext, target: Target) -> tuple[str, ...]:
    outline = view.outline(target.span.path)
    for one in outline.definitions if outline else ():
        if outline and one.end == target.span.end and one.start <= (target.span.start or 0) <= one.name_line:
            return _chain(one, outline)
    return ()


def _chain(one: Definition, outline: Outline) -> tuple[str, ...]:
    names = [simple(one.name)]
    while one.parent >= 0:
        one = outline.definitions[one.parent]
        names.append(simple(one.name))
    return tuple(names)
