"""Lint rules G4xx: duplicate queries, faulty wrong_terminology phrasings, and queries that quote target names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from assay.gold.lint.rules import LeakageCounts, LintContext, LintFinding
from assay.gold.query_properties import (
    count_replacements,
    count_retained,
    find_duplicates,
    find_identifiers,
    have_same_targets,
    is_copied,
    is_symbol_query,
    leakage,
)
from assay.syntax.identifiers import split
from assay.types import Target

_TOKEN = re.compile(r"\w+")
#: File names that describe nothing.
_PLAIN = frozenset({"index", "main", "mod", "lib", "init", "utils", "util", "types", "common", "core", "base"})


def check(view: LintContext) -> Iterator[LintFinding]:
    for earlier, query in find_duplicates(view.gold.queries):
        rule = "query-twice" if have_same_targets(earlier, query) else "queries-alike"
        which = "and the same primary targets" if rule == "query-twice" else "but different primary targets"
        message = f"queries '{earlier.id}' and '{query.id}' have the same words {which}"
        yield view.finding(rule, query, "", message)
    for query in view.gold.queries:
        human, wrong = query.forms.get("human"), query.forms.get("wrong_terminology")
        if human is None or wrong is None:
            continue
        count = count_replacements(human, wrong)
        if count == 0:
            message = f"the wrong_terminology phrasing of '{query.id}' replaces no term of the human phrasing"
            yield view.finding("wrong-term-missing", query, "", message)
        elif count > 1:
            same, every = count_retained(human, wrong)
            if 2 * same < every:
                change = f"retains only {same} of the {every} words of the human phrasing"
            else:
                change = f"differs from the human phrasing by {count} replacements"
            message = f"the wrong_terminology phrasing of '{query.id}' {change}"
            yield view.finding("wrong-terms-several", query, "", message)
    for query in view.resolved():
        for target in () if is_symbol_query(query) else query.primaries:
            if quoted := _find_name(query.headline, target):
                message = f"query '{query.id}' quotes '{quoted}', the name of its target {target.anchor}"
                yield view.finding("answer-given-away", query, target.anchor, message)
                break
        for target in query.primaries:
            if target.symbol and is_copied(query.headline, _comment(view, target)):
                message = f"query '{query.id}' repeats the comment of its target {target.anchor}"
                yield view.finding("comment-copied", query, target.anchor, message)
                break
        if query.tags.get("status") == "draft":
            yield view.finding("query-draft", query, "", f"query '{query.id}' is a draft")


def _comment(view: LintContext, target: Target) -> str:
    outline, span = view.outline(target.span.path), target.unit or target.span
    if outline is None or span.start is None:
        return ""
    inside = (d for d in outline.definitions if span.start <= d.name_line <= (span.end or span.start))
    return next((d.doc for d in inside), "")


def count_leakage(view: LintContext) -> LeakageCounts:
    shares = [leakage(query.headline, query.targets) for query in view.gold.queries]
    none, half = sum(share == 0 for share in shares), sum(share >= view.config.leak_half for share in shares)
    return LeakageCounts(view.gold.name, none, len(shares) - none - half, half)


def _find_name(text: str, target: Target) -> str:
    symbol = [target.symbol.partition("~")[0].rpartition(".")[2]] if target.symbol else []
    file = PurePosixPath(target.span.path)
    stem = [] if file.stem.lower().strip("_") in _PLAIN else [file.stem]
    code = find_identifiers(text)
    if exact := next((name for name in (*symbol, *stem, file.name) if name in code), ""):
        return exact
    words = split(file.stem)
    tokens = [split(token) for token in _TOKEN.findall(text)] if len(words) > 1 else []
    for at in range(len(tokens)):
        run: tuple[str, ...] = ()
        for token in tokens[at : at + len(words)]:
            run += token
            if run == tuple(words):
                return " ".join(words)
    return ""
