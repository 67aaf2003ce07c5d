import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from assay.agent.mcp_server import ListenAddress
from assay.errors import ConfigError
from assay.search import Index
from tests.agent.calling import locations
from tests.agent.calling import text as text_of
from tests.waiting import WATCHDOG

TOKEN = "correct-horse-battery-staple"


def test_loopback_needs_no_token():
    for text, host in (("127.0.0.1:80", "127.0.0.1"), ("localhost:0", "localhost"), ("[::1]:9", "::1")):
        assert ListenAddress.parse(text, (), None).host == host


@pytest.mark.parametrize("text", ["127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", ""])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ConfigError) as caught:
        ListenAddress.parse(text, (), None)
    assert "expected HOST:PORT, got" in caught.value.message


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.0.2.7", "example.org", "127.0.0.1.example.org"])
def test_other_machines_are_let_in_only_when_asked_and_with_a_token(host):
    with pytest.raises(ConfigError, match="open to other machines"):
        ListenAddress.parse(f"{host}:80", (), TOKEN)
    with pytest.raises(ConfigError, match="requires a token"):
        ListenAddress.parse(f"{host}:80", ("code.example.org",), None)
    with pytest.raises(ConfigError, match="has only 6 characters"):
        ListenAddress.parse(f"{host}:80", ("code.example.org",), "secret")
    assert ListenAddress.parse(f"{host}:80", ("code.example.org",), TOKEN).token == TOKEN


@contextmanager
def serving(shop, *flags):
    environment = {**os.environ, "ASSAY_MCP_TOKEN": TOKEN}
    command = [sys.executable, "-m", "assay", "mcp", str(shop), "--http", "127.0.0.1:0", *flags]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            assert server.stderr is not None
            line = server.stderr.readline()
            found = re.search(r"http://\S+", line)
            assert found is not None, line
            yield found.group()
        finally:
            server.terminate()
            said, complained = server.communicate(timeout=WATCHDOG)
    assert said == ""
    assert TOKEN not in complained
    assert "Traceback" not in complained


def answer(url, **headers):
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(
        url, body, usual | {name.replace("_", "-"): value for name, value in headers.items()}
    )
    try:
        with urllib.request.urlopen(request, timeout=WATCHDOG) as response:
            return response.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_http_answers_as_the_index_and_only_with_token_and_right_names(shop):
    with serving(shop, "--allow-remote", "code.example.org") as url:
        assert answer(url) == 401
        assert answer(url, Authorization="Bearer wrong-horse-battery-staple") == 401
        own = {"Authorization": f"Bearer {TOKEN}"}
        assert answer(url, **own, Host="evil.example.org") == 421
        assert answer(url, **own, Origin="http://evil.example.org") == 403
        assert answer(url, **own, Host="code.example.org") not in (401, 403, 421)

        async def talk():
            http = httpx2.AsyncClient(headers=own, timeout=WATCHDOG)
            async with http, Client(streamable_http_client(url, http_client=http)) as client:
                return await client.call_tool("search", {"query": "cart total", "k": 3})

        found = locations(text_of(anyio.run(talk)))
    assert found == [(hit.path, hit.start, hit.end) for hit in Index.build(shop).search("cart total", 3)]
