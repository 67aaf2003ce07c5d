"""Completion benchmarks, RepoEval and CrossCodeEval: the query is the code before the cursor, the target what follows.

Both count lines from 0. CrossCodeEval's `crossfile_context` was retrieved by search engines (BM25, UniXcoder, Ada), so
it is no gold: a label from an engine would only measure agreement with that engine. It is listed as not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from assay.gold.building import GoldLocation, GoldSource, build_query, check_path, ranged_span
from assay.gold.formats.export import describe_renames, safe_ids
from assay.gold.formats.multi_repo import RepoQuery, RepoRevision, in_folders, split
from assay.gold.formats.rows import Record, json_has, read_entries, unread
from assay.types import CorpusSpec, GoldSet, Target

#: In the provenance of every such set, and as a tag of each query, so that reports can separate its scores.
LEAK = "the query is text of its target's file, word for word: an engine that finds it recognises, it does not search"
_TAGS = {"leak": "verbatim"}
_QUERY_LINES = 10  # the last of the prompt; CrossCodeEval's own retrieval uses as many
_REPOEVAL_LINE = ("line_no", "lineno")  # of lines and API calls; of functions
_REPOEVAL_KEYS = ("prompt", "metadata", "task_id", "ground_truth", "fpath_tuple", *_REPOEVAL_LINE)
_CROSSCODEEVAL_ENTRY = ("prompt", "groundtruth", "metadata")
_CROSSCODEEVAL_KEYS = (*_CROSSCODEEVAL_ENTRY, "task_id", "repository", "file", "groundtruth_start_lineno")


def is_repoeval(source: GoldSource) -> bool:
    """Return whether a file has the keys of RepoEval."""
    return json_has(source, "[{", "prompt", "metadata", "fpath_tuple", "ground_truth")


def is_crosscodeeval(source: GoldSource) -> bool:
    """Return whether a file has the keys of CrossCodeEval."""
    return json_has(source, "[{", *_CROSSCODEEVAL_ENTRY, "repository", "groundtruth_start_lineno")


def read_repoeval(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one completion per entry, one gold set per repository; repositories are directories of the corpus."""

    def parse(_record: Record, task: Record) -> tuple[str, Target]:
        steps = task.entries("fpath_tuple")
        if len(steps) < 2 or not all(isinstance(step, str) for step in steps):
            raise task.place.error(
                f"'fpath_tuple' of {task.what} is not a repository and a path",
                'write it as ["repo", "folder", "file.py"]',
            )
        repository, *path = (str(step) for step in steps)
        check_path(repository, task.place)
        key = next((key for key in _REPOEVAL_LINE if key in task.values), _REPOEVAL_LINE[0])
        text = task.verbatim("ground_truth")
        return repository, _completed("/".join(path), task.number(key), text, task.place)

    return _read(source, name, corpus, _REPOEVAL_KEYS, parse)


def read_crosscodeeval(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one completion per entry, one gold set per repository; repositories are directories of the corpus."""

    def parse(record: Record, task: Record) -> tuple[str, Target]:
        before = task.number("groundtruth_start_lineno")
        target = _completed(task.text("file"), before, record.verbatim("groundtruth"), task.place)
        return check_path(task.text("repository"), task.place), target

    return _read(source, name, corpus, _CROSSCODEEVAL_KEYS, parse)


def _read(
    source: GoldSource,
    name: str,
    corpus: CorpusSpec | None,
    keys: Sequence[str],
    parse: Callable[[Record, Record], tuple[str, Target]],
) -> list[GoldSet]:
    spec = in_folders(source, corpus)
    records = read_entries(source)
    tasks = [record.mapping("metadata") for record in records]
    originals = _number_repeats([task.text("task_id") for task in tasks])
    ids = safe_ids(originals)
    queries: list[RepoQuery] = []
    for record, task, original in zip(records, tasks, originals, strict=True):
        repository, target = parse(record, task)
        prompt = record.verbatim("prompt").rstrip().split("\n")
        forms = {"human": "\n".join(prompt[-_QUERY_LINES:]).strip("\r\n")}
        query = build_query(ids[original], forms, [target], record.place, tags=_TAGS)
        queries.append(RepoQuery(RepoRevision(repository), query))
    provenance = {"leak": LEAK, **unread([*records, *tasks], keys), **describe_renames(ids)}
    return split(source, name, queries, spec, provenance)


def _completed(path: str, before: int, text: str, place: GoldLocation) -> Target:
    return Target(ranged_span(path, before + 1, before + 1 + text.rstrip("\r\n").count("\n"), place))


def _number_repeats(task_ids: Sequence[str]) -> list[str]:
    times, seen = Counter(task_ids), Counter[str]()
    numbered: list[str] = []
    for task_id in task_ids:
        seen[task_id] += 1
        numbered.append(f"{task_id}/{seen[task_id]}" if times[task_id] > 1 else task_id)
    return numbered
