"""RepoEval: complete a line or a function of a repository. Line numbers count from 0."""

from __future__ import annotations

from assay.gold.building import GoldSource, check_path
from assay.gold.formats.completion import Completion, completed, read_completions
from assay.gold.formats.rows import Record, json_has
from assay.types import CorpusSpec, GoldSet

_LINE = ("line_no", "lineno")  # of lines and API calls; of functions
_ENTRY = ("prompt", "metadata")
_METADATA = ("task_id", "ground_truth", "fpath_tuple", *_LINE)


def matches(source: GoldSource) -> bool:
    """Tell a file by the keys of its entries."""
    return json_has(source, "[{", "prompt", "metadata", "fpath_tuple", "ground_truth")


def read_repoeval(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one completion an entry; each repository is a set of its own, and a folder of the corpus given."""
    return read_completions(source, name, corpus, (*_ENTRY, *_METADATA), _completion)


def _completion(record: Record, task: Record) -> Completion:
    steps = task.entries("fpath_tuple")
    if len(steps) < 2 or not all(isinstance(step, str) for step in steps):
        raise task.place.error(
            f"'fpath_tuple' of {task.what} is not a repository and a path", 'write it as ["repo", "folder", "file.py"]'
        )
    repository, *path = (str(step) for step in steps)
    check_path(repository, task.place)
    key = next((key for key in _LINE if key in task.values), _LINE[0])
    text = task.verbatim("ground_truth")
    return Completion(
        repository, record.verbatim("prompt"), completed("/".join(path), task.number(key), text, task.place)
    )
