"""Relevance judgements of documents, as BEIR and TREC have them: what they make of queries.

A score of 2 or more is primary, 1 secondary, 0 and less is wrong. A query whose best score is 1 comes from a set that
only tells right from wrong, so there 1 is primary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from assay.gold.building import build_query
from assay.gold.formats.common.ids import renamed, sound_ids
from assay.gold.formats.common.several import Left, left_out
from assay.gold.place import Place
from assay.types import PRIMARY, SECONDARY, Query, Rationale, Target


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
        raise place.error(f"'{score}' is not a score", "a score is a whole number: 2, 1 or 0")
    return Judgement(place.text(query, "the id of the query"), place.text(document, "the document"), int(score), place)


def judge(
    topics: Mapping[str, Topic],
    judgements: Sequence[Judgement],
    target: Callable[[Judgement, int], Target],
) -> Judged:
    """Make queries of topics and judgements; what has no answer is told."""
    by_query = _by_query(judgements)
    ids = sound_ids(topics)
    left = [Left("queries without a judgement", name) for name in topics if name not in by_query]
    left += [Left("judged queries without a text", name) for name in by_query if name not in topics]
    queries: list[Query] = []
    judged = {name: by_query[name] for name in topics if name in by_query}
    for name, found in judged.items():
        left += [Left("judged wrong", f"{one.document} for {name}") for one in found.values() if one.score < SECONDARY]
        grades = _grades(found)
        if grades:
            targets = [target(found[document], grade) for document, grade in grades.items()]
            topic = topics[name]
            queries.append(build_query(ids[name], topic.forms, targets, topic.place, rationale=topic.rationale))
        else:
            left.append(Left("queries without a relevant document", name))
    return Judged(tuple(queries), {**_scores(list(judged.values())), **renamed(ids), **left_out(left)})


def _grades(found: Mapping[str, Judgement]) -> dict[str, int]:
    """Give the grade of each document that answers a query."""
    best = max(one.score for one in found.values())
    primary = min(best, PRIMARY)
    return {
        document: PRIMARY if one.score >= primary else SECONDARY
        for document, one in found.items()
        if one.score >= SECONDARY
    }


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


def _scores(judged: Sequence[Mapping[str, Judgement]]) -> dict[str, str]:
    """Tell how the scores of each query became grades where that is not plain."""
    best = [max(one.score for one in found.values()) for found in judged]
    counts = {
        "queries whose best score is 1, which counts as primary there": best.count(SECONDARY),
        "scores above 2, which count as 2": sum(one.score > PRIMARY for found in judged for one in found.values()),
    }
    told = [f"{what}: {count}" for what, count in counts.items() if count]
    return {"scores": "; ".join(told)} if told else {}
