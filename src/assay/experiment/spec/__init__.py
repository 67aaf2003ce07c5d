"""The specification of an experiment (assay.toml)."""

from assay.experiment.spec.layers import shipped_experiments
from assay.experiment.spec.load import check, load_spec, locate, override
from assay.experiment.spec.model import (
    FILE,
    KEYS,
    REFERENCES,
    SWEEP_KEYS,
    TABLE_NAMES,
    TABLES,
    VARIANT_KEYS,
    ConfigLocation,
    RunEntry,
    Spec,
    Sweep,
    Variant,
)
from assay.experiment.spec.variants import (
    engine_table,
    make_engines,
    missing_requirement,
    recipe,
    recipe_of,
    twin_notes,
    untemplated,
    with_engines,
)

__all__ = [
    "FILE",
    "KEYS",
    "REFERENCES",
    "SWEEP_KEYS",
    "TABLES",
    "TABLE_NAMES",
    "VARIANT_KEYS",
    "ConfigLocation",
    "RunEntry",
    "Spec",
    "Sweep",
    "Variant",
    "check",
    "engine_table",
    "load_spec",
    "locate",
    "make_engines",
    "missing_requirement",
    "override",
    "recipe",
    "recipe_of",
    "shipped_experiments",
    "twin_notes",
    "untemplated",
    "with_engines",
]
