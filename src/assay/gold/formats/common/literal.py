"""A list of dicts in a Python file, `EVAL_SET = [...]`: the file is parsed, never run, and only literals are read."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence

from assay.gold.formats.common.records import Record
from assay.gold.formats.common.unchanged import binds, first_change
from assay.gold.source import Source

NAME = "EVAL_SET"
_RUN = "the file is never run: write the value itself"
_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.UnaryOp, ast.UAdd, ast.USub, ast.Load)


def read_literal(source: Source) -> list[Record]:
    """Read the dicts of the list that a file assigns, each with its line."""
    tree = _parse(source)
    assigned = _assigned(source, tree)
    try:
        _check_unchanged(source, tree, assigned)
    except RecursionError as error:
        raise source.at(1).error(
            "the code is nested too deeply to be looked through", "save the list as JSON"
        ) from error
    if not assigned.entries:
        raise source.at(assigned.value.lineno).error(f"{assigned.name} is empty", "add an entry")
    return [_record(source, entry) for entry in assigned.entries]


class _Assigned:
    """A name, and the list that is assigned to it."""

    def __init__(self, name: str, value: ast.expr, node: ast.stmt) -> None:
        self.name = name
        self.value = value
        self.node = node
        self.entries: Sequence[ast.expr] = value.elts if isinstance(value, ast.List | ast.Tuple) else ()


def _parse(source: Source) -> ast.Module:
    """Parse a file, or say in which line it is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in somebody else's file is not ours to complain about
            return ast.parse(source.text)
    except SyntaxError as error:
        hint = "check brackets, commas and quotes there"
        raise source.at(error.lineno or 1).error(f"not Python: {error.msg}", hint) from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:  # null bytes; nests too deep to parse
        why = error or "nested too deeply"
        raise source.at(1).error(f"not Python: {why}", "write a plain list of dicts") from error


def _assigned(source: Source, tree: ast.Module) -> _Assigned:
    """Find the list: the one called EVAL_SET, or the only list of dicts there is."""
    found = [assigned for node in tree.body for assigned in _assignments(node)]
    named = [assigned for assigned in found if assigned.name == NAME]
    if not named:
        _check_no_other(source, tree)
    lists = named or [assigned for assigned in found if any(isinstance(e, ast.Dict) for e in assigned.entries)]
    if not lists:
        raise source.at(1).error("no list of dicts is assigned in this file", f"write {NAME} = [{{...}}, ...]")
    if len(lists) > 1:
        names = " and ".join(f"{a.name} in line {a.node.lineno}" for a in lists)
        raise source.at(lists[1].node.lineno).error(f"there are several lists: {names}", f"call only one {NAME}")
    if not isinstance(lists[0].value, ast.List | ast.Tuple):
        raise source.at(lists[0].value.lineno).error(f"{lists[0].name} is no literal list", _RUN)
    return lists[0]


def _check_no_other(source: Source, tree: ast.Module) -> None:
    """Refuse a file that makes its EVAL_SET in some other way than by `EVAL_SET = [...]` at the top."""
    for node in ast.walk(tree):
        if binds(node, NAME):
            line = getattr(node, "lineno", 1)
            raise source.at(line).error(f"{NAME} is no plain assignment of a list", _RUN)


def _assignments(node: ast.stmt) -> Iterator[_Assigned]:
    """Yield the names a statement assigns a value to."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    for target in targets:
        if isinstance(target, ast.Name) and value is not None:
            yield _Assigned(target.id, value, node)


def _check_unchanged(source: Source, tree: ast.Module, assigned: _Assigned) -> None:
    """Refuse a file that changes the list afterwards: what is written would not be what the set holds."""
    line = first_change(tree, assigned.name, assigned.node, assigned.value)
    if line is not None:
        raise source.at(line).error(
            f"{assigned.name} of line {assigned.node.lineno} is changed here, or may be",
            "the file is never run: write all of it into the one list, or save the finished list as JSON",
        )


def _record(source: Source, entry: ast.expr) -> Record:
    """Read one dict."""
    place = source.at(entry.lineno)
    if not isinstance(entry, ast.Dict):
        raise place.error("an entry of the list is not a dict", 'write it as {"query": "...", "expected": "..."}')
    values: dict[str, object] = {}
    for key, value in zip(entry.keys, entry.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise source.at((key or value).lineno).error("a key of an entry is not a literal text", _RUN)
        if key.value in values:
            raise source.at(key.lineno).error(f"the key '{key.value}' stands twice in an entry", "keep one")
        values[key.value] = _plain(source, value)
    return Record(values, place)


def _plain(source: Source, node: ast.expr) -> object:
    """Give the value of a literal; tuples are lists, as JSON has them."""
    for part in ast.walk(node):
        if not isinstance(part, _LITERALS):
            raise source.at(getattr(part, "lineno", node.lineno)).error("this is not a literal", _RUN)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise source.at(node.lineno).error(f"this is not a literal: {error}", _RUN) from error
    return list(value) if isinstance(value, tuple) else value
