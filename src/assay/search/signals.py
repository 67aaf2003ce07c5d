"""What speaks for or against a candidate: each a value that can be left out, and a pure function of what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assay.search.evidence import QueryFeatures, Values, best, relative
from assay.search.names import Prefixes
from assay.search.noise import ABOUT, NOISE
from assay.search.query import ParsedQuery
from assay.search.table import UNIT_KINDS, IntArray, ranges
from assay.search.view import CorpusView, Lookup


@dataclass(frozen=True, slots=True)
class Coherence:
    """Add up the best units of each file; the base of a ranking of files, a hint in one of spans."""

    chunks: int = field(
        default=10,  # one .740, three .783, ten .800 nDCG@10 on semble's visible half; all of them .718
        metadata={"about": "units of a file that add to its score"},
    )
    decay: float = field(
        default=0.6,  # .6 to .7 are flat on questions; doc sentences and keywords want less
        metadata={"about": "weight of each further unit relative to the one before"},
    )
    pool: int = field(
        default=2_000,  # keeps a query on a large corpus fast; what lies below never decided a file
        metadata={"about": "best units of the corpus that are looked at"},
    )
    files: float = field(default=1.0, metadata={"about": "weight when files are ranked"})
    spans: float = field(
        default=0.1,  # .5 costs .009 on octocode's code
        metadata={"about": "weight when spans are ranked"},
    )

    def __call__(self, scores: Values, seen: QueryFeatures) -> Values:
        """Add the file's say."""
        weight = seen.weight(self.files, self.spans)
        if seen.per == "file":
            return scores + weight * seen.coherence
        return scores + weight * (seen.matched * seen.of_files(seen.coherence))

    def gather(self, units: Values, file: IntArray, files: int) -> Values:
        """Add up the best units of each file."""
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
    """Add √(P·R): P the share of the unit's own name that is matched, R the share of the query that the name matches.

    The root of the product was best among √(PR), F, mean, P and R: a name must be both to the point and enough.
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
        metadata={"about": "weight of a part of a name that only begins like a word"},
    )

    def __call__(self, scores: Values, seen: QueryFeatures) -> Values:
        """Add the name's say."""
        if not seen.weight(self.files, self.spans or self.headings):
            return scores
        said = seen.recall(("definition", self.prefix, seen.per), partial(self._said, seen))
        if seen.per == "file":
            return np.asarray(scores + self.files * said)
        return np.asarray(scores + np.where(seen.view.docs, self.headings, self.spans) * said)

    def _said(self, seen: QueryFeatures) -> Values:
        found = seen.names(seen.view.own, Prefixes(weight=self.prefix))
        fit = np.sqrt(found.precision * found.recall(seen.word_weights))
        if seen.per == "file":
            return best(seen.view.table.units.file[found.owner], fit, seen.view.files)
        return best(found.owner, fit, seen.view.units)


@dataclass(frozen=True, slots=True)
class ScopeName:
    """Add the share of the names around a unit (its class, its module, the headings above) that is matched."""

    spans: float = field(
        default=0.2,  # .005 to .007
        metadata={"about": "weight of the definitions around a unit"},
    )
    headings: float = field(default=0.1, metadata={"about": "weight of the headings above a section"})

    def __call__(self, scores: Values, seen: QueryFeatures) -> Values:
        """Add the scope's say."""
        if seen.per == "file":
            return scores
        said = seen.recall("scope", partial(self._said, seen))
        return np.asarray(scores + np.where(seen.view.docs, self.headings, self.spans) * said)

    @staticmethod
    def _said(seen: QueryFeatures) -> Values:
        found = seen.names(seen.view.scope, Prefixes(weight=0.0))
        return best(found.owner, found.precision, seen.view.units)


#: Kinds of units that are a thing of their own.
_MAJOR = np.isin(UNIT_KINDS, ("function", "method", "class", "interface", "enum", "module", "macro", "head", "section"))


@dataclass(frozen=True, slots=True)
class Identifier:
    """Add a fixed amount to what defines exactly the name that is asked for, or a compound name in a sentence."""

    files: float = field(
        default=1.0,  # .3 finds 97.2 % of uniquely defined names, 1.0 finds 99.8 %
        metadata={"about": "added to a file that defines the name a query consists of"},
    )
    files_inside: float = field(
        default=0.3,  # the name may be incidental
        metadata={"about": "added to a file that defines a compound name inside a query"},
    )
    spans: float = field(
        default=2.0,  # 1.0 leaves .028 on the table
        metadata={"about": "added to a span that defines the name a query consists of"},
    )

    minor: float = field(
        default=0.5,  # a trait and an associated type of one name: the trait is meant
        metadata={
            "about": "share of it for a type alias, constant, field or key where a class or function has the name"
        },
    )

    def __call__(self, scores: Values, seen: QueryFeatures) -> Values:
        """Add the definition's say."""
        symbol = seen.question.symbol
        if symbol is not None:
            return self._add(scores, seen, symbol, seen.weight(self.files, self.spans))
        for name in seen.question.identifiers if seen.per == "file" else ():
            scores = self._add(scores, seen, name, self.files_inside)
        return scores

    def _add(self, scores: Values, seen: QueryFeatures, name: int, amount: float) -> Values:
        units = seen.view.definers(name, seen.question.name)
        kinds = _MAJOR[seen.view.table.units.kind[units]]
        share = np.where(kinds | ~kinds.any(), amount, amount * self.minor)
        rows = seen.view.table.units.file[units] if seen.per == "file" else units
        return scores + best(rows, share, len(scores))


#: Numbers that terms and units may take up at a time: 16 MB. A question has a dozen terms, a pasted page hundreds.
_ROOM: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Bm25:
    """Score units by the words they share with a query; words are joined by OR."""

    k1: float = field(
        default=1.2,  # 0.9 to 1.6 are flat within .005 on spans
        metadata={"about": "BM25's term saturation"},
    )
    b: float = field(
        default=0.6,  # 0.4 to 0.75 are flat; high values hurt documentation, low ones short functions
        metadata={"about": "BM25's length normalisation, 0 to 1"},
    )

    joined: float = field(
        default=0.5,  # half a word: the pair may mean nothing. +.002 on files, nothing lost on spans
        metadata={"about": "weight of two neighbouring words of the query as one"},
    )

    def __call__(self, question: ParsedQuery, view: CorpusView) -> Values:
        """Score every unit."""
        wanted = [view.lookup(term, question.kind) for term in question.terms]
        if self.joined:
            pairs = (view.lookup(term, None) for term in question.joined)
            wanted += [pair._replace(worth=pair.worth * np.float32(self.joined)) for pair in pairs]
        scores = np.zeros(view.units, dtype=np.float32)
        size = max(1, _ROOM // max(view.units, 1))
        for start in range(0, len(wanted), size):  # in the order of the query: float addition has one
            scores += self._summed(wanted[start : start + size], view)
        return scores.astype(np.float64)

    def _summed(self, wanted: Sequence[Lookup], view: CorpusView) -> NDArray[np.float32]:
        postings, norm = view.table.postings, view.norm(self.k1, self.b)
        number = np.concatenate([one.number for one in wanted])
        worth = np.concatenate([one.worth for one in wanted]) * np.float32(self.k1 + 1)
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
    """Add the mean of the units before and after, in the same file."""

    spans: float = field(
        default=0.08,  # .4 and more costs on every set
        metadata={"about": "weight when spans are ranked"},
    )

    def __call__(self, scores: Values, seen: QueryFeatures) -> Values:
        """Add the neighbours' say."""
        if seen.per == "file" or not len(scores):
            return scores
        follows = seen.view.follows[1:]
        beside = np.zeros(len(scores))
        beside[1:] = seen.units[:-1] * follows
        beside[:-1] += seen.units[1:] * follows
        return np.asarray(scores + self.spans * beside / seen.view.beside)


@dataclass(frozen=True, slots=True)
class References:
    """Add the votes of the files that use what a file defines or import it."""

    files: float = field(
        default=0.25,  # doc sentences want .1 to .2, semble's visible half .5
        metadata={"about": "weight when files are ranked"},
    )
    spans: float = field(
        default=0.0,  # .03 to .2 are within .002 of it on octocode's code: a neighbour's file does not choose a span
        metadata={"about": "weight when spans are ranked"},
    )
    least: float = field(
        default=0.3,  # weaker files vote at random
        metadata={"about": "score, relative to the best file, above which a file votes"},
    )

    def __call__(self, scores: Values, seen: QueryFeatures) -> Values:
        """Add the votes."""
        weight = seen.weight(self.files, self.spans)
        if not weight:
            return scores
        votes = seen.of_files(relative(seen.view.graph.votes(seen.coherence, self.least)))
        return np.asarray(scores + weight * (votes if seen.per == "file" else seen.matched * votes))


@dataclass(frozen=True, slots=True)
class FileStem:
    """Add the share of the file stem's characters that words of the query match; not weighed by idf."""

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
        metadata={"about": "weight of a part of the stem that only begins like a word"},
    )

    def __call__(self, scores: Values, seen: QueryFeatures) -> Values:
        """Add the name's say."""
        found = seen.names(seen.view.stem, Prefixes(3, 5, self.prefix))
        share = seen.of_files(best(found.owner, found.precision, seen.view.files))
        if seen.per == "span":
            share = seen.matched * share
        return np.asarray(scores + seen.weight(self.files, self.spans) * share)


@dataclass(frozen=True, slots=True)
class NoiseWeights:
    """How much of its score a file keeps, by what it is."""

    test: float = field(default=0.3, metadata={"about": "kept by tests, fixtures, mocks and benchmarks"})
    example: float = field(default=0.3, metadata={"about": "kept by examples, samples and demos"})
    compat: float = field(default=0.3, metadata={"about": "kept by compatibility and legacy code"})
    vendored: float = field(default=0.3, metadata={"about": "kept by copies of other projects"})
    generated: float = field(default=1.0, metadata={"about": "kept by what a tool wrote"})
    stub: float = field(default=1.0, metadata={"about": "kept by type declarations"})
    barrel: float = field(default=1.0, metadata={"about": "kept by files that only pass on what others define"})
    docs: float = field(
        default=0.6,  # a question about code is answered by code; .5 to .8 are flat
        metadata={"about": "kept by documentation"},
    )


@dataclass(frozen=True, slots=True)
class PathNoise:
    """Take from files that only surround the code, unless the query has a word for them."""

    files: NoiseWeights = field(default_factory=NoiseWeights)
    spans: NoiseWeights = field(
        default_factory=lambda: NoiseWeights(test=0.5, example=1.0, compat=0.5, vendored=0.5, docs=1.0)
    )

    def __call__(self, scores: Values, seen: QueryFeatures) -> Values:
        """Multiply by what is kept."""
        words = frozenset(seen.question.words)
        kept = self.files if seen.per == "file" else self.spans
        table = [getattr(kept, kind) if kind in ABOUT and not words & ABOUT[kind] else 1.0 for kind in NOISE]
        if seen.per == "file":
            return np.asarray(scores * np.array(table)[seen.view.table.files.noise])
        test = table[NOISE.index("test")]
        both = [factor for plain in table for factor in (plain, test if plain == 1.0 else plain)]
        return np.asarray(scores * np.array(both)[seen.view.surroundings])


@dataclass(frozen=True, slots=True)
class DeclarationPenalty:
    """Take from what only declares: what lies between definitions, constants, the fields of a class."""

    spans: float = field(
        default=0.8,  # gaps alone +.003; with constants and fields +.004 on octocode's code, +.007 on keywords
        metadata={"about": "share of its score that a unit keeps which only declares"},
    )

    def __call__(self, scores: Values, seen: QueryFeatures) -> Values:
        """Multiply them."""
        if seen.per == "file":
            return scores
        return np.asarray(np.where(seen.view.declares, scores * self.spans, scores))
