"""The same engine by two adapters gives the same rankings: real programs, no mocks."""

from __future__ import annotations

import shutil
from functools import cache

import pytest

from assay.engines import make_engine
from assay.engines.calling import ask, close_session, open_session
from assay.experiment.running.turns import run
from assay.search import Index
from tests.peers.asking import rankings, read_gold
from tests.serving import Asked, Reply, serving

HITS = {"path": "hits[].path", "start": "hits[].start", "end": "hits[].end", "score": "hits[].score"}
#: Three adapters, one semble.
SEMBLE = ("semble", "semble-cli", "semble-mcp")

needs_ripgrep = pytest.mark.skipif(
    not shutil.which("rg"), reason="LOUD: ripgrep is not installed, its preset was NOT tested"
)


def test_semble_gives_the_same_rankings_by_its_library_its_command_line_and_its_server(semble, library, tmp_path):
    gold = read_gold(library, tmp_path)
    found = rankings(run({name: make_engine(name) for name in SEMBLE}, gold))
    assert found["semble"] == found["semble-cli"] == found["semble-mcp"]
    assert len({hit.path for hits in found["semble"] for hit in hits}) > len(gold.queries)  # no constant answer


def test_own_mcp_server_is_the_builtin_hit_for_hit(library, tmp_path):
    pytest.importorskip("mcp", reason="LOUD: the package mcp is not installed, our own server was NOT tested")
    found = rankings(run({name: make_engine(name) for name in ("builtin", "assay-mcp")}, read_gold(library, tmp_path)))
    assert found["assay-mcp"] == found["builtin"]


def test_own_command_line_is_the_builtin_hit_for_hit(library, tmp_path):
    command = {
        "kind": "command",
        "argv": ["assay", "search", "--json", "-k", "{k}", "--", "{query}", "{root}"],
        "env": {"ASSAY_INDEX_DIR": "{store}"},
        **HITS,
    }
    found = rankings(
        run({"cli": make_engine(command), "builtin": make_engine("builtin")}, read_gold(library, tmp_path))
    )
    assert found["cli"] == found["builtin"]


def test_own_index_behind_http_is_the_builtin_hit_for_hit(library, tmp_path):
    opened = cache(Index.build)

    def answer(asked: Asked) -> Reply:
        hits = opened(asked.payload["root"]).search(asked.payload["query"], asked.payload["k"])
        return Reply({"hits": [{"path": h.path, "start": h.start, "end": h.end, "score": h.score} for h in hits]})

    with serving(answer) as server:
        body = {"root": "{root}", "query": "{query}", "k": "{k}"}
        http = make_engine({"kind": "http", "url": f"{server.url}/search", "body": body, **HITS})
        found = rankings(run({"http": http, "builtin": make_engine("builtin")}, read_gold(library, tmp_path)))
    assert found["http"] == found["builtin"]
    assert [asked.payload["query"] for asked in server.asked] == [
        query.headline for query in read_gold(library, tmp_path).queries
    ]


@pytest.mark.parametrize("name", ["git-grep", pytest.param("ripgrep-keywords", marks=needs_ripgrep)])
def test_grep_presets_agree_with_our_own_counter(name, library, tmp_path):
    engines = {"keywords": make_engine("keywords:python"), name: make_engine(name)}
    found = rankings(run(engines, read_gold(library, tmp_path)))
    assert found[name] == found["keywords"]


@needs_ripgrep
def test_literal_ripgrep_finds_the_line_that_holds_the_question(corpus):
    lines = (corpus.root / "json" / "encoder.py").read_text("utf-8").split("\n")
    line = 1 + next(number for number, text in enumerate(lines) if text.startswith("class JSONEncoder("))
    session = open_session(make_engine("ripgrep-literal"), corpus).session
    answer = ask(session, "class JSONEncoder(", 10)
    close_session(session)
    assert [(hit.path, hit.start) for hit in answer.hits] == [("json/encoder.py", line)]
