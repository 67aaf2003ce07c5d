"""`assay score RUN... --qrels FILE`: TREC runs and judgments without a corpus."""

import json
import random

import ir_measures
import pytest

from assay.cli.main import main
from tests.conftest import enter


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Judgments with grades 0 to 3, and three runs with ties, unsorted lines and missing queries."""
    (tmp_path / "repo").mkdir()
    folder = enter(tmp_path, monkeypatch)
    rng = random.Random(7)
    documents = [f"D{number}" for number in range(60)]
    judged = {f"q{n}": {doc: rng.randint(0, 3) for doc in rng.sample(documents, 6)} | {"D0": 1} for n in range(40)}
    lines = [f"{query} 0 {doc} {grade}\n" for query, grades in judged.items() for doc, grade in grades.items()]
    (folder / "j.qrels").write_text("".join(lines))
    for name, missing in (("a", 0), ("b", 3), ("c", 0)):
        rows = [
            f"{query} Q0 {doc} {rank} {rng.randint(1, 12)} tag\n"
            for query in [*judged][missing:]
            for rank, doc in enumerate(rng.sample(documents, 25), 1)
        ]
        rng.shuffle(rows)
        (folder / f"{name}.trec").write_text("".join(rows))
    return folder


def score(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["score", *arguments, "--qrels", "j.qrels"])
    return code, *capsys.readouterr()


def test_scores_equal_those_of_ir_measures(files, capsys):
    measures = ("nDCG@10", "P@10", "AP@25", "R@25")  # RR breaks ties by line in ir_measures
    chosen = [word for measure in measures for word in ("--measure", measure)]
    code, out, err = score(capsys, "a.trec", "b.trec", "c.trec", "--json", *chosen)
    assert code == 0
    assert "b.trec: no results for 3 of 40 judged queries" in err
    found = json.loads(out)["scores"]
    theirs = [ir_measures.parse_measure(name) for name in measures]
    for name in "abc":
        run = ir_measures.read_trec_run(str(files / f"{name}.trec"))
        means = ir_measures.calc_aggregate(theirs, ir_measures.read_trec_qrels(str(files / "j.qrels")), run)
        for measure in theirs:
            assert found[name][str(measure)] == pytest.approx(means[measure], abs=1e-12)


def test_the_first_of_two_files_is_the_baseline_and_the_card_is_last(files, capsys):
    code, out, _ = score(capsys, "c.trec", "a.trec")
    assert code == 0
    decision = json.loads(score(capsys, "c.trec", "a.trec", "--json")[1])["decision"]
    assert (decision["baseline"]["name"], decision["candidate"]["name"]) == ("c", "a")
    assert len(out.splitlines()) <= 15
    assert "40 queries" in out


def test_one_file_has_means_and_no_comparison(files, capsys):
    code, out, _ = score(capsys, "a.trec", "--measure", "P@5")
    assert code == 0
    assert "P@5" in out
    assert "No second engine to compare with" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 Q0 D1 1 0.5\n", "bad.trec:1: expected 6 columns, got 5"),
        ("q1 Q0 D1 1 0.5 t\nq1 Q0 D2 2 high t\n", "bad.trec:2: expected an integer rank and a numeric score"),
        ("q1 Q0 D1 1 nan t\n", "bad.trec:1: expected a finite score, got nan"),
        ("q1 Q0 D1 1 2 t\n\nq1 Q0 D1 2 1 t\n", "bad.trec:3: duplicate result D1 for q1, first on line 1"),
        ("other Q0 D1 1 2 t\n", "no query of bad.trec has a relevant document"),
    ],
)
def test_bad_run_files_are_refused(files, capsys, text, message):
    (files / "bad.trec").write_text(text)
    code, out, err = score(capsys, "a.trec", "bad.trec")
    assert (code, out) == (2, "")
    assert message in err
    assert "hint:" in err


def test_arguments_that_do_not_fit_are_refused(files, capsys):
    assert score(capsys)[0] == 2
    assert "duplicate run file name" in score(capsys, "a.trec", "a.trec")[2]
    assert "--write cannot be used with --qrels" in score(capsys, "a.trec", "--write")[2]
    assert main(["score", "a.trec", "b.trec"]) == 2
    assert "--qrels" in capsys.readouterr().err
