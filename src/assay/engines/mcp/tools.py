"""Whether a call fits the tools that a server has: said before the first query, with the names that would fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcp_types import Tool

from assay.errors import EngineError, nearest


def check_call(tools: Mapping[str, Tool], tool: str, arguments: Iterable[str]) -> None:
    """Refuse a tool that is not there, arguments that it does not take, and ones that it misses."""
    if tool not in tools:
        near = nearest(tool, tools)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise EngineError(
            f"the server has no tool {tool!r}{meant}", hint=f"its tools: {', '.join(sorted(tools)) or 'none'}"
        )
    schema: Mapping[str, Any] = tools[tool].input_schema
    takes = schema.get("properties")
    if not isinstance(takes, Mapping):
        return
    given = set(arguments)
    strange = sorted(given - set(takes))
    if strange and not schema.get("additionalProperties"):  # most servers would ignore it without a word
        raise EngineError(f"the tool {tool!r} takes no {', '.join(strange)}", hint=_names(takes, schema))
    missing = sorted(set(schema.get("required") or ()) - given)
    if missing:
        raise EngineError(f"the tool {tool!r} needs {', '.join(missing)}", hint=_names(takes, schema))


def _names(takes: Mapping[str, object], schema: Mapping[str, Any]) -> str:
    """List what a tool takes; what it needs first."""
    needs = [name for name in takes if name in (schema.get("required") or ())]
    rest = [name for name in takes if name not in needs]
    return f"it takes {', '.join(takes and [*needs, *rest]) or 'nothing'}" + (
        f"; it needs {', '.join(needs)}" if needs else ""
    )
