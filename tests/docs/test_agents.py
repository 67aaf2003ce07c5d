"""docs/guides/agents.md cannot rot: its configurations parse, and what they start is a server with these tools."""

import json
import os
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from assay.cli.main import build_parser

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "agents.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
FORMATS: dict[str, Any] = {"json": json.loads, "toml": tomllib.loads}
FOLDERS = ("/path/to/shop", "${workspaceFolder}", "~/code/shop")


def entries():
    """What each configuration says of the server."""
    for kind, text in BLOCKS:
        if kind in FORMATS:
            (servers,) = FORMATS[kind](text).values()
            servers = servers.get("servers", servers)
            assert list(servers) == ["assay"]
            yield servers["assay"]


def commands():
    """What each configuration starts, from the word `assay` on."""
    for entry in entries():
        command = entry.get("command", [])
        words = command if isinstance(command, list) else [command, *entry["args"]]
        if words:
            words = ["assay" if word == "/path/to/bin/assay" else word for word in words]
            yield words[words.index("assay") :]


def shell():
    return [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines() if line.startswith("assay ")]


def test_every_agent_has_its_configuration():
    titles = re.findall(r"^### (.+)$", PAGE, flags=re.MULTILINE)
    assert len(titles) >= 10
    assert len(list(entries())) == len(titles) + 1  # and the one of uvx
    assert len(list(commands())) == len(titles)  # all but the one by HTTP


@pytest.mark.parametrize("command", [shlex.join(words) for words in commands()] + shell())
def test_command_parses(command):
    build_parser().parse_args(shlex.split(command)[1:])


@pytest.mark.nightly
def test_command_starts_and_lists_the_tools_of_the_page(shop):
    served = [tuple(str(shop) if word in FOLDERS else word for word in words[1:]) for words in commands()]
    for words in sorted(set(served)):
        where = StdioServerParameters(
            command=sys.executable, args=["-m", "assay", *words], cwd=shop, env=dict(os.environ)
        )

        async def talk(where: StdioServerParameters = where):
            async with Client(stdio_client(where)) as client:
                return client.instructions or "", [tool.name for tool in (await client.list_tools()).tools]

        instructions, tools = anyio.run(talk)
        assert tools == re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)
        assert str(shop) in instructions


def test_arguments_of_search_are_named(shop):
    from tests.agent.calling import serve

    async def talk():
        async with Client(serve(shop)) as client:
            return {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}

    (row,) = re.findall(r"^\| `search` \|.*$", PAGE, flags=re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", row.split("|")[2]))
    assert named == set(anyio.run(talk)["search"]["properties"]) - {"query"}


def test_preset_of_the_page_asks_this_server():
    from assay.engines import make_engine

    config = make_engine("assay-mcp").config
    assert config["kind"] == "mcp"
    assert config["tool"] == "search"
