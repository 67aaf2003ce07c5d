"""Pyckle-style eval sets: `{"query", "expected"}` pairs in a JSON list, in a Python literal, or in a file of results.

`expected` is a path or a list of paths; other keys of a results file are not gold.
"""

from __future__ import annotations

import ast
import re
import symtable
import warnings
from collections.abc import Iterator, Set
from typing import Final

from assay.gold.anchors import parse_target
from assay.gold.build import GoldSource, build_gold, build_query, describe_renames, require_corpus, row_id, safe_ids
from assay.gold.formats.rows import Record, json_has, opening, read_entries, read_listing, unread
from assay.types import CorpusSpec, GoldSet

NAME = "EVAL_SET"
_TAGS = ("category", "difficulty")
_READ = ("id", "query", "expected", *_TAGS)
_ASSIGNED = re.compile(rf"^{NAME}\b.*=", re.MULTILINE)
_RESULTS = "results"
_JSON = ("{", "[")
_NOT_RUN = "use a literal value; the file is not executed"
_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.UnaryOp, ast.UAdd, ast.USub, ast.Load)


def matches(source: GoldSource) -> bool:
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
    queries = []
    for record, original in zip(records, originals, strict=True):
        record.check_keys(tuple(record.values), required=("query", "expected"))
        expected = record.values["expected"]
        paths = record.texts("expected") if isinstance(expected, list) else (record.text("expected"),)
        targets = [parse_target(path, record.place) for path in paths]
        tags = {key: record.text(key) for key in _TAGS if key in record.values}
        forms = {"human": record.text("query")}
        queries.append(build_query(ids[original], forms, targets, record.place, tags=tags))
    provenance = unread([about, *records], _READ) | describe_renames(ids)
    return build_gold(name, spec, queries, source.at(1), provenance)


def _read_literal(source: GoldSource) -> list[Record]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as invalid escapes
            tree = ast.parse(source.text)
            table = symtable.symtable(source.text, str(source.path), "exec")
    except SyntaxError as error:
        hint = "check brackets, commas and quotes"
        raise source.at(error.lineno or 1).error(f"invalid Python: {error.msg}", hint) from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:  # null bytes; code nested too deeply
        why = error or "nested too deeply"
        raise source.at(1).error(f"invalid Python: {why}", "use a plain list of dicts") from error
    name, assignment = _find_list(source, tree)
    try:
        line = min(_changes(tree, table, name, assignment), default=None)
    except RecursionError as error:
        raise source.at(1).error("the code is nested too deeply to analyze", "save the list as JSON") from error
    if line is not None:
        raise source.at(line).error(
            f"{name} of line {assignment.lineno} is, or may be, changed here",
            "write one literal list, or save the list as JSON; the file is not executed",
        )
    value = assignment.value
    assert value is not None
    if not _entries(assignment):
        raise source.at(value.lineno).error(f"{name} is empty", "add an entry")
    return [_record(source, entry) for entry in _entries(assignment)]


_Assignment = ast.Assign | ast.AnnAssign


def _targets(assignment: _Assignment) -> list[ast.expr]:
    return assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]


def _entries(assignment: _Assignment) -> list[ast.expr]:
    return assignment.value.elts if isinstance(assignment.value, ast.List | ast.Tuple) else []


def _find_list(source: GoldSource, tree: ast.Module) -> tuple[str, _Assignment]:
    assignments = [node for node in tree.body if isinstance(node, _Assignment) and node.value is not None]
    found = [(target.id, node) for node in assignments for target in _targets(node) if isinstance(target, ast.Name)]
    lists = [(name, node) for name, node in found if name == NAME]
    if not lists:
        for part in ast.walk(tree):
            if _binds(part, NAME):
                line = getattr(part, "lineno", 1)
                raise source.at(line).error(f"{NAME} is not assigned a plain list", _NOT_RUN)
        lists = [(name, node) for name, node in found if any(isinstance(e, ast.Dict) for e in _entries(node))]
    if not lists:
        raise source.at(1).error("no list of dicts in this file", f"write {NAME} = [{{...}}, ...]")
    if len(lists) > 1:
        names = " and ".join(f"{name} in line {node.lineno}" for name, node in lists)
        raise source.at(lists[1][1].lineno).error(f"several lists: {names}", f"name only one of them {NAME}")
    name, node = lists[0]
    if not isinstance(node.value, ast.List | ast.Tuple):
        raise source.at(node.value.lineno if node.value else 1).error(f"{name} is not a literal list", _NOT_RUN)
    return name, node


def _record(source: GoldSource, entry: ast.expr) -> Record:
    place = source.at(entry.lineno)
    if not isinstance(entry, ast.Dict):
        raise place.error("an entry of the list is not a dict", 'write it as {"query": "...", "expected": "..."}')
    values: dict[str, object] = {}
    for key, value in zip(entry.keys, entry.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise source.at((key or value).lineno).error("a key of an entry is not a literal string", _NOT_RUN)
        if key.value in values:
            raise source.at(key.lineno).error(f"duplicate key '{key.value}' in an entry", "remove one")
        for part in ast.walk(value):
            if not isinstance(part, _LITERALS):
                raise source.at(getattr(part, "lineno", value.lineno)).error("not a literal", _NOT_RUN)
        try:
            literal = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
            raise source.at(value.lineno).error(f"not a literal: {error}", _NOT_RUN) from error
        values[key.value] = list(literal) if isinstance(literal, tuple) else literal
    return Record(values, place)


_METHODS: Final = frozenset(
    {"append", "extend", "insert", "remove", "pop", "clear", "reverse", "sort"}
    | {"update", "setdefault", "popitem", "add", "discard"}
)
_READERS: Final = frozenset({"len", "print", "bool", "repr", "str", "type"})  # builtins that keep no reference
_ANY_NAME: Final = frozenset({"globals", "exec", "eval"})  # with these, any name can be set


def _changes(tree: ast.Module, table: symtable.SymbolTable, name: str, assignment: _Assignment) -> Iterator[int]:
    """Yield the lines that change the list, or may change it.

    No code may rebind the name or change the list through it. Code that runs on import after the assignment may also
    not pass the list on, call functions or classes of the file, or set names by strings. Assertions, parameter
    defaults and `_READERS` may use the list.
    """
    names = {target.id for target in _targets(assignment) if isinstance(target, ast.Name)}
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    defined = {node.name for node in ast.walk(tree) if isinstance(node, (*functions, ast.ClassDef))}
    local = set(_local_scopes(table, names))

    def may_change(node: ast.AST, may_read: bool) -> bool:
        if isinstance(node, ast.Name):
            return node.id in names and not may_read
        if isinstance(node, ast.Constant):
            return node.value == name
        if isinstance(node, ast.alias):
            return node.name == "*"
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", "")
            by_text = called in _ANY_NAME or (called in ("vars", "locals") and not node.args)
            return by_text or any(isinstance(part, ast.Name) and part.id in defined for part in ast.walk(node))
        decorators = getattr(node, "decorator_list", [])
        return any(isinstance(one, ast.Name) and one.id in defined for one in decorators)

    def scan(node: ast.AST, runs: bool, may_read: bool = False) -> Iterator[int]:
        """Scan a node; `runs` means on import, after the assignment."""
        if _is_change(node, names) or (runs and may_change(node, may_read)):
            yield getattr(node, "lineno", 1)
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, functions):
            for default in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
                yield from scan(default, runs, may_read=True)
            runs, may_read, children = False, True, [] if (node.name, node.lineno) in local else [*node.body]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'":
            for part in (node.test, *node.body):
                yield from scan(part, runs=False)
            children = [*node.orelse]
        elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            children = []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _READERS:
            children = [child for child in children if not isinstance(child, ast.Name)]
        for child in children:
            yield from scan(child, runs, may_read or isinstance(node, ast.Assert))

    runs = False
    for statement in tree.body:
        if statement is assignment:
            runs = True
            yield from (target.lineno for target in _targets(assignment) if not isinstance(target, ast.Name))
        else:
            yield from scan(statement, runs)


def _is_change(node: ast.AST, names: Set[str]) -> bool:
    if isinstance(node, ast.Attribute | ast.Subscript):
        inner = node.value
        while isinstance(inner, ast.Subscript | ast.Attribute):
            inner = inner.value
        called = isinstance(node, ast.Attribute) and (node.attr in _METHODS or node.attr.startswith("__"))
        changed = called or not isinstance(node.ctx, ast.Load)
        return changed and isinstance(inner, ast.Name) and inner.id in names
    if isinstance(node, ast.Global):
        return not names.isdisjoint(node.names)
    return any(_binds(node, name) for name in names)


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.alias):
        return (node.asname or node.name) == name
    return name in (getattr(node, "name", None), getattr(node, "rest", None))  # def, class, except, case


def _local_scopes(table: symtable.SymbolTable, names: Set[str]) -> Iterator[tuple[str, int]]:
    """Yield the name and line of each function in which one of the names is a local variable."""
    for child in table.get_children():
        found = names & {*child.get_identifiers()}
        if child.get_type() == "function" and any(child.lookup(name).is_local() for name in found):
            yield child.get_name(), child.get_lineno()
        yield from _local_scopes(child, names)
