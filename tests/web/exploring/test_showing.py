"""The pages of a run and of two runs, over a real server."""

import json
import shutil
from dataclasses import replace

from assay.experiment import read_run, write_run
from assay.web.run_list import ExploringLimits
from tests.web.exploring.serving import compare, exploring, listed, summary


def test_page_of_a_run_is_its_report_and_live(client):
    one = listed(client)["deep/after"]
    reply = client.get(f"/run/{one['id']}")
    assert reply.status == 200
    assert "connect-src 'self'" in reply.headers["content-security-policy"]
    told = summary(reply)
    assert told["live"]["home"] == "/"
    assert [engine["name"] for engine in told["live"]["engines"]] == ["mine"]
    assert told["results"]["suite"] == "shop"


def test_look_at_sealed_queries_is_logged_once_for_each_page(repository, runs, tmp_path, monkeypatch):
    gold_file = tmp_path / "shop/gold.yaml"
    shutil.copytree(repository, gold_file.parent)
    one = read_run(runs / "before")
    sealed = tuple(replace(query, tags={**query.tags, "split": "sealed"}) for query in one.suite.golds[0].queries)
    gold = replace(one.suite.golds[0], queries=sealed, source=str(gold_file))
    for name in ("a", "b"):
        write_run(replace(one, suite=replace(one.suite, golds=(gold,))), tmp_path / "runs" / name)
    looks = gold_file.parent / "gold.looks.jsonl"
    monkeypatch.setattr("assay.web.run_pages.LIMITS", ExploringLimits(pages=1))
    with exploring(tmp_path / "runs") as client:
        counts = []
        for name in ("a", "a", "b", "b", "a"):  # one page is kept: the first is made again in the end
            assert client.get(f"/run/{listed(client)[name]['id']}").status == 200
            counts.append(len(looks.read_text(encoding="utf-8").splitlines()))
    assert counts == [1, 1, 2, 2, 3]
    assert {json.loads(line)["command"] for line in looks.read_text(encoding="utf-8").splitlines()} == {"serve"}


def test_two_runs_stand_side_by_side(client):
    reply = compare(client, "before", "deep/after")
    assert reply.status == 200
    told = summary(reply)
    names = [engine["name"] for engine in told["results"]["engines"]]
    assert names == ["mine @ before", "mine @ deep/after", "keywords", "random"]
    assert told["results"]["comparison"]["baseline"] == "mine @ before"
    assert any("3 of 3 queries" in text for text in told["results"]["warnings"])
    found = listed(client)
    asks = {engine["name"]: engine["ask"] for engine in told["live"]["engines"]}
    assert asks["mine @ before"] == f"/api/run/{found['before']['id']}/ask"
    assert asks["mine @ deep/after"] == f"/api/run/{found['deep/after']['id']}/ask"
    assert compare(client, "before", "before").status == 400
