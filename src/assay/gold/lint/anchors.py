"""G1: anchors that do not hold on this corpus, and corpora that may become another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from assay.gold.anchors import AnchorProblem, places
from assay.gold.lint.rules import LintFinding, LintRule, Repair
from assay.gold.lint.view import LintContext
from assay.syntax.text import count_lines, split_lines
from assay.types import Query, Span, Target

PATH = LintRule(
    "G101",
    "path-missing",
    "error",
    "A target or adversary names a file that the corpus does not have.",
    "Nobody can find it, so the query can only be lost. Name the file that answers, or remove the label. `--fix` "
    "follows lines with a content hash to the one file of the same name that has them.",
    fixable=True,
)
LEFT_OUT = LintRule(
    "G102",
    "path-left-out",
    "error",
    "A target or adversary names a file that is there, but is no part of the corpus.",
    "Engines never see it: change the include and exclude globs, `.assayignore`, or the label.",
)
FOLDER = LintRule(
    "G103",
    "path-is-folder",
    "error",
    "A target or adversary names a folder.",
    "Results are files and lines: name a file in it.",
)
CASE = LintRule(
    "G104",
    "path-case",
    "error",
    "A path differs from that of a file by upper and lower case only.",
    "It matches on no file system that tells them apart. `--fix` writes it as the file is called.",
    fixable=True,
)
RANGE = LintRule(
    "G105",
    "range-past-end",
    "error",
    "A range goes beyond the last line of its file.",
    "It was made at another revision, or counts the empty line after the last line end, which `--fix` takes off.",
    fixable=True,
)
SYMBOL = LintRule(
    "G106",
    "symbol-missing",
    "error",
    "A symbol anchor names something that the file does not define.",
    "It was renamed or moved: `assay gold reanchor` looks for it, or name it as the hint says.",
)
LANGUAGE = LintRule(
    "G107",
    "symbol-unreadable",
    "error",
    "A symbol anchor points into a file whose language has no grammar here.",
    "Anchor it to lines: path:10-42.",
)
SYNTAX = LintRule(
    "G108",
    "file-unparsable",
    "error",
    "A symbol anchor points into a file that does not parse.",
    "Anchor it to lines, or use a version that reads this syntax.",
)
CONTENT = LintRule(
    "G109",
    "content-changed",
    "error",
    "The lines of an anchor with a content hash are not what they were, and stand nowhere else in the file.",
    "`assay gold reanchor` moves what can be moved; look at the rest and anchor it anew.",
)
OTHER = LintRule(
    "G110",
    "other-corpus",
    "error",
    "Most paths of a set are not in the corpus.",
    "This looks like a gold set for other code: check the repository, the revision and the root.",
)
NO_PRIMARY = LintRule(
    "G111",
    "no-primary-left",
    "error",
    "A query has no primary target that can be found.",
    "No result can be its answer: anchor it anew, or remove it.",
)
LINKED = LintRule(
    "G112",
    "link-twice",
    "error",
    "Two anchors of a query name one place: a symbolic link, and the file that it leads to.",
    "They are the same target: keep one of them.",
)
UNPINNED = LintRule(
    "G121",
    "corpus-not-pinned",
    "warning",
    "The corpus is a repository or package without a fixed revision or version.",
    "Labels drift when the code moves. Name the full commit, or the version.",
)
REVISION = LintRule(
    "G122",
    "other-revision",
    "error",
    "The revision that was opened is not the one that the set names.",
    "Labels of one revision are not true of another.",
)
UNGUARDED = LintRule(
    "G123",
    "ranges-unguarded",
    "info",
    "Line ranges stand on a folder that has no revision, and carry no content hash.",
    "Nothing tells when the lines move. Anchor them to symbols, or give them a hash: path:10-42#0123456789ab.",
)
RULES = (
    PATH, LEFT_OUT, FOLDER, CASE, RANGE, SYMBOL, LANGUAGE, SYNTAX, CONTENT, OTHER, NO_PRIMARY, LINKED, UNPINNED,
    REVISION, UNGUARDED,
)  # fmt: skip

_BY_PROBLEM = {
    "range": RANGE,
    "symbol": SYMBOL,
    "language": LANGUAGE,
    "syntax": SYNTAX,
    "content": CONTENT,
    "other-corpus": OTHER,
    "no-primary": NO_PRIMARY,
    "link": LINKED,
}
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
#: A tag of a release; it can be moved, but nobody does.
_RELEASE = re.compile(r"(?:[\w.-]*[-_/])?v?\d+(?:\.\d+)+(?:[.-]?\w+)*", re.IGNORECASE)


def check(view: LintContext) -> Iterator[LintFinding]:
    """Yield the anchors that do not hold, then what is not known of the corpus."""
    queries = {query.id: query for query in view.gold.queries}
    cases = _Cases(view)
    for problem in view.resolution.problems:
        yield _problem(view, problem, queries.get(problem.query), cases)
    yield from _pinning(view)


class _Cases:
    """The paths of a corpus without their case."""

    def __init__(self, view: LintContext) -> None:
        self._paths: dict[str, list[str]] = {}
        for path in view.files:
            self._paths.setdefault(path.casefold(), []).append(path)

    def same(self, path: str) -> list[str]:
        return self._paths.get(path.casefold(), [])


def _problem(view: LintContext, problem: AnchorProblem, query: Query | None, cases: _Cases) -> LintFinding:
    if problem.code != "path" or query is None:
        repair = _shorter(view, problem, query) if problem.code == "range" and query else None
        return _told(_BY_PROBLEM[problem.code], view, problem, problem.message, problem.hint or "", repair)
    target = _target(query, problem.anchor)
    path = target.span.path
    if same := cases.same(path):
        repair = Repair(problem.anchor, moved(target, same[0])) if len(same) == 1 else None
        message = f"{path} is written {' or '.join(same)} in the corpus"
        return _told(CASE, view, problem, message, "write it as the file is called", repair)
    if (view.corpus.root / path).is_dir():
        return _told(FOLDER, view, problem, problem.message, problem.hint or "")
    if (view.corpus.root / path).is_file():
        return _told(LEFT_OUT, view, problem, problem.message, problem.hint or "")
    return _told(PATH, view, problem, problem.message, problem.hint or "", _found_again(view, target, problem.anchor))


def _found_again(view: LintContext, target: Target, anchor: str) -> Repair | None:
    start, end, digest = target.span.start, target.span.end, target.digest
    if start is None or end is None or digest is None:
        return None
    name, length = PurePosixPath(target.span.path).name, end - start + 1
    files = [path for path in sorted(view.files) if PurePosixPath(path).name == name]
    found = [
        Span(path, at, at + length - 1) for path in files for at in places(split_lines(view.text(path)), digest, length)
    ]
    return Repair(anchor, replace(target, span=found[0]).anchor) if len(found) == 1 else None


def _told(
    rule: LintRule, view: LintContext, problem: AnchorProblem, message: str, hint: str, repair: Repair | None = None
) -> LintFinding:
    return LintFinding(
        rule.code, rule.severity, view.gold.name, problem.query, problem.anchor, message, hint, problem.file,
        problem.line, repair,
    )  # fmt: skip


def _target(query: Query, anchor: str) -> Target:
    named = (*query.targets, *(adversary.target for adversary in query.adversaries))
    return next(target for target in named if target.anchor == anchor)


def moved(target: Target, path: str) -> str:
    """Write a target with another path."""
    return replace(target, span=replace(target.span, path=path)).anchor


def _shorter(view: LintContext, problem: AnchorProblem, query: Query) -> Repair | None:
    target = _target(query, problem.anchor)
    start, end, text = target.span.start, target.span.end, view.text(target.span.path)
    if start is None or end is None or target.digest is not None or not text.endswith("\n"):
        return None
    last = count_lines(text)
    if end != last + 1 or start > last:
        return None
    return Repair(problem.anchor, replace(target, span=replace(target.span, end=last)).anchor)


def _pinning(view: LintContext) -> Iterator[LintFinding]:
    spec, opened = view.gold.corpus, view.corpus.revision
    if unpinned := _unpinned(view):
        hint = f"what was opened is {opened}" if opened else "name it"
        yield view.finding(UNPINNED, None, "", unpinned, hint)
    if spec.rev and opened and _COMMIT.fullmatch(spec.rev) and not opened.startswith(spec.rev):
        yield view.finding(REVISION, None, "", f"the set names revision {spec.rev}, and {opened} was opened")
    ranges = [t for query in view.gold.queries for t in query.targets if t.span.start is not None and not t.digest]
    if spec.kind == "path" and ranges:
        message = f"{len(ranges)} line ranges have no content hash, and the corpus is a folder without a revision"
        yield view.finding(UNGUARDED, None, "", message, "anchor them to symbols, or give them a content hash")


def _unpinned(view: LintContext) -> str:
    spec = view.gold.corpus
    if spec.kind == "git" and spec.rev is None:
        return f"the corpus {spec.repository} has no revision: whatever is newest will be opened"
    if spec.kind == "git" and spec.rev and not _COMMIT.fullmatch(spec.rev) and not _RELEASE.fullmatch(spec.rev):
        return f"the corpus {spec.repository} is pinned to '{spec.rev}', a name that moves"
    if spec.kind == "pypi" and "==" not in spec.value:
        return f"the package {spec.value} has no version"
    if spec.kind == "npm" and "@" not in spec.value[1:]:
        return f"the package {spec.value} has no version"
    return ""
