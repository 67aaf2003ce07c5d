"""Run directories: records from which all numbers can be recomputed."""

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
