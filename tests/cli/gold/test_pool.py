"""From runs to labels and back: pool, review, score with and without what engines brought up."""

import json

import pytest

from assay.cli.main import main
from assay.gold import load_gold
from assay.gold.anchors import content_digest
from assay.gold.review.items import ReviewQueue
from tests.conftest import SHOP, copy_finished, finish


def call(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def called(capsys, *arguments):
    code, out, err = call(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


ENGINES = """\
def mine(text, k):
    return ["shop/cart.py", "shop/receipt.py", "shop/tax.py", "shop/retry.py"]


def yours(text, k):
    return ["shop/tax.py", "shop/__init__.py"]
"""


RUN = ["run", "--gold", "gold.yaml", "--no-references", "--quiet", "--baseline=yours"]
RUN += [f"--engine={name}=python:pooled_engines:{name}" for name in ("mine", "yours")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    base = tmp_path_factory.mktemp("pooled")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(base / "repo"))
        return finish(base, SHOP | {"pooled_engines.py": ENGINES}, *RUN)


@pytest.fixture
def ran(finished, tmp_path, monkeypatch):
    """A copy of a finished run of two engines."""
    monkeypatch.syspath_prepend(str(tmp_path / "repo"))
    return copy_finished(finished, tmp_path, monkeypatch)


def test_pooling_lists_what_nobody_judged(ran, capsys):
    found = called(capsys, "gold", "pool", "gold.yaml", "results")
    places = {(one["query"], one["span"]) for one in found["candidates"]}
    assert ("tax-lookup", "shop/cart.py") in places
    assert ("cart-total", "shop/cart.py") not in places
    assert {bounds["engine"] for bounds in found["bounds"]} == {"mine", "yours"}
    assert set(found["contest"]["verdicts"]) == {"now", "least", "most"}
    assert found["queued"] is None
    code, out, _ = call(capsys, "gold", "pool", "gold.yaml", "results", "--limit", "1")
    assert code == 0
    assert "Results to judge first" in out
    assert "mine against yours" in out


def test_pooled_labels_can_be_left_out_of_the_scores(ran, capsys):
    queued = called(capsys, "gold", "pool", "gold.yaml", "results", "--queue")["queued"]
    assert queued["new"] > 0
    assert called(capsys, "gold", "pool", "gold.yaml", "results", "--queue")["queued"]["new"] == 0
    items = {(i.query.id, i.target.anchor): i for i in ReviewQueue(ran / "gold.yaml").items()}
    chosen = items["tax-lookup", "shop/cart.py"]
    wrong = items["retry-wait", "shop/cart.py"]
    assert chosen.origin.shown_by == ("mine",)
    for name in ("ada", "bob"):
        votes = [f"--vote={chosen.id}=2", f"--vote={wrong.id}=0"]
        assert call(capsys, "gold", "review", "gold.yaml", "--reviewer", name, *votes, "--reason", "x")[0] == 0
    assert called(capsys, "gold", "review", "gold.yaml", "--accept")["added"] == 1
    again = called(capsys, "gold", "pool", "gold.yaml", "results")
    left = {(one["query"], one["span"]) for one in again["candidates"]}
    assert not left & {("tax-lookup", "shop/cart.py"), ("retry-wait", "shop/cart.py")}
    call(capsys, *RUN)
    scored = called(capsys, "score", "results", "--exclude-pooled")
    without = scored["without_pooled"]
    assert (without["labels"], without["queries"], without["engines"]) == (1, [], ["mine"])

    def mean(results, engine):
        return next(
            m["mean"] for m in results["comparison"]["means"] if (m["engine"], m["measure"]) == (engine, "nDCG@10")
        )

    assert mean(scored, "mine") > mean(without["results"], "mine")
    code, out, _ = call(capsys, "score", "results", "--exclude-pooled")
    assert code == 0
    assert "Excluding 1 label pooled from results of mine: 3 queries." in out
    assert (
        out.index("Without pooled labels")
        < out.index("With all labels\n")
        < out.index("nDCG@10", out.index("With all labels\n"))
    )


def test_scores_of_a_run_without_pooled_labels_say_so(ran, capsys):
    code, out, _ = call(capsys, "score", "results", "--exclude-pooled")
    assert code == 0
    assert "This run has no pooled labels" in out


def test_two_runs_are_pooled_together_and_a_changed_question_is_left_out(ran, capsys):
    engines = ["--engine", "third=python:pooled_engines:mine"]
    call(
        capsys,
        "run",
        "--gold",
        "gold.yaml",
        "--no-references",
        "--quiet",
        "--out",
        "more",
        "--baseline=third",
        *engines,
    )
    text = (ran / "gold.yaml").read_text()
    (ran / "gold.yaml").write_text(text.replace("which percentage is charged", "which share is charged"))
    code, out, err = call(capsys, "gold", "pool", "gold.yaml", "results", "more", "--json")
    assert code == 0
    assert "1 query of the runs left out: removed from gold.yaml or changed there" in err
    found = json.loads(out)
    assert [bounds["engine"] for bounds in found["bounds"]] == ["mine", "yours", "third"]
    assert {one["query"] for one in found["candidates"]} <= {"cart-total", "retry-wait"}


def test_a_score_says_that_the_set_changed_since_the_run(ran, capsys):
    assert "changed since this run" not in call(capsys, "score", "results")[2]
    text = (ran / "gold.yaml").read_text()
    (ran / "gold.yaml").write_text(text.replace("which percentage is charged", "which share is charged"))
    code, out, err = call(capsys, "score", "results", "--json", "--quiet")
    assert code == 0
    assert "gold.yaml: 1 query changed since this run; run `assay run` again" in err
    assert list(json.loads(out)["gold_changed"].values()) == [1]
    (ran / "gold.yaml").write_text(
        text + "  - {id: new, retrieval: {primary: [shop/receipt.py]}, cognitive: {human: who prints?}}\n"
    )
    assert "1 query changed since this run; run `assay run` again" in call(capsys, "score", "results")[2]
    (ran / "gold.yaml").write_text("- half a file")
    assert call(capsys, "score", "results")[0] == 0
    (ran / "gold.yaml").unlink()
    assert "changed since this run" not in call(capsys, "score", "results")[2]


LINES = """\
from assay.types import Hit


def mine(text, k):
    return [Hit("shop/tax.py", 11, 13), Hit("shop/cart.py", 1, 4)]
"""


def test_pooled_lines_carry_what_they_say(shop, capsys, monkeypatch):
    (shop / "pooled_lines.py").write_text(LINES)
    monkeypatch.syspath_prepend(str(shop))
    engine = ["--engine=mine=python:pooled_lines:mine", "--baseline=mine"]
    assert call(capsys, "run", "--gold", "gold.yaml", "--no-references", "--quiet", *engine)[0] == 0
    flags = ["gold", "pool", "gold.yaml", "results", "--measure", "nDCG(level=lines)@10", "--queue"]
    tax = (shop / "shop" / "tax.py").read_text()
    (shop / "shop" / "tax.py").write_text(f"# changed after the run\n{tax}")
    assert called(capsys, *flags)["queued"]["new"] > 0
    digests = {(i.target.span.path, i.target.digest) for i in ReviewQueue(shop / "gold.yaml").items()}
    said = (shop / "shop" / "cart.py").read_text().split("\n")[:4]
    assert ("shop/cart.py", content_digest(said)) in digests
    assert ("shop/tax.py", None) in digests


def test_a_pooled_label_is_accepted_with_its_digest_and_left_out_after_its_lines_moved(shop, capsys, monkeypatch):
    (shop / "pooled_lines.py").write_text(LINES)
    monkeypatch.syspath_prepend(str(shop))
    run = ["run", "--gold=gold.yaml", "--no-references", "--quiet", "--engine=mine=python:pooled_lines:mine"]
    assert call(capsys, *run, "--baseline=mine")[0] == 0
    called(capsys, "gold", "pool", "gold.yaml", "results", "--measure", "nDCG(level=lines)@10", "--queue")
    items = {(i.query.id, i.target.span.path): i for i in ReviewQueue(shop / "gold.yaml").items()}
    chosen = items["tax-lookup", "shop/tax.py"]
    for name in ("ada", "bob"):
        call(capsys, "gold", "review", "gold.yaml", "--reviewer", name, f"--vote={chosen.id}=1", "--reason", "x")
    assert called(capsys, "gold", "review", "gold.yaml", "--accept")["added"] == 1
    assert f"shop/tax.py:11-13#{chosen.target.digest}" in (shop / "gold.yaml").read_text()
    tax = (shop / "shop" / "tax.py").read_text()
    (shop / "shop" / "tax.py").write_text(f"# one line more\n{tax}")
    assert call(capsys, *run, "--baseline=mine")[0] == 0
    assert called(capsys, "score", "results", "--exclude-pooled")["without_pooled"]["labels"] == 1


def test_sealed_queries_are_not_pooled(ran, capsys):
    text = (ran / "gold.yaml").read_text()
    (ran / "gold.yaml").write_text(text.replace("tags: {", "tags: {split: sealed, ", 1))
    code, _, err = call(capsys, "gold", "pool", "gold.yaml", "results")
    assert code == 2
    assert "pooling would access 1 sealed query" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.yaml", "results"], "no such file"),
        (["gold.yaml", "nowhere"], "no such directory"),
        (["gold.yaml", "results", "--depth", "0"], "--depth: expected 1 or more"),
        (["gold.yaml", "results", "--limit", "0"], "--limit: expected 1 or more"),
        (["gold.yaml", "results", "--measure", "nDCG"], "needs a cutoff"),
        (["gold.yaml", "results", "--measure", "Worst(nDCG@10)"], "several phrasings"),
    ],
)
def test_wrong_input_is_told(ran, capsys, arguments, message):
    code, _, err = call(capsys, "gold", "pool", *arguments)
    assert code == 2
    assert message in err


def test_a_run_of_another_set_is_told(ran, capsys):
    text = (ran / "gold.yaml").read_text()
    (ran / "other.yaml").write_text(text.replace("name: shop", "name: other"))
    code, _, err = call(capsys, "gold", "pool", "other.yaml", "results")
    assert code == 2
    assert "the runs used another set" in err
    assert len(load_gold("other.yaml").golds) == 1
