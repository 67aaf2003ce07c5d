"""Signals of the ranking: each is a value that can be left out, and a pure function of the features of a query."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.search.noise import ABOUT, NOISE
from assay.search.query import ParsedQuery, Per
from assay.search.table import UNIT_KINDS, IntArray, Values, ranges
from assay.search.view import CorpusView, Lookup, Matches, NameIndex, Prefixes

T = TypeVar("T")


@dataclass(frozen=True)
class QueryFeatures:
    """How well each chunk and file of a corpus matches one query, for a ranking of files or of spans."""

    question: ParsedQuery
    view: CorpusView
    per: Per
    words: Values  # lexical score of each chunk, relative to the best
    units: Values  # lexical and dense score of each chunk, fused, relative to the best
    coherence: Values  # score of each file by its best chunks together, relative to the best
    basis: Hashable = None  # the settings that decide `units`
    _names: dict[tuple[int, Prefixes], Matches] = field(default_factory=dict, repr=False)

    def weight(self, files: float, spans: float) -> float:
        """Return the weight for what is ranked."""
        return files if self.per == "file" else spans

    def of_files(self, values: Values) -> Values:
        """Return values of files as values of what is ranked."""
        return values if self.per == "file" else values[self.view.table.units.file]

    @cached_property
    def matched(self) -> NDArray[np.bool_]:
        """Which chunks match at all."""
        return np.asarray(self.units > 0)

    @cached_property
    def word_weights(self) -> Values:
        """The idf of each word of the query."""
        return np.array([self.view.idf(self.view.term(word)) for word in self.question.words])

    def names(self, index: NameIndex, prefixes: Prefixes) -> Matches:
        """Match the words of the query with names, once per index."""
        key = (id(index), prefixes)
        if key not in self._names:
            self._names[key] = self.recall(("names", *key), partial(index.match, self.question.words, prefixes))
        return self._names[key]

    def recall(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a value of this query from the memo, or compute it; `key` holds all that decides it."""
        return self.view.recall(self.question.text, key, make)


def best(owner: NDArray[np.int64] | NDArray[np.int32], values: Values, size: int) -> Values:
    """Return the largest value of each owner, 0 for those without."""
    found = np.zeros(size)
    np.maximum.at(found, owner, values)
    return found


def relative(values: Values) -> Values:
    """Divide by the largest value, so that the best has 1."""
    most = float(values.max()) if len(values) else 0.0
    return values / most if most > 0 else values


@dataclass(frozen=True, slots=True)
class Coherence:
    """Add the sum of the best chunks of each file: the base of a ranking of files, a small part in one of spans."""

    chunks: int = field(
        default=10,  # one .740, three .783, ten .800 nDCG@10 on semble's visible half; all of them .718
        metadata={"about": "chunks of a file that add to its score"},
    )
    decay: float = field(
        default=0.6,  # .6 to .7 are flat on questions; doc sentences and keywords want less
        metadata={"about": "weight of each further chunk relative to the one before"},
    )
    pool: int = field(
        default=2_000,  # keeps a query on a large corpus fast; lower ones never decided a file
        metadata={"about": "best chunks of the corpus that count"},
    )
    files: float = field(default=1.0, metadata={"about": "weight when files are ranked"})
    spans: float = field(
        default=0.1,  # .5 costs .009 on octocode's code
        metadata={"about": "weight when spans are ranked"},
    )

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        """Return the new scores."""
        weight = features.weight(self.files, self.spans)
        if features.per == "file":
            return scores + weight * features.coherence
        return scores + weight * (features.matched * features.of_files(features.coherence))

    def gather(self, units: Values, file: IntArray, files: int) -> Values:
        """Return the decayed sum of the best chunks of each file, relative to the best file."""
        rows = (units > 0).nonzero()[0]
        if len(rows) > self.pool:
            least = np.partition(units[rows], len(rows) - self.pool)[len(rows) - self.pool]
            rows = rows[units[rows] >= least]
        if not len(rows):
            return np.zeros(files)
        owner = file[rows]  # rising, as units are in the order of their files
        begins = np.ones(len(rows), dtype=bool)
        np.not_equal(owner[1:], owner[:-1], out=begins[1:])
        first = begins.nonzero()[0]
        nth = np.arange(len(rows)) - first[begins.cumsum() - 1]
        order = (-units[rows]).argsort()  # equal values may change places: their sum is the same
        narrow = owner[order].astype(np.min_scalar_type(files))  # few bits are sorted in linear time
        order = rows[order[narrow.argsort(kind="stable")]]
        worth = np.append(self.decay ** np.arange(self.chunks, dtype=np.float64), 0.0)
        found = np.zeros(files)
        found[owner[first]] = np.add.reduceat(units[order] * worth[np.minimum(nth, self.chunks)], first)
        return relative(found)


@dataclass(frozen=True, slots=True)
class DefinitionName:
    """Add √(P·R): P the share of the chunk's own name that is matched, R the share of the query that the name matches.

    √(P·R) was best among √(PR), F, mean, P and R: a name must match the query, and match enough of it.
    """

    spans: float = field(
        default=0.7,  # .3 to .6 took octocode's code from .691 to .771
        metadata={"about": "weight of a definition's name when spans are ranked"},
    )
    headings: float = field(
        default=0.3,  # headings are looser than names
        metadata={"about": "weight of a heading when spans are ranked"},
    )
    files: float = field(
        default=0.15,  # questions are indifferent, doc sentences, keywords and names gain .005 to .01
        metadata={"about": "weight of a file's best definition when files are ranked"},
    )
    prefix: float = field(
        default=0.9,  # parse finds parser
        metadata={"about": "weight of a part of a name that shares a prefix with a word"},
    )

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        """Return the new scores."""
        if not features.weight(self.files, self.spans or self.headings):
            return scores
        fit = features.recall(("definition", self.prefix, features.per), partial(self._fit, features))
        if features.per == "file":
            return np.asarray(scores + self.files * fit)
        return np.asarray(scores + np.where(features.view.docs, self.headings, self.spans) * fit)

    def _fit(self, features: QueryFeatures) -> Values:
        found = features.names(features.view.own, Prefixes(weight=self.prefix))
        fit = np.sqrt(found.precision * found.recall(features.word_weights))
        if features.per == "file":
            return best(features.view.table.units.file[found.owner], fit, features.view.files)
        return best(found.owner, fit, features.view.units)


@dataclass(frozen=True, slots=True)
class ScopeName:
    """Add the matched share of the names around a chunk (its class, its module, the headings above)."""

    spans: float = field(
        default=0.2,  # .005 to .007
        metadata={"about": "weight of the definitions around a chunk"},
    )
    headings: float = field(default=0.1, metadata={"about": "weight of the headings above a section"})

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        """Return the new scores."""
        if features.per == "file":
            return scores
        fit = features.recall("scope", partial(self._fit, features))
        return np.asarray(scores + np.where(features.view.docs, self.headings, self.spans) * fit)

    @staticmethod
    def _fit(features: QueryFeatures) -> Values:
        found = features.names(features.view.scope, Prefixes(weight=0.0))
        return best(found.owner, found.precision, features.view.units)


#: Kinds of chunks that define more than a value or an alias.
_MAJOR = np.isin(UNIT_KINDS, ("function", "method", "class", "interface", "enum", "module", "macro", "head", "section"))


@dataclass(frozen=True, slots=True)
class Identifier:
    """Add a fixed amount to what defines exactly the name that is the query, or a compound name in it."""

    files: float = field(
        default=1.0,  # .3 finds 97.2 % of uniquely defined names, 1.0 finds 99.8 %
        metadata={"about": "added to a file that defines the name that is the query"},
    )
    files_inside: float = field(
        default=0.3,  # the name may be incidental
        metadata={"about": "added to a file that defines a compound name inside a query"},
    )
    spans: float = field(
        default=2.0,  # 1.0 leaves .028 on the table
        metadata={"about": "added to a span that defines the name that is the query"},
    )

    minor: float = field(
        default=0.5,  # a trait and an associated type of one name: the trait is meant
        metadata={
            "about": "share of it for a type alias, constant, field or key where a class or function has the name"
        },
    )

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        """Return the new scores."""
        symbol = features.question.symbol
        if symbol is not None:
            return self._add(scores, features, symbol, features.weight(self.files, self.spans))
        for name in features.question.identifiers if features.per == "file" else ():
            scores = self._add(scores, features, name, self.files_inside)
        return scores

    def _add(self, scores: Values, features: QueryFeatures, name: int, amount: float) -> Values:
        units = features.view.definers(name, features.question.name)
        kinds = _MAJOR[features.view.table.units.kind[units]]
        share = np.where(kinds | ~kinds.any(), amount, amount * self.minor)
        rows = features.view.table.units.file[units] if features.per == "file" else units
        return scores + best(rows, share, len(scores))


#: Size of the terms × chunks matrix: 16 MB. A query has a dozen terms, a pasted page hundreds.
_ROOM: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Bm25:
    """Score chunks by the words that they share with a query; words are joined by OR."""

    k1: float = field(
        default=1.2,  # 0.9 to 1.6 are flat within .005 on spans
        metadata={"about": "BM25's term saturation"},
    )
    b: float = field(
        default=0.6,  # 0.4 to 0.75 are flat; high values hurt documentation, low ones short functions
        metadata={"about": "BM25's length normalization, 0 to 1"},
    )

    joined: float = field(
        default=0.5,  # half a word: the pair may mean nothing. +.002 on files, nothing lost on spans
        metadata={"about": "weight of two adjacent words of the query as one"},
    )

    def __call__(self, question: ParsedQuery, view: CorpusView) -> Values:
        """Return the score of every chunk."""
        wanted = [view.lookup(term, question.kind) for term in question.terms]
        if self.joined:
            pairs = (view.lookup(term, None) for term in question.joined)
            wanted += [pair._replace(weight=pair.weight * np.float32(self.joined)) for pair in pairs]
        scores = np.zeros(view.units, dtype=np.float32)
        size = max(1, _ROOM // max(view.units, 1))
        for start in range(0, len(wanted), size):  # in the order of the query: float addition has one
            scores += self._summed(wanted[start : start + size], view)
        return scores.astype(np.float64)

    def _summed(self, wanted: Sequence[Lookup], view: CorpusView) -> NDArray[np.float32]:
        postings, norm = view.table.postings, view.norm(self.k1, self.b)
        number = np.concatenate([one.number for one in wanted])
        worth = np.concatenate([one.weight for one in wanted]) * np.float32(self.k1 + 1)
        term = np.arange(len(wanted)).repeat([len(one.number) for one in wanted])
        begin, end = postings.offset[number], postings.offset[number + 1]
        rows = ranges(begin, end)
        unit, count = postings.unit[rows].astype(np.intp), postings.count[rows]
        impact = worth.repeat(end - begin) * count / (count + norm[unit])
        most = np.zeros(len(wanted) * view.units, dtype=np.float32)
        np.maximum.at(most, term.repeat(end - begin) * view.units + unit, impact)
        return np.asarray(most.reshape(len(wanted), view.units).sum(axis=0))


@dataclass(frozen=True, slots=True)
class AdjacentChunks:
    """Add the mean of the chunks before and after, in the same file."""

    spans: float = field(
        default=0.08,  # .4 and more costs on every set
        metadata={"about": "weight when spans are ranked"},
    )

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        """Return the new scores."""
        if features.per == "file" or not len(scores):
            return scores
        follows = features.view.follows[1:]
        beside = np.zeros(len(scores))
        beside[1:] = features.units[:-1] * follows
        beside[:-1] += features.units[1:] * follows
        return np.asarray(scores + self.spans * beside / features.view.neighbor_count)


@dataclass(frozen=True, slots=True)
class References:
    """Add the votes of the files that use or import what a file defines."""

    files: float = field(
        default=0.25,  # doc sentences want .1 to .2, semble's visible half .5
        metadata={"about": "weight when files are ranked"},
    )
    spans: float = field(
        default=0.0,  # .03 to .2 are within .002 of it on octocode's code: a neighbor's file does not choose a span
        metadata={"about": "weight when spans are ranked"},
    )
    least: float = field(
        default=0.3,  # weaker files vote at random
        metadata={"about": "score, relative to the best file, above which a file votes"},
    )

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        """Return the new scores."""
        weight = features.weight(self.files, self.spans)
        if not weight:
            return scores
        votes = features.of_files(relative(features.view.graph.votes(features.coherence, self.least)))
        return np.asarray(scores + weight * (votes if features.per == "file" else features.matched * votes))


@dataclass(frozen=True, slots=True)
class FileStem:
    """Add the share of the file stem's characters that words of the query match, not weighted by idf."""

    files: float = field(
        default=0.55,  # the largest signal there is: +.053 on semble's visible half, on 16 of 17 repositories
        metadata={"about": "weight when files are ranked"},
    )
    spans: float = field(
        default=0.08,  # .6 costs .071 on octocode's code: a file's name does not choose among its functions
        metadata={"about": "weight when spans are ranked"},
    )
    prefix: float = field(
        default=0.7,  # config finds configuration, less surely than its own name
        metadata={"about": "weight of a part of the stem that shares a prefix with a word"},
    )

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        """Return the new scores."""
        found = features.names(features.view.stem, Prefixes(3, 5, self.prefix))
        share = features.of_files(best(found.owner, found.precision, features.view.files))
        if features.per == "span":
            share = features.matched * share
        return np.asarray(scores + features.weight(self.files, self.spans) * share)


@dataclass(frozen=True, slots=True)
class NoiseWeights:
    """Share of its score that a file keeps, by its role."""

    test: float = field(default=0.3, metadata={"about": "kept by tests, fixtures, mocks and benchmarks"})
    example: float = field(default=0.3, metadata={"about": "kept by examples, samples and demos"})
    compat: float = field(default=0.3, metadata={"about": "kept by compatibility and legacy code"})
    vendored: float = field(default=0.3, metadata={"about": "kept by copies of other projects"})
    generated: float = field(default=1.0, metadata={"about": "kept by generated files"})
    stub: float = field(default=1.0, metadata={"about": "kept by type declarations"})
    barrel: float = field(default=1.0, metadata={"about": "kept by files that only re-export"})
    docs: float = field(
        default=0.6,  # a question about code is answered by code; .5 to .8 are flat
        metadata={"about": "kept by documentation"},
    )


@dataclass(frozen=True, slots=True)
class PathNoise:
    """Lower the scores of tests, examples, copies and the like, unless the query names their role."""

    files: NoiseWeights = field(default_factory=NoiseWeights)
    spans: NoiseWeights = field(
        default_factory=lambda: NoiseWeights(test=0.5, example=1.0, compat=0.5, vendored=0.5, docs=1.0)
    )

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        """Return the new scores."""
        words = frozenset(features.question.words)
        kept = self.files if features.per == "file" else self.spans
        table = [getattr(kept, kind) if kind in ABOUT and not words & ABOUT[kind] else 1.0 for kind in NOISE]
        if features.per == "file":
            return np.asarray(scores * np.array(table)[features.view.table.files.noise])
        test = table[NOISE.index("test")]
        both = [factor for plain in table for factor in (plain, test if plain == 1.0 else plain)]
        return np.asarray(scores * np.array(both)[features.view.roles])


@dataclass(frozen=True, slots=True)
class DeclarationPenalty:
    """Lower the scores of chunks that only declare: text between definitions, constants, fields of a class."""

    spans: float = field(
        default=0.8,  # gaps alone +.003; with constants and fields +.004 on octocode's code, +.007 on keywords
        metadata={"about": "share of its score that a chunk keeps if it only declares"},
    )

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        """Return the new scores."""
        if features.per == "file":
            return scores
        return np.asarray(np.where(features.view.declares, scores * self.spans, scores))
