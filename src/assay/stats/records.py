"""The records of this room. Frozen, slotted; a report needs nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol


def one_digit(value: float) -> str:
    """Write with one significant digit."""
    if value == 0.0:
        return "0"
    exponent = math.floor(math.log10(float(f"{abs(value):.0e}")))
    return f"{round(value, -exponent):.{max(0, -exponent)}f}"


@dataclass(frozen=True, slots=True)
class ValueRange:
    """What values a measure can take and which end is good."""

    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True

    @property
    def width(self) -> float:
        """The largest possible difference of two values."""
        return self.high - self.low

    @property
    def finite(self) -> bool:
        """Whether both ends are known."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def differences(self) -> ValueRange:
        """What a difference of two values can be."""
        return ValueRange(-self.width, self.width, self.higher_is_better)


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval, its level and the method that made it."""

    low: float
    high: float
    level: float
    method: str

    def inside(self, margin: float) -> bool:
        """Whether it lies strictly inside ± margin."""
        return -margin < self.low and self.high < margin


class Verdict(StrEnum):
    """What may be claimed of an engine against its baseline."""

    WORSE = "worse"
    BETTER = "better"
    EQUIVALENT = "equivalent"
    NOT_INFERIOR = "not inferior"
    INCONCLUSIVE = "inconclusive"


#: What is said in the place of a verdict where there is nothing to judge.
SAME = "changed no ranking"


@dataclass(frozen=True, slots=True)
class MeanRow:
    """One engine on one measure: the mean over queries, its interval, and the mean over repositories."""

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
    label: str  # how far it reaches


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One engine against one baseline on one measure.

    `difference` is engine − baseline in the measure's own units; `verdict`, `wins` and `harmed` know which end is good.
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
    equivalence: Interval  # at 1 − 2α, the one that verdicts and gates read
    cross_check: Interval  # cluster bootstrap-t
    p: float | None  # None with fewer than six clusters
    p_adjusted: float | None  # Holm inside the family, Benjamini–Hochberg for a slice, None elsewhere
    smallest_p: float | None  # what this many clusters could reach
    in_family: bool
    verdict: Verdict | None  # only inside the family
    within_margin: bool
    d_z: float | None
    wins: int
    ties: int
    losses: int
    harmed: float
    icc: float | None
    design_effect: float | None
    effective_n: float
    mde: float | None  # smallest difference the set could have shown; None when it could show none
    queries: int
    left_out: int
    clusters: int
    repositories: int
    label: str
    notes: tuple[str, ...] = ()
    heaviest: float = 0.0  # share of the queries that the largest cluster holds
    differing: int = 0  # clusters with any difference
    lopsided: bool = False  # rare large differences against frequent small ones: the mean hangs on few queries
    confirmed: bool = True  # whether skewed differences confirm the sign of their mean; the test assumes symmetry
    unequal: float = 1.0  # factor by which unequal cluster sizes raise the MDE
    typical_size: float = 0.0  # root mean square of the differences that are not 0
    identical: bool = False  # both gave the same rankings throughout; who has the rankings says so

    @property
    def mde_text(self) -> str:
        """The MDE with one significant digit: it is not known better."""
        return "none" if self.mde is None else one_digit(self.mde)

    @property
    def claim(self) -> str:
        """The verdict in words, with how it stands to the margin and how far it reaches."""
        return f"{self.said}, {self.label}"

    @property
    def said(self) -> str:
        """The verdict in words, with how it stands to the margin."""
        if self.verdict is None:
            return "not in the family"
        if self.identical:
            return SAME
        margin = ", within the margin" if self.within_margin and self.verdict in _AGAINST_MARGIN else ""
        return f"{self.verdict}{margin}"


_AGAINST_MARGIN = (Verdict.BETTER, Verdict.WORSE)


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A comparison on a part of the queries; exploratory, its p adjusted over all slices (Benjamini–Hochberg)."""

    by: str  # "form" or a tag
    value: str
    row: ComparisonRow


@dataclass(frozen=True, slots=True)
class Comparison:
    """Engines against a baseline: the family's rows on the primary measure first, what is secondary apart."""

    baseline: str  # empty where there is no single one
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
    failed: tuple[str, ...] = field(default=(), kw_only=True)  # answered no query: not compared, in no family


@dataclass(frozen=True, slots=True)
class AllPairs(Comparison):
    """Every engine against every other; `leaders` are the best engine and those that cannot be told apart from it."""

    leader: str
    leaders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunNames:
    """How two results are called, the baseline first."""

    old: str = "a"
    new: str = "b"


@dataclass(frozen=True, slots=True)
class QueryValue:
    """One line of a per-query table: query, value and, where known, the repository it belongs to."""

    query: str
    value: float
    cluster: str = ""
    shared: str = ""  # that of its `Unit`


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Sizes that go with the ends of a pilot's confidence interval for its variance; None where no size is enough."""

    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """Size of a set that finds a difference with the given power; None where no size of that kind is enough."""

    delta: float
    alpha: float
    power: float
    repositories: int | None  # with as many queries in each as now
    queries: int | None  # in total, in the present repositories
    mde_now: float | None  # None where the present size cannot show any difference
    sentence: str
    repositories_range: SizeRange | None = None  # at confidence 1 − alpha; None without a pilot
    queries_range: SizeRange | None = None
    icc: float = 0.0
    icc_source: Literal["pilot", "given", "assumed"] = "given"


class MeasureLike(Protocol):
    """A measure of `scoring`; its repr is its name in a score table."""

    @property
    def low(self) -> float:
        """The least value."""

    @property
    def high(self) -> float:
        """The greatest value."""

    @property
    def higher_is_better(self) -> bool:
        """Which end is good."""


def range_of(measure: MeasureLike | str) -> ValueRange:
    """Look up a measure's range; a text is parsed by `scoring`."""
    if isinstance(measure, str):
        from assay.scoring import parse_measure

        measure = parse_measure(measure)
    return ValueRange(float(measure.low), float(measure.high), bool(measure.higher_is_better))


def name_of(measure: MeasureLike | str) -> str:
    """Give the name a measure has in a score table."""
    if not isinstance(measure, str):
        return repr(measure)
    from assay.scoring import parse_measure

    return repr(parse_measure(measure))
