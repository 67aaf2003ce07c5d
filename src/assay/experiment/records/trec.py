"""Export of runs and judgments in TREC format."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import numpy as np

from assay.experiment.records.directory import LINE_RUNS, QRELS, RUNS, file_names
from assay.trec import TAG, path_column, to_column, to_docno
from assay.types import EngineRun, GoldSet, Hit, Query, Run, Status


def trec_files(run: Run) -> dict[str, str]:
    """Return the text of each run and qrels file by name; an engine without answers has none."""
    engines = file_names(engine.name for engine in run.engines)
    golds = file_names(gold.name for gold in run.suite.golds)
    queries = {(r.gold, r.query, r.form) for engine in run.engines for r in engine.rankings}
    files = {f"{QRELS}{golds[gold.name]}.qrels": _qrels(gold, queries) for gold in run.suite.golds}
    for engine in run.engines:
        files[f"{RUNS}{engines[engine.name]}.trec"] = _rankings(engine, whole_files=True)
        files[f"{LINE_RUNS}{engines[engine.name]}.trec"] = _rankings(engine, whole_files=False)
    return {name: text for name, text in sorted(files.items()) if text}


def _rankings(engine: EngineRun, *, whole_files: bool) -> str:
    tag = TAG + to_column(engine.name)
    rows = []
    for ranking in engine.rankings:
        if ranking.status is not Status.OK:
            continue
        first: dict[str, Hit] = {}
        for hit in ranking.hits:
            first.setdefault(path_column(hit.path) if whole_files else to_docno(hit), hit)
        query = _query_id(ranking.gold, ranking.query, ranking.form)
        scores = _scores([*first.values()])
        for rank, (docno, score) in enumerate(zip(first, scores, strict=True), start=1):
            rows.append(f"{query} Q0 {docno} {rank} {score} {tag}\n")
    return "".join(rows)


def _scores(hits: list[Hit]) -> list[str]:
    """Return the engine's scores if they decrease strictly, else descending integers."""
    own = [hit.score for hit in hits if hit.score is not None]
    single = np.array(own, dtype=np.float64).astype(np.float32)  # trec_eval's precision
    if len(own) == len(hits) and bool((single[:-1] > single[1:]).all()):
        return [repr(float(score)) for score in own]
    return [str(len(hits) - position) for position in range(len(hits))]


def _query_id(gold: str, query: str, form: str) -> str:
    return to_column(f"{gold}/{query}/{form}")


def _qrels(gold: GoldSet, queries: AbstractSet[tuple[str, str, str]]) -> str:
    return "".join(
        f"{_query_id(gold.name, query.id, form)} 0 {docno} {grade}\n"
        for query in gold.queries
        for form in query.ordered_forms
        if (gold.name, query.id, form) in queries
        for docno, grade in _grades(query).items()
    )


def _grades(query: Query) -> dict[str, int]:
    grades: dict[str, int] = {}
    for target in query.targets:
        docno = path_column(target.span.path)
        grades[docno] = max(target.grade, grades.get(docno, 0))
    for wrong in (*(adversary.target for adversary in query.adversaries), *query.irrelevant):
        grades.setdefault(path_column(wrong.span.path), 0)
    return grades
