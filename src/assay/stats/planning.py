"""Plan from a pilot: the variance of the paired differences in a score table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError
from assay.stats.config import DEFAULT
from assay.stats.paired import Components, variance_components
from assay.stats.power import plan
from assay.stats.records import Plan
from assay.stats.tables import check_engine, column, headline
from assay.stats.units import group_codes, partition

if TYPE_CHECKING:
    from assay.stats.traits import MeasureLike
    from assay.stats.units import IntArray
    from assay.types import FloatArray, Scores


def plan_claim(
    scores: Scores,
    *,
    baseline: str,
    engine: str,
    primary: MeasureLike | str,
    delta: float,
    alpha: float = DEFAULT.alpha,
    power: float = DEFAULT.power,
    cluster: str = "auto",
) -> Plan:
    """Say how many queries or repositories it takes to show a difference of `delta` between two engines like these."""
    for name, role in ((baseline, "baseline"), (engine, "engine")):
        check_engine(scores, name, role)
    table, measure = headline(scores, cluster), column(scores, primary)
    differences = table.row(engine, measure) - table.row(baseline, measure)
    kept = np.flatnonzero(~np.isnan(differences))
    if len(kept) < 2:
        raise ConfigError(
            f"{len(kept)} queries are too few to plan from", hint="give sd and icc instead of a pilot run"
        )
    units = [table.units[i] for i in kept]
    groups = group_codes(units, partition(units, cluster))
    return plan(_components(differences[kept], groups), delta, alpha=alpha, power=power, cluster=cluster)


def _components(differences: FloatArray, groups: IntArray) -> Components:
    """Split the variance by repository, or by a declared cluster; where it cannot be split it is all inside."""
    count = int(groups.max()) + 1
    found = variance_components(differences, groups)
    if found is None:
        found = Components(0.0, float(differences.var(ddof=1)), count, len(differences) / count)
    if found.between + found.within <= 0.0:
        raise ConfigError(
            "the engines do not differ on any query", hint="plan from two engines that do, or give sd and icc"
        )
    return found
