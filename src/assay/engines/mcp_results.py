"""Checks of MCP tool calls and results, and parsing of results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, ContentBlock, EmbeddedResource, TextContent, TextResourceContents, Tool

from assay.engines.base import EngineReply
from assay.engines.output import OutputLayout, parse_document, parse_output
from assay.engines.text_output import find_failure
from assay.errors import EngineError, closest_match

if TYPE_CHECKING:
    from assay.engines.mcp import Content

SHOWN_ERROR = 300  # characters of a server error that a message quotes


def parse_result(result: CallToolResult, content: Content, layout: OutputLayout, known: frozenset[str]) -> EngineReply:
    """Parse the result of a tool into hits; text that a server library wraps as `{"result": ...}` is parsed as text."""
    structured = result.structured_content
    wrapped = isinstance(structured, dict) and list(structured) == ["result"] and isinstance(structured["result"], str)
    if content == "structured" and structured is None:
        raise EngineError("the result has no structured content", hint='set content = "text"')
    is_document = structured is not None and not wrapped
    if content != "text" and is_document and not layout.text.pattern and layout.format in ("auto", "json"):
        return parse_document(structured, layout)
    ignored = Counter(item.type for item in result.content if _text(item) is None)
    notes = tuple(f"ignored content of type {name} in the result ({n})" for name, n in sorted(ignored.items()))
    text = "\n".join(_texts(result.content))
    if not text.strip():
        return EngineReply((), None, notes)
    reply = parse_output(text, layout, known)
    return replace(reply, notes=(*reply.notes, *notes))


def check_call(tools: Mapping[str, Tool], tool: str, arguments: Iterable[str]) -> None:
    if tool not in tools:
        near = closest_match(tool, tools)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise EngineError(
            f"the server has no tool {tool!r}", hint=f"{meant}tools: {', '.join(sorted(tools)) or 'none'}"
        )
    schema: Mapping[str, Any] = tools[tool].input_schema
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    given, required = set(arguments), set(schema.get("required") or ())
    names = sorted(properties, key=lambda name: name not in required)  # required arguments first
    hint = f"arguments: {', '.join(names) or 'none'}"
    hint += f"; required: {', '.join(name for name in names if name in required)}" if required else ""
    unknown = sorted(given - set(properties))
    if unknown and not schema.get("additionalProperties"):  # most servers silently ignore unknown arguments
        raise EngineError(f"the tool {tool!r} has no argument {', '.join(unknown)}", hint=hint)
    missing = sorted(required - given)
    if missing:
        raise EngineError(f"missing arguments of the tool {tool!r}: {', '.join(missing)}", hint=hint)


def check_result(tool: str, result: CallToolResult) -> None:
    if result.is_error:
        text = " ".join(" ".join(_texts(result.content)).split())[:SHOWN_ERROR]
        raise EngineError(
            f"the tool {tool!r} failed: {text or 'no error message'}", hint="correct the arguments, or fix the server"
        )


def check_output(result: CallToolResult, failed: re.Pattern[str] | None) -> None:
    problem = find_failure("\n".join(_texts(result.content)), failed)
    if problem is not None:
        raise problem


def _texts(content: Sequence[ContentBlock]) -> list[str]:
    return [text for text in map(_text, content) if text is not None]


def _text(item: ContentBlock) -> str | None:
    if isinstance(item, TextContent):
        return item.text
    if isinstance(item, EmbeddedResource) and isinstance(item.resource, TextResourceContents):
        return item.resource.text
    return None
