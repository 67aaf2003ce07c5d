"""All-pairs clustered statistics against scipy at the same B: `python -m benchmarks.bench_stats`.

Ours does, for every pair of engines on every measure, the studentised sign-flip by repository, the cluster bootstrap-t,
both cluster-t intervals and all effect sizes, and builds the table. scipy's permutation_test and bootstrap are timed on
a few pairs and scaled up to all of them: they share no work between pairs, so their time is proportional. Asked twice:

- queries: sign-flips and bootstrap of the mean of the 1,250 differences, what one would type; it ignores repositories
- clusters: the same functions on the 63 repository sums with our studentised statistic, the question we answer; the
  claim of 20× is held to this one, the harder

Best of several rounds that alternate between the two, because a shared machine slows whichever runs. On a busy one
set OPENBLAS_NUM_THREADS=1: our matrix products wait for a second thread that gets no core, scipy has no second thread.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from assay.stats import all_pairs
from assay.types import Scores, Unit

if TYPE_CHECKING:
    from assay.types import FloatArray

MEASURES = ("nDCG@10", "RR@10", "Hit@5", "AP@10", "R@10", "P@5")


@dataclass(frozen=True, slots=True)
class Setup:
    """The size of the claim: DESIGN.md's 20 engines × 1,250 queries × 6 measures."""

    engines: int = 20
    repositories: int = 63
    queries: int = 1250
    resamples: int = 10_000
    rounds: int = 5  # one pair of engines each
    seed: int = 0
    least_ratio: float = 30.0
    most_megabytes: float = 1000.0

    @property
    def pairs(self) -> int:
        """Pairs of engines times measures."""
        return self.engines * (self.engines - 1) // 2 * len(MEASURES)


def make_scores(setup: Setup) -> Scores:
    """Draw a score table with a repository effect on every engine."""
    rng = np.random.default_rng(setup.seed)
    home = np.sort(np.concatenate([np.arange(setup.repositories), rng.integers(0, setup.repositories, setup.queries)]))
    home = home[np.linspace(0, len(home) - 1, setup.queries).astype(int)]
    units = tuple(Unit("bench", f"q{i}", "human", f"r{r:02d}", hash=str(i)) for i, r in enumerate(home))
    shape = (setup.engines, len(MEASURES), setup.queries)
    effect = rng.normal(0.0, 0.1, size=(setup.engines, 1, setup.repositories))[:, :, home]
    values = np.clip(rng.choice([0.0, 0.32, 0.43, 0.5, 0.63, 1.0, 1.0], size=shape) + effect, 0.0, 1.0)
    return Scores(tuple(f"engine{i:02d}" for i in range(setup.engines)), MEASURES, units, values)


def _mean(values: FloatArray, axis: int = -1) -> FloatArray:
    """Mean over the last axis."""
    return np.asarray(np.mean(values, axis=axis))


def _studentised(centre: float) -> Callable[..., FloatArray]:
    """(m − centre)/SE of cluster sums and sizes, as `assay.stats` defines it, in scipy's vectorised form."""

    def statistic(sums: FloatArray, sizes: FloatArray, axis: int = -1) -> FloatArray:
        n = sizes.sum(axis=axis, keepdims=True)
        mean = sums.sum(axis=axis, keepdims=True) / n
        spread = ((sums - sizes * mean) ** 2).sum(axis=axis, keepdims=True)
        return np.asarray(((mean - centre) * n / np.sqrt(spread)).squeeze(axis))

    return statistic


def scipy_on_queries(difference: FloatArray, setup: Setup) -> None:
    """Ask scipy for p and interval of a mean difference, queries taken as independent."""
    from scipy import stats

    rng = np.random.default_rng(setup.seed)
    common = {"n_resamples": setup.resamples, "vectorized": True, "rng": rng}
    stats.permutation_test((difference,), _mean, permutation_type="samples", **common)
    stats.bootstrap((difference,), _mean, method="percentile", **common)


def scipy_on_clusters(sums: FloatArray, sizes: FloatArray, setup: Setup) -> None:
    """Ask scipy for the studentised sign-flip and the draws of a bootstrap-t, by repository."""
    from scipy import stats

    rng = np.random.default_rng(setup.seed)
    common = {"n_resamples": setup.resamples, "vectorized": True, "rng": rng}
    flips, draws = _studentised(0.0), _studentised(float(sums.sum() / sizes.sum()))
    stats.permutation_test((sums,), partial(flips, sizes=sizes), permutation_type="samples", **common)
    stats.bootstrap((sums, sizes), draws, paired=True, method="percentile", **common)


def seconds_of(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def peak_megabytes(work: Callable[[], object]) -> float:
    """Peak of allocated memory; traced apart, because tracing costs time."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def time_all(scores: Scores, setup: Setup) -> dict[str, float]:
    """Best seconds: ours for all pairs, scipy's for one."""
    codes = np.unique([unit.repository for unit in scores.units], return_inverse=True)[1]
    sizes = np.bincount(codes).astype(np.float64)
    best = {"ours": np.inf, "queries": np.inf, "clusters": np.inf}
    for other in range(1, setup.rounds + 1):
        difference = scores.values[other, 0] - scores.values[0, 0]
        sums = np.bincount(codes, weights=difference).astype(np.float64)
        spent = {
            "ours": seconds_of(lambda: all_pairs(scores, MEASURES[0], B=setup.resamples, seed=setup.seed)),
            "queries": seconds_of(partial(scipy_on_queries, difference, setup)),
            "clusters": seconds_of(partial(scipy_on_clusters, sums, sizes, setup)),
        }
        best = {name: min(best[name], seconds) for name, seconds in spent.items()}
    return best


def main(setup: Setup = Setup()) -> dict[str, object]:
    """Run both, print and return the figures."""
    scores = make_scores(setup)
    best = time_all(scores, setup)
    memory = peak_megabytes(lambda: all_pairs(scores, MEASURES[0], B=setup.resamples, seed=setup.seed))
    ratios = {kind: best[kind] * setup.pairs / best["ours"] for kind in ("queries", "clusters")}
    figures: dict[str, object] = {
        "work": f"{setup.pairs} comparisons at B = {setup.resamples}; best of {setup.rounds} rounds",
        "assay, processor seconds": round(best["ours"], 3),
        "scipy on queries, processor seconds a pair": round(best["queries"], 4),
        "scipy on cluster sums with our statistic, processor seconds a pair": round(best["clusters"], 4),
        "times faster than scipy on queries, scaled up from one pair (at least 30)": round(ratios["queries"], 1),
        "times faster than scipy on cluster sums, scaled up from one pair (at least 30)": round(ratios["clusters"], 1),
        "peak memory, MB (below 1000)": round(memory, 1),
        "passed": min(ratios.values()) >= setup.least_ratio and memory < setup.most_megabytes,
    }
    for name, value in figures.items():
        print(f"{name}: {value}")
    return figures


if __name__ == "__main__":
    sys.exit(0 if main()["passed"] else 1)
