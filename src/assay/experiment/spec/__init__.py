"""assay.toml: what to run, on what, and which claim will be made of it."""

from assay.experiment.spec.claim import REFERENCES
from assay.experiment.spec.extending import shipped_experiments
from assay.experiment.spec.making import engine_table, make_engines, recipe, recipe_of, untemplated, with_engines
from assay.experiment.spec.needs import unmet
from assay.experiment.spec.reading import check, load_spec, locate, override
from assay.experiment.spec.record import (
    FILE,
    KEYS,
    SWEEP_KEYS,
    TABLE_NAMES,
    TABLES,
    VARIANT_KEYS,
    Place,
    Spec,
    Subject,
    Sweep,
    Variant,
)
from assay.experiment.spec.subjects import twin_notes

__all__ = [
    "FILE",
    "KEYS",
    "REFERENCES",
    "SWEEP_KEYS",
    "TABLES",
    "TABLE_NAMES",
    "VARIANT_KEYS",
    "Place",
    "Spec",
    "Subject",
    "Sweep",
    "Variant",
    "check",
    "engine_table",
    "load_spec",
    "locate",
    "make_engines",
    "override",
    "recipe",
    "recipe_of",
    "shipped_experiments",
    "twin_notes",
    "unmet",
    "untemplated",
    "with_engines",
]
