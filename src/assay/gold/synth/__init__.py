"""Synthetic gold sets, made from the code of any repository and marked as synthetic."""

from assay.gold.synth.sets import KINDS, Sets, check_folder, synthesize, write_sets
from assay.gold.synth.survey import SampleSize

__all__ = ["KINDS", "SampleSize", "Sets", "check_folder", "synthesize", "write_sets"]
