"""Assay's own index behind each transport: rankings are those of the builtin engine, hit for hit."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from assay import Hit, Index
from assay.experiment import read_run
from tests.peers.asking import rankings
from tests.peers.conftest import copied
from tests.running import run_experiment
from tests.serving import Asked, Reply, serving
from tests.sharing import shared_folder

GOLD = """\
assay: 1
name: json
corpus: {path: json}
queries:
  - id: floats
    retrieval: {primary: ["encoder.py::JSONEncoder.iterencode"]}
    cognitive: {human: JSONEncoder float text of nan}
  - id: decoding
    retrieval: {primary: [decoder.py]}
    cognitive: {human: 'where is a "string" read, and what if it never ends?'}
"""
CONFIG = """\
[run]
gold = "gold.yaml"
references = false
baseline = "builtin"
timeout = 300

[engines.builtin]
kind = "builtin"

[engines.command]
kind = "command"
argv = ["assay", "search", "--json", "-k", "{k}", "--", "{query}", "{root}"]
env = {ASSAY_INDEX_DIR = "{store}"}
HITS

[engines.lines]
kind = "command"
mode = "lines"
argv = ["{python}", "{here}/lines.py", "{root}"]
ready = "ready"
request = {query = "{query}", k = "{k}"}
HITS

[engines.mcp]
preset = "assay-mcp"

[engines.http]
kind = "http"
url = "URL/search"
body = {root = "{root}", query = "{query}", k = "{k}"}
HITS
"""
HITS = 'path = "hits[].path"\nstart = "hits[].start"\nend = "hits[].end"\nscore = "hits[].score"'
LINES = """\
import json, sys
from assay import Index

index = Index.build(sys.argv[1])
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    hits = index.search(asked["query"], asked["k"])
    print(json.dumps({"hits": [{"path": h.path, "start": h.start, "end": h.end, "score": h.score} for h in hits]}),
          flush=True)
"""


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Hit, ...]]]:
    """The hits of every engine of one run, query by query."""

    def make(folder: Path) -> None:
        copied(("json",), folder)
        (folder / "gold.yaml").write_text(GOLD, encoding="utf-8")
        (folder / "lines.py").write_text(LINES, encoding="utf-8")
        with own_server() as server:
            config = CONFIG.replace("HITS", HITS).replace("URL", server.url)
            run_experiment(config, folder, folder / "results")

    return rankings(read_run(shared_folder(tmp_path_factory, "transports", make) / "results"))


def own_server():
    opened = cache(Index.build)

    def answer(asked: Asked) -> Reply:
        hits = opened(asked.payload["root"]).search(asked.payload["query"], asked.payload["k"])
        return Reply({"hits": [{"path": h.path, "start": h.start, "end": h.end, "score": h.score} for h in hits]})

    return serving(answer)


@pytest.mark.parametrize("transport", ["command", "lines", "mcp", "http"])
def test_rankings_are_those_of_the_builtin_engine(found, transport):
    assert len(found["builtin"]) == 2
    expected = found["builtin"]
    if transport == "mcp":  # text for agents, without scores
        expected = [tuple(hit._replace(score=None) for hit in hits) for hits in expected]
    assert found[transport] == expected
