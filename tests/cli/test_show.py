"""`assay show`: one query, two rankings, on any terminal."""

import csv
import json
import re
import shutil
from dataclasses import replace

import pytest

from assay.cli.main import main
from assay.experiment import read_run, write_run
from assay.report.render.document import to_markdown
from assay.report.show import ShownEngine, show_document, show_query
from assay.types import AnalysisPlan, Hit, Span, Suite, Target
from tests.conftest import FILES, write_tree
from tests.report.labs import lab

GOLD = """\
assay: 1
name: %s
corpus: {path: %s}
queries:
  - id: total
    retrieval: {primary: ["shop/cart.py::Cart.total"], secondary: ["shop/receipt.py"]}
    cognitive: {human: how is the total of all items computed?, keyword: cart total sum}
    interference:
      - {target: tests/test_cart.py, relationship: test, strength: strong, confusion: checks the total}
    tags: {split: %s}
  - id: rate
    retrieval: {primary: ["shop/tax.py::tax_rate"]}
    cognitive: {human: which percentage is charged for a country?}
"""


def call(capsys, *arguments):
    code = main(["show", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def as_json(capsys, *arguments):
    code, out, err = call(capsys, *arguments, "--json", "--quiet")
    assert code == 0, err
    return json.loads(out)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A repository with a run in it, made once."""
    root = write_tree(tmp_path_factory.mktemp("made"), FILES | {"shop.yaml": GOLD % ("shop", ".", "dev")})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("ASSAY_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        assert main(["run", "--gold", "shop.yaml", "--level", "file", "--quiet"]) == 0
    return root


@pytest.fixture
def results(made, shop):
    """The same, to be changed."""
    shutil.copytree(made, shop, dirs_exist_ok=True)
    return shop


def test_query_is_shown_with_both_rankings_marked(results, capsys):
    code, out, err = call(capsys, "results", "total")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[:2] == ["shop/total (human)", "how is the total of all items computed?"]
    assert re.search(r"shop/cart.py::Cart.total +grade 2 +\d +\d", out)
    assert re.search(r"shop/receipt.py +grade 1", out)
    assert re.search(r"tests/test_cart.py +adversary: test, strong +\d", out)
    assert re.search(r"keywords +│ builtin", out)
    assert re.search(r"✓2 shop/cart.py", out)
    assert re.search(r"✓1 shop/receipt.py", out)
    assert re.search(r"✗ +tests/test_cart.py", out)
    assert re.search(r"nDCG@10 +\d\.\d{3} +\d\.\d{3} +(=|[+-]\d\.\d{3})", out)
    assert "Other phrasings: keyword (--form)." in out


def test_json_has_what_the_records_and_the_scores_say(results, capsys):
    data = as_json(capsys, "total")
    assert (data["schema"], data["gold"], data["query"], data["form"]) == ("assay/show/1", "shop", "total", "human")
    assert [side["name"] for side in data["sides"]] == ["keywords", "builtin"]
    run = read_run(results / "results")
    for side in data["sides"]:
        engine = next(engine for engine in run.engines if engine.name == side["name"])
        ranking = next(r for r in engine.rankings if (r.query, r.form) == ("total", "human"))
        assert [hit["path"] for hit in side["hits"]] == [hit.path for hit in ranking.hits]
        marked = {hit["path"]: (hit["target"], hit["adversary"]) for hit in side["hits"]}
        assert marked["shop/cart.py"] == (0, None)
        assert marked["tests/test_cart.py"] == (None, 0)
    with open(results / "results/per-query.csv", encoding="utf-8") as file:
        scores = {r["engine"]: r for r in csv.DictReader(file) if (r["query"], r["form"]) == ("total", "human")}
    for side in data["sides"]:
        for measure, value in side["values"].items():
            assert value == pytest.approx(float(scores[side["name"]][measure])), measure


def test_places_know_where_they_stood_in_the_other_ranking(results, capsys):
    first, second = as_json(capsys, "total", "--engines", "builtin", "random")["sides"]
    there = [hit["path"] for hit in first["hits"]]
    for hit in second["hits"]:
        assert hit["other"] == (there.index(hit["path"]) + 1 if hit["path"] in there else None)
    assert any(hit["other"] != hit["rank"] for hit in second["hits"])


def test_ranks_of_the_listings_are_those_of_the_answers(results, capsys):
    run = read_run(results / "results")
    hits = {
        "keywords": (Hit("shop/tax.py", 1, 2), Hit("shop/cart.py", 1, 2), Hit("shop/cart.py", 3, 4)),
        "builtin": (
            Hit("shop/tax.py", 1, 2),
            Hit("shop/tax.py", 3, 4),
            Hit("shop/retry.py"),
            Hit("shop/cart.py", 3, 4),
        ),
    }
    engines = tuple(
        replace(e, rankings=tuple(replace(r, hits=hits[e.name], tokens=(1,) * len(hits[e.name])) for r in e.rankings))
        for e in run.engines
        if e.name in hits
    )
    write_run(replace(run, engines=engines), results / "other")
    _, out, _ = call(capsys, "other", "total", "--engines", "keywords", "builtin")
    assert re.search(r"shop/cart.py::Cart.total +grade 2 +2 +3\n", out)
    assert re.search(r" 3 ✓2\S* shop/cart.py:3-4 +↓1\n", out)
    assert re.search(r"│ +=  +shop/tax.py:3-4\n", out)
    _, builtin = as_json(capsys, "other", "total", "--engines", "keywords", "builtin")["sides"]
    assert [(hit["rank"], hit["distinct"], hit["other"]) for hit in builtin["hits"]] == [
        (1, 1, 1),
        (2, None, None),
        (3, 2, None),
        (4, 3, 2),
    ]


def test_right_file_is_told_from_right_lines(results, capsys):
    run = read_run(results / "results")
    first = {"builtin": Hit("shop/cart.py", 1, 2), "keywords": Hit("shop/cart.py")}
    engines = tuple(
        replace(e, rankings=tuple(replace(r, hits=(first[e.name],), tokens=(1,)) for r in e.rankings))
        for e in run.engines
        if e.name in first
    )
    write_run(replace(run, engines=engines), results / "other")
    keywords, builtin = as_json(capsys, "other", "total", "--engines", "keywords", "builtin")["sides"]
    assert [side["hits"][0]["target"] for side in (keywords, builtin)] == [0, 0]
    assert [side["hits"][0]["other_lines"] for side in (keywords, builtin)] == [False, True]
    _, out, _ = call(capsys, "other", "total", "--engines", "keywords", "builtin")
    assert re.search(r"✓2~ shop/cart.py:1-2", out)
    assert "~: right file, other lines" in out
    assert "~" not in call(capsys, "results", "total", "--engine", "oracle")[1]


@pytest.mark.parametrize("name", ["rate", "shop/rate", "which PERCENTAGE", "for a country?"])
def test_query_is_named_by_id_or_by_a_part_of_its_text(results, capsys, name):
    assert as_json(capsys, "results", name)["query"] == "rate"


def test_part_of_another_phrasing_shows_that_phrasing(results, capsys):
    assert as_json(capsys, "results", "cart total sum")["form"] == "keyword"
    assert as_json(capsys, "results", "cart total sum", "--form", "human")["form"] == "human"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["results", "totle"], ["no query 'totle'", "shop/total: how is the total"]),
        (["results", "percentage of what"], ["no query", "shop/rate"]),
        (["results", "zzyzx"], ["no query 'zzyzx'", "shop/total", "shop/rate"]),
        (["results"], ["missing query of the run results", "shop/total: how is the total", "shop/rate"]),
        (["results", "results"], ["missing query"]),
        (["results", "o"], ["2 queries match", "shop/rate", "shop/total"]),
        (["results", ""], ["no query"]),
        (["nowhere", "total"], ["no such directory"]),
        (["results", "total", "--form", "keywrd"], ["keywrd", "keyword"]),
        (["results", "rate", "--form", "keyword"], ["phrasings: human"]),
        (["results", "total", "--engines", "builtn", "keywords"], ["builtn", "builtin"]),
        (
            ["results", "total", "--engines", "builtin", "keywords", "--engine", "x"],
            ["--engine cannot be used with --engines"],
        ),
        (["results", "a", "b", "c"], ['assay show results "part of its text"']),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else None,
)
def test_bad_input_ends_in_two_with_the_next_step(results, capsys, arguments, words):
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "\nhint: " in err
    for word in words:
        assert word in err


def test_flags_may_stand_between_folder_and_query(results, capsys):
    sides = as_json(capsys, "results", "--engines", "oracle", "random", "total")["sides"]
    assert [side["name"] for side in sides] == ["oracle", "random"]


def test_one_engine_is_shown_alone(results, capsys):
    code, out, _ = call(capsys, "results", "total", "--engine", "builtin")
    assert code == 0
    assert "│" not in out
    assert "change" not in out


@pytest.mark.parametrize("width", [30, 50, 78, 120])
def test_rankings_are_stacked_where_there_is_no_room(results, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = call(capsys, "results", "total")
    assert max(map(len, out.splitlines())) <= width
    assert ("│" in out) is (width >= 75)
    assert "✓2" in out


def test_one_engine_in_two_runs(results, capsys):
    toml = '[run]\ngold = "shop.yaml"\n[engines.builtin]\nkind = "builtin"\nsearch = {without = ["noise"]}\n'
    (results / "assay.toml").write_text(toml)
    assert main(["run", "--quiet", "--out", "newer"]) == 0
    capsys.readouterr()
    data = as_json(capsys, "results", "newer", "total")
    assert [side["name"] for side in data["sides"]] == ["builtin (results)", "builtin (newer)"]
    two = as_json(capsys, "results", "newer", "total", "--engines", "keywords", "builtin")
    assert [side["name"] for side in two["sides"]] == ["keywords (results)", "builtin (newer)"]
    assert as_json(capsys, "results", "newer", "total", "--engine", "keywords")["notes"] == data["notes"]


def test_changes_between_two_runs_are_said(results, capsys):
    (results / "shop/cart.py").write_text((results / "shop/cart.py").read_text() + "\n\nTOTAL = 1\n")
    gold = (results / "shop.yaml").read_text().replace('"shop/receipt.py"', '"shop/retry.py"')
    (results / "shop.yaml").write_text(gold)
    assert main(["run", "--gold", "shop.yaml", "--quiet", "--out", "newer"]) == 0
    capsys.readouterr()
    notes = " ".join(as_json(capsys, "results", "newer", "total")["notes"])
    assert "The query differs between the runs" in notes
    assert "corpus of shop changed" in notes


def test_failed_query_says_why(results, capsys):
    failing = "command:ls {query}"
    main(["run", "--gold", "shop.yaml", "--quiet", "--out", "broken", "--engine", f"bad={failing}"])
    capsys.readouterr()
    code, out, _ = call(capsys, "broken", "total", "--engines", "keywords", "bad")
    assert code == 0
    assert "bad failed: error: " in out
    side = as_json(capsys, "broken", "total", "--engines", "keywords", "bad")["sides"][1]
    assert (side["status"], side["hits"], side["values"]["nDCG@10"]) == ("error", [], 0.0)
    assert side["error"]


def test_look_at_a_sealed_query_is_written_down(shop, capsys):
    (shop / "shop.yaml").write_text(GOLD % ("shop", ".", "sealed"))
    assert main(["run", "--gold", "shop.yaml", "--quiet", "--split", "sealed"]) == 0
    looks = shop / "shop.looks.jsonl"
    before = looks.read_text().splitlines()
    assert call(capsys, "results", "total")[0] == 0
    after = looks.read_text().splitlines()
    assert len(after) == len(before) + 1
    assert '"show"' in after[-1]


def test_look_at_an_open_query_is_none(results, capsys):
    call(capsys, "results", "rate")
    assert not (results / "shop.looks.jsonl").exists()


EVIL = "\x1b[31m\x1b]0;t\x07\u202eevil"


def test_hostile_names_steer_nothing(results, capsys):
    run = read_run(results / "results")
    gold = run.suite.golds[0]
    queries = tuple(replace(q, forms={form: EVIL + text for form, text in q.forms.items()}) for q in gold.queries)
    engines = tuple(
        replace(
            e, rankings=tuple(replace(r, hits=(Hit(EVIL, 1, 2), *r.hits), tokens=(1, *r.tokens)) for r in e.rankings)
        )
        for e in run.engines
    )
    write_run(replace(run, suite=Suite((replace(gold, queries=queries),)), engines=engines), results / "evil")
    for arguments in (["evil", "total"], ["evil", "percentage of total"], ["evil", EVIL]):
        _, out, err = call(capsys, *arguments)
        assert "evil" in out + err
        assert not set(out + err) & {"\x1b", "\x07", "\u202e"}


def test_target_that_was_already_found_is_not_called_missing():
    run = lab({"a": [1]})
    gold = run.suite.golds[0]
    targets = (Target(Span("right0.py", 1, 5), 2), Target(Span("right0.py", 30, 40), 1))
    query = replace(gold.queries[0], targets=targets)
    hits = (Hit("right0.py", 1, 40), Hit("right0.py", 2, 3), Hit("other.py", 1, 2))
    ranking = replace(run.engines[0].rankings[0], hits=hits)
    suite = Suite((replace(gold, queries=(query,)),))
    run = replace(run, suite=suite, engines=(replace(run.engines[0], rankings=(ranking,)),))
    plan = AnalysisPlan(("nDCG(level=lines)@10",), "a")
    shown = show_query([ShownEngine("a", "a", run)], gold.name, query, None, plan, plan.measures)
    text = to_markdown(show_document(shown))
    assert [hit.found_at for hit in shown.sides[0].hits] == [None, 1, None]
    assert "| right0.py:30-40 | grade 1 | (1) |" in text.replace("\\", "")
    assert "(1): target already found at rank 1" in text
    assert "not in the top" not in text
