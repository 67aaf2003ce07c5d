"""Plan the cells of a run: which exist, and how the rest are grouped into tasks."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from assay.digests import digest_of, package_digest
from assay.engines.base import FullEngine, SharedStep, sharing_engine
from assay.engines.kinds import find_kind
from assay.experiment.cells.keys import CellKey, EngineIdentity, cell_key, engine_identity
from assay.experiment.cells.records import CellId, CorpusSnapshot
from assay.experiment.cells.working import CellTask, CorpusAccess
from assay.experiment.corpora import Missing
from assay.experiment.running.asking import EngineLimits
from assay.experiment.spec.model import EngineFactory
from assay.gold import gold_hash
from assay.types import GoldSet, Suite, VariantInfo

#: Fewer variants than this are not worth opening a corpus and its index once more for.
_LEAST = 4


@dataclass(frozen=True)
class PlannedEngine:
    """An engine of the matrix: how it is made, and what it is once it is made."""

    recipe: EngineFactory
    engine: FullEngine = field(repr=False)
    variation: VariantInfo | None = None

    @cached_property
    def kind(self) -> object:
        """What kind of engine it is, if it says so."""
        return self.engine.config.get("kind")

    @cached_property
    def ours(self) -> bool:
        """Whether it is a part of Assay."""
        kind = find_kind(self.kind)
        return kind is not None and kind.shipped

    @cached_property
    def who(self) -> EngineIdentity:
        """What of it decides its cells."""
        return engine_identity(self.engine, self.recipe.spec)

    @cached_property
    def steps(self) -> tuple[SharedStep, ...]:
        """The way from corpus to ranking; an engine that shares nothing has a way of its own."""
        shares = sharing_engine(self.engine)
        return shares.steps() if shares else (SharedStep("ranking", digest_of([self.recipe.spec, self.recipe.name])),)

    @cached_property
    def company(self) -> str:
        """Name whom it is sent with: those of its index, or ours that need none. A stranger goes alone: it may die."""
        if sharing_engine(self.engine) is not None:
            return self.steps[0].digest
        return "" if self.ours else self.recipe.name


@dataclass(frozen=True)
class RunPlan:
    """The matrix: engines × gold sets, before anybody went anywhere."""

    suite: Suite
    asked: Mapping[str, PlannedEngine]
    k: int
    forms: tuple[str, ...] = ()
    missing: Missing | None = None
    limits: EngineLimits = field(default_factory=lambda: EngineLimits(0.0, 0.0))
    skipped: Mapping[str, str] = field(default_factory=dict)
    reuse_index: bool = False

    @cached_property
    def slots(self) -> tuple[CellId, ...]:
        """Every cell, gold set by gold set."""
        return tuple(CellId(gold.name, name) for gold in self.suite.golds for name in self.asked)

    @cached_property
    def digest(self) -> str:
        """Name the plan: shards of one plan can be put together."""
        engines = {name: [dict(one.engine.config), one.recipe.seed] for name, one in self.asked.items()}
        golds = [[gold.name, gold_hash(gold)] for gold in self.suite.golds]
        return digest_of([package_digest(), engines, golds, self.k, list(self.forms), self.missing, dict(self.skipped)])

    def way(self, gold: GoldSet) -> CorpusAccess:
        """Tell a worker how to get to a gold set."""
        return CorpusAccess(gold, self.forms, self.missing, folder=Path.cwd(), code=package_digest())

    def key(self, slot: CellId, ground: CorpusSnapshot) -> CellKey:
        """Name a cell by what decides it."""
        return cell_key(self.asked[slot.engine].who, ground, self.k)

    def visits(self, slots: Iterable[CellId], grounds: Mapping[str, CorpusSnapshot], width: int) -> list[CellTask]:
        """Say who goes where: the longest way first, and enough of them that nobody stands about."""
        groups: dict[tuple[str, str], list[str]] = {}
        for slot in slots:
            groups.setdefault((slot.gold, self.asked[slot.engine].company), []).append(slot.engine)
        divided = _divide([(gold, names) for (gold, _), names in groups.items()], grounds, 2 * width)
        divided.sort(key=lambda group: (-_work(group, grounds), group))
        return [self._visit(names, grounds[gold]) for gold, names in divided]

    def _visit(self, names: Sequence[str], ground: CorpusSnapshot) -> CellTask:
        recipes = tuple(replace(self.asked[name].recipe, suite=None) for name in names)
        return CellTask(self.way(ground.gold), ground.facts.digest, recipes, self.k, self.limits, self.reuse_index)


_Group = tuple[str, list[str]]


def _work(group: _Group, grounds: Mapping[str, CorpusSnapshot]) -> int:
    gold, names = group
    return grounds[gold].size + 20_000 * len(names) * grounds[gold].questions


def _divide(groups: Iterable[_Group], grounds: Mapping[str, CorpusSnapshot], wanted: int) -> list[_Group]:
    heap = [(-len(names) * grounds[gold].questions, gold, names) for gold, names in groups]
    heapq.heapify(heap)
    done: list[_Group] = []
    while heap and len(heap) + len(done) < wanted:
        _, gold, names = heapq.heappop(heap)
        if len(names) < 2 * _LEAST:
            done.append((gold, names))
            continue
        for half in (names[: len(names) // 2], names[len(names) // 2 :]):
            heapq.heappush(heap, (-len(half) * grounds[gold].questions, gold, half))
    return done + [(gold, names) for _, gold, names in heap]
