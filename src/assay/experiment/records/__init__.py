"""Read, write and merge the records of runs."""

from assay.experiment.records.codec import config_hash
from assay.experiment.records.directory import check_directory, lock_directory, read_earlier_run, read_run, write_run

__all__ = ["check_directory", "config_hash", "lock_directory", "read_earlier_run", "read_run", "write_run"]
