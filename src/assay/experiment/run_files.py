"""Runs made of TREC run files and judgments, without a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from pathlib import Path

from assay.engines.runfile import parse_trec
from assay.errors import ConfigError
from assay.experiment.spec.analysis_plan import default_baseline
from assay.files import read_utf8
from assay.gold import query_hash
from assay.gold.formats.beir_trec import read_qrels
from assay.types import AnalysisPlan, EngineRun, GoldSet, Hit, Ranking, Run, RunMetadata, Suite


def read_run_files(qrels: Path, files: Sequence[Path]) -> tuple[Run, tuple[str, ...]]:
    """Return a run with one engine per file, and notes; document ids are compared as they are, as in trec_eval.

    A query without results in a file has an empty ranking, so it scores 0.
    """
    gold = read_qrels(qrels)
    names = [path.stem for path in files]
    if len(set(names)) < len(names):
        raise ConfigError("two run files have the same name", hint="rename one: the file name is the engine's name")
    engines, notes = [], []
    for name, path in zip(names, files, strict=True):
        rankings, remarks = _read_rankings(path, gold)
        engines.append(EngineRun(name, rankings))
        notes += [f"{path}: {remark}" for remark in remarks]
    k = max((len(ranking.hits) for engine in engines for ranking in engine.rankings), default=0)
    hashes = {f"{gold.name}/{query.id}": query_hash(query, gold.corpus) for query in gold.queries}
    # trec_eval's usual cutoffs; the first file is the baseline of two, as everywhere
    measures = ("nDCG@10", "RR@10", f"AP@{max(k, 10)}", f"R@{max(k, 10)}")
    header = RunMetadata(claim=AnalysisPlan(measures, default_baseline(names, names)))
    return Run(Suite((gold,)), max(k, 10), tuple(engines), hashes=hashes, header=header), tuple(notes)


def _read_rankings(path: Path, gold: GoldSet) -> tuple[tuple[Ranking, ...], list[str]]:
    parsed, remarks = parse_trec(read_utf8(path, hint="check the path of the run file"), str(path))
    notes = [*remarks]
    rankings = []
    for query in gold.queries:
        form = query.ordered_forms[0]
        found = next((parsed[n] for n in (query.id, f"{gold.name}/{query.id}/{form}") if n in parsed), None)
        hits = tuple(map(Hit, found.docnos, repeat(None), repeat(None), found.scores)) if found else ()
        rankings.append(Ranking(gold.name, query.id, form, hits))
    missing = sum(not ranking.hits for ranking in rankings)
    if missing == len(rankings):
        hint = "pass a run file whose first column has the query ids of the judgments"
        raise ConfigError(f"no query of {path} has a relevant document in the judgments", hint=hint)
    if missing:
        notes.append(f"no results for {missing} of {len(rankings)} judged queries, which score 0")
    return tuple(rankings), notes
