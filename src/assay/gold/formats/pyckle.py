"""Pyckle-style eval sets: `{"query", "expected"}` pairs in a JSON list, in a Python literal, or in a file of results.

`expected` is a path or a list of paths; what follows `query` and `expected` in a file of results is not gold.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from assay.gold.building import GoldSource, build_gold, build_query, parse_target, row_id
from assay.gold.formats.export import renamed, safe_ids
from assay.gold.formats.multi_repo import require_corpus
from assay.gold.formats.rows import JsonListing, Record, json_has, opening, read_entries, read_listing, unread
from assay.types import CorpusSpec, GoldSet, Query

#: `list` is the list itself, `copy` another list of its entries, `part` an entry or something in it.
Kind = Literal["list", "copy", "part"]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_METHODS: Final = frozenset(
    {"append", "extend", "insert", "remove", "pop", "clear", "reverse", "sort"}
    | {"update", "setdefault", "popitem", "add", "discard"}
)
_CHANGERS: Final = frozenset({"shuffle", "setitem", "delitem", "iadd", "ior", "heapify", "insort", "setattr"})
_TYPES: Final = frozenset({"list", "dict", "set"})  # list.append(x, y) is x.append(y)
_PASSES: Final = frozenset(
    {"list", "tuple", "set", "sorted", "reversed", "enumerate", "zip", "iter", "filter", "islice", "chain", "copy"}
    | {"sample", "choices", "tqdm", "track"}
)
_PICKS: Final = frozenset({"next", "choice", "max", "min"})
_BLIND: Final = frozenset({"globals", "exec", "eval"})  # with these, any name can be set
_BY_NAME: Final = frozenset({"setattr", "getattr", "delattr"})
_OWN_NAMES: Final = frozenset({"vars", "locals"})  # without an argument they give all names
_PASSED: Final = ("get", "values", "items", "copy", "setdefault", "pop")  # methods that give what is inside


@dataclass(slots=True)
class _Scope:
    """The names of a function, or of the file."""

    above: _Scope | None = None
    function: str = ""
    own: set[str] = field(default_factory=set)
    kinds: dict[str, Kind] = field(default_factory=dict)

    def owner(self, name: str) -> _Scope:
        return self if name in self.own or self.above is None else self.above.owner(name)

    def kind(self, name: str) -> Kind | None:
        return self.owner(name).kinds.get(name)


@dataclass(frozen=True, slots=True)
class _Place:
    """A node and the scope it stands in."""

    node: ast.AST
    scope: _Scope


def first_change(tree: ast.Module, name: str, assigned: ast.stmt, value: ast.expr) -> int | None:
    """Give the line of the first thing that changes a list after it was assigned, or may."""
    code = _Code(tree, name, assigned, value)
    lines = [getattr(place.node, "lineno", 1) for place in code.places if code.changes(place)]
    return min(lines, default=None)


def binds(node: ast.AST, name: str) -> bool:
    """Tell whether a node gives a name a value, or takes it away."""
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.alias):
        return (node.asname or node.name) == name
    return name in (getattr(node, "name", None), getattr(node, "rest", None))  # def, class, except, case


class _Code:
    """A file in which the list and its parts are followed from name to name."""

    def __init__(self, tree: ast.Module, name: str, assigned: ast.stmt, value: ast.expr) -> None:
        self.name, self.assigned, self.value = name, assigned, value
        self.scopes: dict[Function, _Scope] = {}
        self.returns: dict[str, Kind] = {}
        top = _Scope(kinds={name: "list"})
        self.places = list(self._walk(tree, top))
        self.functions: dict[str, list[Function]] = {}
        for function, scope in self.scopes.items():
            self.functions.setdefault(scope.function, []).append(function)
        targets = assigned.targets if isinstance(assigned, ast.Assign) else []
        self.firsts = {target for target in targets if isinstance(target, ast.Name)}
        if isinstance(assigned, ast.AnnAssign) and isinstance(assigned.target, ast.Name):
            self.firsts.add(assigned.target)
        top.kinds |= {target.id: "list" for target in self.firsts}
        while sum(self._follow(place) for place in self.places):  # until no name is new
            pass

    def _walk(self, tree: ast.AST, top: _Scope) -> Iterator[_Place]:
        stack = [_Place(tree, top)]
        while stack:
            place = stack.pop()
            yield place
            inner = place.scope
            if isinstance(place.node, Function):
                inner = self.scopes[place.node] = _Scope(
                    place.scope, getattr(place.node, "name", ""), _own_names(place.node)
                )
            parts = [part for part in ast.iter_child_nodes(place.node) if part is not self.value]
            stack.extend(_Place(part, inner) for part in reversed(parts))

    def _follow(self, place: _Place) -> bool:
        node, scope = place.node, place.scope
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            inside = self._mentions(node.iter, scope)
            return bool(inside) and self._bind(node.target, "part", scope)
        if isinstance(node, ast.Assign):
            kind = self.kind(node.value, scope)
            return kind is not None and any(self._bind(target, kind, scope) for target in node.targets)
        if isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            kind = self.kind(node.value, scope)
            return kind is not None and self._bind(node.target, kind, scope)
        if isinstance(node, ast.Call):
            return self._called(node, scope)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return self._defined(node, scope)
        if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
            return self._returned(node.value, scope)
        return False

    def _bind(self, target: ast.expr, kind: Kind, scope: _Scope) -> bool:
        if isinstance(target, ast.Name):
            return self._note(target.id, kind, scope)
        if isinstance(target, ast.Starred):
            return self._bind(target.value, "copy", scope)
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        return any(self._bind(part, "part", scope) for part in parts)

    def _note(self, name: str, kind: Kind, scope: _Scope) -> bool:
        """Write down what a name stands for; what must not be changed wins over a copy."""
        kinds = scope.owner(name).kinds
        if kinds.get(name) in (kind, "list") or (kinds.get(name) == "part" and kind == "copy"):
            return False
        kinds[name] = kind
        return True

    def _called(self, call: ast.Call, scope: _Scope) -> bool:
        name = _called_name(call)
        given = [(one, pair) for one in self.functions.get(name, ()) if name for pair in self._given(one, call, scope)]
        lambdas = [value for value in _values(call) if isinstance(value, ast.Lambda)]
        if lambdas and any(self._mentions(value, scope) for value in _values(call)):
            given += [(one, (parameter, "part")) for one in lambdas for parameter in _parameters(one)]
        return any(self._note(parameter, kind, self.scopes[one]) for one, (parameter, kind) in given)

    def _given(self, function: Function, call: ast.Call, scope: _Scope) -> Iterator[tuple[str, Kind]]:
        names = _parameters(function)
        if isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ["cls"]):
            names = names[1:]
        pairs = [*zip(names, call.args, strict=False), *((word.arg or "", word.value) for word in call.keywords)]
        for name, value in pairs:
            kind = self.kind(value, scope)
            if kind is not None and name in self.scopes[function].own:
                yield name, kind

    def _defined(self, function: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope) -> bool:
        args = function.args
        positional = zip([*args.posonlyargs, *args.args][::-1], args.defaults[::-1], strict=False)
        pairs = [*positional, *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
        kinds = [(arg.arg, self.kind(default, scope)) for arg, default in pairs if default is not None]
        return any(self._note(name, kind, self.scopes[function]) for name, kind in kinds if kind is not None)

    def _returned(self, value: ast.expr, scope: _Scope) -> bool:
        kind = self.kind(value, scope)
        if kind is None or not scope.function or self.returns.get(scope.function) in (kind, "list"):
            return False
        self.returns[scope.function] = kind
        return True

    def _mentions(self, expression: ast.expr, scope: _Scope) -> bool:
        if self.kind(expression, scope) is not None:
            return True
        if not isinstance(expression, ast.Call):
            return False
        return any(self.kind(value, scope) in ("list", "copy") for value in _values(expression))

    def kind(self, node: ast.expr, scope: _Scope) -> Kind | None:
        if isinstance(node, ast.Name):
            return scope.kind(node.id)
        if isinstance(node, ast.Subscript):
            return self._item(self.kind(node.value, scope), node.slice)
        if isinstance(node, ast.Call):
            return self._result(node, scope)
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Starred):
            return self.kind(node.value, scope)
        if isinstance(node, ast.IfExp):
            return self._strongest([node.body, node.orelse], scope)
        if isinstance(node, ast.BoolOp):
            return self._strongest(node.values, scope)
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return "copy" if self.kind(node.elt, scope) else None
        if isinstance(node, ast.List | ast.Tuple):
            return "copy" if self._strongest(node.elts, scope) else None
        if isinstance(node, ast.BinOp):
            return "copy" if self._strongest([node.left, node.right], scope) else None
        return None

    def _item(self, kind: Kind | None, index: ast.expr) -> Kind | None:
        return kind and ("copy" if isinstance(index, ast.Slice) and kind != "part" else "part")

    def _result(self, call: ast.Call, scope: _Scope) -> Kind | None:
        name = _called_name(call)
        if isinstance(call.func, ast.Attribute) and name in _PASSED:
            kind = self.kind(call.func.value, scope)
            if kind is not None:
                return "copy" if name == "copy" else "part"
        kinds = {self.kind(value, scope) for value in _values(call)} - {None, "part"}
        if kinds and (name in _PASSES or name in _PICKS):
            return "copy" if name in _PASSES else "part"
        return self.returns.get(name)

    def _strongest(self, nodes: Sequence[ast.expr], scope: _Scope) -> Kind | None:
        kinds = {self.kind(node, scope) for node in nodes}
        return next((kind for kind in _STRENGTH if kind in kinds), None)

    def changes(self, place: _Place) -> bool:
        node, scope = place.node, place.scope
        if node not in self.firsts and binds(node, self.name) and scope.owner(self.name).above is None:
            return True
        if isinstance(node, ast.alias):
            return node.name == "*" and node.lineno > self.assigned.lineno
        rule = _RULES.get(type(node))
        return rule is not None and rule(self, node, scope)

    def fixed(self, node: ast.expr, scope: _Scope) -> bool:
        """Tell whether an expression is the list or a part of it, which must stay as they are."""
        return self.kind(node, scope) in ("list", "part")


_STRENGTH: Final[tuple[Kind, ...]] = ("list", "part", "copy")


def _by_attribute(code: _Code, node: ast.Attribute, scope: _Scope) -> bool:
    return (node.attr in _METHODS or node.attr.startswith("__")) and code.fixed(node.value, scope)


def _by_subscript(code: _Code, node: ast.Subscript, scope: _Scope) -> bool:
    named = isinstance(node.slice, ast.Constant) and node.slice.value == code.name  # of the names of the file
    return named or (not isinstance(node.ctx, ast.Load) and code.fixed(node.value, scope))


def _in_place(code: _Code, node: ast.AugAssign, scope: _Scope) -> bool:
    """Tell `x += [...]`."""
    return isinstance(node.target, ast.Name) and code.fixed(node.target, scope)


def _put_away(code: _Code, node: ast.Assign, scope: _Scope) -> bool:
    kept = any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    return kept and (node is code.assigned or code.kind(node.value, scope) == "list")


def _by_call(code: _Code, node: ast.Call, scope: _Scope) -> bool:
    name, values = _called_name(node), _values(node)
    if isinstance(node.func, ast.Name) and (name in _BLIND or (name in _OWN_NAMES and not values)):
        return True
    if name in _BY_NAME and any(isinstance(value, ast.Constant) and value.value == code.name for value in values):
        return True
    unbound = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    of_type = unbound and node.func.value.id in _TYPES and name in _METHODS  # type: ignore[attr-defined]
    return (name in _CHANGERS or of_type) and any(code.fixed(value, scope) for value in values)


_RULES: Final[dict[type[ast.AST], Callable[..., bool]]] = {
    ast.Attribute: _by_attribute,
    ast.Subscript: _by_subscript,
    ast.AugAssign: _in_place,
    ast.Assign: _put_away,
    ast.Call: _by_call,
}


def _called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _values(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(word.value for word in call.keywords)]


def _parameters(function: Function) -> list[str]:
    return [arg.arg for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def _own_names(function: Function) -> set[str]:
    every, args = list(_inside(function)), function.args
    others = {name for node in every if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    stored = {node.id for node in every if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    rest = {arg.arg for arg in (args.vararg, args.kwarg) if arg is not None}
    return (stored | rest | set(_parameters(function))) - others


def _inside(function: Function) -> Iterator[ast.AST]:
    stack: list[ast.AST] = [*function.body] if isinstance(function.body, list) else [function.body]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Function):
            stack.extend(ast.iter_child_nodes(node))


NAME = "EVAL_SET"
_RUN = "the file is never run: write the value itself"
_LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.UnaryOp, ast.UAdd, ast.USub, ast.Load)


def read_literal(source: GoldSource) -> list[Record]:
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


def _parse(source: GoldSource) -> ast.Module:
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


def _assigned(source: GoldSource, tree: ast.Module) -> _Assigned:
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


def _check_no_other(source: GoldSource, tree: ast.Module) -> None:
    """Refuse a file that makes its EVAL_SET in some other way than by `EVAL_SET = [...]` at the top."""
    for node in ast.walk(tree):
        if binds(node, NAME):
            line = getattr(node, "lineno", 1)
            raise source.at(line).error(f"{NAME} is no plain assignment of a list", _RUN)


def _assignments(node: ast.stmt) -> Iterator[_Assigned]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    for target in targets:
        if isinstance(target, ast.Name) and value is not None:
            yield _Assigned(target.id, value, node)


def _check_unchanged(source: GoldSource, tree: ast.Module, assigned: _Assigned) -> None:
    line = first_change(tree, assigned.name, assigned.node, assigned.value)
    if line is not None:
        raise source.at(line).error(
            f"{assigned.name} of line {assigned.node.lineno} is changed here, or may be",
            "the file is never run: write all of it into the one list, or save the finished list as JSON",
        )


def _record(source: GoldSource, entry: ast.expr) -> Record:
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


def _plain(source: GoldSource, node: ast.expr) -> object:
    for part in ast.walk(node):
        if not isinstance(part, _LITERALS):
            raise source.at(getattr(part, "lineno", node.lineno)).error("this is not a literal", _RUN)
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise source.at(node.lineno).error(f"this is not a literal: {error}", _RUN) from error
    return list(value) if isinstance(value, tuple) else value


_TAGS = ("category", "difficulty")
_READ = ("id", "query", "expected", *_TAGS)
_ASSIGNED = re.compile(rf"^{NAME}\b.*=", re.MULTILINE)
_RESULTS = "results"
_JSON = ("{", "[")


def matches(source: GoldSource) -> bool:
    """Tell an eval set by its keys, or by the name it is assigned to in a Python file."""
    return json_has(source, "[{", "query", "expected") or _is_python(source)


def read_pyckle(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    """Read the pairs; a set without ids is named by its rows."""
    spec = require_corpus(source, corpus)
    listing = _listing(source)
    records = listing.records
    ids = safe_ids(_id(record, n) for n, record in enumerate(records, 1))
    queries = [_query(record, ids[_id(record, n)]) for n, record in enumerate(records, 1)]
    return build_gold(name, spec, queries, source.at(1), unread([listing.about, *records], _READ) | renamed(ids))


def _is_python(source: GoldSource) -> bool:
    return source.path.suffix == ".py" or (opening(source) not in _JSON and _ASSIGNED.search(source.text) is not None)


def _listing(source: GoldSource) -> JsonListing:
    if json_has(source, "{", _RESULTS):
        return read_listing(source, _RESULTS)
    records = read_entries(source) if opening(source) in _JSON else read_literal(source)
    return JsonListing(Record({}, source.at(1)), tuple(records))


def _id(record: Record, number: int) -> str:
    return record.word("id") if "id" in record.values else row_id(number)


def _query(record: Record, query_id: str) -> Query:
    record.check_keys(tuple(record.values), required=("query", "expected"))
    expected = record.values["expected"]
    paths = record.texts("expected") if isinstance(expected, list) else (record.text("expected"),)
    targets = [parse_target(path, record.place) for path in paths]
    tags = {key: record.text(key) for key in _TAGS if key in record.values}
    return build_query(query_id, {"human": record.text("query")}, targets, record.place, tags=tags)
