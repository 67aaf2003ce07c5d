"""The page about assay.toml: every key, from the JSON Schema that the program and editors read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from docs.engines_page import MADE

_Node = Mapping[str, Any]


def settings() -> str:
    """Describe every table of assay.toml."""
    schema = json.loads(resources.files("assay.data").joinpath("schemas/assay.schema.json").read_text("utf-8"))
    parts = ["# Keys of assay.toml", MADE, _INTRODUCTION]
    outside = {name: node for name, node in schema["properties"].items() if not _keys(node)}
    parts += ["## Top level", _table(outside, schema)]
    for name, node in schema["properties"].items():
        if name in outside:
            continue
        title = f"[{name}]" if node.get("properties") else f"[{name}.NAME]"
        parts += [f"## {title}", *filter(None, [_sentence(node.get("description", ""))]), _table(_keys(node), schema)]
    return "\n\n".join(parts) + "\n"


def _keys(node: _Node) -> _Node:
    """Give the keys of a table, or of the tables in it that users name."""
    inner = node.get("additionalProperties")
    found: _Node = node.get("properties") or (inner.get("properties") if isinstance(inner, dict) else None) or {}
    return found


def _table(keys: _Node, schema: _Node) -> str:
    """Show keys as a table."""
    rows = [
        f"| `{name}` | {_cell(_type(node, schema))} | {_default(node)} | {_cell(_about(node, schema))} |"
        for name, node in keys.items()
    ]
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows])


def _about(node: _Node, schema: _Node) -> str:
    """Give the meaning of a key, its own or that of what it refers to."""
    text = node.get("description") or _referred(node, schema).get("description", "")
    return str(text)


def _default(node: _Node) -> str:
    """Write a default as TOML would."""
    return f"`{json.dumps(node['default'])}`" if "default" in node else ""


def _type(node: _Node, schema: _Node) -> str:
    """Say in words what a key may hold."""
    return ", ".join(dict.fromkeys(_types(node, schema)))


def _types(node: _Node, schema: _Node) -> Iterator[str]:
    """List what a key may hold."""
    if "enum" in node:
        yield " · ".join(f"`{json.dumps(one)}`" for one in node["enum"])
    elif "const" in node:
        yield f"`{json.dumps(node['const'])}`"
    elif "$ref" in node:
        yield from _types(_referred(node, schema), schema) if node["$ref"].startswith("#") else ("table",)
    elif alternatives := node.get("anyOf") or node.get("oneOf"):
        for one in alternatives:
            yield from _types(one, schema)
    elif node.get("type") == "array":
        yield f"list of {_type(node.get('items', {}), schema) or 'values'}"
    else:
        kinds = node.get("type", [])
        yield from (_WORDS[kind] + _bounds(node) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _bounds(node: _Node) -> str:
    """Say where a number must lie."""
    said = [f"{sign} {node[key]:g}" for key, sign in _SIGNS.items() if key in node]
    return f" {' and '.join(said)}" if said else ""


def _referred(node: _Node, schema: _Node) -> _Node:
    """Follow a reference inside the schema."""
    reference = str(node.get("$ref", ""))
    found: _Node = schema["$defs"][reference.rpartition("/")[2]] if reference.startswith("#/$defs/") else {}
    return found


def _cell(text: str) -> str:
    """Keep a text inside its cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def _sentence(text: str) -> str:
    """Make a sentence of a description."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "table",
    "array": "list",
    "null": "nothing",
}
_SIGNS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}

_INTRODUCTION = """\
`assay init` writes a commented file. Unknown keys are errors with a suggestion. Paths are relative to the file. `--set
TABLE.KEY=VALUE` overrides any key.

The JSON Schema for editors is `src/assay/data/schemas/assay.schema.json`. The keys of an engine depend on its `kind`:
[engines](engines.md). `assay search --show-config` prints the keys of `[search]`."""
