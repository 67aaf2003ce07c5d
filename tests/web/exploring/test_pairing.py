"""Two runs in one: what both were asked, and what must not be compared."""

import json
import shutil
from dataclasses import replace

import pytest

from assay.errors import NotComparableError
from assay.experiment import read_run, write_run
from assay.stats.records import Names
from assay.web.exploring.pairing import pair_runs
from assay.web.exploring.routes import explorer_routes
from assay.web.server import serve
from tests.report.explorer.unpacking import blocks
from tests.web.asking import Client
from tests.web.exploring.serving import listed


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
