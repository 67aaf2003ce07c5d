"""The matrix: gold sets × engines, run and recorded."""

from assay.experiment.records import check_folder, read_run, write_run, writing
from assay.experiment.running.asking import Progress
from assay.experiment.running.turns import run

__all__ = ["Progress", "check_folder", "read_run", "run", "write_run", "writing"]
