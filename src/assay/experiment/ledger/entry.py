"""One line of the ledger: a change, its evidence, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.experiment.ledger.files import FORMAT
from assay.experiment.ledger.rule import Reason, Rule
from assay.gold.split import DEV
from assay.settings import read_settings
from assay.stats.slices import RepositoryChange

#: Keys of a line that belong to the chain and not to the entry.
LINKS = ("assay_ledger", "before", "hash")
How = Literal["run", "ablate", "tune"]


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a change that was chosen by tuning has beside its honest difference."""

    points: int
    partitions: int
    apparent: float
    honest: float


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two engines of an entry."""

    engine: str
    config: str  # hash of the settings that shape its ranking
    mean: float
    version: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured. `difference` is in the measure's own units, on the queries both engines were asked."""

    measure: str
    higher_is_better: bool
    k: int
    difference: float
    low: float | None  # None where nothing bounds it
    high: float | None
    level: float
    p: float | None  # adjusted inside the family
    family: int  # comparisons that were judged together
    verdict: str | None
    margin: float
    alpha: float
    queries: int
    clusters: int
    label: str  # how far it reaches
    repositories: tuple[RepositoryChange, ...] = ()
    identical: bool = False  # the two engines gave the same rankings throughout

    @property
    def gain(self) -> float:
        """The difference with the good end up."""
        return self.difference if self.higher_is_better else -self.difference


@dataclass(frozen=True, slots=True)
class Entry:
    """A change that was tried. Number, date and what links the lines come from the ledger when it is added."""

    title: str
    how: How
    new: Side
    old: Side
    changes: Mapping[str, tuple[object, ...]]  # dotted setting -> before, after; None where it was not set
    gold: tuple[str, ...]
    gold_hash: str
    parts: tuple[str, ...]  # of the divided sets that the queries are of; empty where none is divided
    corpora: Mapping[str, str]  # gold set -> digest of its corpus
    evidence: Evidence
    rule: Rule
    accepted: bool
    reasons: tuple[Reason, ...]
    assay: str
    by: str = ""
    tuning: Tuning | None = None
    number: int = 0
    date: str = ""
    tried: int = 0  # entries on a gold set of the same name before it

    @property
    def spent(self) -> tuple[str, ...]:
        """The parts that it used up: queries of all but dev are there to make claims on, not to decide on changes."""
        return tuple(part for part in self.parts if part != DEV)

    def identity(self) -> tuple[object, ...]:
        """Give what two entries on one comparison share."""
        seen = self.evidence
        sides = ((s.engine, s.config, s.version) for s in (self.new, self.old))
        return (self.how, *sides, self.gold_hash, tuple(sorted(self.corpora.items())), seen.measure, seen.k, self.parts)


def as_mapping(entry: Entry) -> dict[str, Any]:
    """Give an entry as the keys of its line."""
    line: dict[str, Any] = {"assay_ledger": FORMAT, "number": entry.number, "date": entry.date}
    return line | {key: value for key, value in asdict(entry).items() if key not in line}


def from_mapping(line: Mapping[str, Any], where: str) -> Entry:
    """Read the keys of a line; what does not fit is a ConfigError that begins with `where`."""
    return read_settings(Entry, {key: value for key, value in line.items() if key not in LINKS}, where)
