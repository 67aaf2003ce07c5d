"""Runs on disk: a folder from which every number can be computed again without engine or corpus.

`run.json` names its members with their hashes and is replaced last. Members have the same name in every run and one
line for each query, file or ranking, so that version control shows what changed: `gold.jsonl`, `lines.jsonl`,
`engines/NAME.jsonl`. A reader sees the old run or the new one, never a mixture (`generations.py`).
"""

from assay.experiment.records.codec import config_hash
from assay.experiment.records.folder import (
    FORMAT,
    MANIFEST,
    check_folder,
    file_names,
    is_kept_out,
    write_assayignore,
    writing,
)
from assay.experiment.records.runs import earlier_run, read_run, write_run

__all__ = [
    "FORMAT",
    "MANIFEST",
    "check_folder",
    "config_hash",
    "earlier_run",
    "file_names",
    "is_kept_out",
    "read_run",
    "write_assayignore",
    "write_run",
    "writing",
]
