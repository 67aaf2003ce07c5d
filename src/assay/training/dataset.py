"""Vocabulary, encoded pairs and hard negatives for training, and operations on bags of terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.files import write_atomic
from assay.search.query import term_hash
from assay.store.array_file import read_store, write_store
from assay.training.config import HardConfig, HeldOutConfig, SameFile, VocabularyConfig
from assay.training.shards import KINDS, Bags, PairShard


def take_rows(bags: Bags, rows: NDArray[np.int64]) -> Bags:
    entries = entries_of(bags.offset, rows)
    return Bags(make_offsets(bags.offset[rows + 1] - bags.offset[rows]), bags.term[entries], bags.count[entries])


def entries_of(offset: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of the entries of `rows`, in the order of `rows`."""
    sizes = offset[rows + 1] - offset[rows]
    ends = np.cumsum(sizes)
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(offset[rows] - ends + sizes, sizes))


def keep_entries(bags: Bags, keep: NDArray[np.bool_]) -> Bags:
    return Bags(make_offsets(sums(keep, bags.offset)), bags.term[keep], bags.count[keep])


def _join_bags(parts: Sequence[Bags]) -> Bags:
    return Bags(
        make_offsets(np.concatenate([np.diff(part.offset) for part in parts])),
        np.concatenate([part.term for part in parts]),
        np.concatenate([part.count for part in parts]),
    )


def join_rows(first: Bags, second: Bags) -> Bags:
    """Join two bags row by row; a term of both occurs twice in the row."""
    rows = np.concatenate((row_numbers(first.offset), row_numbers(second.offset)))
    order = np.argsort(rows, kind="stable")
    term = np.concatenate((first.term, second.term))[order]
    return Bags(first.offset + second.offset, term, np.concatenate((first.count, second.count))[order])


def row_numbers(offset: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(offset) - 1, dtype=np.int64), np.diff(offset))


def sums(values: NDArray[np.bool_], offset: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(np.diff(make_offsets(values.astype(np.int64))[offset]))


def shared_entries(bags: Bags, others: Bags, terms: int) -> NDArray[np.bool_]:
    """Return for each entry whether its term is in the same row of `others`; `terms` is the number of terms."""
    known = np.sort(row_numbers(others.offset) * terms + others.term)
    own = row_numbers(bags.offset) * terms + bags.term
    if not len(known):
        return np.zeros(len(own), dtype=np.bool_)
    positions = np.minimum(np.searchsorted(known, own), len(known) - 1)
    return np.asarray(known[positions] == own)


def row_keys(bags: Bags) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row's terms and counts, independent of their order."""
    bits = np.ascontiguousarray(bags.count, dtype=np.float32).view(np.uint32).astype(np.uint64)
    mixed = _mix(_mix(bags.term.astype(np.uint64)) ^ bits)
    running = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)))
    return np.asarray(running[bags.offset[1:]] - running[bags.offset[:-1]])


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of each value (splitmix64, Steele et al. 2014)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def make_offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)))


@dataclass(frozen=True, slots=True)
class Products:
    pool: ThreadPoolExecutor
    threads: int

    def rows(self, bags: Any, vectors: NDArray[Any]) -> NDArray[Any]:  # noqa: ANN401 - scipy has no stubs
        dense = np.ascontiguousarray(vectors)
        wanted = np.linspace(0, bags.indptr[-1], self.threads + 1)[1:-1]
        cuts = [0, *np.searchsorted(bags.indptr, wanted).tolist(), bags.shape[0]]

        def multiply(begin: int, end: int) -> NDArray[Any]:
            low, high = bags.indptr[begin], bags.indptr[end]
            part = (bags.data[low:high], bags.indices[low:high], bags.indptr[begin : end + 1] - low)
            product: NDArray[Any] = type(bags)(part, shape=(end - begin, bags.shape[1])) @ dense
            return product

        return np.concatenate(list(self.pool.map(multiply, cuts[:-1], cuts[1:])))


Floats = NDArray[np.floating[Any]]


class Pooled(NamedTuple):
    weighted: Any  # the bags, each count times exp(weight)
    unit: Floats
    length: Floats


def as_matrix(bags: Bags, terms: int) -> Any:  # noqa: ANN401 - scipy has no stubs
    from scipy.sparse import csr_matrix

    return csr_matrix((bags.count, bags.term, bags.offset), shape=(len(bags.offset) - 1, terms))


def pool(bags: Any, weight: Floats, vectors: Floats, products: Products) -> Pooled:  # noqa: ANN401 - scipy has no stubs
    """Sum the vectors of each row's terms, times count and exp(weight), and scale to unit length; empty rows are 0."""
    scaled = bags.data * np.exp(weight)[bags.indices]
    weighted = type(bags)((scaled, bags.indices, bags.indptr), shape=bags.shape)
    raw = products.rows(weighted, vectors)
    length = np.sqrt(np.einsum("id,id->i", raw, raw))[:, None]
    length[length == 0] = np.inf  # an empty row has no direction and no gradient
    return Pooled(weighted, raw / length, length)


def unpool(pooled: Pooled, slope: Floats, products: Products) -> Floats:
    """Convert a gradient with respect to unit vectors into a gradient with respect to term vectors."""
    along = np.einsum("id,id->i", slope, pooled.unit)[:, None]
    return products.rows(pooled.weighted.T.tocsr(), (slope - pooled.unit * along) / pooled.length)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    terms: tuple[str, ...]
    hashes: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.terms)


def make_vocabulary(terms: Iterable[str]) -> Vocabulary:
    """Order terms by hash; of terms with equal hashes, keep the alphabetically first."""
    named = {term_hash(term): term for term in sorted(terms, reverse=True)}
    hashes = sorted(named)
    return Vocabulary(tuple(named[value] for value in hashes), np.array(hashes, dtype=np.uint64))


def write_vocabulary(path: Path, vocabulary: Vocabulary) -> None:
    write_atomic(path, "".join(f"{term}\n" for term in vocabulary.terms).encode("utf-8", "surrogatepass"))


def read_vocabulary(path: Path) -> Vocabulary:
    return make_vocabulary(path.read_bytes().decode("utf-8", "surrogatepass").split("\n")[:-1])


def choose_vocabulary(shards: Iterable[PairShard], config: VocabularyConfig) -> Vocabulary:
    """Choose the terms by repositories · log(1 + uses); raise InputError if no term has enough repositories."""
    numbers: dict[str, int] = {}
    used: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for shard in shards:
        own = np.array([numbers.setdefault(word, len(numbers)) for word in shard.words], dtype=np.int64)
        count = sum(np.bincount(bags.term, minlength=len(own)) for bags in (shard.query, shard.code, shard.path))
        used.append((own, np.asarray(count, dtype=np.int64)))
    pairs = np.zeros(len(numbers), dtype=np.int64)
    repositories = np.zeros(len(numbers), dtype=np.int64)
    for own, count in used:
        pairs[own] += count
        repositories[own] += count > 0
    terms = sorted(term for term, number in numbers.items() if repositories[number] >= config.repositories)
    if not terms:
        hint = "train on more repositories, or set vocabulary.repositories = 1 in the recipe"
        raise InputError(f"no term occurs in {config.repositories} repositories", hint=hint)
    positions = np.array([numbers[term] for term in terms])
    # uses count by their logarithm, so that no single project dominates
    score = repositories[positions] * np.log1p(pairs[positions])
    order = np.argsort(-score, kind="stable")[: config.size]
    return make_vocabulary(terms[position] for position in order.tolist())


#: Exponent of term counts in code; `search/static` uses the same.
TF_POWER: Final = 0.5
_PATH: Final = KINDS.index("path")
_BAGS: Final = ("query", "code", "path")
#: With fewer repositories, files are held out instead.
_FEW: Final = 3


@dataclass(frozen=True, slots=True)
class TrainingPairs:
    """Encoded pairs, sorted by repository; `code_shared` and `path_shared` mark terms that the pair's query has too."""

    repositories: tuple[str, ...]
    query: Bags
    code: Bags  # with the weight of a term instead of its count
    path: Bags
    code_shared: NDArray[np.bool_]
    path_shared: NDArray[np.bool_]
    kind: NDArray[np.uint8]
    repository: NDArray[np.int32]
    file: NDArray[np.int32]
    query_key: NDArray[np.uint64]
    code_key: NDArray[np.uint64]
    held_out: NDArray[np.bool_]
    row: NDArray[np.int64]  # in the shard of the repository

    def __len__(self) -> int:
        return len(self.kind)


def encode(shards: Iterable[PairShard], vocabulary: Vocabulary, config: HeldOutConfig) -> TrainingPairs:
    """Encode the pairs of all shards, without duplicates and without pairs that lack a known query or code term."""

    def renumber(bags: Bags, row: NDArray[np.int32]) -> Bags:
        term = row[bags.term] if len(row) else bags.term
        return keep_entries(Bags(bags.offset, term, bags.count), term >= 0)

    rows = {term: row for row, term in enumerate(vocabulary.terms)}
    keys: set[int] = set()
    parts: list[tuple[Any, ...]] = []
    for shard in sorted(shards, key=lambda shard: shard.repository):
        row = np.array([rows.get(word, -1) for word in shard.words], dtype=np.int32)
        query, code, path = (renumber(bags, row) for bags in (shard.query, shard.code, shard.path))
        new = []
        for index in np.flatnonzero((np.diff(query.offset) > 0) & (np.diff(code.offset) > 0)).tolist():
            key = int(shard.key[index])
            if key not in keys:
                keys.add(key)
                new.append(index)
        if new:
            rows_kept = np.array(new)
            path, kind = take_rows(path, rows_kept), shard.kind[rows_kept]
            path = keep_entries(path, np.repeat(kind != _PATH, np.diff(path.offset)))  # the path is the query
            weight = (code.count**TF_POWER).astype(np.float32)
            code = take_rows(Bags(code.offset, code.term, weight), rows_kept)
            file = shard.file[rows_kept]
            parts.append((shard.repository, take_rows(query, rows_kept), code, path, kind, file, rows_kept))
    if not parts:
        raise InputError("no pair has a known query term and a known code term", hint="use code with more comments")
    names, queries, codes, paths, kinds, files, kept = zip(*parts, strict=True)
    query, code, path = map(_join_bags, (queries, codes, paths))
    repository = np.repeat(np.arange(len(parts), dtype=np.int32), [len(kind) for kind in kinds])
    file, terms = np.concatenate(files), len(vocabulary)
    return TrainingPairs(
        names, query, code, path,
        np.concatenate([shared_entries(code, query, terms) for query, code in zip(queries, codes, strict=True)]),
        np.concatenate([shared_entries(path, query, terms) for query, path in zip(queries, paths, strict=True)]),
        np.concatenate(kinds), repository, file,
        row_keys(query), row_keys(code), hold_out(names, repository, file, config), np.concatenate(kept),
    )  # fmt: skip


def hold_out(
    names: Sequence[str], repository: NDArray[np.int32], file: NDArray[np.int32], config: HeldOutConfig
) -> NDArray[np.bool_]:
    """Return which pairs are held out: those of repositories or files drawn by hash, independent of the seed."""

    def draw(names: Sequence[str]) -> list[int]:
        ranks = [blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in names]
        most = max(1, round(config.share * len(ranks)))
        return sorted(range(len(ranks)), key=ranks.__getitem__)[:most]

    if config.share and len(names) >= _FEW:
        return np.isin(repository, draw(names))
    file_ids = repository.astype(np.int64) << 32 | file
    files = np.unique(file_ids)
    if not config.share or len(files) < _FEW:
        return np.zeros(len(file), dtype=np.bool_)
    return np.isin(file_ids, files[draw([str(file_id) for file_id in files.tolist()])])


def write_pairs(path: Path, pairs: TrainingPairs) -> None:
    parts = [part.name for part in fields(Bags)]
    arrays = {f"{name}_{part}": getattr(getattr(pairs, name), part) for name in _BAGS for part in parts}
    plain = [part.name for part in fields(TrainingPairs) if part.name not in (*_BAGS, "repositories")]
    arrays |= {name: getattr(pairs, name) for name in plain}
    write_store(path, {"repositories": list(pairs.repositories)}, arrays)


def read_pairs(path: Path) -> TrainingPairs:
    stored = read_store(path)
    columns: dict[str, Any] = {"repositories": tuple(cast(list[str], stored.meta["repositories"]))}
    for name in _BAGS:
        columns[name] = Bags(*(stored.arrays[f"{name}_{part.name}"] for part in fields(Bags)))
    columns |= {part.name: stored.arrays[part.name] for part in fields(TrainingPairs) if part.name not in columns}
    return TrainingPairs(**columns)


def count_kinds(pairs: TrainingPairs) -> dict[str, int]:
    counts = np.bincount(pairs.kind, minlength=len(KINDS))
    return {kind: int(count) for kind, count in zip(KINDS, counts, strict=True)}


_NONE: Final = -1
_STREAM: Final = 2  # random stream; batches use another
# BM25 parameters of Robertson and Zaragoza (2009), for the ranker that finds hard negatives.
_K1: Final = 1.2
_B: Final = 0.75


@dataclass(frozen=True, slots=True)
class HardNegatives:
    """Rows of pairs that have hard negatives, ascending, and the rows of these negatives, padded with -1."""

    rows: NDArray[np.int64]
    wrong: NDArray[np.int64]

    def draw(self, rows: NDArray[np.int64], count: int, draw: np.random.Generator) -> NDArray[np.int64]:
        if not len(self.rows):
            return rows[:0]
        positions = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        positions = draw.permutation(positions[self.rows[positions] == rows])[:count]
        sizes = np.count_nonzero(self.wrong[positions] != _NONE, axis=1)
        return np.asarray(self.wrong[positions, (draw.random(len(positions)) * sizes).astype(np.int64)])


def find_hard(pairs: TrainingPairs, same_file: SameFile, config: HardConfig, seed: int) -> HardNegatives:
    """Rank the code of each repository with BM25 for some of its queries; return the best-ranked irrelevant code."""
    draw = np.random.default_rng((seed, _STREAM))
    rows: list[NDArray[np.int64]] = []
    wrong: list[NDArray[np.int64]] = []
    edges = np.searchsorted(pairs.repository, np.arange(len(pairs.repositories) + 1))
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        asked = np.sort(draw.permutation(end - begin)[: config.queries]) + begin
        if pairs.held_out[begin:end].all():
            continue
        asked = asked[~pairs.held_out[asked]]
        confused = np.array(list(_confusions(pairs, begin, end, asked, same_file, config)))
        some = confused[:, 0] != _NONE if len(confused) else np.zeros(0, dtype=np.bool_)
        rows.append(asked[some])
        wrong.append(confused[some].reshape(-1, config.depth))
    return HardNegatives(np.concatenate(rows), np.concatenate(wrong))


def _confusions(
    pairs: TrainingPairs, begin: int, end: int, asked: NDArray[np.int64], same_file: SameFile, config: HardConfig
) -> Iterator[NDArray[np.int64]]:
    codes = _bm25_matrix(pairs, np.arange(begin, end), config.common)
    scores = (as_matrix(take_rows(pairs.query, asked), codes.shape[0]) @ codes).tocsr()
    for index, row in enumerate(asked.tolist()):
        low, high = scores.indptr[index], scores.indptr[index + 1]
        rows = scores.indices[low:high] + begin
        best = rows[np.lexsort((rows, -scores.data[low:high]))[: 4 * config.depth]].astype(np.int64)
        relevant = (pairs.query_key[best] == pairs.query_key[row]) | (pairs.code_key[best] == pairs.code_key[row])
        same = pairs.file[best] == pairs.file[row] if same_file != "none" else best == row
        if same_file == "kinds":
            same &= pairs.kind[best] != pairs.kind[row]
        wrong = best[~(relevant | pairs.held_out[best] | same)][: config.depth]
        yield np.concatenate((wrong, np.full(config.depth - len(wrong), _NONE, dtype=np.int64)))


def _bm25_matrix(pairs: TrainingPairs, rows: NDArray[np.int64], common: float) -> Any:  # noqa: ANN401 - scipy has no stubs
    code, path = take_rows(pairs.code, rows), take_rows(pairs.path, rows)
    bags = join_rows(Bags(code.offset, code.term, code.count ** (1 / TF_POWER)), path)
    width = int(max(bags.term.max(initial=0), pairs.query.term.max(initial=0))) + 1
    matrix = as_matrix(bags, width)
    matrix.sum_duplicates()
    uses = np.bincount(matrix.indices, minlength=width)
    rarity = np.log1p((len(rows) - uses + 0.5) / (uses + 0.5)) * (uses <= max(1.0, common * len(rows)))
    length = np.asarray(matrix.sum(axis=1)).ravel()
    norm = np.repeat(1 - _B + _B * length / max(length.mean(), 1e-9), np.diff(matrix.indptr))
    matrix.data = rarity[matrix.indices] * matrix.data / (matrix.data + _K1 * norm)
    matrix.eliminate_zeros()
    return matrix.T.tocsr().astype(np.float32)
