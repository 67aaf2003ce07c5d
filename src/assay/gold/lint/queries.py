"""Lint rules about the queries of a set.

G4xx: duplicate queries, faulty wrong_terminology phrasings, and queries that quote target names. G6xx: code, categories
and phrasings that the queries do not cover, and too few queries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os.path import commonpath
from pathlib import PurePosixPath

from assay.corpus.file_types import file_role
from assay.gold.lint.rules import RULE_BY_NAME, LeakageCounts, LintConfig, LintContext, LintFinding
from assay.gold.query_properties import (
    count_replacements,
    count_retained,
    find_duplicates,
    find_identifiers,
    have_same_targets,
    is_copied,
    is_symbol_query,
    leakage,
    line_comments,
)
from assay.syntax.identifiers import split
from assay.syntax.text import split_lines
from assay.types import Suite, Target

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
    end = span.end or span.start
    doc = next((d.doc for d in outline.definitions if span.start <= d.name_line <= end), "")
    lines = split_lines(view.text(target.span.path))[span.start - 1 : end]
    return f"{doc}\n\n{line_comments(chr(10).join(lines))}"


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


@dataclass(frozen=True, slots=True)
class DetectionPower:
    smallest: Callable[[int, int], float]  # queries, repositories -> minimum detectable effect
    assuming: str  # as shown in messages


def check_coverage(view: LintContext) -> Iterator[LintFinding]:
    yield from _check_modules(view)
    counts = Counter(query.tags["category"] for query in view.gold.queries if "category" in query.tags)
    small = sorted(name for name, count in counts.items() if count < view.config.few_queries)
    if small and len(counts) > 1:
        listed = ", ".join(f"{name} ({counts[name]})" for name in small)
        message = f"fewer than {view.config.few_queries} queries in category {listed}"
        yield view.finding("categories-small", None, "", message)
    total = len(view.gold.queries)
    counts = Counter(form for query in view.gold.queries for form in query.forms if form != "cross_module")
    missing = [f"{form} ({total - count} of {total})" for form, count in sorted(counts.items()) if count < total]
    if missing:
        yield view.finding("forms-missing", None, "", f"phrasings that some queries lack: {', '.join(missing)}")


def check_size(suite: Suite, power: DetectionPower, config: LintConfig) -> Iterator[LintFinding]:
    queries = sum(len(gold.queries) for gold in suite.golds)
    repositories = len({gold.corpus.repository for gold in suite.golds})
    smallest = power.smallest(queries, repositories)
    if smallest <= config.margin:
        return
    size = "1 query" if queries == 1 else f"{queries} queries"
    size += " in 1 repository" if repositories == 1 else f" in {repositories} repositories"
    shown = f"can detect only differences of {smallest:.2g} or more" if smallest < 1 else "cannot detect any difference"
    where = " on this repository" if repositories == 1 and smallest < 1 else ""
    message = f"{size} {shown}{where} ({power.assuming}); the margin is {config.margin:g}"
    source = suite.golds[0].source if len(suite.golds) == 1 else None
    hint = "after `assay run`, `assay plan --detect 0.05` computes how many queries are needed"
    rule = RULE_BY_NAME["too-few-queries"]
    yield LintFinding(rule.code, rule.severity, suite.name, "", "", message, hint, source)


def _check_modules(view: LintContext) -> Iterator[LintFinding]:
    """Yield at most one finding: the large top-level directories of the corpus without a target.

    Only files of the kinds that have targets count, such as code. A target in a file next to a directory of the same
    name (Ruby, Rust, Elixir) covers the directory.
    """
    covered = [t.span.path for query in view.resolved() for t in query.targets]
    kinds = sorted({view.files[path].kind for path in covered if path in view.files})
    paths = [path for path, file in view.files.items() if file.kind in kinds]
    top = commonpath([PurePosixPath(path).parent for path in paths]) if paths else ""
    prefix = "" if top in ("", ".") else f"{top}/"

    def module(path: str) -> str:
        below = path.removeprefix(prefix)
        return prefix + below.partition("/")[0] if "/" in below else ""

    aside = [path for path in paths if file_role(path) != "none"]
    sizes, aside_sizes = (Counter(m for path in some if (m := module(path))) for some in (paths, aside))
    met = {name for path in covered for name in (module(path), str(PurePosixPath(path).with_suffix("")))}
    least = max(view.config.module_files, view.config.module_share * (len(paths) - len(aside)))
    missed = [
        (-count, name)
        for name, count in sizes.items()
        if name not in met and count >= least and 2 * aside_sizes[name] < count
    ]
    if missed:
        noun = f"{kinds[0]} files" if len(kinds) == 1 else "files"
        listed = ", ".join(f"{name} ({-count} {noun})" for count, name in sorted(missed)[: view.config.listed])
        more = f" and {len(missed) - view.config.listed} more" if len(missed) > view.config.listed else ""
        yield view.finding("modules-uncovered", None, "", f"no target in {listed}{more}")
