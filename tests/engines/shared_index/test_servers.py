"""Indexes behind servers: MCP servers of our own find what one of them made; an HTTP server is told once."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from assay.engines import make_engine
from assay.engines.base import FullEngine, SharedCache
from assay.errors import EngineError
from assay.store.store import Store
from assay.types import Corpus
from tests.engines.shared_index.conftest import Log, answers, hits, shared
from tests.serving import Asked, Reply, serving
from tests.waiting import WATCHDOG

pytest.importorskip("mcp")

#: It keeps its index in {store}, or in memory when it is told to; `index` counts, `search` reads its configuration.
#: Written out, because a package takes a second to import; tests/engines/mcp has a server of the package.
SERVER = """
import json, os, sys
from pathlib import Path
config = json.loads(Path(sys.argv[1]).read_text())
store = Path(sys.argv[2]) / "index.json"
memory = []

def index(root):
    with open(os.environ["TOOL_LOG"], "a") as log:
        log.write(json.dumps(config) + "\\n")
    files = sorted(str(path) for path in Path(root).rglob("*.py"))[: config["depth"]]
    memory.extend(files)
    if not config["memory"]:
        store.write_text(json.dumps(files))
    return "ok"

def search(query, k):
    files = memory or json.loads(store.read_text())
    return json.dumps([{"path": path} for path in (files[::-1] if config["search"]["turn"] else files)][:k])

tools = {"index": index, "search": search}
for line in sys.stdin:
    asked = json.loads(line)
    result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]}
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        info = {"name": "toy", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif asked["method"] == "tools/call":
        said = tools[asked["params"]["name"]](**asked["params"]["arguments"])
        result = {"content": [{"type": "text", "text": said}]}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.fixture
def mcp(tmp_path: Path, log: Log) -> Any:
    """Make an engine of the server, with these edits of its configuration."""
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "toy.json").write_text('{"depth": 9, "memory": false, "search": {"turn": false}}')

    def make(edits: dict[str, object], **more: Any) -> FullEngine:
        table = {
            "kind": "mcp",
            "command": [sys.executable, "-IS", str(tmp_path / "server.py"), "{config}", "{store}"],
            "index": {"tool": "index", "arguments": {"root": "{root}"}},
            "tool": "search",
            "arguments": {"query": "{query}", "k": "{k}"},
            "path": "[].path",
            "config": {"template": "toy.json", "edits": edits},
            "index_keys": ["config.depth", "config.memory"],
            **more,
        }
        return make_engine({key: value for key, value in table.items() if value is not None}, directory=tmp_path)

    return make


def test_law_of_mcp_servers_on_one_index(mcp: Any, code: Corpus, log: Log) -> None:
    engines = [mcp({"search.turn": turn, "depth": depth}) for turn, depth in ((False, 9), (True, 9), (False, 2))]
    alone = [hits(answers(engine, code, None)[0], code) for engine in engines]
    before = len(log())
    shelf = SharedCache(code)
    assert [hits(answers(engine, code, shelf)[0], code) for engine in engines] == alone
    assert alone[0] != alone[1]
    shelf.close()
    assert len(log()) - before == shelf.made["index"] == 2
    assert [config["search"]["turn"] for config in log()[before:]] == [False, False]


def test_mcp_server_that_keeps_its_index_in_memory_is_told_so(mcp: Any, code: Corpus) -> None:
    shelf = SharedCache(code)
    with pytest.raises(EngineError, match="wrote nothing"):
        shared(mcp({"memory": True})).open_shared(code, shelf, WATCHDOG)
    assert hits(answers(mcp({"memory": True}, index_keys=None), code, shelf)[0], code)  # each server makes its own
    shelf.close()


def test_index_of_an_mcp_server_is_reused(mcp: Any, code: Corpus, log: Log, tmp_path: Path) -> None:
    for made in (1, 0):
        with Store(tmp_path / "kept") as artefacts:
            shelf = SharedCache(code, artefacts, reuse_index=True)
            assert hits(answers(mcp({"search.turn": bool(made)}), code, shelf)[0], code)
            shelf.close()
        assert shelf.made["index"] == made
    assert len(log()) == 1


@dataclass
class OneIndex:
    """A server that knows one index at a time, and how often it was told to make one."""

    told: list[dict[str, Any]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Reply:
        """Index, or search."""
        given = asked.payload
        if urlsplit(asked.path).path == "/index":
            self.told.append(json.loads(Path(given["config"]).read_text()))
            root = Path(given["root"])
            depth = self.told[-1]["depth"]
            self.files = sorted(str(path) for path in root.rglob("*.py"))[:depth]
            return Reply({})
        found = self.files[::-1] if given["turn"] else self.files
        return Reply({"results": [{"path": path} for path in found[: given["k"]]]})


def http_engine(url: str, folder: Path, *, turn: bool, depth: int) -> FullEngine:
    """Make an engine of the server."""
    return make_engine(
        {
            "kind": "http",
            "url": f"{url}/search",
            "body": {"query": "{query}", "k": "{k}", "turn": turn},
            "index": {"url": f"{url}/index", "body": {"root": "{root}", "config": "{config}"}},
            "config": {"template": "toy.json", "edits": {"depth": depth}},
            "index_keys": ["config.depth"],
        },
        directory=folder,
    )


def test_law_of_an_http_server_with_one_index_at_a_time(code: Corpus, tmp_path: Path) -> None:
    (tmp_path / "toy.json").write_text('{"depth": 9}')
    server = OneIndex()
    with serving(server) as at:
        kinds = ((False, 9), (True, 9), (False, 2), (True, 9))
        engines = [http_engine(at.url, tmp_path, turn=turn, depth=depth) for turn, depth in kinds]
        alone = [hits(answers(engine, code, None)[0], code) for engine in engines]
        server.told.clear()
        shelf = SharedCache(code)
        assert [hits(answers(engine, code, shelf)[0], code) for engine in engines] == alone
        shelf.close()
    assert [config["depth"] for config in server.told] == [9, 2, 9]  # the last one had lost its index to the third
    assert shelf.made["index"] == 3
