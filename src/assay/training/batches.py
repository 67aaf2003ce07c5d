"""One batch: which pairs, which of their terms, and who is a wrong answer to whom."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.training.bags import entries_of, join_rows, sums
from assay.training.config import KindWeights, VectorConfig
from assay.training.hard_negatives import HardNegatives
from assay.training.pairs import Pairs
from assay.training.pooling import as_matrix
from assay.training.shards import Bags


@dataclass(frozen=True, slots=True)
class Batch:
    """Queries and codes as rows over the terms they use; row i of both is a pair, further codes answer nobody."""

    terms: NDArray[np.int64]  # the rows of the model that are touched, rising
    query: Any  # scipy.sparse.csr_matrix, queries x terms
    code: Any  # the same of codes
    masked: NDArray[np.bool_]  # queries x codes: no wrong answers


@dataclass(frozen=True, slots=True)
class Plan:
    """Where batches are drawn from: the rows to learn from, cut into portions of one repository."""

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]  # of each of the rows
    offset: NDArray[np.int64]  # where each repository begins in them
    owner: NDArray[np.int64]  # the repository of each portion
    share: NDArray[np.float64]  # its chance beside the others


def make_plan(pairs: Pairs, kinds: KindWeights, group: int) -> Plan:
    """Prepare drawing: a portion is at most `group` rows, and a repository has as many as its rows fill."""
    weights = np.array(astuple(kinds), dtype=np.float64)[pairs.kind]
    rows = np.flatnonzero(~pairs.held_out & (weights > 0))
    found, starts = np.unique(pairs.repository[rows], return_index=True)
    offset = np.append(starts, len(rows)).astype(np.int64)
    portions = -(-np.diff(offset) // group)
    total = np.add.reduceat(weights[rows], starts) if len(rows) else np.zeros(0)
    owner = np.repeat(np.arange(len(found)), portions)
    return Plan(rows, weights[rows], offset, owner, (total / np.maximum(portions, 1))[owner])


def draw_rows(plan: Plan, config: VectorConfig, draw: np.random.Generator) -> NDArray[np.int64]:
    """Draw portions until a batch is full, then pairs within each repository."""
    order = np.argsort(draw.exponential(size=len(plan.owner)) / plan.share, kind="stable")
    wanted = np.zeros(len(plan.offset) - 1, dtype=np.int64)
    room = config.batch
    for owner in plan.owner[order].tolist():
        size = int(plan.offset[owner + 1] - plan.offset[owner])
        more = min(config.group, size - int(wanted[owner]), room)
        wanted[owner] += more
        room -= more
        if not room:
            break
    return np.concatenate([_some(plan, owner, int(wanted[owner]), draw) for owner in np.flatnonzero(wanted).tolist()])


def _some(plan: Plan, owner: int, count: int, draw: np.random.Generator) -> NDArray[np.int64]:
    """Draw rows of a repository by weight, none twice: the first `count` of a race (Efraimidis and Spirakis 2006)."""
    begin, end = plan.offset[owner], plan.offset[owner + 1]
    race = draw.exponential(size=end - begin) / plan.weight[begin:end]
    found: NDArray[np.int64] = plan.rows[begin + np.argsort(race, kind="stable")[:count]]
    return found


def make_batch(
    pairs: Pairs, plan: Plan, hard: HardNegatives | None, config: VectorConfig, draw: np.random.Generator
) -> Batch:
    """Draw a batch and what is left out of it."""
    rows = draw_rows(plan, config, draw)
    bare = draw.random(len(rows)) < config.overlap_dropout
    extra = hard.draw(rows[~bare], round(config.hard.share * len(rows)), draw) if hard else rows[:0]
    codes = np.concatenate((rows, extra))
    bare = np.concatenate((bare, np.zeros(len(extra), dtype=np.bool_)))
    query = _thinned(pairs.query, None, rows, bare[: len(rows)], config.query_dropout, draw)
    code = _thinned(pairs.code, pairs.code_shared, codes, bare, config.code_dropout, draw)
    path = _thinned(pairs.path, pairs.path_shared, codes, bare, config.code_dropout, draw)
    heavy = draw.uniform(0.0, config.path_most, len(codes)).astype(np.float32)
    path = Bags(path.offset, path.term, np.repeat(heavy, np.diff(path.offset)))
    return assemble(query, join_rows(code, path), masks(pairs, rows, codes, config))


def _thinned(
    bags: Bags, shared: NDArray[np.bool_] | None, rows: NDArray[np.int64], bare: NDArray[np.bool_], share: float,
    draw: np.random.Generator,
) -> Bags:  # fmt: skip
    """Take rows and leave out terms: some by chance, and in bare rows those that the query has; never all of them."""
    places = entries_of(bags.offset, rows)
    sizes = bags.offset[rows + 1] - bags.offset[rows]
    offset = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    keep = draw.random(len(places), dtype=np.float32) >= share
    if shared is not None:
        keep = _kept(keep & ~(shared[places] & np.repeat(bare, sizes)), keep, offset)
    keep = _kept(keep, np.ones_like(keep), offset)
    places = places[keep]
    offset = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sums(keep, offset))))
    return Bags(offset, bags.term[places], bags.count[places])


def _kept(keep: NDArray[np.bool_], instead: NDArray[np.bool_], offset: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Take another choice for the rows that a choice would empty."""
    empty = sums(keep, offset) == 0
    return np.where(np.repeat(empty, np.diff(offset)), instead, keep)


def assemble(query: Bags, code: Bags, masked: NDArray[np.bool_]) -> Batch:
    """Number the terms that occur, and make the matrices."""
    terms, places = np.unique(np.concatenate((query.term, code.term)), return_inverse=True)
    asked, said = np.split(places.astype(np.int32), [len(query.term)])
    asking = as_matrix(Bags(query.offset, asked, query.count), len(terms))
    saying = as_matrix(Bags(code.offset, said, code.count), len(terms))
    return Batch(terms.astype(np.int64), asking, saying, masked)


def masks(pairs: Pairs, rows: NDArray[np.int64], codes: NDArray[np.int64], config: VectorConfig) -> NDArray[np.bool_]:
    """Say which codes may be right too: of the same query, the same code, or the same file."""
    masked = _same(pairs.query_key, rows, codes) | _same(pairs.code_key, rows, codes)
    if config.same_file != "none":
        near = _same(pairs.repository.astype(np.int64) << 32 | pairs.file, rows, codes)
        masked |= near if config.same_file == "all" else near & ~_same(pairs.kind, rows, codes)
    np.fill_diagonal(masked, False)
    return masked


def _same(values: NDArray[Any], rows: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Compare a column of the rows with that of the codes; small numbers compare faster than keys."""
    number = np.unique(values[codes], return_inverse=True)[1].astype(np.int32)
    found: NDArray[np.bool_] = number[: len(rows), None] == number[None, :]
    return found
