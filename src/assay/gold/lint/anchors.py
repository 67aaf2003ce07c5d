"""G1: anchors that cannot be resolved, and corpora without a fixed revision."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from assay.gold.anchors import places
from assay.gold.lint.rules import LintContext, LintFinding, LintRule, Repair
from assay.syntax.text import count_lines, split_lines
from assay.types import Span, Target

PATH = LintRule(
    "G101",
    "path-missing",
    "error",
    "A target or adversary names a file that the corpus does not have.",
    "No engine can return it. Correct the path or remove the label. `--fix` moves ranges with a content hash to the "
    "one file of the same name that holds these lines.",
    fixable=True,
)
LEFT_OUT = LintRule(
    "G102",
    "path-left-out",
    "error",
    "A target or adversary names a file that exists but is not part of the corpus.",
    "Engines never see it: change the include and exclude globs, `.assayignore`, or the label.",
)
FOLDER = LintRule(
    "G103",
    "path-is-folder",
    "error",
    "A target or adversary names a directory.",
    "Targets are files or line ranges: name a file in it.",
)
CASE = LintRule(
    "G104",
    "path-case",
    "error",
    "A path differs from that of a file only in upper and lower case.",
    "It does not match on case-sensitive file systems. `--fix` corrects the case.",
    fixable=True,
)
RANGE = LintRule(
    "G105",
    "range-past-end",
    "error",
    "A range goes beyond the last line of its file.",
    "It was made at another revision, or counts an empty line after the final newline, which `--fix` removes.",
    fixable=True,
)
SYMBOL = LintRule(
    "G106",
    "symbol-missing",
    "error",
    "A symbol anchor names a symbol that the file does not define.",
    "It was renamed or moved: run `assay gold reanchor`, or correct the name as the hint says.",
)
LANGUAGE = LintRule(
    "G107",
    "symbol-unreadable",
    "error",
    "A symbol anchor points into a file in an unsupported language.",
    "Use a line range instead: path:10-42.",
)
SYNTAX = LintRule(
    "G108",
    "file-unparsable",
    "error",
    "A symbol anchor points into a file that does not parse.",
    "Use a line range instead, or a version of Assay that supports this syntax.",
)
CONTENT = LintRule(
    "G109",
    "content-changed",
    "error",
    "The lines of an anchor with a content hash have changed, and the old lines are nowhere else in the file.",
    "`assay gold reanchor` moves what it can; correct the rest by hand.",
)
OTHER = LintRule(
    "G110",
    "other-corpus",
    "error",
    "Most paths of a set are not in the corpus.",
    "The gold set may belong to other code: check the repository, the revision and the root.",
)
NO_PRIMARY = LintRule(
    "G111",
    "no-primary-left",
    "error",
    "A query has no primary target that resolves.",
    "No result can be correct: correct the targets, or remove the query.",
)
LINKED = LintRule(
    "G112",
    "link-twice",
    "error",
    "Two anchors of a query name the same place: a symbolic link and the file it points to.",
    "They are the same target: keep one of them.",
)
UNPINNED = LintRule(
    "G121",
    "corpus-not-pinned",
    "warning",
    "The corpus is a repository or package without a fixed revision or version.",
    "Labels go stale when the code changes. Set the full commit, or the version.",
)
REVISION = LintRule(
    "G122",
    "other-revision",
    "error",
    "The opened revision is not the one that the set names.",
    "Labels made for one revision may be wrong for another.",
)
UNGUARDED = LintRule(
    "G123",
    "ranges-unguarded",
    "info",
    "Line ranges without a content hash point into a directory without a revision.",
    "Moved lines go unnoticed. Use symbol anchors, or add content hashes: path:10-42#0123456789ab.",
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
#: A release tag: it can be moved, but in practice is not.
_RELEASE = re.compile(r"(?:[\w.-]*[-_/])?v?\d+(?:\.\d+)+(?:[.-]?\w+)*", re.IGNORECASE)


def check(view: LintContext) -> Iterator[LintFinding]:
    """Yield anchors that cannot be resolved, then problems of the corpus revision."""
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
            rule = CASE
            message = f"{target.span.path} does not match in case: the corpus has {' or '.join(same)}"
            hint = "correct the case"
            if len(same) == 1:
                repair = Repair(target.anchor, replace(target, span=replace(target.span, path=same[0])).anchor)
        elif (view.corpus.root / target.span.path).is_dir():
            rule = FOLDER
        elif (view.corpus.root / target.span.path).is_file():
            rule = LEFT_OUT
        else:
            rule, repair = PATH, _find_content(view, target)
        yield LintFinding(
            rule.code, rule.severity, view.gold.name, problem.query, problem.anchor, message, hint, problem.file,
            problem.line, repair,
        )  # fmt: skip
    yield from _check_revision(view)


def _trim_range(view: LintContext, target: Target) -> Repair | None:
    """Return the repair of a range that counts the empty line after the final newline."""
    start, end, text = target.span.start, target.span.end, view.text(target.span.path)
    if start is None or end is None or target.digest is not None or not text.endswith("\n"):
        return None
    last = count_lines(text)
    if end != last + 1 or start > last:
        return None
    return Repair(target.anchor, replace(target, span=replace(target.span, end=last)).anchor)


def _find_content(view: LintContext, target: Target) -> Repair | None:
    """Return the repair of a moved file, if exactly one file of the same name has the hashed lines."""
    start, end, digest = target.span.start, target.span.end, target.digest
    if start is None or end is None or digest is None:
        return None
    name, length = PurePosixPath(target.span.path).name, end - start + 1
    found = [
        Span(path, at, at + length - 1)
        for path in view.files
        if PurePosixPath(path).name == name
        for at in places(split_lines(view.text(path)), digest, length)
    ]
    return Repair(target.anchor, replace(target, span=found[0]).anchor) if len(found) == 1 else None


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
        hint = f"pin it to {opened}" if opened else "set a revision or version"
        yield view.finding(UNPINNED, None, "", unpinned, hint)
    if spec.rev and opened and _COMMIT.fullmatch(spec.rev) and not opened.startswith(spec.rev):
        yield view.finding(REVISION, None, "", f"the set names revision {spec.rev}, but {opened} was opened")
    ranges = [t for query in view.gold.queries for t in query.targets if t.span.start is not None and not t.digest]
    if spec.kind == "path" and ranges:
        message = f"{len(ranges)} line ranges have no content hash, and the corpus is a directory without a revision"
        yield view.finding(UNGUARDED, None, "", message, "use symbol anchors, or add content hashes")
