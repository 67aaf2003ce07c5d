from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


def one_digit(value: float) -> str:
    if value == 0.0:
        return "0"
    exponent = math.floor(math.log10(float(f"{abs(value):.0e}")))
    return f"{round(value, -exponent):.{max(0, -exponent)}f}"


@dataclass(frozen=True, slots=True)
class ValueRange:
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def finite(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def differences(self) -> ValueRange:
        return ValueRange(-self.width, self.width, self.higher_is_better)


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval with its level and method."""

    low: float
    high: float
    level: float
    method: str

    def inside(self, margin: float) -> bool:
        return -margin < self.low and self.high < margin


class Verdict(StrEnum):
    """The outcome of a comparison with the baseline."""

    WORSE = "worse"
    BETTER = "better"
    EQUIVALENT = "equivalent"
    NOT_INFERIOR = "not inferior"
    INCONCLUSIVE = "inconclusive"


#: In place of a verdict if all rankings are identical.
SAME = "changed no ranking"


@dataclass(frozen=True, slots=True)
class MeanRow:
    """The mean of one engine on one measure over queries, with its interval, and the mean over repositories."""

    engine: str
    measure: str
    mean: float
    interval: Interval
    repository_mean: float
    queries: int
    left_out: int  # queries to which the measure does not apply
    clusters: int
    repositories: int
    effective_n: float
    label: str  # the scope


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """The comparison of one engine with one baseline on one measure.

    `difference` is engine − baseline in units of the measure; `wins` and `worse_share` follow the direction.
    """

    engine: str
    baseline: str
    measure: str
    higher_is_better: bool
    mean: float
    baseline_mean: float
    difference: float
    se: float | None  # clustered; None with a single cluster
    df: float  # Satterthwaite's, for the clustered se
    interval: Interval
    equivalence: Interval  # at 1 − 2α; for equivalence, non-inferiority and the margin
    cross_check: Interval  # cluster bootstrap-t
    p: float | None  # None with fewer than six clusters
    p_adjusted: float | None  # Holm inside the family, Benjamini–Hochberg for a slice, None elsewhere
    smallest_p: float | None  # attainable with this many clusters
    in_family: bool
    verdict: Verdict | None  # only inside the family
    within_margin: bool
    d_z: float | None
    wins: int
    ties: int
    losses: int
    worse_share: float
    icc: float | None
    design_effect: float | None
    effective_n: float
    mde: float | None  # None if no difference could be shown
    queries: int
    left_out: int
    clusters: int
    repositories: int
    label: str
    notes: tuple[str, ...] = ()
    heaviest: float = 0.0  # share of the queries in the largest cluster
    differing: int = 0  # clusters with any difference
    skewed: bool = False  # rare large differences against frequent small ones: few queries decide the mean
    confirmed: bool = True  # whether skewed differences confirm the sign of their mean; the test assumes symmetry
    unequal: float = 1.0  # factor by which unequal cluster sizes raise the MDE
    typical_size: float = 0.0  # root mean square of the differences that are not 0
    identical: bool = False  # both returned the same rankings throughout; set by callers that have the rankings

    @property
    def mde_text(self) -> str:
        return "none" if self.mde is None else one_digit(self.mde)

    @property
    def summary(self) -> str:
        return f"{self.verdict_text}, {self.label}"

    @property
    def verdict_text(self) -> str:
        if self.verdict is None:
            return "not in the family"
        if self.identical:
            return SAME
        if not self.wins + self.losses and self.ties:
            return "same scores"
        small = self.within_margin and self.verdict in (Verdict.BETTER, Verdict.WORSE)
        return f"{self.verdict}, within the margin" if small else self.verdict.value


@dataclass(frozen=True, slots=True)
class SliceRow:
    """An exploratory comparison on a part of the queries."""

    by: str  # "form" or a tag
    value: str
    row: ComparisonRow


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of engines with a baseline, with rows for the primary and the secondary measures."""

    baseline: str  # empty if there is no single one
    primary: str
    alpha: float
    margin: float
    seed: int
    resamples: int
    family_size: int
    rows: tuple[ComparisonRow, ...]  # primary measure
    secondary: tuple[ComparisonRow, ...]  # other measures; not in the family, no verdict
    means: tuple[MeanRow, ...]
    label: str
    notes: tuple[str, ...]
    failed: tuple[str, ...] = field(default=(), kw_only=True)  # failed on every query: not compared, in no family


@dataclass(frozen=True, slots=True)
class AllPairs(Comparison):
    """The comparison of all pairs of engines; `leaders` are the best engine and the engines not shown to be worse."""

    leader: str
    leaders: tuple[str, ...]


class EngineLabel(str):
    """An engine of one of two compared runs; its text is `engine (run)`."""

    engine: str
    run: str

    def __new__(cls, engine: str, run: str) -> EngineLabel:
        label = super().__new__(cls, f"{engine} ({run})")
        label.engine, label.run = engine, run
        return label

    def __reduce__(self) -> tuple[type[EngineLabel], tuple[str, str]]:
        return EngineLabel, (self.engine, self.run)


def engine_of(label: str) -> str:
    """Return the name of an engine, without that of its run."""
    return label.engine if isinstance(label, EngineLabel) else label


@dataclass(frozen=True, slots=True)
class RunNames:
    old: str = "a"
    new: str = "b"


@dataclass(frozen=True, slots=True)
class QueryValue:
    """One line of a per-query table."""

    query: str
    value: float
    cluster: str = ""
    shared: str = ""  # as in `Unit`


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Sizes at both ends of the confidence interval of a pilot's variance; an end is None if no size is enough."""

    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """The number of repositories, or of queries in the present repositories, needed to detect a difference."""

    delta: float
    alpha: float
    power: float
    repositories: int | None  # with the present number of queries in each; None if no number is enough
    queries: int | None  # in total; None if no number is enough
    mde_now: float | None  # None if the present size cannot show any difference
    sentence: str
    repositories_range: SizeRange | None = None  # at confidence 1 − alpha; None without a pilot
    queries_range: SizeRange | None = None
    sd: float = 0.0  # of the paired differences, per query
    icc: float = 0.0
    icc_source: Literal["pilot", "given", "assumed"] = "given"
