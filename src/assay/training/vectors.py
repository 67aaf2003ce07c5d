"""Contrastive training of term vectors and weights, resumable from the last checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from assay.store.array_file import JSON, read_store, write_store
from assay.training.config import HeldOutConfig, KindWeights, SameFile, TrainConfig, VectorTrainConfig
from assay.training.dataset import (
    Floats,
    HardNegatives,
    Products,
    TrainingPairs,
    as_matrix,
    entries_of,
    join_rows,
    keep_entries,
    make_offsets,
    pool,
    sums,
    take_rows,
    unpool,
)
from assay.training.shards import KINDS, Bags

_START, _BATCH = 0, 1  # independent streams of the seed
_TEST_STREAM: Final = 3  # of the seed 0: every training is tested on the same queries
_LEARNED: Final = ("vectors", "asked", "said", "sharpness")
_MEMORY: Final = 0.98  # smoothing of the displayed loss, over about fifty batches
_SHARPEST: Final = float(np.log(1 / 0.02))  # beyond it probabilities underflow, and only the hardest negative counts
# Adam (Kingma and Ba 2015) with the parameters of the paper.
_MEAN_DECAY: Final = 0.9
_SQUARE_DECAY: Final = 0.999
_SMALLEST: Final = 1e-8


@dataclass(frozen=True, slots=True)
class EmbeddingTable:
    """The vector of each term, and the logarithms of its weights in queries and in code."""

    vectors: NDArray[np.float32]
    asked: NDArray[np.float32]  # log-weights in queries
    said: NDArray[np.float32]  # log-weights in code


@dataclass(frozen=True, slots=True)
class TrainProgress:
    step: int
    steps: int
    loss: float
    temperature: float
    grade: HeldOutScore


@dataclass(frozen=True, slots=True)
class Trained:
    table: EmbeddingTable
    temperature: float
    reports: tuple[TrainProgress, ...]


def random_table(pairs: TrainingPairs, terms: int, config: VectorTrainConfig, seed: int) -> EmbeddingTable:
    """Return a table of random vectors, with the inverse document frequencies of the terms in code as weights."""
    draw = np.random.default_rng((seed, _START))
    vectors = draw.standard_normal((terms, config.dimension), dtype=np.float32) / np.float32(config.dimension**0.5)
    uses = np.bincount(pairs.code.term, minlength=terms)
    weight = np.log(np.log1p((len(pairs) + 1) / (uses + 1))).astype(np.float32)
    return EmbeddingTable(vectors, weight, weight.copy())


def train_vectors(
    pairs: TrainingPairs,
    start: EmbeddingTable,
    config: TrainConfig,
    hard: HardNegatives | None = None,
    *,
    keep: Path | None = None,
    tell: Callable[[TrainProgress], None] = lambda _: None,
) -> Trained:
    """Train from `start`, or resume from the checkpoint at `keep`; the result is the same, byte for byte."""
    own = config.vectors
    step, loss = 0, 0.0
    reports: list[TrainProgress] = []
    if keep and keep.exists():
        stored = read_store(keep)
        meta = cast(dict[str, Any], stored.meta)
        step, loss = meta["step"], meta["loss"]
        for stored_report in meta["reports"]:
            grade = HeldOutScore(**stored_report["grade"])
            reports.append(TrainProgress(**stored_report | {"grade": grade}))
        arrays = {name: array.copy() for name, array in stored.arrays.items()}
    else:
        sharpness = np.array([-np.log(own.temperature)], dtype=np.float32)
        arrays = dict(
            zip(_LEARNED, (start.vectors.copy(), start.asked.copy(), start.said.copy(), sharpness), strict=True)
        )
        arrays |= {f"{name}.{part}": np.zeros_like(arrays[name]) for name in _LEARNED for part in ("mean", "square")}
    moments = {name: Moments(arrays[f"{name}.mean"], arrays[f"{name}.square"]) for name in _LEARNED}

    def parameters(terms: NDArray[np.int64] | slice) -> Parameters:
        vectors, asked, said = (arrays[name][terms] for name in _LEARNED[:3])
        return Parameters(vectors, asked, said, float(arrays["sharpness"][0]))

    plan = make_plan(pairs, config.kinds, own.group)
    test = make_held_out_test(pairs, config.held_out)
    with limit_threads(config.threads) as products:
        while step < own.steps:
            batch = make_batch(pairs, plan, hard, own, np.random.default_rng((config.seed, _BATCH, step)))
            latest, gradient = loss_and_gradient(parameters(batch.terms), batch, products)
            loss = _MEMORY * loss + (1 - _MEMORY) * latest if step else latest
            warmup = min(1.0, (step + 1) / max(1, own.warmup))
            rate = own.rate * warmup * (1 - step / own.steps)
            step += 1
            for name in _LEARNED:
                rows = np.zeros(1, dtype=np.int64) if name == "sharpness" else batch.terms
                slope = np.atleast_1d(np.asarray(getattr(gradient, name), dtype=np.float32))
                arrays[name][rows] += moments[name].step(rows, slope, rate, step)
            np.clip(arrays["sharpness"], 0.0, _SHARPEST, out=arrays["sharpness"])
            if step % own.report == 0 or step == own.steps:
                now = parameters(slice(None))
                score, temperature = _evaluate_held_out(pairs, test, now, products), float(np.exp(-now.sharpness))
                reports.append(TrainProgress(step, own.steps, round(loss, 4), round(temperature, 5), score))
                tell(reports[-1])
            if keep and (step % own.checkpoint == 0 or step == own.steps):
                done: list[JSON] = [asdict(report) for report in reports]
                write_store(keep, {"step": step, "loss": loss, "reports": done}, arrays)
    table = EmbeddingTable(arrays["vectors"], arrays["asked"], arrays["said"])
    return Trained(table, float(np.exp(-arrays["sharpness"][0])), tuple(reports))


@contextmanager
def limit_threads(threads: int) -> Iterator[Products]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=threads), ThreadPoolExecutor(threads) as pool:
        yield Products(pool, threads)


@dataclass(frozen=True, slots=True)
class Moments:
    mean: Floats
    square: Floats

    def step(self, rows: NDArray[np.int64], gradient: Floats, rate: float, number: int) -> Floats:
        """Update the means of `rows` and return the change of their parameters; `number` is the step, from 1."""
        mean, square = self.mean[rows], self.square[rows]
        mean *= _MEAN_DECAY
        mean += gradient * gradient.dtype.type(1 - _MEAN_DECAY)
        square *= _SQUARE_DECAY
        square += gradient * gradient * gradient.dtype.type(1 - _SQUARE_DECAY)
        self.mean[rows], self.square[rows] = mean, square
        correction = (1 - _SQUARE_DECAY**number) ** 0.5
        np.sqrt(square, out=square)
        square += _SMALLEST * correction
        mean /= square
        mean *= -rate * correction / (1 - _MEAN_DECAY**number)
        return mean


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """A batch as matrices; row i of `code` is paired with row i of `query`, and further rows are hard negatives."""

    terms: NDArray[np.int64]  # the rows of the model that occur, ascending
    query: Any  # scipy.sparse.csr_matrix, queries × terms
    code: Any  # scipy.sparse.csr_matrix, rows of code × terms
    masked: NDArray[np.bool_]  # queries × rows of code: may be relevant, so not used as negatives


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Weights for drawing portions of a batch from repositories, and rows from a repository."""

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]  # of each row
    offset: NDArray[np.int64]  # where each repository begins in `rows`
    owner: NDArray[np.int64]  # the repository of each portion
    share: NDArray[np.float64]  # the weight of each portion in the draw


def make_plan(pairs: TrainingPairs, kinds: KindWeights, group: int) -> BatchPlan:
    weights = np.array(astuple(kinds), dtype=np.float64)[pairs.kind]
    rows = np.flatnonzero(~pairs.held_out & (weights > 0))
    repositories, starts = np.unique(pairs.repository[rows], return_index=True)
    offset = np.append(starts, len(rows)).astype(np.int64)
    portions = -(-np.diff(offset) // group)
    total = np.add.reduceat(weights[rows], starts) if len(rows) else np.zeros(0)
    owner = np.repeat(np.arange(len(repositories)), portions)
    return BatchPlan(rows, weights[rows], offset, owner, (total / np.maximum(portions, 1))[owner])


def draw_rows(plan: BatchPlan, batch: int, group: int, draw: np.random.Generator) -> NDArray[np.int64]:
    """Draw portions until the batch is full, then the rows of each drawn repository.

    Portions and rows are drawn by weight, without replacement (Efraimidis and Spirakis 2006).
    """
    order = np.argsort(draw.exponential(size=len(plan.owner)) / plan.share, kind="stable")
    wanted = np.zeros(len(plan.offset) - 1, dtype=np.int64)
    room = batch
    for owner in plan.owner[order].tolist():
        size = int(plan.offset[owner + 1] - plan.offset[owner])
        more = min(group, size - int(wanted[owner]), room)
        wanted[owner] += more
        room -= more
        if not room:
            break
    drawn = []
    for owner in np.flatnonzero(wanted).tolist():
        begin, end = plan.offset[owner], plan.offset[owner + 1]
        race = draw.exponential(size=end - begin) / plan.weight[begin:end]
        drawn.append(plan.rows[begin + np.argsort(race, kind="stable")[: wanted[owner]]])
    return np.concatenate(drawn)


def make_batch(
    pairs: TrainingPairs,
    plan: BatchPlan,
    hard: HardNegatives | None,
    config: VectorTrainConfig,
    draw: np.random.Generator,
) -> TrainingBatch:
    rows = draw_rows(plan, config.batch, config.group, draw)
    bare = draw.random(len(rows)) < config.overlap_dropout
    extra = hard.draw(rows[~bare], round(config.hard.share * len(rows)), draw) if hard else rows[:0]
    codes = np.concatenate((rows, extra))
    bare = np.concatenate((bare, np.zeros(len(extra), dtype=np.bool_)))
    query = _drop_terms(pairs.query, None, rows, bare[: len(rows)], config.query_dropout, draw)
    code = _drop_terms(pairs.code, pairs.code_shared, codes, bare, config.code_dropout, draw)
    path = _drop_terms(pairs.path, pairs.path_shared, codes, bare, config.code_dropout, draw)
    heavy = draw.uniform(0.0, config.path_most, len(codes)).astype(np.float32)
    path = Bags(path.offset, path.term, np.repeat(heavy, np.diff(path.offset)))
    code = join_rows(code, path)
    terms, numbers = np.unique(np.concatenate((query.term, code.term)), return_inverse=True)
    query_terms, code_terms = np.split(numbers.astype(np.int32), [len(query.term)])
    return TrainingBatch(
        terms.astype(np.int64),
        as_matrix(Bags(query.offset, query_terms, query.count), len(terms)),
        as_matrix(Bags(code.offset, code_terms, code.count), len(terms)),
        masks(pairs, rows, codes, config.same_file),
    )


def _drop_terms(
    bags: Bags, shared: NDArray[np.bool_] | None, rows: NDArray[np.int64], bare: NDArray[np.bool_], share: float,
    draw: np.random.Generator,
) -> Bags:  # fmt: skip
    entries = entries_of(bags.offset, rows)
    sizes = bags.offset[rows + 1] - bags.offset[rows]
    offset = make_offsets(sizes)
    keep = draw.random(len(entries), dtype=np.float32) >= share
    if shared is not None:
        keep = _refill_empty(keep & ~(shared[entries] & np.repeat(bare, sizes)), keep, offset)
    keep = _refill_empty(keep, np.ones_like(keep), offset)
    entries = entries[keep]
    return Bags(make_offsets(sums(keep, offset)), bags.term[entries], bags.count[entries])


def _refill_empty(keep: NDArray[np.bool_], instead: NDArray[np.bool_], offset: NDArray[np.int64]) -> NDArray[np.bool_]:
    empty = sums(keep, offset) == 0
    return np.where(np.repeat(empty, np.diff(offset)), instead, keep)


def masks(
    pairs: TrainingPairs, rows: NDArray[np.int64], codes: NDArray[np.int64], same_file: SameFile
) -> NDArray[np.bool_]:
    """Return a mask of other code that may be relevant: of an equal query or code, or the same file."""
    masked = _same(pairs.query_key, rows, codes) | _same(pairs.code_key, rows, codes)
    if same_file != "none":
        near = _same(pairs.repository.astype(np.int64) << 32 | pairs.file, rows, codes)
        masked |= near if same_file == "all" else near & ~_same(pairs.kind, rows, codes)
    np.fill_diagonal(masked, False)
    return masked


def _same(values: NDArray[Any], rows: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    number = np.unique(values[codes], return_inverse=True)[1].astype(np.int32)
    return np.asarray(number[: len(rows), None] == number[None, :])


@dataclass(frozen=True, slots=True)
class Parameters:
    vectors: Floats  # terms × dimension
    asked: Floats  # log-weights in queries
    said: Floats  # log-weights in code
    sharpness: float  # log of 1 / temperature


def loss_and_gradient(own: Parameters, batch: TrainingBatch, products: Products) -> tuple[float, Parameters]:
    """Return the contrastive loss of a batch, averaged over retrieval of code and of queries, and its gradient."""
    query = pool(batch.query, own.asked, own.vectors, products)
    code = pool(batch.code, own.said, own.vectors, products)
    number = query.unit.dtype.type
    scale, size = number(np.exp(own.sharpness)), len(query.unit)
    diagonal = np.arange(size)
    chance = (query.unit * scale) @ code.unit.T
    correct = chance[diagonal, diagonal]
    chance -= scale  # no similarity is above the scale, so nothing overflows
    np.exp(chance, out=chance)
    np.copyto(chance, 0, where=batch.masked)
    by_query, by_code = chance.sum(axis=1), chance[:, :size].sum(axis=0)
    loss = float(np.mean((np.log(by_query) + np.log(by_code)) / 2 + scale - correct))
    half = scale * number(0.5 / size)
    share = np.zeros(len(code.unit), dtype=query.unit.dtype)  # hard negatives have no query
    share[:size] = half / by_code
    chance *= (half / by_query)[:, None] + share[None, :]
    chance[diagonal, diagonal] -= 2 * half  # now the gradient with respect to the similarities
    query_gradient = chance @ code.unit
    asked = unpool(query, query_gradient, products)
    said = unpool(code, chance.T @ query.unit, products)
    by_asked, by_said = (np.einsum("td,td->t", gradient, own.vectors) for gradient in (asked, said))
    # Sharpness scales every similarity, as the length of all query vectors does, so the gradients are the same.
    by_sharpness = float(np.vdot(query.unit, query_gradient))
    return loss, Parameters(asked + said, by_asked, by_said, by_sharpness)


@dataclass(frozen=True, slots=True)
class HeldOutScore:
    """Success@1 and mean reciprocal rank; `bare` values are for relevant code without the words of the query."""

    questions: int
    first: float
    reciprocal: float
    bare_first: float
    bare_reciprocal: float


#: The candidate rows of each held-out repository, and the indexes of those that are queries.
HeldOutTest = list[tuple[NDArray[np.int64], NDArray[np.int64]]]


def make_held_out_test(pairs: TrainingPairs, config: HeldOutConfig) -> HeldOutTest:
    """Draw candidates and queries from held-out doc pairs, or from all held-out pairs if there are no doc pairs."""
    held = np.flatnonzero(pairs.held_out)
    docs = held[pairs.kind[held] == KINDS.index("doc")]
    held = docs if len(docs) else held
    draw = np.random.default_rng((0, _TEST_STREAM))
    owners = np.unique(pairs.repository[held])
    rows = [np.sort(draw.permutation(held[pairs.repository[held] == owner])[: config.candidates]) for owner in owners]
    share = min(1.0, config.queries / max(1, sum(map(len, rows))))
    return [(own, np.sort(draw.permutation(len(own))[: round(share * len(own))])) for own in rows]


def _evaluate_held_out(pairs: TrainingPairs, test: HeldOutTest, own: Parameters, products: Products) -> HeldOutScore:
    """Rank the code of each query among the candidates, once whole and once without the words of the query."""

    def vectors(bags: Bags, weight: Floats) -> Floats:
        return pool(as_matrix(bags, len(own.vectors)), weight, own.vectors, products).unit

    def rank(answer: Floats, others: Floats, right: NDArray[np.bool_]) -> NDArray[np.float64]:
        above, beside = (others > answer[:, None]) & ~right, (others == answer[:, None]) & ~right
        return np.asarray(1.0 + above.sum(axis=1) + beside.sum(axis=1) / 2)

    whole, bare = [np.zeros(0)], [np.zeros(0)]
    for rows, asked in test:
        code = take_rows(pairs.code, rows)
        unshared = keep_entries(code, ~pairs.code_shared[entries_of(pairs.code.offset, rows)])
        query = vectors(take_rows(pairs.query, rows[asked]), own.asked)
        others = query @ vectors(code, own.said).T
        alone = np.einsum("id,id->i", query, vectors(take_rows(unshared, asked), own.said))
        right = pairs.code_key[rows[asked]][:, None] == pairs.code_key[rows][None, :]
        right |= pairs.query_key[rows[asked]][:, None] == pairs.query_key[rows][None, :]
        whole.append(rank(others[np.arange(len(asked)), asked], others, right))
        bare.append(rank(alone, others, right))
    plain, hard = np.concatenate(whole), np.concatenate(bare)
    if not len(plain):
        return HeldOutScore(0, 0.0, 0.0, 0.0, 0.0)
    means = (round(float(np.mean(values)), 4) for values in (plain < 2, 1 / plain, hard < 2, 1 / hard))
    return HeldOutScore(len(plain), *means)
