"""Generate the statistics page: guarantees, simulations and known limits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from docs.engines_page import MADE
from docs.simulations import read_figures
from tests.stats.simulating import REPEATED_QUERIES, SEED, SIMULATIONS, SMALL, STATED, Bound, Simulation
from tests.stats.worlds import ICC, LEAST_QUERIES, MOST_QUERIES, NONZERO, SPIKES


def statistics() -> str:
    """Describe the simulations with what they gave."""
    parts = ["# How we know: the statistics", MADE, _introduction()]
    for group, text in _GROUPS.items():
        listed = {name: one for name, one in SIMULATIONS.items() if one.group == group}
        parts += [text, _list(listed) if group == "beyond" else _table(listed)]
    return "\n\n".join([*parts, _LIMITS, _AGAIN]) + "\n"


def _table(listed: Mapping[str, Simulation]) -> str:
    """Show simulations of one kind: a row each, a column per figure; the bounds are below."""
    given = read_figures()
    names = list(dict.fromkeys(figure for name in listed for figure in given[name]))
    rows = [[one.about, *(_figure(figure, given[name]) for figure in names)] for name, one in listed.items()]
    settings = defaultdict(list)
    for one in listed.values():
        settings[_promise(one)].append(one.about)
    usual = max(settings, key=lambda promise: len(settings[promise]))
    others = [f"- {'; '.join(abouts)}: {promise}" for promise, abouts in settings.items() if promise != usual]
    required = [f"Required: {usual}" + (", except:" if others else "."), *(["\n".join(others)] if others else [])]
    return "\n\n".join([_rows(["setting", *names], rows), *(required if usual else [])])


def _list(listed: Mapping[str, Simulation]) -> str:
    """Show simulations that have little in common, with all figures of each in one cell."""
    given = read_figures()
    rows = [
        [one.about, ", ".join(f"{figure} {_figure(figure, given[name])}" for figure in given[name])]
        for name, one in listed.items()
    ]
    return _rows(["setting", "simulated"], rows)


def _rows(head: list[str], rows: list[list[str]]) -> str:
    """Write a table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


def _figure(name: str, given: Mapping[str, float]) -> str:
    """Write a figure."""
    return f"{given[name]:.3f}" if name in given else ""


def _promise(simulation: Simulation) -> str:
    """Write the bounds of each figure."""
    return "; ".join(f"{name} {_range(bound)}" for name, bound in simulation.bounds.items())


def _range(bound: Bound) -> str:
    """Write where a figure must lie."""
    if bound.low == 0.0:
        return f"≤ {bound.high:g}"
    return f"≥ {bound.low:g}" if bound.high == 1.0 else f"{bound.low:g} to {bound.high:g}"


def _introduction() -> str:
    """Return the paragraph on the simulated designs and repetitions."""
    return f"""\
A 95% confidence interval should contain the true value in 95% of all samples, and a test at level 0.05 should reject a
true null hypothesis in 5%. Code search violates the assumptions of the usual formulas: queries of one repository are
correlated, most differences are zero, and measures are bounded by 1. The statistical functions of the report were
therefore run on simulated gold sets with known true values.

Each figure is a proportion of {STATED.replications:,} simulated sets (agreement: 1,500; repeats: 1,000) with
{STATED.resamples:,} sign flips and seed {SEED}. Standard errors are 0.003 near 0.05 and 0.95, and at most 0.007
(repeats: 0.007 and 0.016). The test suite runs every row with {SMALL.replications} sets and fails if a figure is out
of bounds or differs from this page by more than sampling error; `make soak` runs the full counts
([simulations.json](simulations.json)).

**Differences** have {LEAST_QUERIES} to {MOST_QUERIES} queries per repository. {NONZERO:.0%} of the queries differ, by
the amounts that nDCG@10 with one target can change by ({", ".join(f"{one:g}" for one in SPIKES)}). Queries of one
repository correlate with ICC {ICC:g}. From six repositories up, repositories are sampled; with fewer, the queries
inside them are, and a report's verdict covers these repositories only. **Means** are of a measure that is 0 or 1
(hits) or nDCG-like, in one repository or in several with ICC {ICC:g}."""


_GROUPS = {
    "differences": """\
## Difference of two engines

*Type I*: how often the cluster sign-flip test gives p ≤ 0.05 without a difference. *cluster-t*: coverage of the
reported 95% interval. *bootstrap-t*: coverage of a second interval in `results.json`, as a cross-check.""",
    "skewed": """\
## Skewed differences

Three of four changes are positive. The figure is the coverage of the reported interval.""",
    "means": """\
## Mean of one engine

The figure is the coverage of the 95% interval of a score: Wilson's, with the effective number of queries. Near 1, few
repositories do not reveal their variance, so the interval assumes an ICC of at least 0.2.""",
    "power": """\
## Minimum detectable effect

The MDE is computed from one set; new sets are then drawn with a true difference of that size. The nominal power is
0.8. Reports round the MDE to one digit, because it is not more precise.""",
    "verdicts": """\
## Equivalent and not inferior

In the worst case, the true difference equals the margin; both verdicts are then wrong, and each may occur in 5% of
sets. *Equivalent* needs at least 20 clusters.""",
    "hard": """\
## Hard cases

Two equal engines are compared where a t interval over queries fails: few large losses against many small gains
(skewed), repositories of lognormal size, highly correlated queries, 88% ties. The sign-flip test assumes symmetry and
fails on skewed differences; a comparison then warns, widens the interval, and withholds a verdict that the interval
does not confirm. *Missed without a warning*: the interval misses the true value and the comparison does not warn of
skew.""",
    "margin": """\
## Equivalence in hard cases

The true difference equals the margin, so *equivalent* and *not inferior* are both wrong. In the first rows one query
in 50 loses its target: half of all sets of 30 queries show no loss at all. The equivalence interval is widened for
such unseen losses.""",
    "family": """\
## Several engines

All engines equal the baseline. The figures show how often at least one is called better or worse.""",
    "leaders": """\
## Leader of several engines

All engines are equal; the leader is the one with the highest mean on the same queries. `compare --all-pairs` adjusts
for all pairs.""",
    "shared": """\
## Queries that share targets

Queries with a common primary target form one statistical unit inside a repository. *Type I* and *interval* are those of
a report; in the first column every query is a unit.""",
    "slices": """\
## Several slices

Slices are exploratory, so p-values are adjusted by Benjamini and Hochberg (1995). The figure is the share of false
positives among significant differences.""",
    "repeats": f"""\
## Variance between runs

An engine is compared with itself on {REPEATED_QUERIES} queries of one repository. A shift common to all queries of a
run (σ is given as a multiple of that of single queries) cannot be seen in a single run, so runs are repeated.""",
    "agreement": """\
## Agreement of reviewers

The figure is the coverage of the 95% interval of Cohen's κ (`assay gold agreement`), a percentile bootstrap over items.
With fewer than 40 items, the interval is too narrow.""",
    "beyond": """\
## Limits

These settings are beyond the guarantees. Nominal values are 0.05 for type I and 0.95 for coverage.""",
}

_LIMITS = """\
- **Queries treated as independent**: a t-test over queries rejects a true null hypothesis in a quarter of cases.
- **Fewer than six repositories**: the verdict covers these repositories only; the second row is the coverage of an
  interval applied to others. With six to nine, the test is conservative, because there are few sign patterns.
- **One dominant repository**: test and interval hold, but the mean is mostly that of one repository. A comparison
  warns above 30% of the queries.
- **Percentile bootstrap**: too narrow for 30 queries near 1. `[run] tables = ["bootstrap"]` prints it for comparison
  with published numbers.
- **Single runs of a nondeterministic engine**: far too many differences are significant. Repeat at least one side
  (`assay run --repeat 3`).

Simulations cannot show whether your queries resemble those of your users, whether labels are right (`assay gold lint`),
or whether engines were tuned on the same queries (`assay gold split`)."""

_AGAIN = """\
## Reproduce

<!-- not run: it takes minutes; tests/stats/test_simulation.py runs every row at a smaller count, make soak at this -->

```sh
python -m docs.simulations      # in a checkout: every row at the full count
make docs                       # writes this page
```

Intervals, tests and coefficients are also checked against SciPy, scikit-learn and krippendorff, and measures against
[trec_eval, ir_measures, pytrec_eval and ranx](measures.md)."""
