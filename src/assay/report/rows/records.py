"""The rows of the table that is merged over runs. Each says itself what it was measured with."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Literal

from assay.experiment.records.merging import Footing
from assay.types import Role

State = Literal["measured", "skipped", "stale"]


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
        """One short hash of all corpora."""
        return hashlib.sha256(json.dumps(sorted(self.corpora.items())).encode()).hexdigest()[:16]

    def value(self, measure: str) -> Value | None:
        """Give the mean of a measure; none where it was not measured or applies to no query."""
        return next((value for value in self.values if value.measure == measure), None)
