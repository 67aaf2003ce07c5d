from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace

import numpy as np

from assay.records import dataclass
from assay.search.query import WORD_OR_NEWLINE, ParsedQuery, Per, find_words, word_terms
from assay.search.results import rank_rows
from assay.search.table import LongArray, Values
from assay.search.view import CorpusView
from assay.types import Hit, Waterfall, WaterfallRow, WaterfallStep

#: Results in the list of each stage, as in the trace of ColGREP.
TRACED = 20


def is_tracing() -> bool:
    """Return whether ASSAY_TRACE requests a trace of every query on stderr: if set, and not 0."""
    return os.environ.get("ASSAY_TRACE", "0") not in ("", "0")


@dataclass(frozen=True, slots=True)
class StageTrace:
    name: str
    scores: Values

    def ranks(self) -> LongArray:
        """Return the rank of each row from 1, or 0 without a score; tied rows rank in row order, as in the results."""
        ranks = np.zeros(len(self.scores), dtype=np.int64)
        rows = rank_rows(self.scores)
        ranks[rows] = np.arange(1, len(rows) + 1)
        return ranks


@dataclass(frozen=True, slots=True)
class Trace:
    query: ParsedQuery
    per: Per
    stages: tuple[StageTrace, ...]
    labels: tuple[Hit, ...]  # the traced candidates, best first
    rows: tuple[int, ...]  # row of each candidate in the scores
    hits: tuple[Hit, ...]
    label: Callable[[int], Hit]  # of any row

    def waterfall(self) -> Waterfall:
        stages = tuple(stage.name for stage in self.stages)
        return Waterfall(self.query.kind, tuple(self.query.terms), stages, self.candidates())

    def candidates(self) -> tuple[WaterfallRow, ...]:
        ranks = [stage.ranks() for stage in self.stages]
        rows = []
        for label, row in zip(self.labels, self.rows, strict=True):
            steps = []
            score, rank = 0.0, 0
            for stage, placed in zip(self.stages, ranks, strict=True):
                now = float(stage.scores[row])
                steps.append(WaterfallStep(stage.name, now, now - score, int(placed[row]), rank))
                score, rank = now, int(placed[row])
            rows.append(WaterfallRow(label.path, label.start, label.end, tuple(steps)))
        return tuple(rows)

    def json_lines(self) -> Iterator[str]:
        head = {
            "query": self.query.text,
            "kind": self.query.kind,
            "terms": list(self.query.terms),
            "per": self.per,
            "stages": [stage.name for stage in self.stages],
        }
        yield json.dumps(head, ensure_ascii=False)
        for stage in self.stages:  # lexical and dense are the raw lists, whether a result is returned in the end or not
            best = rank_rows(stage.scores)[:TRACED].tolist()
            yield _stage_line(stage.name, [self.label(row)._replace(score=float(stage.scores[row])) for row in best])
        yield _stage_line("results", self.hits)
        for candidate in self.candidates():
            for step in candidate.steps:
                location = {"path": candidate.path, "start": candidate.start, "end": candidate.end}
                rounded = replace(step, score=round(step.score, 6), change=round(step.change, 6))
                yield json.dumps(location | asdict(rounded), ensure_ascii=False)


def _stage_line(name: str, hits: Iterable[Hit]) -> str:
    top = [{"path": hit.path, "start": hit.start, "end": hit.end, "score": round(hit.score or 0.0, 6)} for hit in hits]
    return json.dumps({"stage": name, "top": top}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class LostFile:
    path: str
    ranks: tuple[tuple[str, int], ...]
    final: int
    stage: str | None  # None if the file was found; "corpus", "lexical" or "too weak" if never among the first k
    reason: str


def find_lost_stage(trace: Trace, rows: list[int], path: str, k: int) -> LostFile:
    stage_ranks = [(stage.name, stage.ranks()[rows]) for stage in trace.stages]
    ranks = [(name, int(found[found > 0].min()) if found.any() else 0) for name, found in stage_ranks]
    final = ranks[-1][1] if ranks else 0
    if not rows:
        return LostFile(path, tuple(ranks), 0, "corpus", "the file is not in the index")
    if 0 < final <= k:
        return LostFile(path, tuple(ranks), final, None, f"found at rank {final}")
    if not any(rank for _, rank in ranks):
        return LostFile(path, tuple(ranks), final, "lexical", "it shares no word with the query")
    inside = [name for name, rank in ranks if 0 < rank <= k]
    if not inside:
        best = min(rank for _, rank in ranks if rank)
        return LostFile(path, tuple(ranks), final, "too weak", f"never among the first {k}; its best rank was {best}")
    names = [name for name, _ in ranks]
    lost = names[names.index(inside[-1]) + 1]
    if lost == "dense" or (lost == "encoder" and "fused" in names[names.index(lost) :]):  # an input of fusion
        lost = "fused"
    return LostFile(path, tuple(ranks), final, lost, f"dropped out of the first {k}")


def translate_terms(view: CorpusView, query: ParsedQuery) -> dict[str, list[str]]:
    if view.translator is None:
        return {}
    from assay.search.static import read_words

    words = read_words(view.translator.settings.directory)
    translations = {}
    for term in query.terms:
        hashes = [hash_ for hash_, _ in view.translator(term, query.kind) if view.number(hash_) >= 0]
        if hashes:
            translations[term] = [words.get(hash_, "?") for hash_ in hashes]
    return translations


@dataclass(frozen=True, slots=True)
class Snippet:
    start: int
    lines: tuple[str, ...]


def term_weights(query: ParsedQuery, view: CorpusView) -> dict[str, float]:
    return {term: view.idf(view.term(term)) for term in (*query.terms, *query.joined)}


def choose_lines(text: str, start: int, weights: Mapping[str, float], most: int) -> Snippet:
    """Return the window of up to `most` lines with the highest sum of term weights, without trailing blank lines."""
    lines = text.removesuffix("\n").split("\n")
    line_terms = ({term for word in find_words(line) for term in word_terms(word)} for line in lines)
    line_weights = [sum(weights[term] for term in terms if term in weights) for terms in line_terms]
    totals = [round(sum(line_weights[at : at + most]), 9) for at in range(max(1, len(lines) - most + 1))]
    first = stop = totals.index(max(totals))
    while stop + 1 < len(totals) and totals[stop + 1] == totals[first]:
        stop += 1
    first = (first + stop) // 2 if totals[first] else 0
    shown = lines[first : first + most]
    while len(shown) > 1 and not shown[-1].strip():
        shown = shown[:-1]
    return Snippet(start + first, tuple(shown))


def matched_words(line: str, weights: Mapping[str, float]) -> list[tuple[int, int]]:
    words = WORD_OR_NEWLINE.finditer(line)
    return [word.span() for word in words if any(term in weights for term in word_terms(word.group()))]
