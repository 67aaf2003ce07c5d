"""The interval of a share of independent cases, against SciPy's."""

import pytest
from scipy.stats import binomtest

from assay.stats.intervals import share_interval


@pytest.mark.parametrize(("count", "n"), [(0, 1), (1, 1), (0, 20), (17, 20), (20, 20), (3, 1000)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_share_interval_is_wilsons(count, n, level):
    found = share_interval(count, n, level=level)
    known = binomtest(count, n).proportion_ci(level, method="wilson")
    assert found.low == pytest.approx(known.low, abs=1e-9)
    assert found.high == pytest.approx(known.high, abs=1e-9)
    assert found.method == "wilson"
