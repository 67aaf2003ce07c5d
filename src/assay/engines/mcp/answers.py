"""What a tool answered, as hits: structured content first, then its texts; an error in the server's own words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_types import CallToolResult, ContentBlock, EmbeddedResource, TextContent, TextResourceContents

from assay.engines.base import Reply
from assay.engines.mcp.settings import Content
from assay.engines.reading.output import Layout, read_document, read_output
from assay.engines.reading.patterns import told_failure
from assay.errors import EngineError


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """What a message shows."""

    words: int = 300  # characters of what a server says of its failure


ANSWER_LIMITS = AnswerLimits()


def check_answer(tool: str, result: CallToolResult) -> CallToolResult:
    """Raise what a tool says went wrong."""
    if result.is_error:
        said = " ".join(" ".join(_texts(result.content)).split())[: ANSWER_LIMITS.words]
        raise EngineError(
            f"the tool {tool!r} failed: {said or 'it does not say why'}", hint="correct its arguments, or the server"
        )
    return result


def check_words(result: CallToolResult, failed: re.Pattern[str] | None) -> None:
    """Raise what a tool says, in the words that are declared for it, that went wrong."""
    problem = told_failure("\n".join(_texts(result.content)), failed)
    if problem is not None:
        raise problem


def read_answer(result: CallToolResult, content: Content, layout: Layout, known: frozenset[str]) -> Reply:
    """Read an answer; a text that a library wrapped as `{"result": ...}` is read as the text it is."""
    structured = result.structured_content
    wrapped = isinstance(structured, dict) and list(structured) == ["result"] and isinstance(structured["result"], str)
    if content == "structured" and structured is None:
        raise EngineError("the answer has no structured content", hint='set content = "text"')
    as_document = (
        structured is not None and not wrapped and not layout.text.pattern and layout.format in ("auto", "json")
    )
    if content != "text" and as_document:
        return read_document(structured, layout)
    texts = _texts(result.content)
    if not "".join(texts).strip():
        return Reply((), None, _unread(result.content))
    reply = read_output("\n".join(texts), layout, known)
    return replace(reply, notes=(*reply.notes, *_unread(result.content)))


def _texts(content: Sequence[ContentBlock]) -> list[str]:
    """Give the texts of an answer, those of embedded files too."""
    plain = [item.text if isinstance(item, TextContent) else _embedded(item) for item in content]
    return [text for text in plain if text is not None]


def _embedded(item: ContentBlock) -> str | None:
    """Give the text of an embedded file."""
    if isinstance(item, EmbeddedResource) and isinstance(item.resource, TextResourceContents):
        return item.resource.text
    return None


def _unread(content: Sequence[ContentBlock]) -> tuple[str, ...]:
    """Tell of pictures and the like."""
    counts = Counter(item.type for item in content if not isinstance(item, TextContent) and _embedded(item) is None)
    return tuple(f"{count} of type {name} in the answer not read" for name, count in sorted(counts.items()))
