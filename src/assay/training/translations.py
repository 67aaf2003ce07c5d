"""Learn which code terms a query term stands for: IBM Model 1 (Brown et al. 1993) over bags of terms.

A query term q comes from one code term c of the pair, or from no term. t(q|c) is learned by expectation
maximization. The strength of a translation is the lift of q over its share p(q) of all query terms:

    strength = log(t(q|c) / p(q)) / log(1 / p(q))          0: no lift, 1: queries for c always use q

During learning a term may explain itself, so that its synonyms are not credited with its matches. It is never listed
as a translation of itself.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.store.array_file import read_store, write_store
from assay.training.config import TranslationConfig
from assay.training.dataset import Pairs, as_matrix, entries_of, keep_entries, make_offsets, row_numbers, take_rows
from assay.training.shards import KINDS, Bags

#: Pairs at a time: 5 million co-occurrences of a query and a code term, whose numbers take 100 MB.
_CHUNK: Final = 16_384
_BLOCK: Final = 512  # query terms at a time: their products with all code terms take 20 MB
_FULL: Final = 255  # a strength of 1


@dataclass(frozen=True, slots=True)
class Translations:
    """Query terms with translations, ascending, and for each its code terms with their strength, strongest first."""

    source: NDArray[np.int64]
    offset: NDArray[np.int64]
    target: NDArray[np.int64]
    strength: NDArray[np.uint8]


class _Sides(NamedTuple):
    """Pairs, reduced to the terms that are frequent enough."""

    query_terms: NDArray[np.int64]  # ascending
    code_terms: NDArray[np.int64]  # ascending
    query: Bags  # in indexes of `query_terms`
    code: Bags  # in indexes of `code_terms`
    weight: NDArray[np.float32]  # of each pair
    repository: NDArray[np.int32]


def learn_translations(pairs: Pairs, terms: int, config: TranslationConfig) -> Translations:
    """Learn the translations from all pairs that are not held out."""
    sides = _reduce(pairs, terms, config)
    count = np.bincount(sides.query.term, np.repeat(sides.weight, np.diff(sides.query.offset)), len(sides.query_terms))
    share: NDArray[np.float32] = (count / max(count.sum(), 1e-9)).astype(np.float32)
    table = _find_supported(sides, config.support).astype(np.float32)
    table /= np.maximum(table.sum(axis=0, keepdims=True), 1)
    for _ in range(config.iterations):
        expected = _expect(sides, table, config.null * share)
        total = expected.sum(axis=0, keepdims=True, dtype=np.float64) + config.smoothing
        table = expected / np.maximum(total, np.finfo(np.float32).tiny).astype(np.float32)
    return _rank_translations(sides, table, share, config)


def _reduce(pairs: Pairs, terms: int, config: TranslationConfig) -> _Sides:
    weights = np.array([getattr(config, kind) for kind in KINDS], dtype=np.float32)[pairs.kind]
    rows = np.flatnonzero(~pairs.held_out & (weights > 0))
    repository = pairs.repository[rows]
    query, code = take_rows(pairs.query, rows), take_rows(pairs.code, rows)
    query_terms = _find_frequent(query, repository, terms, config.query_pairs, config.repositories)
    code_terms = _find_frequent(code, repository, terms, config.code_pairs, config.repositories)
    query, code = _renumber(query, query_terms, terms), _renumber(code, code_terms, terms)
    uses = np.bincount(code.term, minlength=len(code_terms))
    value = code.count * np.log1p(len(rows) / (uses + 1)).astype(np.float32)[code.term]
    code = _keep_top(code, value, config.code_terms)
    return _Sides(query_terms, code_terms, query, code, weights[rows], repository)


def _find_frequent(bags: Bags, owner: NDArray[np.int32], terms: int, least: int, owners: int) -> NDArray[np.int64]:
    uses = np.bincount(bags.term, minlength=terms)
    met = np.unique(owner[row_numbers(bags.offset)].astype(np.int64) * terms + bags.term) % terms
    return np.flatnonzero((uses >= least) & (np.bincount(met, minlength=terms) >= owners))


def _renumber(bags: Bags, chosen: NDArray[np.int64], terms: int) -> Bags:
    places = np.full(terms, -1, dtype=np.int32)
    places[chosen] = np.arange(len(chosen), dtype=np.int32)
    term = places[bags.term]
    return keep_entries(Bags(bags.offset, term, bags.count), term >= 0)


def _keep_top(bags: Bags, value: NDArray[np.float32], most: int) -> Bags:
    keep = np.zeros(len(value), dtype=np.bool_)
    for begin in range(0, len(bags), _CHUNK):
        offset = bags.offset[begin : begin + _CHUNK + 1]
        low, high = offset[0], offset[-1]
        # The bits of positive floats have the order of their values; so one integer sort orders rows and values.
        bits = np.uint64(0xFFFFFFFF) - value[low:high].view(np.uint32).astype(np.uint64)
        rows = row_numbers(offset)
        order = np.argsort(rows.astype(np.uint64) << np.uint64(32) | bits, kind="stable")
        rank = np.arange(high - low) - (offset - low)[rows]
        keep[low + order[rank < most]] = True
    return keep_entries(Bags(bags.offset, bags.term, np.ones_like(bags.count)), keep)


def _find_supported(sides: _Sides, least: int) -> NDArray[np.bool_]:
    met = np.zeros((len(sides.query_terms), len(sides.code_terms)), dtype=np.uint16)
    owners = np.unique(sides.repository)
    edges = np.append(np.searchsorted(sides.repository, owners), len(sides.repository))
    query, code = as_matrix(sides.query, len(sides.query_terms)), as_matrix(sides.code, len(sides.code_terms))
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        found = (query[begin:end].T @ code[begin:end]).tocoo()
        met[found.row, found.col] += 1
    return met >= least


def _expect(sides: _Sides, table: NDArray[np.float32], unexplained: NDArray[np.float32]) -> NDArray[np.float32]:
    worth = np.repeat(sides.weight, np.diff(sides.query.offset)) / _explain(sides, table, unexplained)
    query = as_matrix(Bags(sides.query.offset, sides.query.term, worth), len(sides.query_terms)).T.tocsr()
    code = as_matrix(sides.code, len(sides.code_terms))
    expected = np.empty_like(table)
    for begin in range(0, len(table), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        expected[part] = (query[part] @ code).toarray() * table[part]
    return expected


def _explain(sides: _Sides, table: NDArray[np.float32], unexplained: NDArray[np.float32]) -> NDArray[np.float32]:
    explained = [np.zeros(0, dtype=np.float32)]
    rows, sizes = row_numbers(sides.query.offset), np.diff(sides.code.offset)
    for begin in range(0, len(sides.query), _CHUNK):
        low, high = sides.query.offset[begin], sides.query.offset[min(begin + _CHUNK, len(sides.query))]
        own, asked = rows[low:high], sides.query.term[low:high].astype(np.int64)
        met = sides.code.term[entries_of(sides.code.offset, own)]
        chance = table.reshape(-1)[np.repeat(asked * table.shape[1], sizes[own]) + met]
        running = np.concatenate((np.zeros(1), np.cumsum(chance, dtype=np.float64)))
        ends = np.cumsum(sizes[own])
        explained.append((running[ends] - running[ends - sizes[own]] + unexplained[asked]).astype(np.float32))
    return np.concatenate(explained)


def _rank_translations(
    sides: _Sides, table: NDArray[np.float32], share: NDArray[np.float32], config: TranslationConfig
) -> Translations:
    targets, strengths = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.uint8)]
    for term, chance, usual in zip(sides.query_terms, table, share.tolist(), strict=True):
        lifted = np.flatnonzero(chance > usual)
        lifted = lifted[sides.code_terms[lifted] != term]
        strength = np.log(chance[lifted] / usual) / -np.log(usual)
        bits = np.rint(np.minimum(strength, 1.0) * _FULL).astype(np.uint8)
        order = np.lexsort((sides.code_terms[lifted], -bits.astype(np.int64)))
        order = order[strength[order] >= config.least][: config.most]
        targets.append(sides.code_terms[lifted[order]])
        strengths.append(bits[order])
    sizes = np.array([len(found) for found in targets[1:]], dtype=np.int64)
    offset = make_offsets(sizes[sizes > 0])
    return Translations(sides.query_terms[sizes > 0], offset, np.concatenate(targets), np.concatenate(strengths))


def write_translations(path: Path, table: Translations) -> None:
    write_store(path, {}, {column.name: getattr(table, column.name) for column in fields(table)})


def read_translations(path: Path) -> Translations:
    return Translations(**read_store(path).arrays)
