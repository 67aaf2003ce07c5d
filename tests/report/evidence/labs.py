"""Runs that can be compared: with hashes, a corpus and an analysis plan."""

from collections.abc import Sequence
from dataclasses import replace

from assay.types import AnalysisPlan, CorpusInfo, Ranking, Run, RunMetadata, Status
from tests.report.labs import lab

PLAN = AnalysisPlan(("RR@10", "Hit@5"), "mine")
FACTS = CorpusInfo("path:shop-abc123", None, "digest", 3)


def hashed(made: Run, corpus: CorpusInfo = FACTS) -> Run:
    """Give a run what decides whether it is comparable."""
    hashes = {f"{gold.name}/{query.id}": f"hash of {query.id}" for gold in made.suite.golds for query in gold.queries}
    corpora = {gold.name: replace(corpus, repository=gold.corpus.repository) for gold in made.suite.golds}
    header = RunMetadata("0.1", "2026-01-01", "gold hash", corpora, analysis_plan=PLAN)
    return replace(made, hashes=hashes, header=header)


def run_of(ranks: Sequence[int], *, failed: Sequence[int] = (), repositories: int = 1, name: str = "mine") -> Run:
    """Make a run of one engine from its ranks; some of its queries failed."""
    made = hashed(lab({name: ranks}, repositories=repositories))
    (engine,) = made.engines
    lost = {f"q{number}" for number in failed}
    rankings = tuple(_failed(one) if one.query in lost else one for one in engine.rankings)
    return replace(made, engines=(replace(engine, rankings=rankings),))


def _failed(ranking: Ranking) -> Ranking:
    """Let a query time out."""
    return replace(ranking, status=Status.TIMEOUT, hits=(), error="too late")


def silent(made: Run) -> Run:
    """Let the engines of a run answer every query, and find nothing."""
    engines = (replace(e, rankings=tuple(replace(one, hits=()) for one in e.rankings)) for e in made.engines)
    return replace(made, engines=tuple(engines))
