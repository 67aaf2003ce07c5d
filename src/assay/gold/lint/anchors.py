"""Lint rules G1xx: anchors that do not resolve, and missing or wrong revisions of the corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from assay.gold.anchors import all_targets, content_digest, find_digest
from assay.gold.git_history import find_stale_ranges, reanchor_hint
from assay.gold.lint.rules import RULE_BY_NAME, LintContext, LintFinding, Repair
from assay.syntax.text import count_lines, split_lines
from assay.types import Span, Target

_BY_PROBLEM = {
    "range": "range-past-end",
    "symbol": "symbol-missing",
    "language": "symbol-unreadable",
    "syntax": "file-unparsable",
    "content": "content-changed",
    "other-corpus": "other-corpus",
    "no-primary": "no-primary-left",
    "link": "link-twice",
}
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
#: A release tag, which could be moved but rarely is.
_RELEASE = re.compile(r"(?:[\w.-]*[-_/])?v?\d+(?:\.\d+)+(?:[.-]?\w+)*", re.IGNORECASE)


def check(view: LintContext) -> Iterator[LintFinding]:
    targets = {
        (query.id, target.anchor): target
        for query in view.gold.queries
        for target in (*query.targets, *(adversary.target for adversary in query.adversaries))
    }
    by_case: dict[str, list[str]] = {}
    for path in view.files:
        by_case.setdefault(path.casefold(), []).append(path)
    for problem in view.resolution.problems:
        message, hint, repair = problem.message, problem.hint or "", None
        target = targets.get((problem.query, problem.anchor))
        if problem.code != "path" or target is None:
            rule = _BY_PROBLEM[problem.code]
            if problem.code == "range" and target is not None:
                repair = _trim_range(view, target)
        elif same := by_case.get(target.span.path.casefold()):
            rule = "path-case"
            message = f"{target.span.path} does not match in case: the corpus has {' or '.join(same)}"
            hint = "correct the case"
            if len(same) == 1:
                repair = Repair(target.anchor, replace(target, span=replace(target.span, path=same[0])).anchor)
        elif (view.corpus.root / target.span.path).is_dir():
            rule = "path-is-folder"
        elif (view.corpus.root / target.span.path).is_file():
            rule = "path-left-out"
        else:
            rule, repair = "path-missing", _find_content(view, target)
        code, severity, gold = RULE_BY_NAME[rule].code, RULE_BY_NAME[rule].severity, view.gold.name
        file, line, query, anchor = problem.file, problem.line, problem.query, problem.anchor
        yield LintFinding(code, severity, gold, query, anchor, message, hint, file, line, repair)
    yield from _check_revision(view)


def _trim_range(view: LintContext, target: Target) -> Repair | None:
    start, end, text = target.span.start, target.span.end, view.text(target.span.path)
    if start is None or end is None or target.digest is not None or not text.endswith("\n"):
        return None
    last = count_lines(text)
    if end != last + 1 or start > last:
        return None
    return Repair(target.anchor, replace(target, span=replace(target.span, end=last)).anchor)


def _find_content(view: LintContext, target: Target) -> Repair | None:
    start, end, digest = target.span.start, target.span.end, target.digest
    if start is None or end is None or digest is None:
        return None
    name, length = PurePosixPath(target.span.path).name, end - start + 1
    spans = [
        Span(path, at, at + length - 1)
        for path in view.files
        if PurePosixPath(path).name == name
        for at in find_digest(split_lines(view.text(path)), digest, length)
    ]
    return Repair(target.anchor, replace(target, span=spans[0]).anchor) if len(spans) == 1 else None


def _check_revision(view: LintContext) -> Iterator[LintFinding]:
    spec, opened = view.gold.corpus, view.corpus.revision
    unpinned = ""
    if spec.kind == "git" and spec.rev is None:
        unpinned = f"the corpus {spec.repository} has no revision: the latest one is opened"
    elif spec.kind == "git" and spec.rev and not _COMMIT.fullmatch(spec.rev) and not _RELEASE.fullmatch(spec.rev):
        unpinned = f"the corpus {spec.repository} is pinned to '{spec.rev}', which can change"
    elif (spec.kind == "pypi" and "==" not in spec.value) or (spec.kind == "npm" and "@" not in spec.value[1:]):
        unpinned = f"the package {spec.value} has no version"
    if unpinned:
        hint = f"pin the corpus to {opened}" if opened else "set a revision or version"
        yield view.finding("corpus-not-pinned", None, "", unpinned, hint)
    if spec.rev and opened and _COMMIT.fullmatch(spec.rev) and not opened.startswith(spec.rev):
        yield view.finding("other-revision", None, "", f"the set names revision {spec.rev}, but {opened} was opened")
    yield from _check_ranges(view)


def _check_ranges(view: LintContext) -> Iterator[LintFinding]:
    source = view.gold.source or ""
    stale = find_stale_ranges(view.gold, view.corpus)
    for query in view.gold.queries:
        for target in (target for target in all_targets(query) if target in stale):
            message = f"the lines {target.anchor} changed since {PurePosixPath(source).name} was committed with them"
            yield view.finding("range-stale", query, target.anchor, message, f"run `{reanchor_hint(source)}`")
    unguarded = [
        (query, target)
        for query in view.gold.queries
        for target in all_targets(query)
        if target.span.start is not None and not target.symbol and not target.digest and target not in stale
    ]
    if view.gold.corpus.kind != "path" or not unguarded:
        return
    if not source.endswith((".yaml", ".yml")):  # other formats cannot store hashes
        message = f"{len(unguarded)} line ranges have no content hash, and the corpus is a directory without a revision"
        convert = f"assay gold convert {source} gold.yaml --to native --corpus {view.gold.corpus.value}"
        yield view.finding("ranges-unguarded", None, "", message, f"run `{convert}`, then lint --fix")
        return
    message = "a line range has no content hash, and the corpus is a directory without a revision"
    for query, target in unguarded:
        lines = split_lines(view.text(target.span.path)) if target.span.path in view.files else ()
        if target.span.start is not None and target.span.end is not None and target.span.end <= len(lines):
            digest = content_digest(lines[target.span.start - 1 : target.span.end])
            repair = Repair(target.anchor, replace(target, digest=digest).anchor)
            hint = f"add hashes with `assay gold lint {source} --fix`, or use symbol anchors"
            yield view.finding("ranges-unguarded", query, target.anchor, message, hint, repair)
