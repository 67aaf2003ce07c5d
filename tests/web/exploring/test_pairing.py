"""Two runs in one: what both were asked, and what must not be compared."""

import json
import shutil
from dataclasses import replace

from assay.experiment import read_run, write_run
from tests.report.explorer.unpacking import blocks
from tests.web.exploring.serving import compare, exploring, problem, summary


def test_runs_that_must_not_be_compared_say_why(runs, tmp_path):
    shutil.copytree(runs / "before", tmp_path / "one")
    other = read_run(runs / "before")
    facts = {name: replace(one, digest="other") for name, one in other.header.corpora.items()}
    write_run(replace(other, header=replace(other.header, corpora=facts)), tmp_path / "moved")
    write_run(replace(other, hashes=dict.fromkeys(other.hashes, "other")), tmp_path / "rewritten")
    write_run(replace(other, k=4), tmp_path / "short")
    elsewhere = {name: replace(one, repository="elsewhere", root_commit=None) for name, one in facts.items()}
    write_run(replace(other, header=replace(other.header, corpora=elsewhere)), tmp_path / "elsewhere")
    refused = {"elsewhere": "corpus of shop is another repository", "rewritten": "0 of 3 queries", "short": "5 results"}
    with exploring(tmp_path) as client:
        for name, word in refused.items():
            reply = compare(client, "one", name)
            assert reply.status == 409
            said = problem(reply)
            assert word in said["message"]
            assert "--" not in said["hint"], "a page has no flags"
        page = summary(compare(client, "one", "moved"))
        (change,) = page["live"]["changes"]
        assert change.startswith("The corpus of shop changed between the runs: ")
        assert page["results"]["warnings"][0] == change


def paired(old, new, folder):
    """Write two runs and return the page that compares them."""
    write_run(old, folder / "a")
    write_run(new, folder / "b")
    with exploring(folder) as client:
        return compare(client, "a", "b")


def test_pair_keeps_what_both_were_asked(runs, tmp_path):
    old, new = read_run(runs / "before"), read_run(runs / "deep/after")
    fewer = replace(
        old,
        engines=tuple(replace(e, rankings=tuple(r for r in e.rankings if r.form == "human")) for e in old.engines),
    )
    page = paired(fewer, new, tmp_path)
    assert json.loads(blocks(page.body)["queries"])["forms"] == ["human"]
    told = summary(page)
    assert {"name": "mine @ b", "engine": "mine"}.items() <= told["live"]["engines"][0].items()
    assert any("Settings changed" in note and "mine" in note for note in told["results"]["warnings"])


def test_references_that_answered_otherwise_stand_twice(runs, tmp_path):
    old, new = read_run(runs / "before"), read_run(runs / "deep/after")
    changed = tuple(
        replace(e, rankings=tuple(replace(r, hits=r.hits[1:], tokens=r.tokens[1:]) for r in e.rankings))
        if e.name == "random"
        else e
        for e in old.engines
    )
    told = summary(paired(replace(old, engines=changed), new, tmp_path))
    names = {engine["name"] for engine in told["results"]["engines"]}
    assert names == {"mine @ a", "mine @ b", "random @ a", "random @ b", "keywords"}


def test_pair_without_an_engine_under_test_is_refused(runs, tmp_path):
    old = read_run(runs / "before")
    floor = tuple(engine for engine in old.engines if engine.name == "random")
    page = paired(replace(old, engines=floor), old, tmp_path)
    assert (page.status, problem(page)["message"]) == (409, "one of the runs has no engine under test")
