"""Run directories: records from which all numbers can be recomputed."""

from assay.experiment.records.codec import config_hash
from assay.experiment.records.directory import (
    MANIFEST,
    check_directory,
    file_names,
    is_excluded,
    lock_directory,
    read_earlier_run,
    read_run,
    write_assayignore,
    write_run,
)

__all__ = [
    "MANIFEST",
    "check_directory",
    "config_hash",
    "file_names",
    "is_excluded",
    "lock_directory",
    "read_earlier_run",
    "read_run",
    "write_assayignore",
    "write_run",
]
