"""The lines of a result that show best why it was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.search.question import Question
from assay.search.view import View
from assay.search.words import RUN, terms


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a result, the first one numbered."""

    start: int
    lines: tuple[str, ...]


def term_weights(question: Question, view: View) -> dict[str, float]:
    """Weigh the terms of a question by how telling they are."""
    return {term: view.idf(view.term(term)) for term in (*question.terms, *question.joined)}


def choose_lines(text: str, start: int, weights: Mapping[str, float], most: int) -> Excerpt:
    """Take the run of at most so many lines that holds the most telling words; of equal neighbours the middle one."""
    lines = text.removesuffix("\n").split("\n")
    worth = [sum(weights[term] for term in _shared(line, weights)) for line in lines]
    totals = [round(sum(worth[at : at + most]), 9) for at in range(max(1, len(lines) - most + 1))]
    first = stop = totals.index(max(totals))
    while stop + 1 < len(totals) and totals[stop + 1] == totals[first]:
        stop += 1
    first = (first + stop) // 2 if totals[first] else 0
    kept = lines[first : first + most]
    while len(kept) > 1 and not kept[-1].strip():
        kept = kept[:-1]
    return Excerpt(start + first, tuple(kept))


def matched_words(line: str, weights: Mapping[str, float]) -> list[tuple[int, int]]:
    """Find the words of a line that the question has too, as places in it."""
    return [found.span() for found in RUN.finditer(line) if any(term in weights for term in terms(found.group()))]


def _shared(line: str, weights: Mapping[str, float]) -> set[str]:
    """List the terms of a line that are asked for, each once."""
    return {term for found in RUN.finditer(line) for term in terms(found.group()) if term in weights}
