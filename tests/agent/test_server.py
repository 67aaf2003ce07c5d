import json

import anyio
import pytest
from mcp import Client

from assay.errors import EngineError
from assay.search import Index
from tests.agent.calling import ask, refused, serve, text

TOOLS = ["search", "explain", "related", "run_benchmark", "read_report"]


def listed(server):
    async def talk():
        async with Client(server) as client:
            return client.instructions, (await client.list_tools()).tools

    return anyio.run(talk)


def test_tools_are_described_for_strangers(served):
    instructions, tools = listed(served.server)
    assert [tool.name for tool in tools] == TOOLS
    assert str(served.root) in instructions
    for tool in tools:
        assert "Returns " in tool.description
        assert "Example: {" in tool.description
        assert tool.output_schema is None
        assert "max_tokens" in tool.input_schema["properties"]
        assert all("description" in field for field in tool.input_schema["properties"].values())
        assert tool.name in instructions


def test_examples_of_descriptions_are_accepted_arguments(served):
    _, tools = listed(served.server)
    for tool in tools:
        example = json.loads(tool.description.rpartition("Example: ")[2])
        assert set(example) <= set(tool.input_schema["properties"])
        assert set(tool.input_schema.get("required", ())) <= set(example)


def test_only_the_benchmark_writes(served):
    _, tools = listed(served.server)
    assert [tool.name for tool in tools if not tool.annotations.read_only_hint] == ["run_benchmark"]


def test_unknown_tool_is_refused_with_what_there_is(served):
    message = refused(served.server, "serach", query="x")
    assert "did you mean 'search'?" in message


def failing(monkeypatch, problem):
    """Let the index of every folder fail to open."""

    def fail(*args, **more):
        raise problem

    monkeypatch.setattr(Index, "open", fail)


def test_a_crash_in_one_call_ends_neither_server_nor_session(shop, monkeypatch):
    async def talk():
        async with Client(serve(shop)) as client:
            with monkeypatch.context() as patch:
                failing(patch, ZeroDivisionError("the token is hunter2-hunter2"))
                first = await client.call_tool("search", {"query": "cart"})
            return first, await client.call_tool("search", {"query": "cart"})

    first, second = anyio.run(talk)
    assert first.is_error
    assert "unexpected ZeroDivisionError" in text(first)
    assert "hunter2" not in text(first)
    assert not second.is_error


def test_secrets_of_the_environment_are_struck_out_of_errors(shop, monkeypatch):
    monkeypatch.setenv("SHOP_API_KEY", "hunter2-hunter2")
    failing(monkeypatch, EngineError("refused: Bearer hunter2-hunter2", hint="ask with hunter2-hunter2"))
    message = refused(serve(shop), "search", query="cart")
    assert "refused: Bearer ***" in message
    assert "hunter2" not in message


def test_errors_are_bounded(served):
    assert len(refused(served.server, "search", query="x", path="../" * 5_000)) < 2_100
    assert len(refused(served.server, "x" * 5_000)) < 2_100


@pytest.mark.parametrize(
    "query", ["x" * 500, "é" * 2_000, "日本語 の 検索", "a'b\"c", "--help", "two\nlines", "`rm`", "\0"]
)
def test_odd_queries_are_answered(served, query):
    ask(served.server, "search", query=query)
