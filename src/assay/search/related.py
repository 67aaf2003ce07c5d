"""Find the definitions that a chunk uses, the chunks that use its definitions, and similar chunks.

A use is a reference to a name that the corpus defines; names with many definitions count less. Similar chunks are
found by a query of the highest-weighted words of the chunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError, did_you_mean
from assay.records import dataclass
from assay.search.query import find_words, parse_query, term_hash, whole_hash, word_terms
from assay.search.results import rank_rows
from assay.search.table import chunk_text, own_names
from assay.syntax.identifiers import STOP_WORDS
from assay.types import Hit

if TYPE_CHECKING:
    from assay.search.index import Index

_Ties = Mapping[int, Mapping[str, float]]  # chunk -> name or word -> strength


@dataclass(frozen=True, slots=True)
class RelatedConfig:
    definers: int = 5  # a name that more chunks define is a common word
    words: int = 12  # words in the query for similar chunks: enough for one topic, too few for several
    users: int = 2_000  # maximum chunks that use a name; further ones are ignored
    alike: int = 100  # similar chunks whose words are compared


@dataclass(frozen=True, slots=True)
class Relation:
    hit: Hit
    shared: tuple[str, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Related:
    """A chunk and its related chunks, strongest first."""

    chunk: Hit
    names: tuple[str, ...]  # names that the chunk defines
    uses: tuple[Relation, ...]
    used_by: tuple[Relation, ...]
    alike: tuple[Relation, ...]
    files: tuple[Hit, ...]  # other files with related chunks, by the sum of scores


def find_related(index: Index, path: str, line: int, k: int, config: RelatedConfig | None = None) -> Related:
    config = config or RelatedConfig()
    chunk = chunk_at(index, path, line)
    uses = _relations(index, _find_used(index, chunk, config), k)
    used_by = _relations(index, _find_users(index, chunk, config), k)
    alike = _relations(index, _find_similar(index, chunk, config), k)
    total: defaultdict[str, float] = defaultdict(float)
    for relation in (*uses, *used_by, *alike):
        total[relation.hit.path] += relation.hit.score or 0.0
    order = sorted((other for other in total if other != path), key=lambda other: (-total[other], other))
    files = tuple(Hit(other, score=total[other]) for other in order[:k])
    return Related(_hit(index, chunk, 1.0), _names(index, chunk), uses, used_by, alike, files)


def chunk_at(index: Index, path: str, line: int) -> int:
    """Return the smallest chunk that contains a line; raise ConfigError if the file or line is not in the index."""
    paths = index.table.files.paths
    if path not in paths:
        hint = did_you_mean(path, paths) or "run `assay index` to list skipped files"
        raise ConfigError(f"{path} is not in the index", hint=hint)
    chunks = index.table.chunks
    rows = np.arange(*index.view.chunk_range(paths.index(path)))
    last = int(chunks.end[rows].max())
    inside = rows[(chunks.start[rows] <= line) & (line <= chunks.end[rows])]
    if not len(inside):
        hint = f"use a line from 1 to {last}" if last else "use a file with text"
        raise ConfigError(f"{path} has no line {line}", hint=hint)
    return int(inside[np.argmin(chunks.end[inside] - chunks.start[inside])])


def _find_used(index: Index, chunk: int, config: RelatedConfig) -> _Ties:
    ties: defaultdict[int, dict[str, float]] = defaultdict(dict)
    own, used = _names(index, chunk), index.table.used
    file = int(index.table.chunks.file[chunk])
    begin, end = np.searchsorted(used.file, [file, file + 1]).tolist()
    mentioned = frozenset(used.name[begin:end].tolist())
    for name in dict.fromkeys(find_words(_text(index, chunk))):
        if name not in own and term_hash(name) in mentioned:
            definers = [row for row in _definers(index, name) if row != chunk]
            if 0 < len(definers) <= config.definers:
                for row in definers:
                    ties[row][name] = _weight(index, name) / len(definers)
    return ties


def _find_users(index: Index, chunk: int, config: RelatedConfig) -> _Ties:
    ties: defaultdict[int, dict[str, float]] = defaultdict(dict)
    used, postings, file = index.table.used, index.table.postings, index.table.chunks.file
    for name in _names(index, chunk):
        definers = len(_definers(index, name))
        number = index.view.term(word_terms(name)[-1]) if word_terms(name) else -1
        if definers > config.definers or number < 0:
            continue
        files = set(used.file[used.name == np.uint64(term_hash(name))].tolist())
        holders = postings.chunk[postings.offset[number] : postings.offset[number + 1]].tolist()
        for row in [row for row in holders if int(file[row]) in files and row != chunk][: config.users]:
            if name in find_words(_text(index, row)) and name not in _names(index, row):
                ties[row][name] = _weight(index, name) / max(definers, 1)
    return ties


def _find_similar(index: Index, chunk: int, config: RelatedConfig) -> _Ties:
    postings, view = index.table.postings, index.view
    weight: dict[str, float] = {}
    own = {run for run in find_words(_text(index, chunk)) if run.lower() not in STOP_WORDS and not run.isdigit()}
    for term in {term for run in own for term in word_terms(run)}:
        number = view.term(term)
        begin, end = (int(postings.offset[number]), int(postings.offset[number + 1])) if number >= 0 else (0, 0)
        at = begin + int(np.searchsorted(postings.chunk[begin:end], chunk))
        if end - begin > 1 and postings.chunk[at] == chunk:  # words that occur only in this chunk match no other
            weight[term] = float(np.log1p(postings.count[at])) * view.idf(number)
    key_terms = tuple(sorted(weight, key=lambda term: (-weight[term], term))[: config.words])
    scores = index.config.lexical(replace(parse_query(""), terms=key_terms), view)
    scores[chunk] = 0.0
    rows = rank_rows(scores)[: config.alike].tolist()
    return {row: _shared_words(index, row, key_terms, float(scores[row])) for row in rows}


def _shared_words(index: Index, row: int, key_terms: Sequence[str], score: float) -> dict[str, float]:
    words = find_words(_text(index, row))
    own = {term: term for run in words for term in word_terms(run)}
    own |= {word_terms(run)[-1]: run for run in reversed(words) if word_terms(run)}  # whole words as written
    shared = [own[term] for term in key_terms if term in own] or list(key_terms[:1])
    return {word: score / len(shared) for word in shared}


def _relations(index: Index, ties_by_chunk: _Ties, k: int) -> tuple[Relation, ...]:
    files, chunks = index.table.files, index.table.chunks
    total = {row: sum(ties.values()) for row, ties in ties_by_chunk.items()}

    def order(row: int) -> tuple[float, bool, int]:
        return -total[row], bool(files.role[chunks.file[row]]) or bool(chunks.test[row]), row

    relations = []
    rows = sorted(total, key=order)[:k]
    for row in rows:
        ties = ties_by_chunk[row]
        shared = tuple(sorted(ties, key=lambda name: (-ties[name], name)))
        relations.append(Relation(_hit(index, row, total[row] / total[rows[0]]), shared, _names(index, row)))
    return tuple(relations)


def _names(index: Index, chunk: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(own_names(index.table, chunk)))


def _definers(index: Index, name: str) -> list[int]:
    return [row for row in index.view.definers(whole_hash(name)).tolist() if name in _names(index, row)]


def _weight(index: Index, name: str) -> float:
    name_terms = word_terms(name)
    return index.view.idf(index.view.term(name_terms[-1])) if name_terms else 0.0


def _text(index: Index, chunk: int) -> str:
    return chunk_text(index.table, int(index.table.chunks.file[chunk]), chunk, chunk)


def _hit(index: Index, chunk: int, score: float) -> Hit:
    chunks = index.table.chunks
    path = index.table.files.paths[int(chunks.file[chunk])]
    return Hit(path, int(chunks.start[chunk]), int(chunks.end[chunk]), score, _text(index, chunk))
