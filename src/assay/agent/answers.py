"""What a call comes back with: text for an agent that reads, the same as data, or an error with the next step."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from anyio.lowlevel import RunVar
from mcp.types import CallToolResult, TextContent

from assay.errors import AssayError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """How much an agent is given to read; it pays for every word."""

    text: int = 40_000  # characters of one answer: 10,000 tokens, below what agents cut off by themselves
    columns: int = 240  # of a line of code: more is a minified file
    error: int = 2_000  # characters of an error
    calls: int = 16  # at once; more wait their turn


LIMITS: Final = AnswerLimits()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in its two forms."""

    text: str
    data: DataclassInstance


async def answered(work: Callable[[], Answer]) -> CallToolResult:
    """Do the work of a call in a thread of its own, and turn whatever comes of it into a result."""
    try:
        # A call that is taken back is not waited for: nobody reads its answer.
        answer = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=_limiter())
    except AssayError as error:
        return failure(str(error))
    except Exception as error:
        if os.environ.get("ASSAY_DEBUG"):
            traceback.print_exc(file=sys.stderr)
        return failure(
            f"unexpected {type(error).__name__}\n  → a bug in Assay; other calls still work. ASSAY_DEBUG=1 in the "
            "server's environment writes where it happened to stderr"
        )
    return CallToolResult(content=[_said(answer.text)], structured_content=_plain(asdict(answer.data)))


def failure(text: str) -> CallToolResult:
    """Tell what went wrong; nothing that is named like a secret in the environment gets out."""
    from assay.redaction import Redactor, environment_secrets

    hidden = Redactor(environment_secrets()).text(text)[: LIMITS.error]
    return CallToolResult(content=[_said(hidden)], is_error=True)


def _said(text: str) -> TextContent:
    """Put a text where agents read it."""
    return TextContent(type="text", text=text)


def fenced(lines: tuple[str, ...], language: str) -> str:
    """Write lines of code between fences that are longer than any in them."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def cut(line: str) -> str:
    """Cut a line of code that is too long to be read."""
    return line if len(line) <= LIMITS.columns else line[: LIMITS.columns - 1] + "…"


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Make a table that JSON can hold: tuples are lists, numbers that do not exist are null."""
    from assay.report.pages.plain import plain

    table = plain(value)
    assert isinstance(table, dict)
    return table


_LIMITER: RunVar[anyio.CapacityLimiter] = RunVar("assay_calls")


def _limiter() -> anyio.CapacityLimiter:
    """Give the limiter of this event loop; one loop's is of no use to another."""
    limiter = _LIMITER.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(LIMITS.calls)
        _LIMITER.set(limiter)
    return limiter
