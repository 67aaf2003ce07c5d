"""The rows of the table that is merged over runs. Each says itself what it was measured with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.digests import digest_of
from assay.experiment.records.merging import Footing
from assay.types import Role

State = Literal["measured", "skipped", "stale"]


#: Digits of a hash that people are shown; the files hold them all, so that a shown one can be looked up.
HASH_DIGITS = 12


def corpora_hash(corpora: Mapping[str, str]) -> str:
    """Give one digest of all corpora (gold name -> digest): where there is one corpus its own."""
    digests = set(corpora.values())
    return digests.pop() if len(digests) == 1 else digest_of(sorted(corpora.items()))


@dataclass(frozen=True, slots=True)
class Value:
    """The mean of one measure."""

    measure: str
    mean: float
    low: float
    high: float
    queries: int


@dataclass(frozen=True, slots=True)
class Row:
    """One engine: measured in this run, skipped in it, or stale: measured in an earlier one on another footing."""

    engine: str
    state: State = "measured"
    reason: str = ""  # why it was skipped or is stale
    role: Role = "contestant"
    base: str = ""  # what it is a variant of
    changes: dict[str, object] = field(default_factory=dict)  # by which settings
    date: str = ""  # the day it was asked
    assay: str = ""  # the version that asked it
    version: str = ""  # what the engine says of itself
    gold_hash: str = ""
    corpora: dict[str, str] = field(default_factory=dict)  # gold name -> digest
    config_hash: str = ""
    fingerprint: str = ""  # of the tool and models that answered
    code: str = ""  # of Assay, as far as it decides answers
    k: int = 0
    forms: tuple[str, ...] = ()
    queries: int = 0
    repositories: int = 0
    asked: int = 0
    failed: int = 0
    primary: str = ""
    values: tuple[Value, ...] = ()
    baseline: str = ""
    verdict: str = ""  # against the baseline; empty where none is claimed

    @property
    def footing(self) -> Footing:
        """What it was asked, and on what."""
        return Footing(self.gold_hash, self.corpora, self.k, self.forms)

    @property
    def corpora_hash(self) -> str:
        """One hash of all corpora."""
        return corpora_hash(self.corpora)

    def value(self, measure: str) -> Value | None:
        """Give the mean of a measure; none where it was not measured or applies to no query."""
        return next((value for value in self.values if value.measure == measure), None)
