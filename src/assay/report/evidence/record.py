"""The evidence of one side of a comparison, wherever it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.types import Claim, CorpusFacts, Role, Scores, Status


@dataclass(frozen=True, slots=True)
class Trouble:
    """A question that an engine did not answer in every repeat."""

    gold: str
    query: str
    form: str
    statuses: tuple[Status, ...]  # one a repeat

    @property
    def failed(self) -> int:
        """In how many repeats it failed."""
        return sum(status != Status.OK for status in self.statuses)

    @property
    def wavers(self) -> bool:
        """Whether it failed in some repeats only."""
        return 0 < self.failed < len(self.statuses)


@dataclass(frozen=True, slots=True)
class EngineEvidence:
    """What is known of one engine beside its values."""

    name: str
    role: Role
    settings: str  # digest of what shapes its ranking
    asked: int  # questions, over all repeats
    failed: int
    answers: tuple[str, ...]  # a digest of all its rankings, one a repeat; empty where it found nothing
    means: tuple[tuple[float, ...], ...]  # headline means: repeats × measures; NaN where a measure does not apply
    changed: float = 0.0  # share of its questions whose ranking is not the same in every repeat
    noise: tuple[float, ...] = ()  # variance of a run's mean by chance of single queries, by measure; 0 of a single run
    troubles: tuple[Trouble, ...] = ()

    @property
    def dead(self) -> bool:
        """Whether it answered nothing: its values are all the worst, and say nothing of its ranking."""
        return self.asked > 0 and self.failed == self.asked

    @property
    def silent(self) -> bool:
        """Whether it found nothing at all in some repeat, as a tool does that ends with 1 and prints nothing."""
        return self.asked > 0 and "" in self.answers

    @property
    def is_noisy(self) -> bool:
        """Whether repeats differ: in a ranking, or in whether a query failed."""
        return self.changed > 0.0 or bool(self.wavering)

    @property
    def wavering(self) -> tuple[Trouble, ...]:
        """The questions that it answered in some repeats only."""
        return tuple(trouble for trouble in self.troubles if trouble.wavers)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One side of a comparison: values by query, a mean over repeats where there are several.

    Repeats of one query are never units of their own: they tell of the engine's chance, not of other queries.
    """

    name: str  # as people are told of it
    k: int
    engines: tuple[EngineEvidence, ...]
    scores: Scores  # headline units
    repeats: int = 1
    corpora: Mapping[str, CorpusFacts] = field(default_factory=dict)  # by gold name
    golds: tuple[str, ...] = ()
    synthetic: tuple[str, ...] = ()  # those of them that were made from the code
    claim: Claim | None = None  # that it was made for, where it is kept
    gold_hash: str = ""
    assay: str = ""  # the version that scored it
    date: str = ""
    skipped: Mapping[str, str] = field(default_factory=dict)  # engine -> why it was not run
    is_file: bool = False  # whether it was read from a baseline file

    @property
    def dead(self) -> frozenset[str]:
        """Name the engines that answered nothing."""
        return frozenset(engine.name for engine in self.engines if engine.dead)

    def engine(self, name: str) -> EngineEvidence:
        """Find an engine by its name."""
        return next(engine for engine in self.engines if engine.name == name)
