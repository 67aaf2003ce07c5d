from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from functools import cached_property, partial
from typing import Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.corpus.file_types import ROLES
from assay.records import dataclass
from assay.search.query import ParsedQuery, Per, find_words, name_words, whole_hash
from assay.search.table import CHUNK_KINDS, IntArray, Values, concatenate_ranges
from assay.search.view import CorpusView, NameIndex, NameMatches, PrefixRules, TermLookup
from assay.settings import setting

T = TypeVar("T")


@dataclass(frozen=True)
class QueryFeatures:
    """The input to the signals for one query."""

    query: ParsedQuery
    view: CorpusView
    per: Per
    lexical_scores: Values  # lexical score of each chunk, relative to the best
    chunk_scores: Values  # lexical and dense score of each chunk, fused, relative to the best
    coherence: Values  # score of each file from its best chunks, relative to the best file
    basis: Hashable = None  # the settings that determine `chunk_scores`
    encoder_scores: Values | None = None  # similarity of each candidate by the contextual encoder
    _names: dict[tuple[int, PrefixRules, tuple[str, ...]], NameMatches] = field(default_factory=dict, repr=False)

    def weight(self, files: float, spans: float) -> float:
        return files if self.per == "file" else spans

    def of_files(self, values: Values) -> Values:
        """Return one value per ranked row: the values of files, or for spans the value of each chunk's file."""
        return values if self.per == "file" else values[self.view.table.chunks.file]

    @cached_property
    def matched(self) -> NDArray[np.bool_]:
        return np.asarray(self.chunk_scores > 0)

    @cached_property
    def word_weights(self) -> Values:
        return np.array([self.view.idf(self.view.term(word)) for word in self.query.words])

    @cached_property
    def coverage(self) -> float:
        """The share of the query's terms, by inverse document frequency, that the best lexical chunk contains."""
        if not len(self.lexical_scores):
            return 1.0
        return self.view.coverage(int(self.lexical_scores.argmax()), self.query.terms)

    @cached_property
    def nearness(self) -> Values:
        """The cosine similarity of each file or chunk to the query, minus 1."""
        dense, file = self.view.dense, self.view.table.chunks.file
        similarity = dense.similarity(self.query.text, self.per) if dense else np.zeros(self.view.chunk_count)
        if self.per == "file":
            similarity = max_by_owner(file, similarity, self.view.file_count)
        return np.minimum(similarity, 1.0) - 1.0

    def names(self, index: NameIndex, prefixes: PrefixRules, words: tuple[str, ...] | None = None) -> NameMatches:
        """Match words, by default those of the query, with names."""
        words = self.query.words if words is None else words
        key = (id(index), prefixes, words)
        if key not in self._names:
            self._names[key] = self.recall(("names", *key), partial(index.match, words, prefixes))
        return self._names[key]

    def recall(self, key: Hashable, make: Callable[[], T]) -> T:
        return self.view.recall(self.query.text, key, make)


def max_by_owner(owner: NDArray[np.int64] | NDArray[np.int32], values: Values, size: int) -> Values:
    maxima = np.zeros(size)
    np.maximum.at(maxima, owner, values)
    return maxima


def scale_to_max(values: Values) -> Values:
    most = float(values.max()) if len(values) else 0.0
    return values / most if most > 0 else values


#: Maximum cells of the terms × chunks matrix (16 MB). A query has a dozen terms, a pasted page hundreds.
_MATRIX_SIZE: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Bm25:
    """Lexical scores of chunks by BM25."""

    k1: float = setting(1.2, "term saturation of BM25")  # 0.9 to 1.6 are flat within .005 on spans
    # 0.4 to 0.75 are flat; high values hurt documentation, low ones short functions
    b: float = setting(0.6, "length normalization of BM25, 0 to 1")
    # half a word, since pairs may be coincidental; +.002 on files, no loss on spans
    joined: float = setting(0.5, "weight of two adjacent query words joined into one")
    stop_words: bool = setting(True, "ignore English stop words, such as `the`, unless the query has no other words")
    match: Literal["any", "all"] = setting("any", "chunks that match: with any term of the query, or with all terms")

    def __call__(self, query: ParsedQuery, view: CorpusView) -> Values:
        kind = query.kind if query.tokenizer == "identifier" else None  # translations are from stems to stems
        wanted = [view.lookup(term, kind) for term in query.terms]
        if self.joined:
            pairs = (view.lookup(term, None) for term in query.joined)
            wanted += [pair._replace(weight=pair.weight * np.float32(self.joined)) for pair in pairs]
        scores = np.zeros(view.chunk_count, dtype=np.float32)
        size = max(1, _MATRIX_SIZE // max(view.chunk_count, 1))
        for start in range(0, len(wanted), size):  # in query order, since float addition is not associative
            scores += self._sum(wanted[start : start + size], view)
        if self.match == "all":
            scores[~view.holding(query.terms)] = 0
        return scores.astype(np.float64)

    def _sum(self, wanted: Sequence[TermLookup], view: CorpusView) -> NDArray[np.float32]:
        postings, norm = view.table.postings, view.norm(self.k1, self.b)
        number = np.concatenate([lookup.number for lookup in wanted])
        weight = np.concatenate([lookup.weight for lookup in wanted]) * np.float32(self.k1 + 1)
        term = np.arange(len(wanted)).repeat([len(lookup.number) for lookup in wanted])
        begin, end = postings.offset[number], postings.offset[number + 1]
        rows = concatenate_ranges(begin, end)
        chunk, count = postings.chunk[rows].astype(np.intp), postings.count[rows]
        impact = weight.repeat(end - begin) * count / (count + norm[chunk])
        most = np.zeros(len(wanted) * view.chunk_count, dtype=np.float32)
        np.maximum.at(most, term.repeat(end - begin) * view.chunk_count + chunk, impact)
        return np.asarray(most.reshape(len(wanted), view.chunk_count).sum(axis=0))


@dataclass(frozen=True, slots=True)
class Coherence:
    """A signal that adds a weighted sum of the best chunk scores of the file."""

    # one .740, three .783, ten .800 nDCG@10 on semble's visible half; all of them .718
    chunks: int = setting(10, "number of chunks that add to the score of their file")
    # .6 to .7 are flat on natural language; lower is better for doc sentences and keywords
    decay: float = setting(0.6, "weight of each further chunk relative to the previous one")
    # bounds the time of a query on a large corpus; chunks below never changed the order of files
    pool: int = setting(2_000, "number of best chunks of the corpus to consider")
    files: float = setting(1.0, "weight of the best chunks when files are ranked")
    spans: float = setting(0.1, "weight of the best chunks when spans are ranked")  # .5 costs .009 on octocode's code

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        weight = features.weight(self.files, self.spans)
        if features.per == "file":
            return scores + weight * features.coherence
        return scores + weight * (features.matched * features.of_files(features.coherence))

    def gather(self, scores: Values, file: IntArray, file_count: int) -> Values:
        rows = (scores > 0).nonzero()[0]
        if len(rows) > self.pool:
            least = np.partition(scores[rows], len(rows) - self.pool)[len(rows) - self.pool]
            rows = rows[scores[rows] >= least]
        if not len(rows):
            return np.zeros(file_count)
        owner = file[rows]  # ascending, since chunks are in file order
        begins = np.ones(len(rows), dtype=bool)
        np.not_equal(owner[1:], owner[:-1], out=begins[1:])
        first = begins.nonzero()[0]
        nth = np.arange(len(rows)) - first[begins.cumsum() - 1]
        order = (-scores[rows]).argsort()  # the order of ties does not matter, since their sum is the same
        # numpy sorts 8- and 16-bit integers in linear time
        narrow = owner[order].astype(np.min_scalar_type(file_count))
        order = rows[order[narrow.argsort(kind="stable")]]
        weight = np.append(self.decay ** np.arange(self.chunks, dtype=np.float64), 0.0)
        totals = np.zeros(file_count)
        totals[owner[first]] = np.add.reduceat(scores[order] * weight[np.minimum(nth, self.chunks)], first)
        return scale_to_max(totals)


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A signal that adds the BM25 score of the whole file, as far as the best chunk does not cover the query.

    The words of a question are often spread over several chunks of its file.
    """

    # by file, standard library: 1.25 gains .060, 1.5 .076, 2.5 .094; semble's visible half loses .002, .001 and .006
    files: float = setting(1.5, "weight of the whole file when files are ranked, times the share not covered")
    # by lines, standard library: .2 gains .004, .4 .016, .8 .028; octocode's code +.002, +.001, -.003
    spans: float = setting(0.4, "weight of the whole file when spans are ranked, times the share not covered")
    k1: float = setting(4.0, "term saturation of BM25 in a whole file")  # 1.2 to 4 are flat; long files repeat words
    b: float = setting(0.75, "length normalization of BM25 in a whole file, 0 to 1")  # .2 costs .02, 1 is as good

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        weight = features.weight(self.files, self.spans)
        weight *= 1 - features.coverage
        if not weight:
            return scores
        query, translator = features.query, features.view.translator
        words = (tuple(query.terms), query.kind, query.tokenizer, translator and translator.settings)
        fit = features.recall(("whole", self.k1, self.b, words), partial(self._fit, features))
        if features.per == "span":
            return scores + weight * (features.matched * fit[features.view.table.chunks.file])
        found = max_by_owner(features.view.table.chunks.file, features.matched.astype(np.float64), len(scores))
        return scores + weight * found * fit

    def _fit(self, features: QueryFeatures) -> Values:
        query, view = features.query, features.view
        kind = query.kind if query.tokenizer == "identifier" else None
        norm, postings, file = view.file_norm(self.k1, self.b), view.table.postings, view.table.chunks.file
        total = np.zeros(view.file_count)
        for term in query.terms:
            lookup, best = view.lookup(term, kind), np.zeros(view.file_count)
            for number, weight in zip(lookup.number.tolist(), lookup.weight.tolist(), strict=True):
                rows = slice(int(postings.offset[number]), int(postings.offset[number + 1]))
                count = np.bincount(file[postings.chunk[rows]], postings.count[rows], view.file_count)
                np.maximum(best, weight * count / (count + norm), out=best)
            total += best
        return scale_to_max(total)


@dataclass(frozen=True, slots=True)
class AdjacentChunks:
    """A signal that adds the mean score of the adjacent chunks when spans are ranked."""

    spans: float = setting(0.08, "weight of adjacent chunks when spans are ranked")  # .4 is worse on every set

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        if features.per == "file" or not len(scores):
            return scores
        follows = features.view.follows[1:]
        adjacent = np.zeros(len(scores))
        adjacent[1:] = features.chunk_scores[:-1] * follows
        adjacent[:-1] += features.chunk_scores[1:] * follows
        return np.asarray(scores + self.spans * adjacent / features.view.neighbor_count)


@dataclass(frozen=True, slots=True)
class FileStem:
    """A signal that adds the share of the file name that matches words of the query."""

    # the strongest signal: +.053 on semble's visible half, on 16 of 17 repositories
    files: float = setting(0.55, "weight of the file name when files are ranked")
    # .6 costs .071 on octocode's code: a file name does not distinguish its functions
    spans: float = setting(0.08, "weight of the file name when spans are ranked")
    # config finds configuration, with less certainty than an exact match
    prefix: float = setting(0.7, "weight of a part of the file name that shares a prefix with a query word")
    # ColGREP: +.001 for both
    stop_words: bool = setting(True, "ignore English stop words of the query")
    inflections: bool = setting(True, "match inflections (dependency, dependencies) and separators (my_func, myfunc)")

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        view, words = features.view, features.query.words
        if not (self.stop_words and self.inflections):
            words = name_words(features.query.text, self.stop_words, self.inflections)
        names = view.stem if self.inflections else view.stem_as_written
        matches = features.names(names, PrefixRules(3, 5, self.prefix), words)
        share = max_by_owner(matches.owner, matches.precision, view.file_count)
        # not for spans, as one query of octocode's code lost: a file name does not distinguish its functions
        for word in find_words(features.query.text) if self.inflections and features.per == "file" else ():
            if files := view.files_by_name.get(whole_hash(word)):
                share[files] = 1.0
        share = features.of_files(share)
        if features.per == "span":
            share = features.matched * share
        return np.asarray(scores + features.weight(self.files, self.spans) * share)


@dataclass(frozen=True, slots=True)
class DefinitionName:
    """A signal that adds √(P·R) for the share P of a defined name and the share R of the query that match each other.

    Among √(P·R), F, mean, P and R, √(P·R) was best.
    """

    # .3 to .6 took octocode's code from .691 to .771
    spans: float = setting(0.7, "weight of a definition's name when spans are ranked")
    headings: float = setting(0.3, "weight of a heading when spans are ranked")  # headings are less specific than names
    # no effect on natural language; doc sentences, keywords and names gain .005 to .01
    files: float = setting(0.15, "weight of a file's best definition when files are ranked")
    prefix: float = setting(0.9, "weight of a name part that shares a prefix with a query word")  # parse finds parser

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        if not features.weight(self.files, self.spans or self.headings):
            return scores
        fit = features.recall(("definition", self.prefix, features.per), partial(self._fit, features))
        if features.per == "file":
            return np.asarray(scores + self.files * fit)
        return np.asarray(scores + np.where(features.view.docs, self.headings, self.spans) * fit)

    def _fit(self, features: QueryFeatures) -> Values:
        matches = features.names(features.view.own, PrefixRules(weight=self.prefix))
        fit = np.sqrt(matches.precision * matches.recall(features.word_weights))
        if features.per == "file":
            return max_by_owner(features.view.table.chunks.file[matches.owner], fit, features.view.file_count)
        return max_by_owner(matches.owner, fit, features.view.chunk_count)


@dataclass(frozen=True, slots=True)
class ScopeName:
    """A signal that adds the share of enclosing names or headings that matches the query when spans are ranked."""

    spans: float = setting(0.2, "weight of the names of enclosing definitions")  # +.005 to .007
    headings: float = setting(0.1, "weight of the headings above a section")

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        if features.per == "file":
            return scores
        fit = features.recall("scope", partial(self._fit, features))
        return np.asarray(scores + np.where(features.view.docs, self.headings, self.spans) * fit)

    @staticmethod
    def _fit(features: QueryFeatures) -> Values:
        matches = features.names(features.view.scope, PrefixRules(weight=0.0))
        return max_by_owner(matches.owner, matches.precision, features.view.chunk_count)


@dataclass(frozen=True, slots=True)
class References:
    """A signal that adds votes of the files that use the definitions of a file."""

    # best for doc sentences: .1 to .2; for semble's visible half: .5
    files: float = setting(0.25, "weight of references when files are ranked")
    # .03 to .2 are within .002 on octocode's code: references between files do not distinguish spans
    spans: float = setting(0.0, "weight of references when spans are ranked")
    # weaker files vote at random
    least: float = setting(0.3, "minimum score of a voting file, relative to the best file")

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        weight = features.weight(self.files, self.spans)
        if not weight:
            return scores
        votes = features.of_files(scale_to_max(features.view.graph.votes(features.coherence, self.least)))
        return np.asarray(scores + weight * (votes if features.per == "file" else features.matched * votes))


#: Kinds of chunks that define more than a value or an alias.
_MAJOR_KINDS: Final = ("function", "method", "class", "interface", "enum", "module", "macro", "head", "section")
_MAJOR: Final = np.isin(CHUNK_KINDS, _MAJOR_KINDS)


@dataclass(frozen=True, slots=True)
class Identifier:
    """A signal that raises definitions of the queried name or, if files are ranked, of compound names in the query."""

    # .3 finds 97.2 % of uniquely defined names, 1.0 finds 99.8 %
    files: float = setting(1.0, "score added to files that define the queried name")
    files_inside: float = setting(0.3, "score added to files that define a compound name in the query")  # less certain
    # 1.0 scores .028 less
    spans: float = setting(2.0, "score added to spans that define the queried name")
    # where a trait and an associated type share a name, the trait is relevant
    minor: float = setting(0.5, "factor for aliases, constants, fields and keys if a class or function has the name")

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        symbol = features.query.symbol
        if symbol is not None:
            return self._add(scores, features, symbol, features.weight(self.files, self.spans))
        for name in features.query.identifiers if features.per == "file" else ():
            scores = self._add(scores, features, name, self.files_inside)
        return scores

    def _add(self, scores: Values, features: QueryFeatures, name: int, amount: float) -> Values:
        chunks = features.view.definers(name, features.query.name)
        kinds = _MAJOR[features.view.table.chunks.kind[chunks]]
        share = np.where(kinds | ~kinds.any(), amount, amount * self.minor)
        rows = features.view.table.chunks.file[chunks] if features.per == "file" else chunks
        return scores + max_by_owner(rows, share, len(scores))


#: Stems of query words that name a role; for these queries, files of that role keep their scores.
ABOUT: Final = {
    "test": frozenset({"test", "spec", "mock", "fixtur", "benchmark", "bench", "assert", "stub", "har"}),
    "example": frozenset({"exampl", "sampl", "demo", "tutori"}),
    "compat": frozenset({"compat", "compatibl", "legaci", "deprec", "shim", "backport", "polyfil"}),
    "vendored": frozenset({"vend", "bundl", "third"}),
    "generated": frozenset({"generat", "autogen", "codegen"}),
    "stub": frozenset({"stub", "declar", "type"}),
    "barrel": frozenset({"export", "reexport", "index", "public"}),
    "docs": frozenset({"doc", "document", "readm", "guid", "manual", "changelog", "chang", "tutori", "releas"}),
}


@dataclass(frozen=True, slots=True)
class NoiseWeights:
    """Factors on the score of a file by its role."""

    test: float = setting(0.3, "factor for tests, fixtures, mocks and benchmarks")
    example: float = setting(0.3, "factor for examples, samples and demos")
    compat: float = setting(0.3, "factor for compatibility and legacy code")
    vendored: float = setting(0.3, "factor for vendored copies of other projects")
    generated: float = setting(1.0, "factor for generated files")
    # the visible sets have no stubs; ColGREP's mild penalty
    stub: float = setting(0.7, "factor for type declarations")
    # nDCG@10 on semble's visible half: .9 .872, .8 .871, .5 .869, as some targets are re-exports
    barrel: float = setting(0.9, "factor for files that only re-export")
    # the targets of most queries are code; .5 to .8 are flat
    docs: float = setting(0.6, "factor for documentation")


@dataclass(frozen=True, slots=True)
class PathNoise:
    """A signal that lowers the scores of tests, examples and other roles unless the query names the role."""

    files: NoiseWeights = field(default_factory=NoiseWeights)
    spans: NoiseWeights = field(
        default_factory=lambda: NoiseWeights(test=0.5, example=1.0, compat=0.5, vendored=0.5, docs=1.0, barrel=1.0)
    )

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        words = frozenset(features.query.words)
        weights = self.files if features.per == "file" else self.spans
        factors = [getattr(weights, role) if role in ABOUT and not words & ABOUT[role] else 1.0 for role in ROLES]
        if features.per == "file":
            return np.asarray(scores * np.array(factors)[features.view.table.files.role])
        return np.asarray(scores * features.view.role_factors(factors, factors[ROLES.index("test")]))


@dataclass(frozen=True, slots=True)
class DeclarationPenalty:
    """A signal that lowers the scores of chunks that only declare, such as constants, when spans are ranked."""

    # gaps alone +.003; with constants and fields +.004 on octocode's code, +.007 on keywords
    spans: float = setting(0.8, "factor for chunks that only declare")

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        if features.per == "file":
            return scores
        return np.asarray(np.where(features.view.declares, scores * self.spans, scores))


@dataclass(frozen=True, slots=True)
class SingleWord:
    """A signal that ranks the files or spans that contain the only word of the query above all others."""

    files: bool = setting(True, "whether files are ranked in this way")
    spans: bool = setting(True, "whether spans are ranked in this way")

    def __call__(self, scores: Values, features: QueryFeatures) -> Values:
        query, view = features.query, features.view
        is_single = len(query.words) == 1 and len(find_words(query.text)) == 1
        if not (is_single and query.terms and (self.files if features.per == "file" else self.spans)):
            return scores
        holds = view.holding(query.terms)
        if features.per == "file":
            holds = max_by_owner(view.table.chunks.file, holds.astype(np.float64), view.file_count) > 0
        others = scores[~holds]
        return np.where(holds, scores + others.max(initial=0.0) + _STEP, scores)


#: Minimum distance between the scores of files with the only word of the query and of other files.
_STEP: Final = 0.001
