"""A token is planted and every engine shouts it: no file that Assay writes and nothing that it prints may hold it."""

import base64
import json
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from assay.cli.main import main
from tests.report.explorer.unpacking import everything
from tests.serving import Reply, serving

TOKEN = "pl4nted/T0ken+of=the test"
FORMS = (TOKEN, quote(TOKEN), quote(TOKEN, safe=""), base64.b64encode(TOKEN.encode()).decode().rstrip("=")[:-1])

#: Says the token wherever a program can say something: as a path, a score, a snippet, on stderr, by its exit.
SHOUTING = """\
import base64, json, os, sys, urllib.parse
token = os.environ["TOOL_KEY"]
phrasings = [token, urllib.parse.quote(token), base64.b64encode(token.encode()).decode()]
print("starting with", token, sys.argv, file=sys.stderr)
query = sys.argv[1]
if "percentage" in query:
    sys.exit(f"refused: {token}")
if "provider" in query:
    print(token, "is not JSON {")
    sys.exit(0)
print("loading", token)
print(json.dumps({"results": [{"path": form, "score": form, "snippet": form} for form in forms]}))
"""
STAYING = """\
import json, os, sys
token = os.environ["TOOL_KEY"]
print("ready", token, flush=True)
for line in sys.stdin:
    print(token, file=sys.stderr, flush=True)
    query = json.loads(line)["query"]
    print(json.dumps({"error": token} if "percentage" in query else {"results": [{"path": "x/" + token}]}), flush=True)
    if "provider" in query:
        os._exit(3)
"""
#: An MCP server by hand, because the package takes a second to import.
SERVER = """\
import json, os, sys
token = os.environ["TOOL_KEY"]
print("started with", token, file=sys.stderr, flush=True)

def search(query, key):
    if "provider" in query:
        os._exit(3)
    failed = "percentage" in query
    text = f"wrong key {key}" if failed else f"{key}/file.py:1-2\\nshop/cart.py:1-3"
    return {"content": [{"type": "text", "text": text}], "isError": failed}

def answer(method, asked):
    if method == "initialize":
        about = {"name": f"server {token}", "version": token}
        return {"protocolVersion": asked["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        properties = {"query": {"type": "string"}, "key": {"type": "string"}}
        schema = {"type": "object", "properties": properties, "required": ["query", "key"]}
        return {"tools": [{"name": "search", "inputSchema": schema}]}
    return search(**asked["arguments"])

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def config(folder: Path, url: str) -> str:
    here = json.dumps(str(folder))[1:-1]
    return f"""\
[run]
gold = "gold.yaml"
timeout = 300.0

[engines.tool]
kind = "command"
argv = ["{sys.executable}", "{here}/shouting.py", "{{query}}", "--key={{env:PLANTED}}"]
env = {{ TOOL_KEY = "{{env:PLANTED}}" }}

[engines.stays]
kind = "command"
mode = "lines"
argv = ["{sys.executable}", "{here}/staying.py"]
ready = "ready"
request = {{ query = "{{query}}" }}
env = {{ TOOL_KEY = "{{env:PLANTED}}" }}

[engines.api]
kind = "http"
url = "{url}/search"
headers = {{ X-Key = "{{env:PLANTED}}" }}
body = {{ query = "{{query}}", key = "{{env:PLANTED}}" }}
retries = 0

[engines.nosy]
kind = "command"
argv = ["{sys.executable}", "-c", "import os, sys; print('looking'); sys.exit(str(dict(os.environ)))"]
request = "{{query}}"
mode = "lines"

[engines.server]
kind = "mcp"
command = ["{sys.executable}", "{here}/server.py"]
tool = "search"
arguments = {{ query = "{{query}}", key = "{{env:PLANTED}}" }}
env = {{ TOOL_KEY = "{{env:PLANTED}}" }}
"""


def answer(asked):
    key = asked.headers["x-key"]
    if "percentage" in asked.payload["query"]:
        return Reply({"error": f"{key} is not welcome"}, 403)
    if "provider" in asked.payload["query"]:
        return Reply({}, 302, {"Location": f"http://127.0.0.1:1/?key={quote(key)}"})
    return Reply({"results": [{"path": key}, {"path": f"x/{quote(key)}"}, {"path": "shop/cart.py"}]})


@pytest.fixture
def planted(shop, tmp_path, monkeypatch):
    monkeypatch.setenv("PLANTED", TOKEN)  # a name that says nothing: the template makes it a secret, for all engines
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, source in {"shouting": SHOUTING, "staying": STAYING, "server": SERVER}.items():
        (tools / f"{name}.py").write_text(source)
    with serving(answer) as server:
        (shop / "assay.toml").write_text(config(tools, server.url))
        yield shop


def test_no_token_is_written_or_printed(planted, capfd, tmp_path):
    said = ""
    commands = [
        ["run", "--full", "--phrasings", "human"],  # in worker processes, which know one engine each
        ["run", "--times", "--quiet", "--phrasings", "human", "--out", "timed"],
        ["score", "results", "--full"],
        ["compare", "results", "--json"],
        *(["engines", "check", name, "."] for name in ("tool", "stays", "nosy", "api", "server")),
        ["engines", "query", "tool", "how is the total computed", "."],
        ["engines", "query", "api", "which percentage", "."],
        ["audit", "tool", ".", "--queries", "2", "--only", "answers,paths", "--out", "audit"],
    ]
    for command in commands:
        main(command)
        shown = capfd.readouterr()
        said += shown.out + shown.err
        leaks = [line for line in (shown.out + shown.err).splitlines() for form in FORMS if form in line]
        assert not leaks, (command, leaks[:3])
    assert "***" in said
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "tools"]
    assert {path.name for path in written} >= {"report.html", "audit.md", "run.json", "results.json", "RESULTS.md"}
    for path in written:
        data = everything(path.read_bytes()).encode() if path.name == "report.html" else path.read_bytes()
        assert not [form for form in FORMS if form.encode() in data], path
