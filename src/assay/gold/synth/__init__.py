"""Gold from the code itself: sets that any repository gives in seconds, marked as synthetic wherever they go."""

from assay.gold.synth.directory import check_folder, write_sets
from assay.gold.synth.sets import KINDS, SampleSize, Sets, synthesise

__all__ = ["KINDS", "SampleSize", "Sets", "check_folder", "synthesise", "write_sets"]
