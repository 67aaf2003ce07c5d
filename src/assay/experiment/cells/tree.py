"""The plan as a tree: corpus, chunks, vectors, candidates, ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.engines.base import STEP_KINDS, SharedStep, cached_steps, sharing_engine
from assay.experiment.cells.keeping import CellStore
from assay.experiment.cells.planning import RunPlan
from assay.experiment.cells.records import CellId, CorpusSnapshot
from assay.store import Store


@dataclass(frozen=True, slots=True)
class Node:
    """A step that is made once for all below it; a leaf is one engine."""

    name: str
    about: str
    golds: int  # gold sets it is needed on
    kept: int  # of them those where it is there already
    engines: int  # that it is made for
    children: tuple[Node, ...] = ()

    @property
    def made(self) -> int:
        """Count how often it has to be made."""
        return self.golds - self.kept

    @property
    def needed(self) -> bool:
        """Whether an engine below it, or itself, has anything left to be asked."""
        return any(child.needed for child in self.children) if self.children else bool(self.made)


@dataclass(frozen=True, slots=True)
class _Path:
    """One engine's way, and on how many gold sets each step, and its answers, are there."""

    engine: str
    steps: tuple[SharedStep, ...]
    kept: tuple[int, ...]
    cells: int


def plan_tree(plan: RunPlan, grounds: Mapping[str, CorpusSnapshot], keeper: CellStore | None) -> Node:
    """Draw the tree of a plan; engines that share a step stand below it. Without a keeper nothing is there."""
    paths = [_path(plan, name, grounds, keeper) for name in plan.asked]
    size = sum(ground.size for ground in grounds.values()) / 1e6
    files = sum(ground.facts.files for ground in grounds.values())
    about = f"{files:,} files, {size:.1f} MB"
    branches = _branches(paths, 0, len(grounds))
    return Node("corpora", about, len(grounds), len(grounds), len(plan.asked), branches)


def kept_indexes(
    plan: RunPlan, slots: Iterable[CellId], grounds: Mapping[str, CorpusSnapshot]
) -> frozenset[tuple[str, str]]:
    """Find the indexes of some cells that are kept whole, by gold set and company."""
    store = Store()
    found = {(slot.gold, plan.asked[slot.engine].company): plan.asked[slot.engine].engine for slot in slots}
    return frozenset(
        place
        for place, engine in found.items()
        if (shares := sharing_engine(engine))
        and cached_steps(shares, grounds[place[0]].facts.digest, store) >= set(STEP_KINDS)
    )


def _path(plan: RunPlan, name: str, grounds: Mapping[str, CorpusSnapshot], keeper: CellStore | None) -> _Path:
    one = plan.asked[name]
    if keeper is None:
        return _Path(name, one.steps, (0,) * len(one.steps), 0)
    cells = sum(keeper.has(plan.key(CellId(gold, name), ground)) for gold, ground in grounds.items())
    shares = sharing_engine(one.engine)
    store = Store()
    there = [cached_steps(shares, ground.facts.digest, store) if shares else frozenset() for ground in grounds.values()]
    kept = tuple(sum(step.name in found for found in there) for step in one.steps)
    return _Path(name, one.steps, kept, cells)


def _branches(paths: Sequence[_Path], depth: int, golds: int) -> tuple[Node, ...]:
    groups: dict[tuple[str, str], list[_Path]] = {}
    for path in paths:
        last = depth >= len(path.steps) - 1
        key = ("", path.engine) if last else (path.steps[depth].name, path.steps[depth].digest)
        groups.setdefault(key, []).append(path)
    return tuple(_node(group, depth, golds) for group in groups.values())


def _node(group: Sequence[_Path], depth: int, golds: int) -> Node:
    first = group[0]
    if depth >= len(first.steps) - 1:
        return Node(first.engine, first.steps[-1].about, golds, first.cells, 1)
    step = first.steps[depth]
    children = _branches(group, depth + 1, golds)
    return Node(step.name, step.about, golds, first.kept[depth], len(group), children)
