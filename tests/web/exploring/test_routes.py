"""The addresses of the explorer: what is refused, what is read anew, and which files are given."""

import json
import os
import shutil
from dataclasses import replace

import pytest

from assay.experiment import read_run, write_run
from assay.web.run_list import ExploringLimits
from tests.report.explorer.unpacking import blocks
from tests.web.exploring.serving import OLD, ask, exploring, listed, make_run, source, summary


@pytest.mark.parametrize("run_id", ["nowhere", "..%2F..", "%2Fetc", "a%00b"])
def test_runs_are_known_by_id_alone(client, run_id):
    assert client.get(f"/run/{run_id}").status == 404
    assert client.get(f"/api/run/{run_id}/source?gold=shop&path=cart.py").status == 404


def test_replaced_run_is_read_anew(runs, tmp_path):
    shutil.copytree(runs / "before", tmp_path / "run")
    with exploring(tmp_path) as client:
        address = f"/run/{listed(client)['run']['id']}"
        assert _values(client.get(address)) == {"per": "file", "search.stem.files": 0.0, "search.dense.model": ""}
        write_run(read_run(runs / "deep/after"), tmp_path / "run")
        assert _values(client.get(address)) == {"per": "file"}
        shutil.rmtree(tmp_path / "run")
        assert client.get(address).status == 400


def _values(reply):
    """Return the settings of the builtin engine that are not the defaults."""
    (engine,) = summary(reply)["live"]["engines"]
    return engine["values"]


@pytest.mark.parametrize(
    ("data", "status", "word"),
    [
        ({"text": " "}, 400, "characters"),
        ({"text": "x" * 5000}, 400, "characters"),
        ({}, 400, "expected text as 'text'"),
        ({"text": 3}, 400, "expected text as 'text'"),
        ({"text": "a", "engine": "keywords"}, 400, "cannot trace"),
        ({"text": "a", "gold": "other"}, 404, "no gold set 'other' in this run"),
        ({"query": "nowhere", "form": "human"}, 404, "no query 'nowhere' (human)"),
        ({"query": "cart", "form": "other"}, 404, "no query 'cart' (other)"),
        ({"text": "a", "changes": [1]}, 400, "expected an object"),
        ({"text": "a", "changes": {"search.stem.file": 1}}, 400, "cannot change"),
        ({"text": "a", "changes": {"search.stem.files": -1}}, 400, "stem.files: expected a number"),
        ({"text": "a", "changes": {"search.stem.files": "much"}}, 400, "much"),
        ({"text": "a", "changes": {"per": "page"}}, 400, "page"),
        ({"text": "a", "changes": {"kind": "command"}}, 400, "cannot change"),
        ({"text": "a", "changes": {"search.dense.token_env": "HOME"}}, 400, "cannot change"),
        ({"text": "a", "changes": {"search.index.description.url": "http://evil"}}, 400, "cannot change"),
        ({"text": "a", "changes": {"search.rerank.model": "chat:http://evil#m"}}, 400, "cannot select another model"),
        ({"text": "a", "changes": {"search.dense.model": "openai:http://evil#m"}}, 400, "cannot select another model"),
    ],
)
def test_what_cannot_be_asked_is_told(client, data, status, word):
    reply = ask(client, **data)
    assert (reply.status, word in json.dumps(reply.json)) == (status, True), reply.json


def test_sealed_queries_are_not_tuned_on(runs, tmp_path):
    one = read_run(runs / "before")
    gold = one.suite.golds[0]
    sealed = replace(gold, queries=tuple(replace(q, tags={**q.tags, "split": "sealed"}) for q in gold.queries))
    write_run(replace(one, suite=replace(one.suite, golds=(sealed,))), tmp_path / "run")
    with exploring(tmp_path) as client:
        reply = ask(client, name="run", query="cart", form="human")
        assert (reply.status, reply.error) == (403, "this query is sealed and cannot be rerun with other settings")
        for words in (
            "how do we put items into the cart?",
            " How do we\tPUT items into  the cart?\n",
            "Try a payment again",
        ):
            reply = ask(client, name="run", text=words)
            assert (reply.status, reply.error) == (403, "this query is sealed and cannot be rerun with other settings")
        assert ask(client, name="run", text="how do we put items into the cart").status == 200, "other words are free"


def test_whole_files_are_given(client, repository):
    assert source(client, "cart.py").json == {
        "path": "cart.py",
        "text": (repository / "cart.py").read_text(encoding="utf-8"),
    }


@pytest.mark.parametrize(
    "path", ["", ".env", "gold.yaml", "../shop/cart.py", "/etc/passwd", "./cart.py", "cart.py\0", "x/../cart.py"]
)
def test_only_files_that_the_run_names_are_given(client, path):
    reply = source(client, path)
    assert reply.status == 404
    assert b"SECRET" not in reply.body
    assert b"root:" not in reply.body


def test_source_that_was_edited_in_place_is_not_shown(repository, tmp_path):
    """Every line is as long as it was, and yet it is not what the run saw."""
    root = tmp_path / "shop"
    shutil.copytree(repository, root)
    make_run(root / "gold.yaml", tmp_path / "results", OLD)
    text = (root / "tax.py").read_text(encoding="utf-8")
    (root / "tax.py").write_text(text.replace("a + b", "a - b"), encoding="utf-8")
    with exploring(tmp_path / "results") as client:
        reply = source(client, "tax.py", name="results")
        assert (reply.status, "changed since the run" in reply.error) == (404, True)
        found = blocks(client.get(f"/run/{listed(client)['results']['id']}").body)
        assert "sources" not in found
        assert b"changed since the run" in found["summary"]


def test_link_out_of_the_corpus_is_not_followed(repository, tmp_path):
    root, secret = tmp_path / "shop", tmp_path / "secret.py"
    shutil.copytree(repository, root)
    make_run(root / "gold.yaml", tmp_path / "results", OLD)
    secret.write_bytes((root / "cart.py").read_bytes())  # of the same length, so that only the place tells it
    (root / "cart.py").unlink()
    os.symlink(secret, root / "cart.py")
    with exploring(tmp_path / "results") as client:
        reply = source(client, "cart.py", name="results")
        assert reply.status == 404
        assert b"def cart_0" not in reply.body


def test_large_files_are_not_sent(runs, monkeypatch):
    monkeypatch.setattr("assay.web.run_pages.LIMITS", ExploringLimits(source=10))
    with exploring(runs) as client:
        assert source(client, "cart.py").status == 413
