"""Load the gold sets of an experiment on the configured corpora."""

from __future__ import annotations

from assay.errors import ConfigError
from assay.experiment.spec import Spec
from assay.experiment.spec.model import check_suite
from assay.gold import TagRule, join, load_gold
from assay.types import Suite


def load_suite(spec: Spec) -> Suite:
    """Load the gold sets of a specification."""
    if not spec.gold:
        raise ConfigError("no gold set is named", hint="use --gold PATH or --gold stdlib, or begin with `assay init`")
    rules = [TagRule.parse(text) for text in spec.tags]
    suite = join([load_gold(source, corpus=spec.corpus or None, tags=rules) for source in spec.gold])
    check_suite(spec.cluster, suite)
    return suite
