"""Pyckle-style eval sets: `{"query", "expected"}` pairs in a JSON list, in a Python literal, or in a file of results.

`expected` is a path or a list of paths; other keys of a results file are not gold.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Final

from assay.gold.anchors import parse_target
from assay.gold.build import GoldSource, build_gold, build_query, describe_renames, require_corpus, row_id, safe_ids
from assay.gold.formats.rows import Record, json_has, opening, read_entries, read_listing, unread
from assay.types import CorpusSpec, GoldSet, Query

NAME = "EVAL_SET"
_TAGS = ("category", "difficulty")
_READ = ("id", "query", "expected", *_TAGS)
_ASSIGNED = re.compile(rf"^{NAME}\b.*=", re.MULTILINE)
_RESULTS = "results"
_JSON = ("{", "[")
_NOT_RUN = "the file is never run: write the value itself"
_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.UnaryOp, ast.UAdd, ast.USub, ast.Load)


def matches(source: GoldSource) -> bool:
    """Return whether a file has the keys of an eval set, or assigns one in Python."""
    return json_has(source, "[{", "query", "expected") or _is_python(source)


def _is_python(source: GoldSource) -> bool:
    return source.path.suffix == ".py" or (opening(source) not in _JSON and _ASSIGNED.search(source.text) is not None)


def read_pyckle(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    """Read the pairs; queries without an id are numbered by row."""
    spec = require_corpus(source, corpus)
    if json_has(source, "{", _RESULTS):
        about, records = read_listing(source, _RESULTS)
    else:
        about = Record({}, source.at(1))
        records = read_entries(source) if opening(source) in _JSON else _read_literal(source)
    originals = [r.word("id") if "id" in r.values else row_id(n) for n, r in enumerate(records, 1)]
    ids = safe_ids(originals)
    queries = [_query(record, ids[original]) for record, original in zip(records, originals, strict=True)]
    provenance = unread([about, *records], _READ) | describe_renames(ids)
    return build_gold(name, spec, queries, source.at(1), provenance)


def _query(record: Record, query_id: str) -> Query:
    record.check_keys(tuple(record.values), required=("query", "expected"))
    expected = record.values["expected"]
    paths = record.texts("expected") if isinstance(expected, list) else (record.text("expected"),)
    targets = [parse_target(path, record.place) for path in paths]
    tags = {key: record.text(key) for key in _TAGS if key in record.values}
    return build_query(query_id, {"human": record.text("query")}, targets, record.place, tags=tags)


def _read_literal(source: GoldSource) -> list[Record]:
    tree = _parse(source)
    assigned = _find_list(source, tree)
    try:
        line = _first_change(tree, assigned)
    except RecursionError as error:
        raise source.at(1).error(
            "the code is nested too deeply to be looked through", "save the list as JSON"
        ) from error
    if line is not None:
        raise source.at(line).error(
            f"{assigned.name} of line {assigned.node.lineno} is changed here, or may be",
            "the file is never run: write all of it into the one list, or save the finished list as JSON",
        )
    if not assigned.entries:
        raise source.at(assigned.value.lineno).error(f"{assigned.name} is empty", "add an entry")
    return [_record(source, entry) for entry in assigned.entries]


class _Assigned:
    """A name, and the list that is assigned to it."""

    def __init__(self, name: str, value: ast.expr, node: ast.Assign | ast.AnnAssign) -> None:
        self.name = name
        self.value = value
        self.node = node
        self.targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        self.entries: Sequence[ast.expr] = value.elts if isinstance(value, ast.List | ast.Tuple) else ()


def _parse(source: GoldSource) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the file are not Assay's to report
            return ast.parse(source.text)
    except SyntaxError as error:
        hint = "check brackets, commas and quotes there"
        raise source.at(error.lineno or 1).error(f"not Python: {error.msg}", hint) from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:  # null bytes; nests too deep to parse
        why = error or "nested too deeply"
        raise source.at(1).error(f"not Python: {why}", "write a plain list of dicts") from error


def _find_list(source: GoldSource, tree: ast.Module) -> _Assigned:
    found = [assigned for node in tree.body for assigned in _assignments(node)]
    lists = [assigned for assigned in found if assigned.name == NAME]
    if not lists:
        for node in ast.walk(tree):
            if _binds(node, NAME):
                line = getattr(node, "lineno", 1)
                raise source.at(line).error(f"{NAME} is not a plain assignment of a list", _NOT_RUN)
        lists = [assigned for assigned in found if any(isinstance(e, ast.Dict) for e in assigned.entries)]
    if not lists:
        raise source.at(1).error("no list of dicts is assigned in this file", f"write {NAME} = [{{...}}, ...]")
    if len(lists) > 1:
        names = " and ".join(f"{a.name} in line {a.node.lineno}" for a in lists)
        raise source.at(lists[1].node.lineno).error(f"there are several lists: {names}", f"call only one {NAME}")
    if not isinstance(lists[0].value, ast.List | ast.Tuple):
        raise source.at(lists[0].value.lineno).error(f"{lists[0].name} is not a literal list", _NOT_RUN)
    return lists[0]


def _assignments(node: ast.stmt) -> Iterator[_Assigned]:
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                yield _Assigned(target.id, node.value, node)


def _record(source: GoldSource, entry: ast.expr) -> Record:
    place = source.at(entry.lineno)
    if not isinstance(entry, ast.Dict):
        raise place.error("an entry of the list is not a dict", 'write it as {"query": "...", "expected": "..."}')
    values: dict[str, object] = {}
    for key, value in zip(entry.keys, entry.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise source.at((key or value).lineno).error("a key of an entry is not a literal text", _NOT_RUN)
        if key.value in values:
            raise source.at(key.lineno).error(f"the key '{key.value}' appears twice in an entry", "keep one")
        values[key.value] = _evaluate(source, value)
    return Record(values, place)


def _evaluate(source: GoldSource, node: ast.expr) -> object:
    for part in ast.walk(node):
        if not isinstance(part, _LITERALS):
            raise source.at(getattr(part, "lineno", node.lineno)).error("this is not a literal", _NOT_RUN)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise source.at(node.lineno).error(f"this is not a literal: {error}", _NOT_RUN) from error
    return list(value) if isinstance(value, tuple) else value


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_METHODS: Final = frozenset(
    {"append", "extend", "insert", "remove", "pop", "clear", "reverse", "sort"}
    | {"update", "setdefault", "popitem", "add", "discard"}
)
_CHANGERS: Final = frozenset({"shuffle", "setitem", "delitem", "iadd", "ior", "heapify", "insort", "setattr"})
_TYPES: Final = frozenset({"list", "dict", "set"})  # list.append(x, y) is x.append(y)
_READERS: Final = frozenset({"len", "print", "bool", "repr", "str", "type"})  # builtins that keep no reference
_ANY_NAME: Final = frozenset({"globals", "exec", "eval"})  # with these, any name can be set


def _first_change(tree: ast.Module, assigned: _Assigned) -> int | None:
    finder = _ChangeFinder(tree, assigned)
    finder.visit(tree)
    return min(finder.lines, default=None)


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.alias):
        return (node.asname or node.name) == name
    return name in (getattr(node, "name", None), getattr(node, "rest", None))  # def, class, except, case


class _ChangeFinder(ast.NodeVisitor):
    """Collect the lines that change a list, or may.

    Nowhere in the file may the name be bound again or the list changed through it. Code that runs on import, after the
    assignment, may also not pass the list on, call a function or class of the file, or set names by their text.
    Assertions, defaults of parameters and `_READERS` may use the list.
    """

    def __init__(self, tree: ast.Module, assigned: _Assigned) -> None:
        self.lines: list[int] = []
        self._assigned = assigned
        self._names = {target.id for target in assigned.targets if isinstance(target, ast.Name)}
        nodes = ast.walk(tree)
        self._defined = {node.name for node in nodes if isinstance(node, _Function | ast.ClassDef)}
        self._runs = False  # on import, after the assignment
        self._may_read = False
        self._shadowed = False  # by a local variable of the function

    def visit(self, node: ast.AST) -> None:
        if (not self._shadowed and self._changes(node)) or (self._runs and self._may_change(node)):
            self.lines.append(getattr(node, "lineno", 1))
        super().visit(node)

    def _changes(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute | ast.Subscript):
            called = isinstance(node, ast.Attribute) and (node.attr in _METHODS or node.attr.startswith("__"))
            return (called or not isinstance(node.ctx, ast.Load)) and self._is_inside(node.value)
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            owner = getattr(getattr(node.func, "value", None), "id", "")
            changer = name in _CHANGERS or (owner in _TYPES and name in _METHODS)
            return changer and any(self._is_inside(value) for value in node.args)
        if isinstance(node, ast.Global):
            return not self._names.isdisjoint(node.names)
        return any(_binds(node, name) for name in self._names)

    def _is_inside(self, node: ast.AST) -> bool:
        while isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self._names

    def _may_change(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._names and not self._may_read
        if isinstance(node, ast.Constant):
            return node.value == self._assigned.name
        if isinstance(node, ast.alias):
            return node.name == "*"
        if isinstance(node, ast.Call):
            used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            name = getattr(node.func, "id", "")
            by_text = name in _ANY_NAME or (name in ("vars", "locals") and not node.args)
            return by_text or not used.isdisjoint(self._defined)
        decorators = getattr(node, "decorator_list", [])
        return any(isinstance(one, ast.Name) and one.id in self._defined for one in decorators)

    def visit_Module(self, module: ast.Module) -> None:
        for statement in module.body:
            if statement is self._assigned.node:
                self._runs = True
                self.lines += [target.lineno for target in self._assigned.targets if not isinstance(target, ast.Name)]
            else:
                self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        self._may_read = True
        self.generic_visit(node)
        self._may_read = False

    def visit_If(self, node: ast.If) -> None:
        runs = self._runs
        self._runs = runs and ast.unparse(node.test) != "__name__ == '__main__'"
        for part in (node.test, *node.body):
            self.visit(part)
        self._runs = runs
        for part in node.orelse:
            self.visit(part)

    def visit_Call(self, node: ast.Call) -> None:
        reads = isinstance(node.func, ast.Name) and node.func.id in _READERS
        for part in ast.iter_child_nodes(node):
            if not (reads and isinstance(part, ast.Name)):
                self.visit(part)

    def visit_FunctionDef(self, node: _Function) -> None:
        before = self._runs, self._may_read, self._shadowed
        self._may_read = True
        for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)
        self._runs, self._shadowed = False, self._shadowed or bool(self._names & _own_names(node))
        for statement in node.body:
            self.visit(statement)
        self._runs, self._may_read, self._shadowed = before

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  # the name that ast.NodeVisitor calls


def _own_names(function: _Function) -> set[str]:
    args = function.args
    own = {arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if arg}
    shared: set[str] = set()
    stack: list[ast.AST] = [*function.body]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            shared.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        if not isinstance(node, _Function | ast.Lambda):
            stack.extend(ast.iter_child_nodes(node))
    return own - shared
