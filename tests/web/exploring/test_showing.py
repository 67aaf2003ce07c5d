"""The pages of a run and of two runs, over a real server."""

import json
import shutil
from dataclasses import replace

from assay.experiment import read_run, write_run
from assay.web.exploring.routes import explorer_routes
from assay.web.server import serve
from tests.report.explorer.unpacking import blocks
from tests.web.asking import Client
from tests.web.exploring.serving import listed


def test_page_of_a_run_is_its_report_and_live(client):
    one = listed(client)["deep/after"]
    reply = client.get(f"/run/{one['id']}")
    assert reply.status == 200
    assert "connect-src 'self'" in reply.headers["content-security-policy"]
    summary = json.loads(blocks(reply.body)["summary"])
    assert summary["live"]["home"] == "/"
    assert [engine["name"] for engine in summary["live"]["engines"]] == ["mine"]
    assert summary["results"]["suite"] == "shop"


def test_look_at_sealed_queries_is_logged_once_for_each_page(repository, runs, tmp_path):
    gold_file = tmp_path / "shop/gold.yaml"
    shutil.copytree(repository, gold_file.parent)
    one = read_run(runs / "before")
    sealed = tuple(replace(query, tags={**query.tags, "split": "sealed"}) for query in one.suite.golds[0].queries)
    gold = replace(one.suite.golds[0], queries=sealed, source=str(gold_file))
    write_run(replace(one, suite=replace(one.suite, golds=(gold,))), tmp_path / "run")
    with serve(explorer_routes([tmp_path / "run"])) as server:
        client = Client(server.start())
        address = f"/run/{listed(client)['run']['id']}"
        assert [client.get(address).status, client.get(address).status] == [200, 200]
    looks = (gold_file.parent / "gold.looks.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["command"] for line in looks] == ["serve"]


def test_two_runs_stand_side_by_side(client):
    found = listed(client)
    reply = client.get(f"/compare/{found['before']['id']}/{found['deep/after']['id']}")
    assert reply.status == 200
    summary = json.loads(blocks(reply.body)["summary"])
    names = [engine["name"] for engine in summary["results"]["engines"]]
    assert names == ["mine @ before", "mine @ deep/after", "keywords", "random"]
    assert summary["results"]["comparison"]["baseline"] == "mine @ before"
    assert any("3 of 3 queries" in text for text in summary["results"]["warnings"])
    asks = {engine["name"]: engine["ask"] for engine in summary["live"]["engines"]}
    assert asks["mine @ before"] == f"/api/run/{found['before']['id']}/ask"
    assert asks["mine @ deep/after"] == f"/api/run/{found['deep/after']['id']}/ask"
    assert client.get(f"/compare/{found['before']['id']}/{found['before']['id']}").status == 400
