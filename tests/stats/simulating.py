"""What is simulated of the statistics: each setting by name, with what it should give and what it gave.

`tests/stats/test_simulation.py` holds the figures to their bounds, `python -m docs.simulations` writes them down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from assay.gold.review.agreement import Ratings, Resampling, bootstrap_interval, cohen_kappa
from assay.stats import percentile_bootstrap
from assay.stats.clustered import cluster_table, estimate
from assay.stats.config import DEFAULT, CompareSettings
from assay.stats.intervals import IntervalEnds, bootstrap_t, difference_interval, mean_interval
from assay.stats.paired import observed_mde, sign_flip
from assay.stats.records import Comparison, Interval, ValueRange, Verdict
from assay.stats.run_variance import RunVariance, add_run_variance, estimate_run_variance
from assay.stats.runs import compare_scores
from assay.stats.score_table import partition
from assay.stats.verdicts import benjamini_hochberg, choose_verdict, holm
from assay.types import Scores
from tests.stats import audit
from tests.stats.audit_worlds import (
    CEILING,
    NDCG,
    RARE_LOSSES,
    SKEWED,
    TIES,
    UNEVEN,
    Design,
    Shape,
    draw_sets,
)
from tests.stats.leader_worlds import Contest, SharedWorld, shared_worlds, simulate, simulate_shared
from tests.stats.worlds import World, make_units, measure_values, nested_differences

SEED = 2026
BATCH = 100  # replications that share cluster sizes and resamples
LEVEL = 0.05
CROSS_CHECK = 2000  # most resamples of the bootstrap-t, which only checks the interval that is reported


@dataclass(frozen=True, slots=True)
class Counts:
    """How much of everything is drawn."""

    replications: int
    resamples: int


SMALL = Counts(600, 1000)
STATED = Counts(6000, 10_000)

#: Shares of the replications by what they count; `MDE` alone is no share.
Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Bound:
    """Where a figure must lie."""

    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class Simulation:
    """A world, what is done in it again and again, and where each figure must lie; no bound is no promise."""

    group: str
    about: str
    draw: Callable[[Counts], Figures]
    bounds: Mapping[str, Bound]
    part: int = 1  # it has only so many-th of the replications, because each is slow


def error_of(share: float, replications: int) -> float:
    """Give the Monte-Carlo standard error of a share; one that is 0 or 1 is known to about one replication."""
    inside = min(max(share, 1 / replications), 1 - 1 / replications)
    return math.sqrt(inside * (1 - inside) / replications)


def batches(counts: Counts) -> list[np.random.Generator]:
    """One generator a batch."""
    return [np.random.default_rng([SEED, at]) for at in range(counts.replications // BATCH)]


def covered(ends: IntervalEnds | Interval, truth: float) -> float:
    """Give the share of intervals that hold the truth."""
    return float(np.mean((ends.low <= truth) & (truth <= ends.high)))


def _p(world: World, rng: np.random.Generator, resamples: int, shift: float = 0.0) -> np.ndarray:
    """Give the p-value of every replication."""
    p = sign_flip(cluster_table(world.values + shift, partition(world.units)), rng, resamples=resamples)
    assert p is not None
    return p


def _mean(figures: Mapping[str, list[float]]) -> Figures:
    """Give the mean of each figure over the batches."""
    return {name: float(np.mean(values)) for name, values in figures.items()}


def compared(
    counts: Counts, *, repositories: int, fixed: bool = False, icc: float = 0.1, giant: int = 0, cross: bool = True
) -> Figures:
    """Test and estimate a difference that is zero."""
    names = ("type I", "cluster-t", *(("bootstrap-t",) if cross else ()))
    found: dict[str, list[float]] = {name: [] for name in names}
    for rng in batches(counts):
        world = nested_differences(rng, repositories, BATCH, fixed=fixed, icc=icc, giant=giant)
        table = cluster_table(world.values, partition(world.units))
        found["type I"].append(float(np.mean(_p(world, rng, counts.resamples) <= LEVEL)))
        found["cluster-t"].append(covered(difference_interval(estimate(table), ValueRange()), world.truth))
        if cross:
            ends = bootstrap_t(table, rng, resamples=min(counts.resamples, CROSS_CHECK))
            found["bootstrap-t"].append(covered(ends, world.truth))
    return _mean(found)


def estimated(counts: Counts, *, repositories: int, lean: float = 0.0, fixed: bool = False) -> Figures:
    """Estimate a difference, and nothing else."""
    found: dict[str, list[float]] = {"cluster-t": []}
    for rng in batches(counts):
        world = nested_differences(rng, repositories, BATCH, lean=lean, fixed=fixed)
        ends = difference_interval(estimate(cluster_table(world.values, partition(world.units))), ValueRange())
        found["cluster-t"].append(covered(ends, world.truth))
    return _mean(found)


def naive(counts: Counts, *, repositories: int) -> Figures:
    """Test a difference that is zero as if queries were independent: a t-test over queries."""
    found: dict[str, list[float]] = {"type I": []}
    for rng in batches(counts):
        values = nested_differences(rng, repositories, BATCH).values
        t = values.mean(axis=0) / (values.std(axis=0, ddof=1) / math.sqrt(len(values)))
        found["type I"].append(float(np.mean(np.abs(t) > 1.97)))
    return _mean(found)


def averaged(counts: Counts, *, kind: str, level: float, queries: int = 0, repositories: int = 0) -> Figures:
    """Estimate the mean of a measure."""
    found: dict[str, list[float]] = {"Wilson at the effective n": []}
    for rng in batches(counts):
        made = measure_values(rng, kind, level, BATCH, queries=queries, repositories=repositories)
        ends = mean_interval(estimate(cluster_table(made.values, partition(made.units))), ValueRange())
        found["Wilson at the effective n"].append(covered(ends, made.truth))
    return _mean(found)


def resampled(counts: Counts, *, level: float, queries: int) -> Figures:
    """Estimate the mean of hits by the percentile bootstrap, as many publications do."""
    found: dict[str, list[float]] = {"percentile bootstrap": []}
    for rng in batches(counts):
        made = measure_values(rng, "hit", level, BATCH, queries=queries)
        ends = [percentile_bootstrap(column, rng, resamples=500) for column in made.values.T]
        found["percentile bootstrap"].append(float(np.mean([covered(one, made.truth) for one in ends])))
    return _mean(found)


def powered(counts: Counts, *, repositories: int) -> Figures:
    """Have sets state their MDE, then look for a difference of the mean stated size in fresh sets."""
    stated: list[float] = []
    for rng in batches(counts):
        world = nested_differences(rng, repositories, BATCH)
        pilot = estimate(cluster_table(world.values, partition(world.units)))
        stated += [observed_mde(float(se), pilot.df, pilot.clusters) for se in pilot.se]
    delta = float(np.mean(stated))
    found: dict[str, list[float]] = {"power": []}
    for parent in batches(counts):
        rng = parent.spawn(1)[0]
        world = nested_differences(rng, repositories, BATCH)
        found["power"].append(float(np.mean(_p(world, rng, counts.resamples, delta) <= LEVEL)))
    return {"MDE": delta, **_mean(found)}


def decided(counts: Counts, *, repositories: int, margin: float) -> Figures:
    """Draw sets whose true difference is the margin itself, up and down: neither claim may be made."""
    found: dict[str, list[float]] = {"false equivalent": [], "false not inferior": []}
    claims = {
        "false equivalent": (Verdict.EQUIVALENT,),
        "false not inferior": (Verdict.NOT_INFERIOR, Verdict.EQUIVALENT),
    }
    for rng in batches(counts):
        world = nested_differences(rng, repositories, BATCH)
        for name, shift in (("false equivalent", margin), ("false not inferior", -margin)):
            table = cluster_table(world.values + shift, partition(world.units))
            p, pilot = _p(world, rng, counts.resamples, shift), estimate(table)
            ends = difference_interval(pilot, ValueRange(), level=1 - 2 * LEVEL)
            verdicts = [
                choose_verdict(float(pilot.mean[at]), float(p[at]), ends.at(at, 0.9), pilot.clusters, margin=margin)
                for at in range(BATCH)
            ]
            found[name].append(float(np.mean([verdict in claims[name] for verdict in verdicts])))
    return _mean(found)


def together(counts: Counts, *, repositories: int, engines: int) -> Figures:
    """Compare engines that are all as good as the baseline: how often is any of them called better or worse?"""
    found: dict[str, list[float]] = {"any false claim, Holm": [], "any false claim, unadjusted": []}
    for rng in batches(counts):
        p = _p(nested_differences(rng, repositories, BATCH * engines), rng, counts.resamples).reshape(BATCH, engines)
        adjusted = np.array([holm(row) for row in p.tolist()])
        found["any false claim, Holm"].append(float(np.mean(adjusted.min(axis=1) <= LEVEL)))
        found["any false claim, unadjusted"].append(float(np.mean(p.min(axis=1) <= LEVEL)))
    return _mean(found)


def explored(counts: Counts, *, slices: int, real: int = 0, shift: float = 0.0, halves: bool = False) -> Figures:
    """Look at many slices, of which some truly differ: which share of the differences that are claimed is false?

    Each slice has queries of its own, or is one of several random `halves` of one set, as tags are that cross.
    """
    found: dict[str, list[float]] = {"false share, Benjamini–Hochberg": [], "false share, unadjusted": []}
    true = np.arange(slices) < real
    for rng in batches(counts):
        draw = _halves if halves else _apart
        p = draw(rng, slices, counts.resamples, np.where(true, shift, 0.0))
        adjusted = np.array([benjamini_hochberg(row) for row in p.tolist()])
        for name, values in zip(found, (adjusted, p), strict=True):
            claimed = values <= LEVEL
            false = (claimed & ~true).sum(axis=1) / np.maximum(claimed.sum(axis=1), 1)
            found[name].append(float(np.mean(false)))
    return _mean(found)


def _apart(rng: np.random.Generator, slices: int, resamples: int, shifts: np.ndarray) -> np.ndarray:
    """Give the p-values of slices of ten repositories each, one row a replication."""
    return np.stack([_p(nested_differences(rng, 10, BATCH), rng, resamples, float(one)) for one in shifts], axis=1)


def _halves(rng: np.random.Generator, slices: int, resamples: int, _: np.ndarray) -> np.ndarray:
    """Give the p-values of random halves of one set of 20 repositories without a difference."""
    world = nested_differences(rng, 20, BATCH)
    kept = [np.flatnonzero(rng.random(len(world.units)) < 0.5) for _ in range(slices)]
    parts = [World([world.units[i] for i in half], world.values[half], 0.0) for half in kept]
    return np.stack([_p(part, rng, resamples) for part in parts], axis=1)


REPEATED_PART = 6  # a sixth of the replications: each is a whole comparison
REPEATED_QUERIES = 24


def repeated(counts: Counts, *, runs: tuple[int, int], ratio: float) -> Figures:
    """Compare an engine with itself, where whole runs have luck: `ratio` times the chance of the queries' mean.

    p is where the interval touches zero, or that of the sign-flips if it is greater; both are looked at here, since to
    find the former takes a hundred times as long as to see on which side of 5 % it is.
    """
    found: dict[str, list[float]] = {"type I": [], "interval": []}
    for rng in batches(Counts(counts.replications // REPEATED_PART, counts.resamples)):
        for _ in range(BATCH):
            bare, chance = _against_itself(rng, runs, ratio, counts.resamples)
            flips = bare.rows[0].p
            plain = replace(bare, rows=(replace(bare.rows[0], p=None),))
            ends = add_run_variance(plain, lambda _: chance, CompareSettings()).rows[0].interval  # noqa: B023  # called at once
            held = ends.low <= 0.0 <= ends.high
            found["type I"].append(float(not held and flips is not None and flips <= LEVEL))
            found["interval"].append(float(held))
    return _mean(found)


def _against_itself(
    rng: np.random.Generator, runs: tuple[int, int], ratio: float, resamples: int
) -> tuple[Comparison, RunVariance | None]:
    """Draw the queries and the luck of every run; give the comparison of the means, and what the runs say of chance."""
    old, new = (ratio * 0.1 / math.sqrt(REPEATED_QUERIES) * rng.normal(size=size) for size in runs)
    own = 0.1 * rng.normal(size=REPEATED_QUERIES)
    units = tuple(make_units([0] * REPEATED_QUERIES))
    values = (np.full(REPEATED_QUERIES, 0.5), 0.5 + own + new.mean() - old.mean())
    sides = [Scores(("e",), ("RR@10",), units, one[None, None]) for one in values]
    found = compare_scores(sides[0], sides[1], primary="RR@10", B=resamples)
    return found, estimate_run_variance(tuple(old), tuple(own.mean() + new))


def audited(counts: Counts, *, shape: Shape, design: Design) -> Figures:
    """Compare two equal engines in a world of the audit, as a report does."""
    found = audit.null(shape, design, counts.replications)
    missed, warned = 1.0 - found["coverage"], found["warned of those missed"]
    return {
        "type I": found["type I"],
        "interval": found["coverage"],
        "false better or worse": found["better"] + found["worse"],
        "missed without a warning": missed * (1.0 - warned) if missed else 0.0,
    }


def at_margin(counts: Counts, *, shape: Shape, design: Design) -> Figures:
    """Compare with an engine that is worse by the margin, in a world of the audit."""
    found = audit.margin(shape, design, counts.replications)
    return {"false equivalent": found["equivalent"], "false not inferior": found["not inferior"]}


def averaged_alike(counts: Counts, *, share: float, design: Design) -> Figures:
    """Estimate the mean of hits whose repositories differ much."""
    shape, found = Shape("hits", (0.0, 1.0), (1.0 - share, share)), list[float]()
    for rng in batches(counts):
        sets = draw_sets(rng, shape, design, BATCH)
        ends = mean_interval(estimate(cluster_table(sets.differences, partition(sets.units))), ValueRange())
        found.append(covered(ends, sets.truth))
    return {_WILSON: float(np.mean(found))}


LED_PART = 3  # a third of the replications: each is a comparison of all pairs


def led(counts: Counts, *, contest: Contest) -> Figures:
    """Compare all pairs of equal engines: how often is the leader, which was chosen on the same data, called better?"""
    found = simulate(contest, counts.replications // LED_PART, counts.resamples)
    return {"leader better than runner-up": found.runner_up, "leader better than any": found.anyone}


def sharing(counts: Counts, *, world: SharedWorld) -> Figures:
    """Compare equal engines on queries that share targets, with each query as a unit and with one unit a target."""
    found = simulate_shared(world, counts.replications, min(counts.resamples, CROSS_CHECK))
    return {
        "type I, each query a unit": found["type I apart"],
        "type I": found["type I together"],
        "interval": found["coverage together"],
    }


VOTES = ("accept", "reject")
AGREED_PART = 4  # a quarter of the replications: each is a bootstrap in Python


def agreed(counts: Counts, *, items: int, same: float) -> Figures:
    """Let two reviewers vote on items, alike with a chance: does the interval of Cohen's κ hold the true κ?"""
    truth = 2 * same - 1  # both say accept half of the time, so chance agrees in a half
    found: list[float] = []
    for rng in batches(Counts(counts.replications // AGREED_PART, counts.resamples)):
        for _ in range(BATCH):
            first = rng.random(items) < 0.5
            second = np.where(rng.random(items) < same, first, ~first)
            ratings = Ratings.of(
                {"a": VOTES[int(one)], "b": VOTES[int(other)]} for one, other in zip(first, second, strict=True)
            )
            kappa = partial(cohen_kappa, first="a", second="b", values=VOTES)
            got = bootstrap_interval(kappa, ratings, Resampling(draws=400, seed=int(rng.integers(2**31))))
            found.append(float(got.low is not None and got.high is not None and got.low <= truth <= got.high))
    return {"percentile bootstrap over items": float(np.mean(found))}


_TYPE_ONE = Bound(0.03, 0.07)
_FEW_PATTERNS = Bound(0.0, 0.07)  # so few clusters have so few p-values that the test must fall short
_NESTED = (1, 2, 3, 4, 5, 6, 10, 20, 60)
_POWERED = (6, 7, 8, 9, 10, 12, 16, 20, 60)
_WORLDS: tuple[dict[str, int], ...] = ({"queries": 30}, {"queries": 60}, {"repositories": 10}, {"repositories": 20})
_LEVELS = (("hit", 0.6), ("hit", 0.87), ("hit", 0.95), ("ndcg", 0.87))
_REPEATED = (((1, 2), 0.3), ((1, 2), 3.0), ((2, 2), 1.0), ((3, 3), 0.3), ((3, 3), 1.0), ((3, 3), 10.0))
_SLICES: Mapping[str, tuple[str, Callable[[Counts], Figures]]] = {
    "none": ("10 slices, none differs", partial(explored, slices=10)),
    "some": ("10 slices, 3 differ by 0.2", partial(explored, slices=10, real=3, shift=0.2)),
    "crossing": ("6 overlapping slices, none differs", partial(explored, slices=6, halves=True)),
}
_WILSON = "Wilson at the effective n"


#: Worlds of the audit with their designs: equal engines, and an engine that is worse by the margin.
_HARD: Mapping[str, tuple[str, Shape, tuple[Design, ...]]] = {
    "skewed": ("skewed", SKEWED, (Design(1, 30), Design(1, 100), Design(1, 300), Design(10, 300, 0.05))),
    "unequal": ("unequal sizes", UNEVEN, (Design(6, 100, 0.05), Design(10, 300, 0.05), Design(20, 300, 0.05))),
    "alike": ("high ICC", NDCG, (Design(6, 600, 0.3), Design(10, 600, 0.3), Design(20, 600, 0.3))),
    "sparse": ("88% ties", TIES, (Design(1, 100), Design(6, 100, 0.05), Design(20, 300, 0.05))),
}
_AT_MARGIN: Mapping[str, tuple[str, Shape, tuple[Design, ...]]] = {
    "rare": ("one query in 50 lost", RARE_LOSSES, (Design(1, 30), Design(1, 100), Design(1, 300))),
    "sparse": ("88% ties", TIES, (Design(1, 100), Design(6, 600, 0.15), Design(20, 600, 0.3))),
    "ceiling": ("near the ceiling", CEILING, (Design(10, 600, 0.15), Design(20, 600, 0.3))),
    "skewed": ("skewed", SKEWED, (Design(1, 100), Design(10, 600, 0.3))),
}


def _from_the_audit() -> dict[str, Simulation]:
    """List worlds of the audit that t intervals and tests of independent queries fail in."""
    listed: dict[str, Simulation] = {}
    for name, (about, shape, designs) in _HARD.items():
        for design in designs:
            interval = {"missed without a warning": Bound(0.0, 0.01)} if name == "skewed" else {"interval": Bound(0.93)}
            bounds = {"false better or worse": Bound(0.0, 0.07), **interval}
            key, draw = f"hard/{name}/{_slug(design)}", partial(audited, shape=shape, design=design)
            listed[key] = Simulation("hard", f"{about}, {_described(design)}", draw, bounds)
    for name, (about, shape, designs) in _AT_MARGIN.items():
        for design in designs:
            bounds = {"false equivalent": Bound(0.0, 0.06), "false not inferior": Bound(0.0, 0.06)}
            key, draw = f"margin/{name}/{_slug(design)}", partial(at_margin, shape=shape, design=design)
            listed[key] = Simulation("margin", f"{about}, {_described(design)}", draw, bounds)
    for engines, repositories in product((3, 10, 20), (1, 10)):
        where = "one repository" if repositories == 1 else f"{repositories} repositories"
        draw = partial(led, contest=Contest(engines, repositories, 300, 0.7))
        about, bounds = f"{engines} equal engines, 300 queries in {where}", {"leader better than any": Bound(0.0, 0.06)}
        listed[f"leaders/{engines}-{repositories}"] = Simulation("leaders", about, draw, bounds, LED_PART)
    for number, world in enumerate(shared_worlds()):
        about = f"{world.about}, correlation {world.correlation:g}"
        bounds = {"type I": Bound(0.0, 0.06), "interval": Bound(0.93)}
        listed[f"shared/{number}"] = Simulation("shared", about, partial(sharing, world=world), bounds)
    for count, icc in product((6, 10, 20), (0.15, 0.3)):
        design = Design(count, 600, icc)
        draw = partial(averaged_alike, share=0.95, design=design)
        about = f"hits, 0.95, {_described(design)}"
        listed[f"alike/{_slug(design)}"] = Simulation("means", about, draw, {_WILSON: Bound(0.92)})
    return listed


def _slug(design: Design) -> str:
    """Name a design by its repositories, queries and ICC."""
    return f"{design.repositories}x{design.queries}" + (f"-{design.icc:g}" if design.icc else "")


def _described(design: Design) -> str:
    """Describe a design in words."""
    if design.repositories == 1:
        return f"{design.queries} queries in one repository"
    return f"{design.queries} queries in {design.repositories} repositories, ICC {design.icc:g}"


def _said(repositories: int) -> str:
    """Say what is drawn anew."""
    drawn = "repositories" if repositories >= DEFAULT.repositories_as_clusters else "queries"
    return f"{repositories} repositories, {drawn} sampled" if repositories > 1 else "one repository, queries sampled"


def _promised() -> dict[str, Simulation]:
    """List what the program promises, each with its bound."""
    listed: dict[str, Simulation] = {}
    for count in _NESTED:
        fixed = count < DEFAULT.repositories_as_clusters
        bounds = {
            "type I": _FEW_PATTERNS if count in range(6, 10) else _TYPE_ONE,
            "cluster-t": Bound(0.93),
            "bootstrap-t": Bound(0.92),
        }
        if count == 1:
            bounds.pop("bootstrap-t")  # of eight queries it is too narrow; it is only a check
        draw = partial(compared, repositories=count, fixed=fixed)
        listed[f"differences/{count}"] = Simulation("differences", _said(count), draw, bounds)
        draw = partial(estimated, repositories=count, lean=0.25, fixed=fixed)
        listed[f"skewed/{count}"] = Simulation("skewed", _said(count), draw, {"cluster-t": Bound(0.93)})
    for kind, level in _LEVELS:
        for world in _WORLDS:
            ((what, size),) = world.items()
            drawn = {"queries": 0, "repositories": 0} | world
            about = f"{'hits' if kind == 'hit' else 'nDCG-like'}, {level:g}, {size} {what}"
            draw = partial(
                averaged, kind=kind, level=level, queries=drawn["queries"], repositories=drawn["repositories"]
            )
            listed[f"means/{kind}-{level}-{size}-{what}"] = Simulation("means", about, draw, {_WILSON: Bound(0.92)})
    for count in _POWERED:
        draw = partial(powered, repositories=count)
        listed[f"power/{count}"] = Simulation("power", f"{count} repositories", draw, {"power": Bound(0.75, 0.85)})
    for count, margin in ((20, 0.1), (60, 0.05)):
        bounds = {"false equivalent": Bound(0.0, 0.07), "false not inferior": Bound(0.0, 0.07)}
        about = f"{count} repositories, margin {margin:g}"
        draw = partial(decided, repositories=count, margin=margin)
        listed[f"verdicts/{count}"] = Simulation("verdicts", about, draw, bounds)
    for count, engines in ((10, 5), (20, 10)):
        about = f"{count} repositories, {engines} engines equal to the baseline"
        draw = partial(together, repositories=count, engines=engines)
        bounds = {"any false claim, Holm": Bound(0.0, 0.07)}
        listed[f"family/{engines}"] = Simulation("family", about, draw, bounds)
    for name, (about, looked) in _SLICES.items():
        bounds = {"false share, Benjamini–Hochberg": Bound(0.0, 0.06)}
        listed[f"slices/{name}"] = Simulation("slices", about, looked, bounds)
    for (old, new), ratio in _REPEATED:
        about = f"{old} and {new} runs, σ of runs {ratio:g} × that of queries"
        draw = partial(repeated, runs=(old, new), ratio=ratio)
        bounds = {"type I": Bound(0.0, 0.07), "interval": Bound(0.93)}
        listed[f"repeats/{old}-{new}-{ratio:g}"] = Simulation("repeats", about, draw, bounds, REPEATED_PART)
    for items in (20, 41, 100):
        about = f"{items} items, two reviewers who agree on 90%"
        draw = partial(agreed, items=items, same=0.9)
        listed[f"agreement/{items}"] = Simulation("agreement", about, draw, {}, AGREED_PART)
    return listed


def _beyond() -> dict[str, Simulation]:
    """List worlds in which the promise is not made, to say how far it fails."""
    listed: dict[str, tuple[str, Callable[[Counts], Figures]]] = {
        "naive": (
            "20 repositories, t-test over queries as if independent",
            partial(naive, repositories=20),
        ),
        "generalised/3": (
            "3 sampled repositories, applied to all others",
            partial(estimated, repositories=3),
        ),
        "alike/6": (
            "6 repositories, ICC 0.3",
            partial(compared, repositories=6, icc=0.3),
        ),
        "alike/20": ("20 repositories, ICC 0.3", partial(compared, repositories=20, icc=0.3)),
        "giant/10": (
            "10 repositories, one with 300 queries, more than all others",
            partial(compared, repositories=10, giant=300, cross=False),
        ),
        "giant/20": (
            "20 repositories, one with 300 queries",
            partial(compared, repositories=20, giant=300, cross=False),
        ),
        "ceiling/30": ("hits, 0.99, 30 queries", partial(averaged, kind="hit", level=0.99, queries=30)),
        "few/10": ("hits, 0.87, 10 queries", partial(averaged, kind="hit", level=0.87, queries=10)),
        "few/6": ("nDCG-like, 0.87, 6 repositories", partial(averaged, kind="ndcg", level=0.87, repositories=6)),
        "percentile/30": ("hits, 0.95, 30 queries", partial(resampled, level=0.95, queries=30)),
    }
    found = {f"beyond/{name}": Simulation("beyond", about, draw, {}) for name, (about, draw) in listed.items()}
    about = "one run each, σ of runs 3 × that of queries"
    draw = partial(repeated, runs=(1, 1), ratio=3.0)
    return found | {"beyond/unrepeated": Simulation("beyond", about, draw, {}, REPEATED_PART)}


SIMULATIONS: Mapping[str, Simulation] = _promised() | _from_the_audit() | _beyond()
