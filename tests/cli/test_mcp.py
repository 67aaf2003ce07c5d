import json
import os
import signal
import subprocess
import sys

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult

from assay.cli.main import main
from assay.search import Index
from tests.agent.calling import locations, text
from tests.processes import HANG, wait_until_gone
from tests.waiting import WATCHDOG, wait_until

COMMAND = [sys.executable, "-m", "assay", "mcp"]

GOLD = """\
assay: 1
name: shop
corpus: {path: .}
queries:
  - id: cart-total
    retrieval: {primary: ["shop/cart.py"]}
    cognitive: {human: how is the total of all items computed?}
"""

LOUD = """\
import os

def search(query, k):
    print("noise")
    os.system("echo noise")
    return ["shop/cart.py"]
"""


def rows(result: CallToolResult):
    assert not result.is_error, result.content
    return locations(text(result))


def expected(shop, query, **more):
    return [(hit.path, hit.start, hit.end) for hit in Index.build(shop).search(query, **more) if (hit.score or 0) > 0]


def test_an_agent_searches_edits_measures_and_reads(shop):
    (shop / "gold.yaml").write_text(GOLD, encoding="utf-8")
    where = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=shop, env=dict(os.environ))

    async def talk():
        async with Client(stdio_client(where)) as client:
            assert client.server_info is not None
            assert client.server_info.name == "assay"
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["search", "explain", "related", "run_benchmark", "read_report"]
            found = await client.call_tool("search", {"query": "cart total", "per": "span"})
            assert rows(found) == expected(shop, "cart total", per="span")
            (shop / "shop" / "cart.py").write_text("def zebra():\n    pass\n", encoding="utf-8")
            assert (await client.call_tool("search", {"query": "x", "path": "/etc"})).is_error
            assert rows(await client.call_tool("search", {"query": "zebra"})) == expected(shop, "zebra")
            made = await client.call_tool("run_benchmark", {"gold": "gold.yaml", "out": "mine"})
            assert not made.is_error, made.content
            read = await client.call_tool("read_report", {"folder": "mine"})
            assert text(read) == text(made)

    anyio.run(talk)


def test_stdout_holds_nothing_but_the_protocol(shop):
    config = '[run]\ngold = "gold.yaml"\nreferences = false\nbaseline = "loud"\n'
    config += '[engines.loud]\nkind = "python"\ntarget = "loud:search"\n'
    (shop / "assay.toml").write_text(config, encoding="utf-8")
    (shop / "gold.yaml").write_text(GOLD, encoding="utf-8")
    (shop / "loud.py").write_text(LOUD, encoding="utf-8")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "run_benchmark", "arguments": {"engines": ["loud"]}}},
    ]
    environment = {**os.environ, "PYTHONPATH": str(shop)}
    command = [*COMMAND, "--config", "assay.toml"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in asked:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        lines = [server.stdout.readline()]
        while json.loads(lines[-1]).get("id") != 2:
            lines.append(server.stdout.readline())
        said, complained = server.communicate(timeout=WATCHDOG)
    assert server.returncode == 0, complained
    assert said == ""
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in lines)
    result = json.loads(lines[-1])["result"]
    assert not result.get("isError"), result
    assert "\n| loud | 1.000 " in result["content"][0]["text"]


@pytest.mark.nightly
def test_end_by_a_signal_ends_an_engine_in_the_middle_of_a_question(shop, tmp_path):
    note = tmp_path / "engine"
    argv = ["sh", "-c", f"echo $$ > {note}.part; mv {note}.part {note}; sleep {HANG}", "{query}"]
    config = f'[run]\ngold = "gold.yaml"\n[engines.slow]\nkind = "command"\nargv = {json.dumps(argv)}\n'
    (shop / "assay.toml").write_text(config, encoding="utf-8")
    (shop / "gold.yaml").write_text(GOLD, encoding="utf-8")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    wanted = {"name": "run_benchmark", "arguments": {"engines": ["slow"]}}
    asked: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": wanted},
    ]
    pipe = subprocess.PIPE
    command = [*COMMAND, "--config", "assay.toml"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as server:
        assert server.stdin is not None
        for message in asked:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        wait_until(note.exists, "the engine to be asked")
        engine = int(note.read_text())
        server.terminate()  # and its stdin stays open
        assert server.wait(WATCHDOG) == 128 + signal.SIGTERM
    assert wait_until_gone(engine)
    assert not (shop / "assay-runs").exists()


def test_missing_package_is_named_with_how_to_install_it(shop):
    code = "import sys\nsys.modules['mcp'] = None\nfrom assay.cli.main import main\nsys.exit(main(['mcp']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "pip install '.[mcp]'" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["nowhere"], "no such directory"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
        (["--http", "8765"], "HOST:PORT"),
        (["--http", "0.0.0.0:8765"], "open to other machines"),
        (["--http", "0.0.0.0:8765", "--allow-remote", "code.example.org"], "ASSAY_MCP_TOKEN"),
        (["--allow-remote", "code.example.org"], "requires --http"),
        (["--json"], "cannot be used with `assay mcp`"),
    ],
)
def test_wrong_flags_are_refused_before_anything_is_served(shop, capsys, monkeypatch, flags, said):
    monkeypatch.delenv("ASSAY_MCP_TOKEN", raising=False)
    assert main(["mcp", *flags]) == 2
    assert said in capsys.readouterr().err


def test_port_that_is_taken_is_told(shop, capsys):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["mcp", "--http", f"127.0.0.1:{taken.getsockname()[1]}"]) == 4
    assert "choose another port" in capsys.readouterr().err
