"""Recorded contracts: compare a value with its recorded file under `recorded/`.

`make contracts` records all of them, `ASSAY_RECORD=1 pytest tests/contracts/test_x.py` those of one module; then
`git diff tests/contracts/recorded` shows what changed.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

RECORDED = Path(os.environ.get("ASSAY_RECORDED") or Path(__file__).parent / "recorded")
RECORDING = os.environ.get("ASSAY_RECORD") == "1"
SIGNIFICANT_DIGITS = 6  # BLAS builds differ in the last bits of a double
MASKED = "<masked>"
_KINDS = {
    type(None): "null", bool: "bool", int: "number", float: "number", str: "text", list: "list", tuple: "list",
}  # fmt: skip


def check(name: str, value: object) -> None:
    """Fail with a diff unless `value` equals the recorded file; text is compared verbatim, anything else as JSON."""
    path = RECORDED / name
    actual = value if isinstance(value, str) else to_json(value)
    if not actual.endswith("\n"):
        actual += "\n"
    if RECORDING:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(actual, encoding="utf-8")
        return
    if not path.is_file():
        pytest.fail(f"no recorded contract {name}; record it with: {_command(name)}")
    expected = path.read_text(encoding="utf-8")
    if actual != expected:
        lines = difflib.unified_diff(
            expected.splitlines(), actual.splitlines(), f"recorded/{name}", "actual", lineterm="", n=2
        )
        pytest.fail("\n".join([*list(lines)[:200], f"if the change is intended: {_command(name)}"]), pytrace=False)


def _command(name: str) -> str:
    module = name.partition("/")[0].partition(".")[0]
    return f"ASSAY_RECORD=1 .venv/bin/python -m pytest tests/contracts/test_{module}.py (all: make contracts)"


def to_json(value: object) -> str:
    return json.dumps(rounded(value), indent=1, sort_keys=True, ensure_ascii=False)


def rounded(value: object) -> object:
    """Return a JSON-like value with floats rounded to digits that do not depend on the machine."""
    if isinstance(value, float):
        short = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
        return 0.0 if abs(short) < 1e-12 else short
    if isinstance(value, Mapping):
        return {str(key): rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value


def masked(value: Any, keys: Iterable[str], *, nullable: Iterable[str] = ()) -> Any:
    """Return a JSON-like value with the values of the named keys replaced by their kind, at any depth.

    The keys in `nullable` are null on some machines, so their kind is not recorded.
    """
    hidden, unsure = frozenset(keys), frozenset(nullable)
    if isinstance(value, Mapping):
        found = {}
        for key, item in value.items():
            kind = MASKED if key in unsure else mask(item) if key in hidden else None
            found[str(key)] = masked(item, hidden, nullable=unsure) if kind is None else kind
        return found
    if isinstance(value, list | tuple):
        return [masked(item, hidden, nullable=unsure) for item in value]
    return value


def mask(value: object) -> str:
    """Return a placeholder that names the kind of a JSON value."""
    if isinstance(value, Mapping):
        kinds = {mask(item).strip("<>").removeprefix("masked ") for item in value.values()}
        return f"<masked object of {kinds.pop()}>" if len(kinds) == 1 else "<masked object>"
    return f"<masked {_KINDS[type(value)]}>"


def substituted(text: str, replacements: Mapping[str, str]) -> str:
    """Return text with each regular expression replaced, in order."""
    for pattern, placeholder in replacements.items():
        text = re.sub(pattern, placeholder, text)
    return text


def shape(value: object) -> object:
    """Return the keys and types of a JSON value; list items are merged into one shape, such as `null | str`.

    Masks are kept.
    """
    if isinstance(value, Mapping):
        return {str(key): shape(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        merged: object = None
        for item in value:
            merged = _merge(merged, shape(item))
        return ["empty" if merged is None else merged]
    if value is None:
        return "null"
    if isinstance(value, str) and value.startswith("<masked"):
        return value
    return {bool: "bool", int: "int", float: "float", str: "str"}[type(value)]


def _merge(one: object, other: object) -> object:
    if one is None or one == other:
        return other
    if isinstance(one, dict) and isinstance(other, dict):
        missing = dict.fromkeys({*one} ^ {*other}, "absent")
        left, right = {**missing, **one}, {**missing, **other}
        return {key: _merge(left[key], right[key]) for key in sorted(left)}
    if isinstance(one, list) and isinstance(other, list):
        if "empty" in (one[0], other[0]):
            return other if one[0] == "empty" else one
        return [_merge(one[0], other[0])]
    names = {*_names(one), *_names(other)}
    return " | ".join(sorted(names))


def _names(value: object) -> list[str]:
    return value.split(" | ") if isinstance(value, str) else [json.dumps(value, sort_keys=True)]
