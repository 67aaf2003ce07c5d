"""Pyckle's eval sets: `{"query", "expected"}` entries in JSON, in a Python literal, or in a file of results.

`expected` is a path or a list of paths. Other keys of a results file are not read.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence, Set
from typing import Final

from assay.gold.anchors import parse_target
from assay.gold.build import GoldSource, build_gold, build_query, describe_renames, require_corpus, row_id, safe_ids
from assay.gold.formats.rows import JsonRecord, describe_unread, first_character, json_has, read_entries, read_listing
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
    return first_character(source) not in _JSON and _ASSIGNED.search(source.text) is not None


def read_pyckle(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    spec = require_corpus(source, corpus)
    if json_has(source, "{", _RESULTS):
        about, records = read_listing(source, _RESULTS)
    else:
        about = JsonRecord({}, source.at(1))
        records = read_entries(source) if first_character(source) in _JSON else _read_literal(source)
    originals = [r.word("id") if "id" in r.values else row_id(n) for n, r in enumerate(records, 1)]
    ids = safe_ids(originals)
    queries = []
    for record, original in zip(records, originals, strict=True):
        record.check_keys(tuple(record.values), required=("query", "expected"))
        expected = record.values["expected"]
        paths = record.texts("expected") if isinstance(expected, list) else (record.text("expected"),)
        targets = [parse_target(path, record.location) for path in paths]
        tags = {key: record.text(key) for key in _TAGS if key in record.values}
        forms = {"human": record.text("query")}
        queries.append(build_query(ids[original], forms, targets, record.location, tags=tags))
    provenance = describe_unread([about, *records], _READ) | describe_renames(ids)
    return build_gold(name, spec, queries, source.at(1), provenance)


def _read_literal(source: GoldSource) -> list[JsonRecord]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as invalid escapes
            tree = ast.parse(source.text)
    except SyntaxError as error:
        hint = "check brackets, commas and quotes"
        raise source.at(error.lineno or 1).error(f"invalid Python: {error.msg}", hint) from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:  # null bytes; code nested too deeply
        why = str(error) or "nested too deeply"
        raise source.at(1).error(f"invalid Python: {why}", "use a plain list of dicts") from error
    name, assignment, entries = _find_list(source, tree)
    line = min(_changes(tree, assignment), default=None)
    if line is not None:
        hint = "write one literal list, or save the list as JSON; the file is not executed"
        raise source.at(line).error(f"this line may change {name}, which line {assignment.lineno} defines", hint)
    return [_record(source, entry) for entry in entries]


_Assignment = ast.Assign | ast.AnnAssign


def _targets(assignment: _Assignment) -> list[ast.expr]:
    return assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]


def _find_list(source: GoldSource, tree: ast.Module) -> tuple[str, _Assignment, list[ast.expr]]:
    assigned = [
        (target.id, node, node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else None)
        for node in tree.body
        if isinstance(node, _Assignment) and node.value is not None
        for target in _targets(node)
        if isinstance(target, ast.Name)
    ]
    lists = [entry for entry in assigned if entry[0] == NAME]
    if not lists:
        for part in ast.walk(tree):
            if _bound_name(part) == NAME:
                line = getattr(part, "lineno", 1)
                raise source.at(line).error(f"{NAME} is not assigned a plain list", _NOT_RUN)
        lists = [named for named in assigned if any(isinstance(entry, ast.Dict) for entry in named[2] or ())]
    if not lists:
        raise source.at(1).error("no list of dicts in this file", f"write {NAME} = [{{...}}, ...]")
    if len(lists) > 1:
        names = " and ".join(f"{name} on line {node.lineno}" for name, node, _ in lists)
        raise source.at(lists[1][1].lineno).error(f"the file has several lists: {names}", f"name only one list {NAME}")
    name, node, entries = lists[0]
    location = source.at(node.value.lineno if node.value else 1)
    if entries is None:
        raise location.error(f"{name} is not a literal list", _NOT_RUN)
    if not entries:
        raise location.error(f"{name} is empty", "add an entry")
    return name, node, entries


def _record(source: GoldSource, entry: ast.expr) -> JsonRecord:
    location = source.at(entry.lineno)
    if not isinstance(entry, ast.Dict):
        raise location.error("an entry of the list is not a dict", 'write it as {"query": "...", "expected": "..."}')
    values: dict[str, object] = {}
    for key, value in zip(entry.keys, entry.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise source.at((key or value).lineno).error("a key of an entry is not a literal string", _NOT_RUN)
        if key.value in values:
            raise source.at(key.lineno).error(f"duplicate key '{key.value}' in an entry", "remove one")
        for part in ast.walk(value):
            if not isinstance(part, _LITERALS):
                raise source.at(getattr(part, "lineno", value.lineno)).error(
                    "a value of an entry is not a literal", _NOT_RUN
                )
        try:
            literal = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
            raise source.at(value.lineno).error(f"a value of an entry is not a literal: {error}", _NOT_RUN) from error
        values[key.value] = list(literal) if isinstance(literal, tuple) else literal
    return JsonRecord(values, location)


#: Builtins and methods that neither change their arguments nor store them.
_READERS: Final = frozenset({"len", "print", "bool", "repr", "str", "type", "isinstance", "any", "all"})
_GETTERS: Final = frozenset({"get", "keys", "values", "items", "strip", "lower", "split", "startswith", "endswith"})
_ANY_NAME: Final = frozenset({"globals", "vars", "locals", "exec", "eval", "__builtins__"})  # reach names by text
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _changes(tree: ast.Module, assignment: _Assignment) -> Iterator[int]:
    """Yield the lines that bind a name of the list again, or run code on import that may change the list."""
    names = {target.id for target in _targets(assignment) if isinstance(target, ast.Name)}
    yield from (target.lineno for target in _targets(assignment) if not isinstance(target, ast.Name))
    nodes = [node for statement in tree.body if statement is not assignment for node in ast.walk(statement)]
    yield from (getattr(node, "lineno", 1) for node in nodes if _bound_name(node) in names)
    owners = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr not in _GETTERS]
    yield from (node.lineno for node in owners if isinstance(node.value, ast.Name) and node.value.id in names)
    local = names.union(bound for node in nodes if not isinstance(node, ast.alias) and (bound := _bound_name(node)))
    for part in _parts_on_import(tree.body[tree.body.index(assignment) + 1 :]):
        is_all = isinstance(part, ast.Assign) and [getattr(t, "id", "") for t in part.targets] == ["__all__"]
        may_name = is_all or isinstance(part, ast.Assert | ast.Expr | ast.expr)
        used = {n.id for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        named = _mentions(part, names)
        fine = (may_name or not named) and (_only_reads(part) or (not named and used.isdisjoint(local)))
        if not fine or any(isinstance(node, ast.alias) and node.name == "*" for node in ast.walk(part)):
            yield getattr(part, "lineno", 1)


def _parts_on_import(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the code that runs on import, without `if __name__ == "__main__"` blocks; decorators become calls."""
    for node in statements:
        if isinstance(node, _Function | ast.ClassDef):
            yield from (ast.Call(decorator, [], [], lineno=decorator.lineno) for decorator in node.decorator_list)
        if isinstance(node, ast.ClassDef):
            yield from (*node.bases, *(keyword.value for keyword in node.keywords))
            yield from _parts_on_import(node.body)
        elif isinstance(node, _Function):
            yield from (*node.args.defaults, *filter(None, node.args.kw_defaults))
        elif not _is_main(node):
            yield node


def _is_main(node: ast.AST) -> bool:
    match node:
        case ast.If(ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]), _, []):
            return True
    return False


def _mentions(node: ast.AST, names: Set[str]) -> bool:
    """Return whether code contains one of the names, also as an attribute or string, or a builtin such as `eval`."""
    return any(
        getattr(part, "id", None) in names | _ANY_NAME
        or getattr(part, "attr", None) in names
        or (isinstance(part, ast.Constant) and part.value in names)
        for part in ast.walk(node)
    )


def _only_reads(node: ast.AST) -> bool:
    calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    named = any(isinstance(part, ast.NamedExpr | ast.Lambda) for part in ast.walk(node))
    return not named and all(getattr(c, "id", "") in _READERS or getattr(c, "attr", "") in _GETTERS for c in calls)


def _bound_name(node: ast.AST) -> str | None:
    """Return the name that a node binds as a variable, import, definition, exception or pattern, or None."""
    if isinstance(node, ast.Name):
        return None if isinstance(node.ctx, ast.Load) else node.id
    if isinstance(node, ast.alias):
        return node.asname or node.name
    return getattr(node, "name", None) or getattr(node, "rest", None)  # of a definition, an exception or a pattern
