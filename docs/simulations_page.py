"""The page "how we know": each statistic, what it promises, the simulation that shows it, and where it fails."""

from __future__ import annotations

from collections.abc import Mapping

from docs.engines_page import MADE
from docs.simulations import read_figures
from tests.stats.simulating import (
    BATCH,
    REPEATED_QUERIES,
    SEED,
    SIMULATIONS,
    SMALL,
    STATED,
    Bound,
    Simulation,
    error_of,
)
from tests.stats.worlds import ICC, LEAST_QUERIES, MOST_QUERIES, NONZERO, SPIKES


def statistics() -> str:
    """Describe the simulations with what they gave."""
    parts = ["# How we know: the statistics", MADE, _introduction(), _worlds()]
    for group, text in _GROUPS.items():
        listed = {name: one for name, one in SIMULATIONS.items() if one.group == group}
        parts += [text, _list(listed) if group == "beyond" else _table(listed)]
    return "\n\n".join([*parts, _LIMITS, _AGAIN]) + "\n"


def _table(listed: Mapping[str, Simulation]) -> str:
    """Show simulations of one kind: a row each, a column a figure, with its Monte-Carlo error."""
    given = read_figures()
    names = list(dict.fromkeys(figure for name in listed for figure in given[name]))
    promised = [name for name in names if any(name in one.bounds for one in listed.values())]
    head = ["setting", *names, *(["promised"] if promised else [])]
    rows = [
        [one.about, *(_figure(figure, given[name], one) for figure in names), *([_promise(one)] if promised else [])]
        for name, one in listed.items()
    ]
    return _rows(head, rows)


def _list(listed: Mapping[str, Simulation]) -> str:
    """Show simulations that have little in common: a row a figure, with what it would be if all were well."""
    given = read_figures()
    rows = [
        [one.about, figure, _figure(figure, given[name], one), "0.05" if figure == "type I" else "0.95"]
        for name, one in listed.items()
        for figure in given[name]
    ]
    return _rows(["setting", "figure", "it is", "it should be"], rows)


def _rows(head: list[str], rows: list[list[str]]) -> str:
    """Write a table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


def _figure(name: str, given: Mapping[str, float], simulation: Simulation) -> str:
    """Write a figure with its error; the MDE is a mean and stands alone."""
    if name not in given:
        return ""
    if name == "MDE":
        return f"{given[name]:.3f}"
    return f"{given[name]:.3f} ± {error_of(given[name], STATED.replications // simulation.part):.3f}"


def _promise(simulation: Simulation) -> str:
    """Say what is promised of each figure."""
    return "; ".join(f"{name} {_range(bound)}" for name, bound in simulation.bounds.items())


def _range(bound: Bound) -> str:
    """Write where a figure must lie."""
    if bound.low == 0.0:
        return f"≤ {bound.high:g}"
    return f"≥ {bound.low:g}" if bound.high == 1.0 else f"{bound.low:g} to {bound.high:g}"


def _introduction() -> str:
    """Say what is drawn how often."""
    return f"""\
A confidence interval is a promise: of all 95 % intervals, 95 % hold the truth. A test at 5 % is a promise too. Formulas
make such promises under assumptions that code search does not keep: queries of one repository are alike, differences
are mostly zero and otherwise jump, measures end at 1. So the promises are checked on worlds whose truth is known, by
the very functions that make a report.

Every figure below is a share of {STATED.replications:,} simulated sets (agreement: a quarter of that; repeats: a
sixth), with {STATED.resamples:,} sign flips where a test draws them, seed {SEED}, {BATCH} sets sharing cluster sizes
and draws. Behind ± stands its Monte-Carlo standard error: two figures that differ by less than twice that do not
differ. The test suite runs every row with {SMALL.replications} sets and {SMALL.resamples:,} flips, fails when a promise
is broken by more than three errors, or when this page says something else; `make soak` runs the full counts. The
figures are also a [JSON file](simulations.json)."""


def _worlds() -> str:
    """Say what the worlds are like, with the numbers of the program."""
    return f"""\
## The worlds

**Differences** of two engines: repositories of {LEAST_QUERIES} to {MOST_QUERIES} queries each. {NONZERO:.0%} of the
queries differ at all; those jump by what nDCG@10 with one target can jump by
({", ".join(f"{one:g}" for one in SPIKES)}), up or down. A repository has an effect of its own, such that two of its
queries correlate by {ICC:g} (ICC). From six repositories up, repositories are drawn anew each time; with fewer they
are taken as all there are and the queries inside are drawn, which is how far a report lets the claim reach.

**Means**: a measure that is 0 or 1 (hits), or nDCG-like, at several levels, in one repository or in several with ICC
{ICC:g}."""


_GROUPS = {
    "differences": """\
## The difference of two engines: test and interval

*Type I*: how often the sign-flip test of whole clusters says p ≤ 0.05 when there is no difference. *cluster-t*: how
often the 95 % interval that is reported holds the truth. *bootstrap-t*: another way to make that interval, which
`results.json` keeps beside it: two ways that agree are a check on each other.""",
    "skewed": """\
## The same with lopsided differences

Three in four of the jumps go up, so the truth is not zero and the differences are skewed. Coverage of the reported
interval.""",
    "means": """\
## The mean of one engine

Coverage of the 95 % interval beside every score: Wilson's, with the number of queries that the set is worth once
repositories are taken into account. Near the ceiling few repositories cannot show how much they differ, so the
interval assumes a minimum (ICC 0.2) there.""",
    "power": """\
## The smallest difference that a set can show

Every comparison names its MDE: the true difference that a set like this shows four times in five. Here sets name it;
then fresh sets are drawn with a true difference of that size, and the test looks for it. It finds it a little less
often than four times in five: the MDE is known to one digit, and is printed so.""",
    "verdicts": """\
## Equivalent, and not inferior

The hardest case: the true difference is exactly the margin. Then neither claim is true, and each may be made once in
twenty at the most. *Equivalent* is not claimed at all with fewer than 20 clusters.""",
    "hard": """\
## Hard cases: skewed, unequal, alike, sparse

Two equal engines in worlds where a t interval over queries fails: a few large losses against many small gains
(skewed), repositories of very unequal size and spread, queries of a repository that are much alike, 88 % ties. Sizes of
repositories are lognormal. *False better or worse*: how often a verdict is wrong. *Missed without a warning*: how often
the interval misses and the comparison does not say that its differences are skewed. The sign-flip test assumes
symmetry, so it fails where differences are skewed; the comparison then warns, widens the interval and withholds a
verdict that the interval does not confirm.""",
    "margin": """\
## Claims of sameness in hard cases

The true difference is the margin, so *equivalent* and *not inferior* are both wrong. In the first rows one query in 50
falls from the first rank to nothing: half of all sets of 30 queries show no loss at all. The interval that these claims
are read from allows for what a set of its size may not have shown.""",
    "family": """\
## Many engines at once

All engines are as good as the baseline. How often is at least one of them called better or worse? By Holm's adjustment,
which reports use, and without any.""",
    "leaders": """\
## The leader of many engines

All engines are equal, and the leader is the one with the highest mean on the same queries. `compare --all-pairs`
adjusts over all pairs, so a leader that was chosen by looking is not called better than the others too often.""",
    "shared": """\
## Queries that share targets

Queries about one target are alike: an engine that finds it finds it for all of them. They count as one statistical unit
(inside a repository; where repositories are the units nothing changes). *Type I* and *interval* are those of a report;
the first column is the test with every query as a unit.""",
    "slices": """\
## Many slices at once

Slices are explored, not declared, and their p-values are adjusted by Benjamini and Hochberg (1995). Of the differences
that such a table claims at 5 %, which share is false? By that adjustment, and without any. Where nothing differs, every
claim is false, and the share is how often there is one.""",
    "repeats": f"""\
## Chance between whole runs

An engine is compared with itself on {REPEATED_QUERIES} queries of one repository. All queries of a run share its luck,
so that no spread over queries shows it; runs are repeated on one side or on both. *Type I*: how often p ≤ 0.05.
*Interval*: how often the 95 % interval holds zero. Chance of queries and of runs is added on the safe side, so a little
less than 5 % errs; where nothing is repeated the promise is not made, as the last table shows.""",
    "agreement": """\
## Agreement of reviewers

Coverage of the interval of Cohen's κ (`assay gold agreement`), which is a percentile bootstrap over items. No promise
is made below 40 items: the interval is too narrow there, and the table says by how much.""",
    "beyond": """\
## Where the promise ends

Worlds that are worse than what is promised for, so that you know how far it breaks.""",
}

_LIMITS = """\
What follows from it:

- **One repository that outweighs all others.** Test and interval hold, because the degrees of freedom count such a set
  as a few repositories; but the mean is mostly that of one repository. Report each repository once (macro) beside it. A
  comparison says so where one repository holds more than 30 % of the queries.
- **One repository with few queries.** Test and reported interval hold; the bootstrap-t beside it is too narrow for 8 to
  30 queries, and is no check there.
- **Few repositories.** Below six, a report says "on these repositories only". The row above shows what happens to an
  interval when such a claim is stretched to other repositories. With six to nine, the test is cautious: there are
  so few ways to flip signs that it must fall short of 5 %.
- **Treating queries as independent**, as a plain t-test or bootstrap over queries does, turns a 5 % test into one of
  about a quarter. That is the reason for all of this.
- **The percentile bootstrap** that many publications print for 30 queries near the ceiling covers far less than 95 %.
  `[run] tables = ["bootstrap"]` prints it beside our interval, so that published numbers can be compared.
- **Two single runs of an engine that answers by chance** are called different far too often where a whole run has luck
  of its own. Repeat at least one side (`assay run --repeat 3`).
- **κ of twenty items** has an interval that is too narrow. Forty items are the least to read it as written.

What no simulation shows: whether your queries are like those your people will ask, whether labels are right
(`assay gold lint`, two reviewers), and whether engines were tuned on the same queries (`assay gold split`). An interval
is about chance in drawing queries and repositories, and about nothing else."""

_AGAIN = """\
## Run it yourself

<!-- not run: it takes minutes; tests/stats/test_simulation.py runs every row at a smaller count, make soak at this -->

```sh
python -m docs.simulations      # in a checkout: every row at the full count
make docs                       # writes this page from the figures
```

Formulas are checked besides: intervals, tests and coefficients against SciPy, scikit-learn and krippendorff, measures
against [trec_eval, ir_measures, pytrec_eval and ranx](measures.md), the bootstrap against its definition written out,
one resample at a time."""
