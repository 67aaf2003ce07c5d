"""The specification of an experiment (assay.toml)."""

from assay.experiment.spec.load import load_spec, shipped_experiments
from assay.experiment.spec.model import (
    FILE,
    KEYS,
    SWEEP_KEYS,
    TABLE_NAMES,
    TABLES,
    VARIANT_KEYS,
    Spec,
    check,
    engine_factory,
    make_engines,
    override,
    with_engines,
)
from assay.experiment.spec.variants import REFERENCES, RunEntry, Sweep, Variant, missing_requirement

__all__ = [
    "FILE",
    "KEYS",
    "REFERENCES",
    "SWEEP_KEYS",
    "TABLES",
    "TABLE_NAMES",
    "VARIANT_KEYS",
    "RunEntry",
    "Spec",
    "Sweep",
    "Variant",
    "check",
    "engine_factory",
    "load_spec",
    "make_engines",
    "missing_requirement",
    "override",
    "shipped_experiments",
    "with_engines",
]
