"""Relevance judgements of documents, as BEIR and TREC have them: what they make of queries.

A score is the grade of its target. Documents with the score 0 are kept as judged and irrelevant; a negative score,
which some TREC tracks give to spam, counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.errors import GoldError
from assay.gold.building import build_query
from assay.gold.formats.common.ids import renamed, sound_ids
from assay.gold.formats.common.several import Left, left_out
from assay.gold.place import Place
from assay.types import Query, Rationale, Target


@dataclass(frozen=True, slots=True)
class Judgement:
    """How relevant somebody found a document for a query, and where that is written."""

    query: str
    document: str
    score: int
    place: Place


@dataclass(frozen=True, slots=True)
class Topic:
    """The words of a query, and where they are written."""

    forms: Mapping[str, str]
    place: Place
    rationale: Rationale | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """Queries in the order of their topics, and what provenance says of the rest."""

    queries: tuple[Query, ...]
    provenance: Mapping[str, str]


def read_judgement(query: str, document: str, score: str, place: Place) -> Judgement:
    """Check one line of judgements."""
    if not score.removeprefix("-").isdecimal() or not score.isascii() or len(score) > 9:
        raise place.error(f"'{score}' is not a score", "a score is a whole number, as in 2, 1 or 0")
    return Judgement(place.text(query, "the id of the query"), place.text(document, "the document"), int(score), place)


def judge(
    topics: Mapping[str, Topic],
    judgements: Sequence[Judgement],
    target: Callable[[Judgement, int], Target],
) -> Judged:
    """Make queries of topics and judgements; the provenance counts what is left out."""
    by_query = _by_query(judgements)
    ids = sound_ids(topics)
    left = [Left("queries without a judgement", name) for name in topics if name not in by_query]
    left += [Left("judged queries without a text", name) for name in by_query if name not in topics]
    queries: list[Query] = []
    judged = {name: by_query[name] for name in topics if name in by_query}
    for name, found in judged.items():
        if not any(one.score > 0 for one in found.values()):
            left.append(Left("queries without a relevant document", name))
            continue
        targets: list[Target] = []
        for one in found.values():
            try:
                targets.append(target(one, max(one.score, 0)))
            except GoldError:
                if one.score > 0:
                    raise
                left.append(Left("irrelevant documents that are not in the corpus", f"{one.document} for {name}"))
        topic = topics[name]
        queries.append(build_query(ids[name], topic.forms, targets, topic.place, rationale=topic.rationale, least=1))
    negative = sum(one.score < 0 for found in judged.values() for one in found.values())
    assumed = {"assumed": f"negative scores are 0: {negative}"} if negative else {}
    return Judged(tuple(queries), {**assumed, **renamed(ids), **left_out(left)})


def _by_query(judgements: Sequence[Judgement]) -> dict[str, dict[str, Judgement]]:
    """Sort the judgements by query and document; each pair is judged once."""
    by_query: dict[str, dict[str, Judgement]] = {}
    for one in judgements:
        first = by_query.setdefault(one.query, {}).setdefault(one.document, one)
        if first is not one:
            raise one.place.error(
                f"'{one.document}' is judged twice for '{one.query}', first in line {first.place.line}", "keep one"
            )
    return by_query
