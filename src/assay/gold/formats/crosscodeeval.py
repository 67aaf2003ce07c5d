"""CrossCodeEval: complete a line that needs code of another file. Line numbers count from 0.

The set does not say where that other code is. What stands in `crossfile_context` was brought up by a search engine
(BM25, UniXcoder, Ada). A label that an engine gave would only measure who agrees with it, so it is told and not read.
"""

from __future__ import annotations

from assay.gold.building import GoldSource, check_path
from assay.gold.formats.completion import Completion, completed, read_completions
from assay.gold.formats.rows import Record, json_has
from assay.types import CorpusSpec, GoldSet

_ENTRY = ("prompt", "groundtruth", "metadata")
_METADATA = ("task_id", "repository", "file", "groundtruth_start_lineno")


def matches(source: GoldSource) -> bool:
    """Tell a file by the keys of its entries."""
    return json_has(source, "[{", *_ENTRY, "repository", "groundtruth_start_lineno")


def read_crosscodeeval(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one completion an entry; each repository is a set of its own, and a folder of the corpus given."""
    return read_completions(source, name, corpus, (*_ENTRY, *_METADATA), _completion)


def _completion(record: Record, task: Record) -> Completion:
    before = task.number("groundtruth_start_lineno")
    target = completed(task.text("file"), before, record.verbatim("groundtruth"), task.place)
    return Completion(check_path(task.text("repository"), task.place), record.verbatim("prompt"), target)
