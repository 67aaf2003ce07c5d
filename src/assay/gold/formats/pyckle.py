"""Pyckle-style eval sets: `{"query", "expected"}` pairs in a JSON list, in a Python literal, or in a file of results.

`expected` is a path or a list of paths; other keys of a results file are not gold.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence, Set
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
    if json_has(source, "[{", "query", "expected") or source.path.suffix == ".py":
        return True
    return opening(source) not in _JSON and _ASSIGNED.search(source.text) is not None


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
    except SyntaxError as error:
        hint = "check brackets, commas and quotes"
        raise source.at(error.lineno or 1).error(f"invalid Python: {error.msg}", hint) from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:  # null bytes; code nested too deeply
        why = error or "nested too deeply"
        raise source.at(1).error(f"invalid Python: {why}", "use a plain list of dicts") from error
    name, assignment, entries = _find_list(source, tree)
    try:
        line = min(_changes(tree, name, assignment), default=None)
    except RecursionError as error:
        raise source.at(1).error("the code is nested too deeply to analyze", "save the list as JSON") from error
    if line is not None:
        raise source.at(line).error(
            f"{name} of line {assignment.lineno} is, or may be, changed here",
            "write one literal list, or save the list as JSON; the file is not executed",
        )
    return [_record(source, entry) for entry in entries]


_Assignment = ast.Assign | ast.AnnAssign


def _targets(assignment: _Assignment) -> list[ast.expr]:
    return assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]


def _find_list(source: GoldSource, tree: ast.Module) -> tuple[str, _Assignment, list[ast.expr]]:
    found = [
        (target.id, node, node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else None)
        for node in tree.body
        if isinstance(node, _Assignment) and node.value is not None
        for target in _targets(node)
        if isinstance(target, ast.Name)
    ]
    lists = [one for one in found if one[0] == NAME]
    if not lists:
        for part in ast.walk(tree):
            if _binds(part, {NAME}):
                line = getattr(part, "lineno", 1)
                raise source.at(line).error(f"{NAME} is not assigned a plain list", _NOT_RUN)
        lists = [one for one in found if any(isinstance(entry, ast.Dict) for entry in one[2] or ())]
    if not lists:
        raise source.at(1).error("no list of dicts in this file", f"write {NAME} = [{{...}}, ...]")
    if len(lists) > 1:
        names = " and ".join(f"{name} in line {node.lineno}" for name, node, _ in lists)
        raise source.at(lists[1][1].lineno).error(f"several lists: {names}", f"name only one of them {NAME}")
    name, node, entries = lists[0]
    place = source.at(node.value.lineno if node.value else 1)
    if entries is None:
        raise place.error(f"{name} is not a literal list", _NOT_RUN)
    if not entries:
        raise place.error(f"{name} is empty", "add an entry")
    return name, node, entries


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
#: Builtins and methods that may use the list in assertions, defaults and decorators.
_BUILTINS: Final = _READERS | {"all", "any", "isinstance", "set", "sorted", "list", "tuple", "sum", "min", "max", "zip"}
_GETTERS: Final = frozenset({"get", "keys", "values", "items", "strip", "lower", "split", "startswith", "endswith"})
_ANY_NAME: Final = frozenset({"globals", "exec", "eval", "__builtins__"})  # with these, any name can be set
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Deferred = _Function | ast.ClassDef | ast.Lambda


def _changes(tree: ast.Module, name: str, assignment: _Assignment) -> Iterator[int]:
    """Yield the lines that change the list, or may change it.

    No code may rebind the name or change the list through it. Code that runs on import after the assignment may also
    not pass the list on, use functions, classes or objects that may reach it, or set names by strings. Assertions,
    parameter defaults, decorators and `_READERS` may use the list.
    """
    names = {target.id for target in _targets(assignment) if isinstance(target, ast.Name)}
    statements = [node for node in tree.body if node is not assignment and not _is_main(node)]
    reaching = _reaching_names(statements, name, names)
    defined = {node.name for node in ast.walk(tree) if isinstance(node, _Function | ast.ClassDef)}
    rebinding = [node for node in ast.walk(tree) if _binds(node, _BUILTINS)]
    bound = {word for word in _BUILTINS if any(_binds(node, {word}) for node in rebinding)}

    def only_reads(node: ast.AST) -> bool:
        return not any(
            isinstance(part, ast.NamedExpr | ast.Lambda)
            or (
                isinstance(part, ast.Call)
                and getattr(part.func, "id", "") not in _BUILTINS - bound
                and getattr(part.func, "attr", "") not in _GETTERS
            )
            for part in ast.walk(node)
        )

    def scan(node: ast.AST, runs: bool, may_read: bool, suspects: Set[str] = reaching) -> Iterator[int]:
        """Scan a node; `runs` means on import, after the assignment."""
        children = list(ast.iter_child_nodes(node))
        if _is_change(node, names):
            yield getattr(node, "lineno", 1)
        if isinstance(node, ast.Name):
            used = isinstance(node.ctx, ast.Load) and node.id in suspects
            if runs and (used or (node.id in names and not may_read)):
                yield node.lineno
        elif isinstance(node, _Function):
            for decorator in node.decorator_list:
                parts = ast.iter_child_nodes(decorator) if isinstance(decorator, ast.Call) else [decorator]
                for part in parts:
                    yield from scan(part, runs, only_reads(part), reaching & (defined | _ANY_NAME))
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                yield from scan(default, runs, only_reads(default))
            parameters = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
            runs, may_read, children = False, True, [] if names & parameters else [*node.body]
        elif _is_main(node):
            runs = False
        elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            children = []
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", "")
            if runs and called in ("vars", "locals") and not node.args:
                yield node.lineno
            if called in _READERS - bound:
                children = [child for child in children if not (isinstance(child, ast.Name) and child.id in names)]
        elif runs and (_names_list(node, name) or (isinstance(node, ast.alias) and node.name == "*")):
            yield getattr(node, "lineno", 1)
        elif isinstance(node, ast.Assert):
            may_read = only_reads(node)
        for child in children:
            yield from scan(child, runs, may_read, suspects)

    runs = False
    for statement in tree.body:
        if statement is assignment:
            runs = True
            yield from (target.lineno for target in _targets(assignment) if not isinstance(target, ast.Name))
        else:
            yield from scan(statement, runs, False)


def _is_main(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'" and not node.orelse


def _names_list(node: ast.AST, name: str) -> bool:
    return name in (
        getattr(node, "value", None),
        getattr(node, "attr", None),
    )  # as a string, as an attribute of the module


def _reaching_names(statements: Sequence[ast.stmt], name: str, names: Set[str]) -> set[str]:
    """Return the names that may lead to deferred code that uses the list: functions, their aliases and registries.

    Imports and constants are not among them.
    """
    bound: set[str] = set()
    mentions: list[set[str]] = []
    reaching: set[str] = set()
    for statement in statements:
        parts = list(ast.walk(statement))
        used = {part.id for part in parts if isinstance(part, ast.Name)}
        made = {part.name for part in parts if isinstance(part, _Function | ast.ClassDef)}
        if not (isinstance(statement, _Assignment) and isinstance(statement.value, ast.Constant)):
            bound |= made | {part.id for part in parts if _binds(part, used) and isinstance(part, ast.Name)}
        mentions.append(used | made)
        by_text = used & (_ANY_NAME | {"vars", "locals"}) or any(_names_list(part, name) for part in parts)
        if (used & names or by_text) and any(isinstance(part, _Deferred) for part in parts):
            reaching |= mentions[-1]
    reaching &= bound
    while grown := {one for used in mentions if used & reaching for one in used & bound} - reaching:
        reaching |= grown
    return (reaching - names) | _ANY_NAME


def _is_change(node: ast.AST, names: Set[str]) -> bool:
    if isinstance(node, ast.Attribute | ast.Subscript):
        inner = node.value
        while isinstance(inner, ast.Subscript | ast.Attribute):
            inner = inner.value
        called = isinstance(node, ast.Attribute) and (node.attr in _METHODS or node.attr.startswith("__"))
        changed = called or not isinstance(node.ctx, ast.Load)
        return changed and isinstance(inner, ast.Name) and inner.id in names
    return not names.isdisjoint(node.names) if isinstance(node, ast.Global) else _binds(node, names)


def _binds(node: ast.AST, names: Set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in names and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.alias):
        return (node.asname or node.name) in names
    return not names.isdisjoint({getattr(node, "name", None), getattr(node, "rest", None)})  # def, class, except, case
