from __future__ import annotations

import json

import pytest
from mcp_types import CallToolResult, EmbeddedResource, ImageContent, TextContent, TextResourceContents, Tool

from assay.engines.base import EngineReply
from assay.engines.mcp import Content
from assay.engines.mcp_session import check_call, check_output, check_result, parse_result
from assay.engines.output import OutputSettings, make_layout
from assay.errors import EngineError
from assay.patterns import UserPattern
from assay.settings import read_settings
from assay.types import Cost, Hit

SCHEMA = {"properties": {"query": {}, "top_k": {}, "repo": {}}, "required": ["query"], "type": "object"}
TOOLS = {
    "search": Tool(name="search", input_schema=SCHEMA),
    "open": Tool(name="open", input_schema={**SCHEMA, "additionalProperties": True}),
    "anything": Tool(name="anything", input_schema={"type": "object"}),
}


def said(*texts: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text) for text in texts])


def read(result: CallToolResult, content: Content = "auto", **settings: str) -> EngineReply:
    layout = make_layout(read_settings(OutputSettings, settings, "engine"), "engine")
    return parse_result(result, content, layout, frozenset({"a.py"}))


def test_answers_are_read_as_json_in_each_text_or_in_one() -> None:
    one = json.dumps([{"file": "a.py", "line": 1}, {"file": "a.py", "line": 2}], indent=1)
    each = [json.dumps({"file": "a.py", "line": n}, indent=1) for n in (1, 2)]
    assert read(said(one)) == read(said(*each)) == EngineReply((Hit("a.py", 1), Hit("a.py", 2)))
    assert read(said(*each), format="json") == read(said(one), format="json") == read(said(one))


def test_answers_of_text_wrapped_by_a_library_are_text() -> None:
    wrapped = said("a.py:3-9\nb.py").model_copy(update={"structured_content": {"result": "a.py:3-9\nb.py"}})
    assert read(wrapped).hits == (Hit("a.py", 3, 9), Hit("b.py"))


def test_answers_with_structured_content_are_read_by_declared_fields() -> None:
    result = CallToolResult(content=[], structured_content={"r": [{"p": "a.py", "t": "x"}], "usage": {"tokens": 7}})
    reply = read(result, path="r[].p", snippet="t", tokens="usage.tokens")
    assert reply == EngineReply((Hit("a.py", snippet="x"),), Cost(tokens=7))


def test_answers_say_in_two_ways_what_content_chooses() -> None:
    picture = ImageContent(type="image", data="", mime_type="image/png")
    both = CallToolResult(
        content=[*said("a.py:1").content, picture], structured_content={"results": [{"file": "b.py"}]}
    )
    assert read(both).hits == read(both, "structured").hits == (Hit("b.py"),)
    assert read(both, "text") == EngineReply(
        (Hit("a.py", 1, 1),), None, ("ignored content of type image in the result (1)",)
    )
    assert read(both, pattern="^(?P<path>.+):").hits == (Hit("a.py"),)
    with pytest.raises(EngineError, match="no structured content"):
        read(said("a.py"), "structured")


def test_answers_may_embed_files_and_may_be_empty() -> None:
    file = TextResourceContents(uri="memo://x", text="a.py:2")
    assert read(CallToolResult(content=[EmbeddedResource(type="resource", resource=file)])).hits == (Hit("a.py", 2, 2),)
    assert read(CallToolResult(content=[])) == read(said(""), format="json") == EngineReply(())


def test_answers_that_are_errors_are_told_in_the_words_of_the_server() -> None:
    result = said("the index\nis gone").model_copy(update={"is_error": True})
    with pytest.raises(EngineError, match="the tool 'search' failed: the index is gone"):
        check_result("search", result)
    with pytest.raises(EngineError, match="no error message"):
        check_result("search", CallToolResult(content=[], is_error=True))


@pytest.mark.parametrize(
    ("tool", "arguments", "message", "hint"),
    [
        ("Search", ["query"], "no tool 'Search'$", "did you mean 'search'? tools: anything, open, search"),
        ("xyz", ["query"], "no tool 'xyz'$", "tools: anything, open, search"),
        (
            "search",
            ["query", "limit", "b"],
            "has no argument b, limit$",
            "arguments: query, top_k, repo; required: query",
        ),
        (
            "search",
            ["top_k"],
            "missing arguments of the tool 'search': query$",
            "arguments: query, top_k, repo; required: query",
        ),
        (
            "open",
            ["limit"],
            "missing arguments of the tool 'open': query$",
            "arguments: query, top_k, repo; required: query",
        ),
    ],
)
def test_calls_that_do_not_fit_the_tools_name_what_would(
    tool: str, arguments: list[str], message: str, hint: str
) -> None:
    with pytest.raises(EngineError) as caught:
        check_call(TOOLS, tool, arguments)
    assert caught.match(message.replace("?", r"\?").replace("$", r"(?m:$)"))
    assert caught.value.hint == hint


def test_calls_that_fit_the_tools_are_let_through() -> None:
    check_call(TOOLS, "search", ["query", "repo"])
    check_call(TOOLS, "open", ["query", "limit"])
    check_call(TOOLS, "anything", ["at", "all"])


def test_index_that_says_in_words_that_it_failed_did() -> None:
    said = CallToolResult(content=[TextContent(type="text", text="Failed to index: no network")])
    check_output(said, None)
    check_output(said, UserPattern("^Error"))
    with pytest.raises(EngineError, match="the tool failed: Failed to index: no network"):
        check_output(said, UserPattern("^Failed", timeout=EngineError))
