"""Runs found and listed, shown and compared, a query asked again, and files of the corpus, over a real server."""

import base64
import gzip
import json
import os
import re
import shutil
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.errors import ConfigError, NotComparableError
from assay.experiment import read_run, write_run
from assay.experiment.running.turns import run
from assay.gold import load_gold
from assay.report import publish
from assay.search.building import build_table
from assay.stats.records import Names
from assay.types import Claim
from assay.web.exploring.asking import Asker
from assay.web.exploring.cards import card
from assay.web.exploring.library import Library
from assay.web.exploring.limits import ExploringLimits
from assay.web.exploring.pairing import pair_runs
from assay.web.exploring.routes import explorer_routes
from assay.web.exploring.settings import changed_config, described, values_of
from assay.web.exploring.showing import problem_page
from assay.web.keeping import Kept
from assay.web.server import serve
from tests.web.asking import Client

OLD = {"kind": "builtin", "search": {"stem": {"files": 0.0}, "dense": {"model": ""}}}


def make_run(gold_file, folder, builtin, *, cache):
    """Run the builtin and a reference over a gold set, and publish it."""
    engines = {"mine": make_engine(builtin), "keywords": make_engine("keywords"), "random": make_engine("random")}
    made = run(engines, load_gold(gold_file), k=5, cache=cache)
    publish(made, Claim(("nDCG@5", "RR@5"), "keywords"), folder)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A small repository with a gold set."""
    root = tmp_path_factory.mktemp("shop")
    words = {"cart": "put items into the cart", "tax": "look up the tax rate", "retry": "try a payment again"}
    for name, text in words.items():
        body = "\n\n".join(f'def {name}_{n}(a, b):\n    """{text} {n}."""\n    return a + b\n' for n in range(3))
        (root / f"{name}.py").write_text(f'"""{text}."""\n\n\n{body}', encoding="utf-8")
        (root / f"test_{name}.py").write_text(f'def test_{name}():\n    """Test: {text}."""\n', encoding="utf-8")
    (root / ".env").write_text("SECRET=1\n", encoding="utf-8")
    (root / ".gitignore").write_text(".env\n", encoding="utf-8")
    lines = [
        f"  - id: {name}\n    retrieval: {{primary: [{name}.py]}}\n"
        f"    cognitive: {{human: how do we {text}?, keyword: {text}}}\n"
        f"    interference: [{{target: test_{name}.py, relationship: test, strength: weak, confusion: same words}}]\n"
        for name, text in words.items()
    ]
    (root / "gold.yaml").write_text(
        "assay: 1\nname: shop\ncorpus: {path: .}\nqueries:\n" + "".join(lines), encoding="utf-8"
    )
    return root


@pytest.fixture(scope="module")
def runs(shop, tmp_path_factory):
    """A folder with two runs."""
    folder, cache = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("cache")
    make_run(shop / "gold.yaml", folder / "before", OLD, cache=cache)
    make_run(shop / "gold.yaml", folder / "deep" / "after", {"kind": "builtin"}, cache=cache)
    return folder


@pytest.fixture(scope="module")
def client(runs):
    with serve(explorer_routes([runs])) as server:
        yield Client(server.start())


def blocks(page):
    """Read the data of a page."""
    found = re.findall(rb'<script type="application/gzip" id="data-(\w+)">([^<]*)</script>', page)
    return {name.decode(): gzip.decompress(base64.b64decode(data)) for name, data in found}


def listed(client):
    return {one["name"]: one for one in client.get("/api/runs").json["runs"]}


# The list.


def test_runs_are_listed_newest_first_with_what_was_found(client):
    names = [one["name"] for one in client.get("/api/runs").json["runs"]]
    assert names == ["deep/after", "before"]
    one = listed(client)["deep/after"]
    assert (one["suite"], one["queries"], one["primary"], one["note"]) == ("shop", 3, "nDCG@5", None)
    assert {engine["name"]: engine["role"] for engine in one["engines"]}["mine"] == "contestant"
    assert one["best"]["engine"] == "mine"
    assert 0 <= one["best"]["low"] <= one["best"]["mean"] <= 1
    assert (one["verdict"]["engine"], one["verdict"]["baseline"]) == ("mine", "keywords")
    assert "/" not in one["id"]


def test_broken_runs_are_listed_with_what_is_wrong(runs, tmp_path):
    shutil.copytree(runs / "before", tmp_path / "whole")
    shutil.copytree(runs / "before", tmp_path / "lost")
    (tmp_path / "lost" / "gold.jsonl").unlink()
    for name, text in {
        "text": "{",
        "list": "[]",
        "other": '{"assay_run": 99}',
        "odd": '{"assay_run": 2, "members": {}}',
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(text, encoding="utf-8")
    with serve(explorer_routes([tmp_path])) as server:
        client = Client(server.start())
        found = listed(client)
        assert {name for name, one in found.items() if "error" not in one} == {"whole"}
        assert "gold.jsonl is not there" in found["lost"]["error"]
        assert client.get(f"/run/{found['whole']['id']}").status == 200
        broken = client.get(f"/run/{found['lost']['id']}")
        assert broken.status == 400
        assert "gold.jsonl" in json.loads(blocks(broken.body)["problem"])["message"]


def test_runs_with_a_day_and_runs_with_a_time_are_in_one_order(runs, tmp_path):
    noon = datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()
    said = {  # name: date in the record, when the folder was written, in hours after noon of that day
        "early": ("2026-11-16", -2),
        "timed": ("2026-11-16T12:00:00+00:00", 30),
        "late": ("2026-11-16", 2),
        "copied": ("2026-11-15", 300),
    }
    for name, (date, hours) in said.items():
        shutil.copytree(runs / "before", tmp_path / name)
        file = tmp_path / name / "run.json"
        manifest = json.loads(file.read_text(encoding="utf-8"))
        manifest["header"]["date"] = date
        file.write_text(json.dumps(manifest), encoding="utf-8")
        os.utime(file, (noon + 3600 * hours,) * 2)
    with serve(explorer_routes([tmp_path])) as server:
        found = Client(server.start()).get("/api/runs").json["runs"]
    assert [one["name"] for one in found] == ["late", "timed", "early", "copied"]
    assert [one["when"] for one in found] == ["2026-11-16", "2026-11-16 12:00", "2026-11-16", "2026-11-15"]
    assert [one["made"] for one in found] == sorted((one["made"] for one in found), reverse=True)


def test_reports_of_another_run_are_not_believed(runs, tmp_path):
    shutil.copytree(runs / "before", tmp_path / "run")
    results = json.loads((tmp_path / "run/results.json").read_text(encoding="utf-8"))
    results["header"]["gold_hash"] = "other"
    (tmp_path / "run/results.json").write_text(json.dumps(results), encoding="utf-8")
    one = card(Library([tmp_path]).scan()[0])
    assert one["verdict"] is None
    assert one["note"]
    assert one["suite"] == "shop"
    (tmp_path / "run/results.json").unlink()
    assert card(Library([tmp_path]).scan()[0])["note"]


@pytest.mark.parametrize(
    ("changes", "said", "tone"),
    [
        ({"verdict": "better", "within_margin": True}, "better, within the margin", "good"),
        ({"verdict": "not inferior", "within_margin": True}, "not inferior", "plain"),
        ({"verdict": "inconclusive", "within_margin": False}, "inconclusive", "warning"),
        ({"verdict": "equivalent", "identical": True, "of_tomorrow": 1}, "changed no ranking", "warning"),
    ],
)
def test_verdict_is_said_in_the_words_and_the_tone_of_the_report(runs, tmp_path, changes, said, tone):
    shutil.copytree(runs / "before", tmp_path / "run")
    results = json.loads((tmp_path / "run/results.json").read_text(encoding="utf-8"))
    for row in results["comparison"]["rows"]:
        row.update({"identical": False, **changes})
    (tmp_path / "run/results.json").write_text(json.dumps(results), encoding="utf-8")
    verdict = card(Library([tmp_path]).scan()[0])["verdict"]
    assert (verdict["said"], verdict["tone"]) == (said, tone)


def test_links_lead_nowhere_and_depth_is_bounded(runs, tmp_path):
    (tmp_path / "inside").mkdir()
    os.symlink(runs / "before", tmp_path / "inside" / "link")
    os.symlink(tmp_path, tmp_path / "inside" / "loop")
    deep = tmp_path / "a/b/c/d"
    shutil.copytree(runs / "before", deep)
    shutil.copytree(runs / "before", tmp_path / ".hidden")
    assert Library([tmp_path]).scan() == ()
    assert [one.name for one in Library([tmp_path / "a"]).scan()] == ["b/c/d"]
    assert [one.name for one in Library([deep]).scan()] == ["d"]


def test_folder_must_be_there(tmp_path):
    with pytest.raises(ConfigError, match="no such folder"):
        Library([tmp_path / "nowhere"])
    (tmp_path / "gold.yaml").write_text("assay: 1\n")
    with pytest.raises(ConfigError, match="is a file"):
        Library([tmp_path / "gold.yaml"])


def test_runs_of_several_folders_are_told_apart(runs):
    names = {one.name for one in Library([runs, runs / "deep"]).scan()}
    assert names == {f"{runs.name}/before", f"{runs.name}/deep/after"}, "the same folder is listed once"


# Pages.


def test_page_of_a_run_is_its_report_and_live(client):
    one = listed(client)["deep/after"]
    reply = client.get(f"/run/{one['id']}")
    assert reply.status == 200
    assert "connect-src 'self'" in reply.headers["content-security-policy"]
    summary = json.loads(blocks(reply.body)["summary"])
    assert summary["live"]["home"] == "/"
    assert [engine["name"] for engine in summary["live"]["engines"]] == ["mine"]
    assert summary["results"]["suite"] == "shop"


def test_replaced_run_is_read_anew_and_other_pages_are_kept(runs, tmp_path, monkeypatch):
    made: list[str] = []

    def page(opened):
        made.append(opened.digest)
        return problem_page(ConfigError("x"))

    monkeypatch.setattr("assay.web.exploring.routes.run_page", page)
    shutil.copytree(runs / "before", tmp_path / "run")
    with serve(explorer_routes([tmp_path])) as server:
        client = Client(server.start())
        address = f"/run/{next(iter(listed(client).values()))['id']}"
        client.get(address), client.get(address)
        assert len(made) == 1
        changed = read_run(runs / "deep/after")
        write_run(changed, tmp_path / "run")
        client.get(address)
        assert len(made) == 2
        shutil.rmtree(tmp_path / "run")
        assert client.get(address).status == 400


def test_look_at_sealed_queries_is_logged_once_for_each_page(shop, runs, tmp_path):
    gold_file = tmp_path / "shop/gold.yaml"
    shutil.copytree(shop, gold_file.parent)
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


@pytest.mark.parametrize("run_id", ["nowhere", "..%2F..", "%2Fetc", "a%00b"])
def test_runs_are_known_by_id_alone(client, run_id):
    assert client.get(f"/run/{run_id}").status == 404
    assert client.get(f"/api/run/{run_id}/source?gold=shop&path=cart.py").status == 404


# Two runs.


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


def test_runs_that_must_not_be_compared_say_why(runs, tmp_path):
    shutil.copytree(runs / "before", tmp_path / "one")
    other = read_run(runs / "before")
    facts = {name: replace(one, digest="other") for name, one in other.header.corpora.items()}
    write_run(replace(other, header=replace(other.header, corpora=facts)), tmp_path / "moved")
    write_run(replace(other, hashes=dict.fromkeys(other.hashes, "other")), tmp_path / "rewritten")
    write_run(replace(other, k=4), tmp_path / "short")
    with serve(explorer_routes([tmp_path])) as server:
        client = Client(server.start())
        found = listed(client)
        for name, word in {
            "moved": "corpus of shop changed",
            "rewritten": "0 of 3 queries",
            "short": "5 results",
        }.items():
            reply = client.get(f"/compare/{found['one']['id']}/{found[name]['id']}")
            assert reply.status == 409
            problem = json.loads(blocks(reply.body)["problem"])
            assert word in problem["message"]
            assert "--" not in problem["hint"], "a page has no flags"
            assert (problem["offer"] is not None) == (name == "moved")
            again = client.get(f"/compare/{found['one']['id']}/{found[name]['id']}?changed=1")
            assert again.status == (200 if name == "moved" else 409)
        moved = client.get(f"/compare/{found['one']['id']}/{found['moved']['id']}?changed=1")
        warnings = json.loads(blocks(moved.body)["summary"])["results"]["warnings"]
        assert "The corpus of shop changed between the runs" in warnings[0]


def test_pair_keeps_what_both_were_asked(runs):
    old, new = read_run(runs / "before"), read_run(runs / "deep/after")
    fewer = replace(
        old,
        engines=tuple(replace(e, rankings=tuple(r for r in e.rankings if r.form == "human")) for e in old.engines),
    )
    pair = pair_runs(fewer, new, Names("a", "b"))
    assert {r.form for e in pair.run.engines for r in e.rankings} == {"human"}
    assert {form for q in pair.run.suite.golds[0].queries for form in q.forms} == {"human"}
    assert pair.origins["mine @ b"] == (1, "mine")
    assert any("Settings changed" in note and "mine" in note for note in pair.notes)


def test_references_that_answered_otherwise_stand_twice(runs):
    old, new = read_run(runs / "before"), read_run(runs / "deep/after")
    changed = tuple(
        replace(e, rankings=tuple(replace(r, hits=r.hits[1:], tokens=r.tokens[1:]) for r in e.rankings))
        if e.name == "random"
        else e
        for e in old.engines
    )
    pair = pair_runs(replace(old, engines=changed), new, Names("a", "b"))
    assert {"random @ a", "random @ b", "keywords"} <= set(pair.origins)


def test_pair_without_a_contestant_is_refused(runs):
    old = read_run(runs / "before")
    with pytest.raises(NotComparableError):
        pair_runs(replace(old, engines=()), old, Names("a", "b"))


# Asking again.


def ask(client, name="before", **data):
    given = {"engine": "mine", "gold": "shop", "changes": {}, **data}
    return client.post(f"/api/run/{listed(client)[name]['id']}/ask", given)


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
    assert (answer["gone"], answer["notes"]) == ([], [])
    assert answer["value"]["before"] == answer["value"]["after"]
    assert answer["trace"]["stages"]
    assert answer["trace"]["candidates"]


def test_other_settings_move_ranks(client):
    plain = ask(client, query="tax", form="human").json
    answer = ask(client, query="tax", form="human", changes={"search.dense.model": "static"}).json
    came = [hit for hit in answer["hits"] if hit["before"] is None]
    assert len(answer["hits"]) == len(plain["hits"]) + len(came)
    assert came, "meaning finds files without a word of the query"
    back = ask(client, "deep/after", query="tax", form="human", changes={"search.dense.model": ""}).json
    assert [hit["path"] for hit in back["gone"] if hit["rank"] is None], "and without it they are gone"
    assert all(hit["before"] is not None for hit in back["gone"])


def test_results_are_marked_and_measured_as_in_the_report(client, runs):
    answer = ask(client, query="tax", form="human", changes={"search.dense.model": "static"}).json
    marks = {hit["path"]: (hit["target"], hit["adversary"]) for hit in answer["hits"]}
    assert marks["tax.py"] == (0, None)
    assert marks["test_tax.py"] == (None, 0)
    scored = json.loads((runs / "before/results.json").read_text(encoding="utf-8"))["comparison"]["means"]
    mean = next(row["mean"] for row in scored if (row["engine"], row["measure"]) == ("mine", "nDCG@5"))
    values = [ask(client, query=name, form="human").json["value"] for name in ("cart", "tax", "retry")]
    assert sum(value["before"] for value in values) / 3 == pytest.approx(mean)
    assert {value["measure"] for value in values} == {"nDCG@5"}


def test_words_of_ones_own_are_asked_and_nothing_is_claimed_of_them(client):
    answer = ask(client, text="payment provider again").json
    assert answer["hits"][0]["path"] in ("retry.py", "test_retry.py")
    assert answer["value"] is None
    assert all(hit["target"] is None and hit["adversary"] is None for hit in answer["hits"])


@pytest.mark.parametrize(
    ("data", "status", "word"),
    [
        ({"text": " "}, 400, "characters"),
        ({"text": "x" * 5000}, 400, "characters"),
        ({}, 400, "'text' must be a text"),
        ({"text": 3}, 400, "'text' must be a text"),
        ({"text": "a", "engine": "keywords"}, 400, "no builtin engine"),
        ({"text": "a", "gold": "other"}, 404, "no such gold set"),
        ({"query": "nowhere", "form": "human"}, 404, "no such query"),
        ({"query": "cart", "form": "other"}, 404, "no such query"),
        ({"text": "a", "changes": [1]}, 400, "table of settings"),
        ({"text": "a", "changes": {"search.stem.file": 1}}, 400, "is no setting"),
        ({"text": "a", "changes": {"search.stem.files": -1}}, 400, "stem.files must be"),
        ({"text": "a", "changes": {"search.stem.files": "much"}}, 400, "much"),
        ({"text": "a", "changes": {"per": "page"}}, 400, "page"),
        ({"text": "a", "changes": {"kind": "command"}}, 400, "is no setting"),
        ({"text": "a", "changes": {"search.dense.token_env": "HOME"}}, 400, "is no setting"),
        ({"text": "a", "changes": {"search.index.description.url": "http://evil"}}, 400, "is no setting"),
        ({"text": "a", "changes": {"search.rerank.model": "chat:http://evil#m"}}, 400, "no new models"),
        ({"text": "a", "changes": {"search.dense.model": "openai:http://evil#m"}}, 400, "no new models"),
    ],
)
def test_what_cannot_be_asked_is_told(client, data, status, word):
    reply = ask(client, **data)
    assert (reply.status, word in json.dumps(reply.json)) == (status, True), reply.json


def test_models_are_turned_on_and_off(client):
    assert ask(client, text="cart", changes={"search.dense.model": "static"}).status == 200
    assert (
        ask(
            client, name="deep/after", text="cart", changes={"search.dense.model": "", "search.translation.model": ""}
        ).status
        == 200
    )


def test_sealed_queries_are_not_tuned_on(runs, tmp_path):
    one = read_run(runs / "before")
    gold = one.suite.golds[0]
    sealed = replace(gold, queries=tuple(replace(q, tags={**q.tags, "split": "sealed"}) for q in gold.queries))
    write_run(replace(one, suite=replace(one.suite, golds=(sealed,))), tmp_path / "run")
    with serve(explorer_routes([tmp_path])) as server:
        client = Client(server.start())
        reply = ask(client, name="run", query="cart", form="human")
        assert (reply.status, reply.error) == (403, "this query is sealed: nothing is tuned on it")
        for words in (
            "how do we put items into the cart?",
            " How do we\tPUT items into  the cart?\n",
            "Try a payment again",
        ):
            reply = ask(client, name="run", text=words)
            assert (reply.status, reply.error) == (403, "this query is sealed: nothing is tuned on it")
        assert ask(client, name="run", text="how do we put items into the cart").status == 200, "other words are free"


def test_changed_corpus_is_told(shop, tmp_path, tmp_path_factory):
    root = tmp_path / "shop"
    shutil.copytree(shop, root)
    make_run(root / "gold.yaml", tmp_path / "results", OLD, cache=tmp_path_factory.mktemp("cache"))
    (root / "tax.py").write_text("nothing = 1\n", encoding="utf-8")
    with serve(explorer_routes([tmp_path / "results"])) as server:
        client = Client(server.start())
        answer = ask(client, name="results", query="tax", form="human").json
        assert "changed since the run" in answer["notes"][0]
        source = f"/api/run/{listed(client)['results']['id']}/source?gold=shop&path=tax.py"
        assert client.get(source).status == 404
        shutil.rmtree(root)
        gone = client.get(source)
        assert gone.status == 404
        assert "error" in gone.json


def test_run_is_asked_again_where_it_was_made_or_not_at_all(shop, runs, tmp_path, monkeypatch):
    one = read_run(runs / "before")
    monkeypatch.chdir(shop)
    gold = replace(one.suite.golds[0], source="gold.yaml")
    write_run(replace(one, suite=replace(one.suite, golds=(gold,))), tmp_path / "results/a")
    other = tmp_path / "other"  # has a set of this name too, which asks the same of other files
    other.mkdir()
    text = (shop / "gold.yaml").read_text(encoding="utf-8")
    (other / "gold.yaml").write_text(re.sub(r"(\w+)\.py", r"src/\1.js", text), encoding="utf-8")
    (other / "elsewhere.py").write_text("how = 'do we put items into the cart'\n", encoding="utf-8")
    monkeypatch.chdir(other)
    with serve(explorer_routes([tmp_path])) as server:
        client = Client(server.start())
        answer = ask(client, name="results/a", query="cart", form="human").json
        assert (answer["notes"], answer["hits"][0]["path"]) == ([], "cart.py")
        shutil.move(tmp_path / "results/a", tmp_path / "a")
        reply = ask(client, name="a", query="cart", form="human")
        assert reply.status == 400
        assert reply.error.startswith("the gold set shop that this run asked is not here: gold.yaml")
        assert "not here" in source(client, "cart.py", name="a").error


def test_source_that_was_edited_in_place_is_not_shown(shop, tmp_path, tmp_path_factory):
    """Every line is as long as it was, and yet it is not what the run saw."""
    root = tmp_path / "shop"
    shutil.copytree(shop, root)
    make_run(root / "gold.yaml", tmp_path / "results", OLD, cache=tmp_path_factory.mktemp("cache"))
    text = (root / "tax.py").read_text(encoding="utf-8")
    (root / "tax.py").write_text(text.replace("a + b", "a - b"), encoding="utf-8")
    with serve(explorer_routes([tmp_path / "results"])) as server:
        client = Client(server.start())
        run_id = listed(client)["results"]["id"]
        reply = client.get(f"/api/run/{run_id}/source?gold=shop&path=tax.py")
        assert (reply.status, "changed since the run" in reply.error) == (404, True)
        found = blocks(client.get(f"/run/{run_id}").body)
        assert "sources" not in found
        assert b"changed since the run" in found["summary"]


def test_index_is_made_once_for_settings_of_the_query(runs, monkeypatch):
    built: list[object] = []

    def build(corpus, *rest, **given):
        built.append(corpus)
        return build_table(corpus, *rest, **given)

    monkeypatch.setattr("assay.search.sharing.build_table", build)
    monkeypatch.setattr("assay.artefacts.Artefacts.obtain", lambda self, kind, key, fill: _filled(fill))
    with serve(explorer_routes([runs], limits=ExploringLimits(indexes=2))) as server:
        client = Client(server.start())
        for weight in (0.1, 0.2, 0.3):
            assert ask(client, text="cart", changes={"search.stem.files": weight}).status == 200
        assert len(built) == 1
        for size in (10, 20, 30):
            changes = {"search.index.chunks.kind": "lines", "search.index.chunks.size": size}
            assert ask(client, text="cart", changes=changes).status == 200
        assert len(built) == 4


def _filled(fill):
    """Make an artefact anew, as if none were kept."""
    import tempfile

    folder = Path(tempfile.mkdtemp())
    fill(folder)
    return folder


def test_many_ask_at_once_and_get_the_same(client):
    from concurrent.futures import ThreadPoolExecutor

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


def test_settings_have_help_and_present_values(runs):
    named = {one["name"]: one for one in described()}
    assert named["search.stem.files"]["about"]
    assert named["search.stem.files"]["type"] == "a number"
    assert named["per"]["choices"] == ["file", "span"]
    assert named["search.index.chunks.size"]["index"]
    assert not named["search.stem.files"]["index"]
    assert not [name for name in named if name.endswith(("url", "token_env"))]
    mine = next(engine for engine in read_run(runs / "before").engines if engine.name == "mine")
    assert values_of(mine) == {"search.stem.files": 0.0, "search.dense.model": ""}
    assert changed_config(mine, {"search.stem.files": 2})["search"]["stem"]["files"] == 2


# Files of the corpus.


def source(client, path, gold="shop", name="before"):
    from urllib.parse import urlencode

    return client.get(f"/api/run/{listed(client)[name]['id']}/source?{urlencode({'gold': gold, 'path': path})}")


def test_whole_files_are_given(client, shop):
    assert source(client, "cart.py").json == {"path": "cart.py", "text": (shop / "cart.py").read_text(encoding="utf-8")}


@pytest.mark.parametrize(
    "path", ["", ".env", "gold.yaml", "../shop/cart.py", "/etc/passwd", "./cart.py", "cart.py\0", "x/../cart.py"]
)
def test_only_files_that_the_run_names_are_given(client, path):
    reply = source(client, path)
    assert reply.status == 404
    assert b"SECRET" not in reply.body
    assert b"root:" not in reply.body


def test_link_out_of_the_corpus_is_not_followed(shop, tmp_path, tmp_path_factory):
    root, secret = tmp_path / "shop", tmp_path / "secret.py"
    shutil.copytree(shop, root)
    make_run(root / "gold.yaml", tmp_path / "results", OLD, cache=tmp_path_factory.mktemp("cache"))
    secret.write_bytes((root / "cart.py").read_bytes())  # of the same length, so that only the place tells it
    (root / "cart.py").unlink()
    os.symlink(secret, root / "cart.py")
    with serve(explorer_routes([tmp_path / "results"])) as server:
        client = Client(server.start())
        reply = client.get(f"/api/run/{listed(client)['results']['id']}/source?gold=shop&path=cart.py")
        assert reply.status == 404
        assert b"def cart_0" not in reply.body


def test_large_files_are_not_sent(runs):
    with serve(explorer_routes([runs], limits=ExploringLimits(source=10))) as server:
        assert source(Client(server.start()), "cart.py").status == 413


# What is kept.


def test_kept_makes_each_value_once_and_lets_the_oldest_go():
    dropped: list[str] = []
    made: list[str] = []
    kept: Kept[str, str] = Kept(2, dropped.append)

    def make(key):
        made.append(key)
        return key

    for key in ("a", "b", "a", "c", "a"):
        kept.get(key, partial(make, key))
    assert (made, dropped) == (["a", "b", "c"], ["b"])


def test_kept_makes_once_though_many_ask_and_fails_for_all_of_them():
    kept: Kept[str, str] = Kept(2)
    made: list[int] = []
    gate = threading.Event()

    def slow():
        gate.wait(5)
        made.append(1)
        raise OSError("no")

    def attempt():
        with pytest.raises(OSError):
            kept.get("a", slow)

    threads = [threading.Thread(target=attempt) for _ in range(5)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    gate.set()
    for thread in threads:
        thread.join(5)
    assert made == [1]
    assert kept.get("a", lambda: "made now") == "made now"


def test_corpora_that_are_not_here_are_not_fetched(runs, tmp_path, monkeypatch):
    from assay.types import CorpusSpec
    from assay.web.exploring.opening import Runs

    one = read_run(runs / "before")
    gold = replace(one.suite.golds[0], corpus=CorpusSpec("git", "https://example.invalid/x.git", "main"))
    write_run(replace(one, suite=replace(one.suite, golds=(gold,))), tmp_path / "run")
    monkeypatch.setattr("assay.web.exploring.asking.reopen", lambda *_: pytest.fail("it was opened, and so fetched"))
    library = Library([tmp_path])
    opened = Runs(library).open(library.scan()[0].id)
    with pytest.raises(Exception, match="cache"):
        Asker(library.limits).place(opened, opened.run.suite.golds[0])
