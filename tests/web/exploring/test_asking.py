"""A query asked again, over the corpus of the run and no other."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from assay.experiment import read_run, write_run
from assay.types import CorpusSpec
from tests.peers.conftest import copied
from tests.serving import Reply, serving
from tests.web.exploring.serving import OLD, ask, exploring, make_run, source


def test_asking_again_gives_what_the_run_has(client, runs):
    answer = ask(client, query="cart", form="human").json
    recorded = next(
        r
        for e in read_run(runs / "before").engines
        if e.name == "mine"
        for r in e.rankings
        if (r.query, r.form) == ("cart", "human")
    )
    assert [hit["path"] for hit in answer["hits"]] == [hit.path for hit in recorded.hits]
    assert all(hit["rank"] == hit["before"] for hit in answer["hits"])
    assert (answer["removed"], answer["notes"]) == ([], [])
    assert answer["value"]["before"] == answer["value"]["after"]
    assert answer["trace"]["stages"]
    assert answer["trace"]["candidates"]


def test_other_settings_move_ranks(client):
    plain = ask(client, query="tax", form="human").json
    answer = ask(client, query="tax", form="human", changes={"search.filter.min_score": 0.001}).json
    assert 0 < len(answer["hits"]) < len(plain["hits"])
    assert len(answer["removed"]) == len(plain["hits"]) - len(answer["hits"])
    assert all(hit["rank"] is None and hit["before"] is not None for hit in answer["removed"])


def test_words_of_ones_own_are_asked_and_nothing_is_claimed_of_them(client):
    answer = ask(client, text="payment provider again").json
    assert answer["hits"][0]["path"] in ("retry.py", "test_retry.py")
    assert answer["value"] is None
    assert all(hit["target"] is None and hit["adversary"] is None for hit in answer["hits"])


def test_models_are_turned_on_and_off(client):
    assert ask(client, text="cart", changes={"search.dense.model": "static"}).status == 200
    assert (
        ask(
            client, name="deep/after", text="cart", changes={"search.dense.model": "", "search.translation.model": ""}
        ).status
        == 200
    )


def test_changed_corpus_is_told(repository, tmp_path):
    root = tmp_path / "shop"
    shutil.copytree(repository, root)
    make_run(root / "gold.yaml", tmp_path / "results", OLD)
    (root / "tax.py").write_text("nothing = 1\n", encoding="utf-8")
    with exploring(tmp_path / "results") as client:
        answer = ask(client, name="results", query="tax", form="human").json
        assert "changed since the run" in answer["notes"][0]
        assert source(client, "tax.py", name="results").status == 404
        shutil.rmtree(root)
        gone = source(client, "tax.py", name="results")
        assert gone.status == 404
        assert "error" in gone.json


def test_run_is_asked_again_where_it_was_made_or_not_at_all(repository, runs, tmp_path, monkeypatch):
    one = read_run(runs / "before")
    monkeypatch.chdir(repository)
    gold = replace(one.suite.golds[0], source="gold.yaml")
    write_run(replace(one, suite=replace(one.suite, golds=(gold,))), tmp_path / "results/a")
    other = tmp_path / "other"  # has a set of this name too, which asks the same of other files
    other.mkdir()
    text = (repository / "gold.yaml").read_text(encoding="utf-8")
    (other / "gold.yaml").write_text(re.sub(r"(\w+)\.py", r"src/\1.js", text), encoding="utf-8")
    (other / "elsewhere.py").write_text("how = 'do we put items into the cart'\n", encoding="utf-8")
    monkeypatch.chdir(other)
    with exploring(tmp_path) as client:
        answer = ask(client, name="results/a", query="cart", form="human").json
        assert (answer["notes"], answer["hits"][0]["path"]) == ([], "cart.py")
        shutil.move(tmp_path / "results/a", tmp_path / "a")
        reply = ask(client, name="a", query="cart", form="human")
        assert reply.status == 400
        assert reply.error.startswith("cannot find the gold set shop of this run: gold.yaml")
        assert "gold set was not found" in source(client, "cart.py", name="a").error


def test_many_ask_at_once_and_get_the_same(client):
    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(
                lambda n: ask(client, query="retry", form="keyword", changes={"search.stem.files": n % 2}).json,
                range(12),
            )
        )
    hits = [[hit["path"] for hit in one["hits"]] for one in answers]
    assert hits[::2] == [hits[0]] * 6
    assert hits[1::2] == [hits[1]] * 6


def test_corpora_that_are_not_here_are_not_fetched(runs, tmp_path):
    one = read_run(runs / "before")
    with serving(lambda _: Reply({})) as elsewhere, exploring(tmp_path) as client:
        gold = replace(one.suite.golds[0], corpus=CorpusSpec("git", f"{elsewhere.url}/x.git", "main"))
        write_run(replace(one, suite=replace(one.suite, golds=(gold,))), tmp_path / "run")
        reply = ask(client, name="run", query="cart", form="human")
    assert (reply.status, "not in the cache" in reply.error) == (400, True)
    assert elsewhere.asked == []


@pytest.mark.soak
def test_settings_of_the_query_reuse_the_index(tmp_path):
    root = copied(("asyncio", "email"), tmp_path / "library")
    (root / "gold.yaml").write_text(
        "assay: 1\nname: shop\ncorpus: {path: .}\nqueries:\n"
        "  - {id: q, retrieval: {primary: [asyncio/timeouts.py]}, cognitive: {human: when is a task cancelled?}}\n"
    )
    make_run(root / "gold.yaml", tmp_path / "results" / "before")
    lines = {"search.index.chunks.kind": "lines", "search.index.chunks.size": 17}
    with exploring(tmp_path / "results") as client:
        first, *later = (
            ask(client, text="cancel", changes=lines | {"search.stem.files": weight}).json["opening"]
            for weight in (0.1, 0.2, 0.3, 0.4)
        )
    assert first > 4 * min(later)
