"""A run for other people's tools: read back hit for hit, and scored by them as by us."""

from dataclasses import replace

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import load_gold, run
from assay.engines.base import EngineContext
from assay.engines.runfile import Docno, make, read_trec
from assay.experiment.records.directory import trec_files
from assay.scoring import score
from assay.trec import TAG, to_column, to_docno
from assay.types import EngineRun, Hit, Ranking, Run, Span, Status, Suite, Target
from tests.properties import examples

texts = st.text(st.characters(exclude_characters="\x00"), max_size=12)
spans = st.tuples(st.integers(1, 99), st.integers(0, 9)).map(lambda it: (it[0], it[0] + it[1]))


@examples(200)
@given(texts, st.none() | spans)
def test_any_place_fits_into_a_column_and_comes_back(path, span):
    hit = Hit(path, *(span or (None, None)))
    rankings, _ = read_trec(f"{to_column(path)} Q0 {to_docno(hit)} 1 0.5 {TAG}engine\n", "run.trec")
    assert rankings == {path: (hit._replace(score=0.5),)}


def lines_engine(query: str, k: int) -> list[Hit]:
    """Several spans of one file, unscored, and a path that looks like a place."""
    first = "shop/tax.py" if "country" in query else "shop/cart.py"
    return [
        Hit("README.md", 1, 2),
        Hit(first, 4, 9),
        Hit(first, 10, 12),
        Hit("no such/file:3-4 %20.py"),
        Hit("shop/retry.py"),
        Hit("shop/receipt.py", 1, 3),
    ]


def scored_engine(query: str, k: int) -> list[Hit]:
    """Scores that fall, and ties in some answers."""
    if "provider" in query:
        return [Hit("shop/retry.py", 1, 3, 0.5), Hit("shop/tax.py", 1, 2, 0.5)]
    return [Hit("shop/tax.py", 3, 5, 9.25), Hit("shop/cart.py", 1, 2, 1e-7)]


def failing(query: str, k: int) -> list[Hit]:
    """Right where it answers."""
    if "country" in query:
        raise OSError("no")
    return [Hit("shop/cart.py")]


@pytest.fixture
def made(shop) -> Run:
    engines = {"lines": lines_engine, "scored": scored_engine, "a b/c": failing}
    return run(engines, load_gold("gold.yaml"))


def test_runfile_reads_the_same_hits_back(made, tmp_path):
    files = trec_files(made)
    for engine, name in zip(made.engines, ("lines", "scored", "a-b-c"), strict=True):
        (file,) = [path for path in files if path.startswith(f"runs/lines/{name}")]
        (tmp_path / "run.trec").write_text(files[file])
        again = run(
            {engine.name: make({"path": "run.trec"}, EngineContext(directory=tmp_path, suite=made.suite))}, made.suite
        )
        for before, after in zip(engine.rankings, again.engines[0].rankings, strict=True):
            assert [hit.span for hit in after.hits] == [hit.span for hit in before.hits]
            assert after.tokens == before.tokens
            assert (after.status is Status.OK) == (before.status is Status.OK)
        kept = replace(made, engines=(engine,))
        for measure in ("nDCG@10", "nDCG(level=lines)@10", "RR@10", "SpanR(iou=0.3)@10", "RecallAtTokens(2000)"):
            assert score(again, [measure]).values.tolist() == score(kept, [measure]).values.tolist()


def test_a_run_and_the_qrels_beside_it_go_together(made, tmp_path):
    """Whoever takes the first two files that he finds gets numbers, from pytrec_eval as from us."""
    import pytrec_eval

    for name, text in trec_files(made).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with open(tmp_path / "qrels" / "shop.qrels") as stream:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(stream), {"ndcg_cut.10"})
    for engine, file in zip(made.engines, ("lines", "scored"), strict=False):
        with open(tmp_path / "runs" / f"{file}.trec") as stream:
            found = evaluator.evaluate(pytrec_eval.parse_run(stream))
        scores = score(replace(made, engines=(engine,)), ["nDCG@10"])
        mine = [float(value) for value in scores.values[0, 0]]
        assert [found[f"{u.gold}/{u.query}/{u.form}"]["ndcg_cut_10"] for u in scores.units] == pytest.approx(mine)
        assert max(mine) > 0


def test_runfile_reads_whole_files_too(made, tmp_path):
    (tmp_path / "run.trec").write_text(trec_files(made)["runs/lines.trec"])
    again = run({"lines": make({"path": "run.trec"}, EngineContext(directory=tmp_path, suite=made.suite))}, made.suite)
    kept = replace(made, engines=made.engines[:1])
    assert score(again, ["nDCG@10"]).values.tolist() == score(kept, ["nDCG@10"]).values.tolist()
    assert all(hit.start is None for ranking in again.engines[0].rankings for hit in ranking.hits)


@pytest.mark.parametrize("ours", ["nDCG@10", "RR@10"])
def test_other_peoples_tools_give_our_values_at_file_level(made, tmp_path, ours):
    files = trec_files(made)
    qrels = list(ir_measures.read_trec_qrels(files["qrels/shop.qrels"]))
    measure = ir_measures.parse_measure(ours)
    for engine, name in zip(made.engines, ("lines", "scored", "a-b-c"), strict=True):
        (file,) = [path for path in files if path.startswith(f"runs/{name}") and path.count("/") == 1]
        found = {it.query_id: it.value for it in measure.iter_calc(qrels, ir_measures.read_trec_run(files[file]))}
        scores = score(replace(made, engines=(engine,)), [ours])
        mine = {
            f"{u.gold}/{u.query}/{u.form}": float(v) for u, v in zip(scores.units, scores.values[0, 0], strict=True)
        }
        assert found == pytest.approx(mine)
        assert max(found.values()) > 0


def test_scores_keep_the_order_even_where_the_engine_gave_none(made):
    files = trec_files(made)
    for name in ("runs/lines/lines.trec", "runs/lines/scored.trec", "runs/lines.trec"):
        by_query: dict[str, list[tuple[int, float]]] = {}
        for line in files[name].splitlines():
            query, _, _, rank, value, _ = line.split()
            by_query.setdefault(query, []).append((int(rank), float(value)))
        for places in by_query.values():
            assert [rank for rank, _ in places] == list(range(1, len(places) + 1))
            values = [value for _, value in places]
            assert all(a > b for a, b in zip(values, values[1:], strict=False))
    assert " 9.25 " in files["runs/lines/scored.trec"]


def test_scores_that_trec_eval_would_round_to_one_are_not_written(made):
    hits = (Hit("a.py", score=1.0 + 1e-9), Hit("z.py", score=1.0))
    ranking = Ranking("shop", "cart-total", "human", hits, (1, 1))
    files = trec_files(replace(made, engines=(EngineRun("mine", (ranking,)),)))
    assert [line.split()[4] for line in files["runs/mine.trec"].splitlines()] == ["2", "1"]


def test_judgements_have_the_grades_of_the_set_and_what_was_judged_irrelevant(made):
    [gold] = made.suite.golds
    judged = replace(
        gold.queries[0],
        targets=(Target(Span("a.py"), 4), Target(Span("b.py"), 1)),
        irrelevant=(Target(Span("c.py"), 0),),
    )
    suite = Suite((replace(gold, queries=(judged, *gold.queries[1:])),))
    lines = trec_files(replace(made, suite=suite))["qrels/shop.qrels"].splitlines()
    own = {line.split(maxsplit=2)[2] for line in lines if line.startswith(f"shop/{judged.id}/human ")}
    assert {"a.py 4", "b.py 1", "c.py 0"} <= own


def test_same_place_twice_is_written_once(made):
    hits = (Hit("shop/tax.py", 1, 2), Hit("shop/tax.py", 1, 2), Hit("shop/cart.py"))
    ranking = Ranking("shop", "cart-total", "human", hits, (1, 1, 1))
    twice = replace(made, engines=(EngineRun("mine", (ranking,)),))
    files = trec_files(twice)
    answers, _ = read_trec(files["runs/lines/mine.trec"], "x")
    assert [hit[:3] for hit in answers["shop/cart-total/human"]] == [
        ("shop/tax.py", 1, 2),
        ("shop/cart.py", None, None),
    ]
    # Only what was asked is judged: other forms would count as missed.
    assert {line.split()[0] for line in files["qrels/shop.qrels"].splitlines()} == {"shop/cart-total/human"}


def test_percent_in_a_run_of_somebody_else_is_a_percent():
    text = "q Q0 a%20b.py 1 2.0 theirs\nq Q0 a%20b.py:3-4 2 1.0 assay:mine\n"
    assert read_trec(text, "x")[0]["q"] == (Docno("a%20b.py", 2.0), Hit("a b.py", 3, 4, 1.0))


def test_engine_that_answered_nothing_has_no_file(made):
    assert not any("lines" in name for name in trec_files(replace(made, engines=(EngineRun("lines", ()),))))
