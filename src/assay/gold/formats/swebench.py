"""SWE-bench and its kin: an issue, and the patch that closed it. Gold is what the patch changed, on its old side.

`test_patch` is no gold: nobody who reads the issue looks for tests that are not written yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.gold.building import GoldSource, build_query, path_problem
from assay.gold.formats.diffs import FileDiff, read_diff
from assay.gold.formats.export import renamed, safe_ids
from assay.gold.formats.multi_repo import Omitted, RepoQuery, from_github, github_code
from assay.gold.formats.rows import Record, json_has, read_entries, unread
from assay.types import CorpusSpec, GoldSet, Span, Target

_KEYS = ("instance_id", "repo", "base_commit", "problem_statement", "patch")


def matches(source: GoldSource) -> bool:
    """Tell a file by the keys of its entries."""
    return json_has(source, "[{", *_KEYS)


def read_swebench(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one issue an entry; each repository and commit is a set of its own."""
    records = read_entries(source)
    ids = safe_ids(record.text("instance_id") for record in records)
    entries = [entry for record in records for entry in _entry(record, ids)]
    return from_github(source, name, corpus, entries, {**unread(records, _KEYS), **renamed(ids)})


def _entry(record: Record, ids: dict[str, str]) -> list[RepoQuery | Omitted]:
    instance = record.text("instance_id")
    code = github_code(record.text("repo"), record.text("base_commit"), record.place)
    files = read_diff(record.verbatim("patch"), record.place)
    left: list[RepoQuery | Omitted] = [Omitted(kind, f"{path} of {instance}") for kind, path in _unusable(files)]
    targets = _targets(files)
    if not targets:
        return [*left, Omitted("queries whose patch changes no line that was there", instance)]
    forms = {"human": record.verbatim("problem_statement").strip()}
    return [*left, RepoQuery(code, build_query(ids[instance], forms, targets, record.place))]


def _targets(files: Sequence[FileDiff]) -> list[Target]:
    spans = [
        Span(file.old, lines.start, lines.end) if lines.start else Span(file.old)
        for file in files
        if file.old is not None and path_problem(file.old) is None
        for lines in file.lines
    ]
    return [Target(span) for span in dict.fromkeys(spans)]


def _unusable(files: Sequence[FileDiff]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for file in files:
        if file.old is None:
            found.append(("files that a patch makes", str(file.new)))
        elif path_problem(file.old) is not None:
            found.append(("files whose path no gold set can hold", file.old))
        elif not file.lines:
            found.append(("files of a patch without a changed line", file.old))
    return found
