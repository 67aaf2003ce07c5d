"""Replay the test suites of trec_eval, ir_measures, pytrec_eval and ranx through Assay and compare every number.

    python -m benchmarks.agreement CHECKOUTS

CHECKOUTS is a folder with the sources of the peers as git has them: `trec_eval/` (usnistgov), `ir_measures/`
(terrierteam), `pytrec_eval/` (cvangysel, with its submodule trec_eval) and `ranx/` (AmenRa). The packages ir_measures,
pytrec_eval-terrier, ranx and pytest come from PyPI. Suites that are not there are left out.

The functions of the peers are wrapped while their suites run: whatever qrels and run they are given goes through
Assay's TREC reader, its `runfile` engine and `assay.score`, and values of measures that both define must agree to 1e-9.
Differences that docs/how-we-know/measures.md explains are counted under the reason; any other ends with exit code 1.
"""

# ruff: noqa: ANN401  # what the peers take and return has no types
from __future__ import annotations

import math
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from assay.engines import make_engine
from assay.engines.calls import query_session
from assay.errors import GoldError
from assay.gold import load_gold, resolve
from assay.measures import AP, RR, Hit, Judged, P, R, nDCG
from assay.scoring import Measure, score
from assay.types import Corpus, CorpusSpec, EngineRun, GoldSet, Ranking, Run, SourceFile, Suite

Qrels = Mapping[str, Mapping[str, int]]
Scored = Mapping[str, Mapping[str, float]]
HERE = CorpusSpec("path", ".")
LEAST = 1e-9  # the agreement that is asked for
PRINTED = 5e-5  # of trec_eval's recorded outputs, which have four decimals

NO_RELEVANT = "no relevant document: left out by Assay, scored by the peer"
GRADE_ABSENT = "no document of the grade: not applicable in Assay, 0 in the peer"
ASCENDING = "ties: ir_measures orders RR@k and Judged@k by docno, ascending"
GDEVAL = "gdeval, a provider of ir_measures, has exponential gains and five decimals"
SINGLE = "ties: trec_eval rounds scores to single precision"
REPEATED = "ranx counts a document that is judged twice as two"


@dataclass
class Tally:
    """What one suite showed."""

    agree: int = 0
    worst: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)
    differ: list[str] = field(default_factory=list)


TALLIES: dict[str, Tally] = defaultdict(Tally)


def assay_values(qrels: Qrels, run: Scored, measures: list[Measure]) -> dict[str, list[float]]:
    """Score a run with Assay, by files as other tools write them; queries that Assay leaves out are missing."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [f"{q} 0 {d} {grade}" for q, judged in qrels.items() for d, grade in judged.items()]
        Path(folder, "set.qrels").write_text("\n".join(lines) + "\n", "utf-8")
        Path(folder, "set.topics").write_text("".join(f"{q}\tquery {q}\n" for q in qrels), "utf-8")
        Path(folder, "run.trec").write_text(
            "".join(f"{q} Q0 {d} 0 {float(s)!r} peer\n" for q, found in run.items() for d, s in found.items()), "utf-8"
        )
        try:
            [gold] = load_gold(Path(folder, "set.qrels"), corpus=HERE).golds
        except GoldError as error:
            if "no topic has a relevant document" in error.message:
                return {}
            raise
        ids = {d for judged in qrels.values() for d in judged} | {d for found in run.values() for d in found}
        corpus = Corpus(Path(folder), HERE, tuple(SourceFile(d, 1, "other") for d in sorted(ids)), "")
        gold = resolve(gold, corpus).gold
        depth = max([1, *(m.depth for m in measures)])
        made = _run(gold, corpus, Path(folder, "run.trec"), depth)
    values = score(made, measures).values[0]
    return {query.id: values[:, at].tolist() for at, query in enumerate(gold.queries)}


def _run(gold: GoldSet, corpus: Corpus, path: Path, k: int) -> Run:
    suite = Suite((gold,))
    if not path.stat().st_size:
        return Run(suite, k, (EngineRun("peer", ()),))
    session = make_engine(f"runfile:{path}", suite=suite).open(corpus)
    rankings = []
    for query in gold.queries:
        answer = query_session(session, query.headline, k)
        rankings.append(Ranking(gold.name, query.id, "human", answer.hits, (0,) * len(answer.hits), answer.status))
    return Run(suite, k, (EngineRun("peer", tuple(rankings)),))


def check(suite: str, qrels: Qrels, run: Scored, pairs: Mapping[str, Measure], theirs: Mapping[str, Mapping[str, Any]],
          explain: Callable[[str, str, Qrels, Scored], str | None], tolerance: float = LEAST) -> None:  # fmt: skip
    """Compare one call of a peer: `pairs` are its measures as Assay has them, `theirs` its values by query."""
    named = {q: {d: int(g) for d, g in judged.items()} for q, judged in qrels.items() if judged}
    if not pairs or not named:
        return
    measures = list(dict.fromkeys(pairs.values()))
    ours = assay_values(named, run, measures)
    tally = TALLIES[suite]
    for query, values in theirs.items():
        for name, value in values.items():
            if name not in pairs or query not in named:
                continue
            relevant = any(grade > 0 for grade in named[query].values())
            found = ours[query][measures.index(pairs[name])] if relevant else None
            _count(tally, f"{name} of {query}", found, float(value), tolerance, explain(name, query, named, run))


def _count(tally: Tally, what: str, ours: float | None, theirs: float, tolerance: float, reason: str | None) -> None:
    if ours is None:
        tally.reasons[NO_RELEVANT] += 1
    elif math.isnan(ours) and (theirs == 0 or math.isnan(theirs)):
        tally.reasons[GRADE_ABSENT] += 1
    elif abs(ours - theirs) <= tolerance:
        tally.agree += 1
        tally.worst = max(tally.worst, abs(ours - theirs))
    elif reason:
        tally.reasons[reason] += 1
    else:
        tally.differ.append(f"{what}: Assay {ours!r}, peer {theirs!r}")


def tied(run: Mapping[str, float], as_read: type = np.float64) -> bool:
    """Return whether a ranking has equal scores, in some precision."""
    return len({as_read(s) for s in run.values()}) < len(run)


_TREC = {
    "ndcg_cut": nDCG, "map_cut": AP, "P": P, "recall": R, "success": Hit,
}  # fmt: skip
_UNCUT = {"ndcg": nDCG, "map": AP, "recip_rank": RR}


def trec_pairs(names: Iterable[str], depth: int, level: int) -> dict[str, Measure]:
    """Return trec_eval's measures that Assay has, by their names."""
    pairs: dict[str, Measure] = {}
    for name in names:
        stem, _, cut = name.rpartition("_")
        if name in _UNCUT:
            pairs[name] = _leveled(_UNCUT[name], level) @ depth
        elif stem in _TREC and cut.isdecimal():
            pairs[name] = _leveled(_TREC[stem], level) @ int(cut)
    return pairs


def _leveled(measure: Measure, level: int) -> Measure:
    return measure if level == 1 or measure.name == "nDCG" else measure(grade=level)


def depth_of(qrels: Qrels, run: Scored) -> int:
    """Return a cut-off that cuts nothing."""
    return max([1, *(len(v) for v in run.values()), *(len(v) for v in qrels.values())])


def _explain_trec(_name: str, query: str, _qrels: Qrels, run: Scored) -> str | None:
    ranked = run.get(query, {})
    return SINGLE if tied(ranked, np.float32) and not tied(ranked) else None


def wrap_pytrec_eval(suite: Callable[[], str]) -> None:
    """Compare whatever pytrec_eval evaluates."""
    peer: Any = import_module("pytrec_eval")

    class Evaluator(peer.RelevanceEvaluator):  # type: ignore[misc]
        def __init__(self, query_relevance: Any, measures: Any, relevance_level: int = 1, **more: Any) -> None:
            super().__init__(query_relevance, measures, relevance_level, **more)
            self.judged, self.level, self.plain = (
                query_relevance,
                relevance_level,
                not more.get("judged_docs_only_flag"),
            )

        def evaluate(self, scores: Any) -> Any:
            found = super().evaluate(scores)
            if self.plain and "ir_measures" not in suite():  # whose providers are wrapped themselves
                names = sorted({name for values in found.values() for name in values})
                pairs = trec_pairs(names, depth_of(self.judged, scores), self.level)
                check(suite(), self.judged, scores, pairs, found, _explain_trec)
            return found

    peer.RelevanceEvaluator = Evaluator


def replay_trec_eval(folder: Path) -> None:
    """Score trec_eval's own files: with its C code, and against its recorded outputs, which have four decimals."""
    peer: Any = import_module("pytrec_eval")
    tests = folder / "test"
    cases = [("qrels.test", "results.test", "out.test.aq", 1), ("qrels.rel_level", "results.test", "out.test.aql", 2),
             ("qrels.123", "results.test", "", 1), ("qrels-302.test", "results-302.test", "", 1),
             ("qrels.test", "results.trunc", "out.test.aqc", 1)]  # fmt: skip
    for qrels_file, run_file, recorded, level in cases:
        qrels, run = read_qrels(tests / qrels_file), read_run(tests / run_file)
        evaluator = peer.RelevanceEvaluator(qrels, peer.supported_measures, relevance_level=level)
        evaluator.evaluate(run)
        if recorded:
            rows = [line.split() for line in (tests / recorded).read_text("utf-8").splitlines()]
            out: dict[str, dict[str, float]] = defaultdict(dict)
            for name, query, value in rows:
                if query != "all" and re.fullmatch(r"-?[0-9.]+", value):
                    out[query][name] = float(value)
            names = sorted({name for values in out.values() for name in values})
            pairs = trec_pairs(names, depth_of(qrels, run), level)
            check("trec_eval, recorded outputs", qrels, run, pairs, out, _explain_trec, PRINTED)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read judgments without Assay; the last column of qrels.123 may be a group, as in trec_eval's -R qrels_jg."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text("utf-8").splitlines():
        query, _, document, relevance = line.split()
        found[query].setdefault(document, int(relevance))
    return dict(found)


def read_run(path: Path) -> dict[str, dict[str, float]]:
    """Read a TREC run without Assay."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line in path.read_text("utf-8").splitlines():
        query, _, document, _, sim, *_ = line.split()  # trec_eval ignores what follows
        found[query][document] = float(sim)
    return dict(found)


_IR = {"nDCG": nDCG, "RR": RR, "P": P, "R": R, "AP": AP, "Success": Hit, "Judged": Judged}


def ir_pair(measure: Any, depth: int) -> Measure | None:
    """Return a measure of ir_measures as Assay has it, or None."""
    params = dict(measure.params)
    ours = _IR.get(measure.NAME)
    uncut = measure.NAME in ("nDCG", "RR", "AP", "Judged")
    if ours is None or params.get("judged_only") or params.get("gains") or params.get("dcg", "log2") != "log2":
        return None
    if "cutoff" not in params and not uncut:
        return None
    rel = params.get("rel", 1)
    if not isinstance(rel, int) or rel < 1:
        return None
    return (ours if rel == 1 or ours in (nDCG, Judged) else ours(grade=rel)) @ int(params.get("cutoff", depth))


def wrap_ir_measures(suite: Callable[[], str]) -> None:
    """Compare whatever a provider of ir_measures computes."""
    provider: Any = import_module("ir_measures.providers").Provider
    util: Any = import_module("ir_measures.util")
    calc = provider.iter_calc

    def iter_calc(self: Any, measures: Any, qrels: Any, run: Any) -> Iterator[Any]:
        if "doc_id" not in getattr(qrels, "columns", ["doc_id"]):  # one test has answers instead of documents
            return calc(self, measures, qrels, run)  # type: ignore[no-any-return]
        judged = list(util.QrelsConverter(qrels).as_namedtuple_iter())
        ranked = list(util.RunConverter(run).as_namedtuple_iter())
        found = list(calc(self, measures, judged, ranked))
        if judged:
            _check_ir(suite(), judged, ranked, found, GDEVAL if getattr(self, "NAME", "") == "gdeval" else None)
        return iter(found)

    provider.iter_calc = iter_calc
    peer: Any = import_module("ir_measures")
    peer.iter_calc = peer.DefaultPipeline.iter_calc


def _check_ir(suite: str, judged: list[Any], ranked: list[Any], found: list[Any], reason: str | None) -> None:
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for one in judged:
        qrels[one.query_id][one.doc_id] = one.relevance
    run: dict[str, dict[str, float]] = defaultdict(dict)
    for hit in ranked:
        run[hit.query_id][hit.doc_id] = hit.score
    by_name = {str(one.measure): one.measure for one in found}
    pairs = {n: p for n, m in by_name.items() if (p := ir_pair(m, depth_of(qrels, run))) is not None}
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for one in found:
        values[one.query_id][str(one.measure)] = one.value
    check(suite, qrels, run, pairs, values, lambda *call: reason or _explain_ir(*call))


def _explain_ir(name: str, query: str, _qrels: Qrels, run: Scored) -> str | None:
    ranked = run.get(query, {})
    if tied(ranked) and name.startswith(("RR", "Judged")):
        return ASCENDING
    return SINGLE if tied(ranked, np.float32) and not tied(ranked) else None


_RANX = {"ndcg": nDCG, "reciprocal_rank": RR, "precision": P, "recall": R, "average_precision": AP, "hit_rate": Hit}


def wrap_ranx(suite: Callable[[], str]) -> None:
    """Compare whatever the metrics of ranx are called with: arrays of documents and grades, best first."""
    metrics: Any = import_module("ranx.metrics")
    for name, ours in _RANX.items():
        setattr(metrics, name, _wrapped(name, getattr(metrics, name), ours, suite))


def _wrapped(name: str, metric: Any, ours: Measure, suite: Callable[[], str]) -> Any:
    def called(qrels: Any, run: Any, k: int = 0, rel_lvl: int = 1) -> Any:
        found = metric(qrels, run, k, rel_lvl)
        judged = {f"q{n}": {f"d{int(d)}": int(g) for d, g in rows} for n, rows in enumerate(qrels)}
        # The order of the rows is the ranking: scores that descend say so in a run file.
        ranked = {f"q{n}": {f"d{int(row[0])}": -float(at) for at, row in enumerate(rows)} for n, rows in enumerate(run)}
        repeated = [f"q{n}" for n, rows in enumerate(qrels) if len({int(d) for d, _ in rows}) < len(rows)]
        leveled = ours if rel_lvl <= 1 or ours is nDCG else ours(grade=rel_lvl)
        depth = depth_of(judged, ranked)
        values = {f"q{n}": {name: float(value)} for n, value in enumerate(np.atleast_1d(found))}

        def explain(_name: str, query: str, _qrels: Qrels, _run: Scored) -> str | None:
            return REPEATED if query in repeated else None

        if "ir_measures" not in suite():
            check(suite(), judged, ranked, {name: leveled @ (k or depth)}, values, explain)
        return found

    return called


def replay(folder: Path) -> None:
    """Run the suites that are there with every peer wrapped."""
    import pytest

    current = ["?"]
    wrap_pytrec_eval(lambda: current[0])
    wrap_ir_measures(lambda: current[0])
    wrap_ranx(lambda: current[0])
    if (folder / "trec_eval/test").is_dir():
        current[0] = "trec_eval, its C code"
        replay_trec_eval(folder / "trec_eval")
    suites = {
        "pytrec_eval": "pytrec_eval/tests/pytrec_eval_tests.py",
        "ir_measures": "ir_measures/tests",
        "ranx": "ranx/tests/unit/ranx/metrics_test.py",
        "ranx, evaluate": "ranx/tests/unit/ranx/meta/evaluate_test.py",
    }
    for name, place in suites.items():
        if (folder / place).exists():
            current[0] = name
            options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "filterwarnings=", "--tb=line"]
            pytest.main([str(folder / place), "--rootdir", str(folder / place.partition("/")[0]), *options])
    replay_drawn(current)


def replay_drawn(suite: list[str], queries: int = 300) -> None:
    """Score drawn rankings with every peer: grades 0 to 4, equal scores, lists shorter than the cut-off."""
    rng = np.random.default_rng(0)
    names = [f"D{number}" for number in range(60)]
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for number in range(queries):
        judged = rng.choice(names, rng.integers(1, 40), replace=False)
        found = rng.choice(names, rng.integers(1, 40), replace=False)
        qrels[f"q{number}"] = {str(name): int(rng.integers(0, 5)) for name in judged}
        run[f"q{number}"] = {str(name): float(rng.integers(0, 60)) / 4 for name in found}
    cuts = (1, 3, 5, 10, 30)
    suite[0] = "drawn, pytrec_eval"
    trec: Any = import_module("pytrec_eval")
    for level in (1, 2, 3):
        trec.RelevanceEvaluator(qrels, trec.supported_measures, relevance_level=level).evaluate(run)
    suite[0] = "drawn, ir_measures"
    ir: Any = import_module("ir_measures")
    cut = [measure(rel=rel) @ k for measure in (ir.RR, ir.AP, ir.P, ir.R, ir.Success) for rel in (1, 3) for k in cuts]
    list(ir.iter_calc([*cut, *(m @ k for m in (ir.nDCG, ir.Judged) for k in cuts)], qrels, run))
    suite[0] = "drawn, ranx"
    ranx: Any = import_module("ranx")
    metrics = [f"{name}@{k}" for name in ("ndcg", "mrr", "map", "precision", "recall", "hit_rate") for k in cuts]
    ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), metrics)


def report(folder: str) -> int:
    """Print a table, and every difference that has no reason."""
    replay(Path(folder))
    print("\n| suite | values that agree | largest difference | differences with a reason | others |")
    print("|---|--:|--:|--:|--:|")
    for name, tally in TALLIES.items():
        print(f"| {name} | {tally.agree:,} | {tally.worst:.0e} | {tally.reasons.total()} | {len(tally.differ)} |")
    for name, tally in TALLIES.items():
        for reason, count in tally.reasons.most_common():
            print(f"{name}: {reason}: {count}")
        for line in tally.differ[:40]:
            print(f"{name}: DIFFERS {line}")
    return 1 if any(tally.differ for tally in TALLIES.values()) else 0


if __name__ == "__main__":
    sys.exit(report(*sys.argv[1:]))
