"""Specification of an experiment, as declared in assay.toml."""

from assay.experiment.spec.assay_toml import load_spec
from assay.experiment.spec.engine_entries import engine_factory, make_engines, with_engines
from assay.experiment.spec.experiment_spec import FILE, Spec, check, override

__all__ = ["FILE", "Spec", "check", "engine_factory", "load_spec", "make_engines", "override", "with_engines"]
