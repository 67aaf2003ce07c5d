"""The questions that lexical search loses, and the whole sets that they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Final

from assay.gold import load_gold, overlaps
from assay.types import GoldSet, Query, Scores, Unit
from benchmarks.quality.measuring import PROCESSES, SEMBLE, Asking, ask, chosen, housed, joined
from benchmarks.quality.octocode import PARTS
from benchmarks.quality.sources import octocode
from benchmarks.quality.synthetic import Synthetic
from benchmarks.quality.variants import Variant

#: The name of the pooled measure: each set has its own rule, by semble's files or by lines.
POOLED: Final = "nDCG@10"
FILES: Final = Asking((SEMBLE,))
LINES: Final = Asking(("nDCG(level=lines)@10",), per="span", as_written=False)

VISIBLE: Final = "visible half"
CODE: Final = "octocode, code"
DOCS: Final = "octocode, docs"
STDLIB: Final = "standard library"
SYNTHETIC: Final = "synthetic, documentation"
TUNING: Final = "synthetic, kept for tuning"

Lost = Callable[[Query, str], bool]


@dataclass(frozen=True, slots=True)
class Source:
    """A gold set: which part of the whole it is, the repository it is about, and how it is asked."""

    part: str
    gold: GoldSet
    home: str
    asking: Asking
    lost: Lost  # whether lexical search loses a phrasing of a query

    @property
    def pooled(self) -> frozenset[tuple[str, str]]:
        """The phrasings that are in the pool."""
        return frozenset((q.id, form) for q in self.gold.queries for form in q.forms if self.lost(q, form))


def visible_sources(golds: Sequence[GoldSet]) -> list[Source]:
    """Take semble's visible half; what shares no word with its answer is lost."""
    return [Source(VISIBLE, gold, gold.name, FILES, shares_no_word) for gold in golds]


def octocode_sources() -> list[Source]:
    """Take octocode's sets, each over its own files; the hard ones on code are lost."""
    rules = {"code": (CODE, is_hard), "docs": (DOCS, never)}
    golds = ((part, octocode(part.gold, include=part.include, exclude=part.exclude)) for part in PARTS[:2])
    return [Source(rules[part.gold][0], gold, "octocode", LINES, rules[part.gold][1]) for part, gold in golds]


def stdlib_source() -> Source:
    """Take the standard library's set."""
    return Source(STDLIB, load_gold("stdlib").golds[0], "stdlib", LINES, is_misleading)


def synthetic_sources(sets: Sequence[Synthetic], part: str = SYNTHETIC) -> list[Source]:
    """Take synthetic sets; those that are kept for tuning are in no pool."""
    lost = shares_no_word if part == SYNTHETIC else never
    return [Source(part, one.gold, one.home, LINES, lost) for one in sets]


def shares_no_word(query: Query, form: str) -> bool:
    """Tell whether a phrasing names no word of its answers' paths and symbols."""
    return not overlaps(query.forms[form], query.targets)


def is_hard(query: Query, form: str) -> bool:  # noqa: ARG001 - every phrasing of a hard one is
    """Tell whether a query was written to be hard."""
    return query.tags.get("difficulty") == "hard"


def is_misleading(query: Query, form: str) -> bool:
    """Tell whether a phrasing has a wrong word, or is a person's that shares none."""
    return form == "wrong_terminology" or (form == "human" and shares_no_word(query, form))


def never(query: Query, form: str) -> bool:  # noqa: ARG001 - it is the same for all
    """Keep a set out of the pool."""
    return False


def only_lost(source: Source) -> Source:
    """Ask no more of a set than what is in the pool."""
    queries = (
        replace(query, forms={form: text for form, text in query.forms.items() if source.lost(query, form)})
        for query in source.gold.queries
    )
    return replace(source, gold=replace(source.gold, queries=tuple(query for query in queries if query.forms)))


def answer(sources: Sequence[Source], variants: Sequence[Variant]) -> Mapping[str, Scores]:
    """Ask variants all sets, each where there is room; one table a set, of the pooled measure, by the set's name."""
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        sent = {source.gold.name: pool.submit(ask, source.gold, variants, source.asking) for source in sources}
        return {source.gold.name: _placed(sent[source.gold.name].result(), source) for source in sources}


def _placed(scores: Scores, source: Source) -> Scores:
    """Name the measure as the pool does, and the repository."""
    return housed(replace(scores, measures=(POOLED,)), {source.gold.name: source.home})


@dataclass(frozen=True, slots=True)
class Answers:
    """What was answered to every set."""

    sources: tuple[Source, ...]
    scores: Mapping[str, Scores]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that are here, in order."""
        return tuple(dict.fromkeys(source.part for source in self.sources))

    def whole(self, part: str, wanted: Callable[[Unit], bool] = lambda unit: unit.headline) -> Scores | None:
        """Give a whole part, its headline phrasings unless told otherwise."""
        return _joined(chosen(self.scores[s.gold.name], wanted) for s in self.sources if s.part == part)

    def pool(self, *parts: str) -> Scores | None:
        """Give the pooled questions of some parts, or of all."""
        return _joined(self._lost(s) for s in self.sources if not parts or s.part in parts)

    def _lost(self, source: Source) -> Scores:
        """Give what lexical search loses of one set."""
        pooled = source.pooled
        return chosen(self.scores[source.gold.name], lambda unit: (unit.query, unit.form) in pooled)


def _joined(tables: Iterator[Scores]) -> Scores | None:
    """Put tables together; every phrasing that was chosen counts, those of one intent as one."""
    some = [table for table in tables if table.units]
    if not some:
        return None
    scores = joined(some)
    return replace(scores, units=tuple(replace(unit, headline=True) for unit in scores.units))


def by_module(scores: Scores, sources: Sequence[Source]) -> Scores:
    """Take each top-level module of the standard library for a repository of its own."""
    library = [source.gold for source in sources if source.part == STDLIB]
    modules = {
        (gold.name, query.id): query.targets[0].span.path.partition("/")[0].removesuffix(".py")
        for gold in library
        for query in gold.queries
    }
    units = (
        replace(unit, repository=f"{unit.repository}/{modules[unit.gold, unit.query]}")
        if (unit.gold, unit.query) in modules
        else unit
        for unit in scores.units
    )
    return replace(scores, units=tuple(units))
