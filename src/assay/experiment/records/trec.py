"""Export of runs and judgments in TREC format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assay.engines.runfile import TAG, path_column, to_column, to_docno
from assay.experiment.records import file_names
from assay.experiment.records.folder import LINE_RUNS, QRELS, RUNS
from assay.types import EngineRun, GoldSet, Hit, Query, Ranking, Run, Status


def trec_files(run: Run) -> dict[str, str]:
    """Write all of them, by name; an engine that answered nothing has none."""
    engines = file_names(engine.name for engine in run.engines)
    golds = file_names(gold.name for gold in run.suite.golds)
    asked = {(r.gold, r.query, r.form) for engine in run.engines for r in engine.rankings}
    files = {f"{QRELS}{golds[gold.name]}.qrels": _qrels(gold, asked) for gold in run.suite.golds}
    for engine in run.engines:
        files[f"{RUNS}{engines[engine.name]}.trec"] = _run(engine, as_files=True)
        files[f"{LINE_RUNS}{engines[engine.name]}.trec"] = _run(engine, as_files=False)
    return {name: text for name, text in sorted(files.items()) if text}


def _run(engine: EngineRun, *, as_files: bool) -> str:
    tag = TAG + to_column(engine.name)
    answered = [ranking for ranking in engine.rankings if ranking.status is Status.OK]
    return "".join([_lines(ranking, tag, as_files=as_files) for ranking in answered])


def _lines(ranking: Ranking, tag: str, *, as_files: bool) -> str:
    first: dict[str, Hit] = {}
    for hit in ranking.hits:
        first.setdefault(path_column(hit.path) if as_files else to_docno(hit), hit)
    query = _query_id(ranking.gold, ranking.query, ranking.form)
    ranked = enumerate(zip(first, _scores([*first.values()]), strict=True), start=1)
    return "".join([f"{query} Q0 {docno} {rank} {score} {tag}\n" for rank, (docno, score) in ranked])


def _scores(hits: Sequence[Hit]) -> list[str]:
    own = [hit.score for hit in hits if hit.score is not None]
    single = np.array(own, dtype=np.float64).astype(np.float32)  # trec_eval's precision
    if len(own) == len(hits) and bool((single[:-1] > single[1:]).all()):
        return [repr(float(score)) for score in own]
    return [str(len(hits) - place) for place in range(len(hits))]


def _query_id(gold: str, query: str, form: str) -> str:
    return to_column(f"{gold}/{query}/{form}")


def _qrels(gold: GoldSet, asked: Iterable[tuple[str, str, str]]) -> str:
    known = set(asked)
    return "".join(
        f"{_query_id(gold.name, query.id, form)} 0 {docno} {grade}\n"
        for query in gold.queries
        for form in query.ordered_forms
        if (gold.name, query.id, form) in known
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
