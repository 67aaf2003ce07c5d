"""Is a list still what it was when it was written? Code that is never run is searched for what could change the list.

The list, its entries and what they hold are followed through names: loops, further names, slices, parameters of the
file's own functions. Reading is fine, and so is handing a part on; a change is found at the first place that makes it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

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
        """Find where a name lives."""
        return self if name in self.own or self.above is None else self.above.owner(name)

    def kind(self, name: str) -> Kind | None:
        """Tell what a name stands for."""
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
        """Yield every node but those of the list itself, each with its scope."""
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
        """Give names their kinds by one node; tell whether something is new."""
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
        """Follow the names of a target from now on; of a list taken apart they are parts."""
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
        """Follow arguments into the file's own functions, and a list into the functions called on its entries."""
        name = _called_name(call)
        given = [(one, pair) for one in self.functions.get(name, ()) if name for pair in self._given(one, call, scope)]
        lambdas = [value for value in _values(call) if isinstance(value, ast.Lambda)]
        if lambdas and any(self._mentions(value, scope) for value in _values(call)):
            given += [(one, (parameter, "part")) for one in lambdas for parameter in _parameters(one)]
        return any(self._note(parameter, kind, self.scopes[one]) for one, (parameter, kind) in given)

    def _given(self, function: Function, call: ast.Call, scope: _Scope) -> Iterator[tuple[str, Kind]]:
        """Yield the parameters of a function that get the list or a part of it."""
        names = _parameters(function)
        if isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ["cls"]):
            names = names[1:]
        pairs = [*zip(names, call.args, strict=False), *((word.arg or "", word.value) for word in call.keywords)]
        for name, value in pairs:
            kind = self.kind(value, scope)
            if kind is not None and name in self.scopes[function].own:
                yield name, kind

    def _defined(self, function: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope) -> bool:
        """Follow the defaults of parameters."""
        args = function.args
        positional = zip([*args.posonlyargs, *args.args][::-1], args.defaults[::-1], strict=False)
        pairs = [*positional, *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
        kinds = [(arg.arg, self.kind(default, scope)) for arg, default in pairs if default is not None]
        return any(self._note(name, kind, self.scopes[function]) for name, kind in kinds if kind is not None)

    def _returned(self, value: ast.expr, scope: _Scope) -> bool:
        """Follow what a function gives back."""
        kind = self.kind(value, scope)
        if kind is None or not scope.function or self.returns.get(scope.function) in (kind, "list"):
            return False
        self.returns[scope.function] = kind
        return True

    def _mentions(self, expression: ast.expr, scope: _Scope) -> bool:
        """Tell whether an expression has the list, a copy or a part of it as a value to go through."""
        if self.kind(expression, scope) is not None:
            return True
        if not isinstance(expression, ast.Call):
            return False
        return any(self.kind(value, scope) in ("list", "copy") for value in _values(expression))

    def kind(self, node: ast.expr, scope: _Scope) -> Kind | None:
        """Tell what an expression gives: the list, a copy, a part, or something else."""
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
        """Tell what a subscript gives."""
        return kind and ("copy" if isinstance(index, ast.Slice) and kind != "part" else "part")

    def _result(self, call: ast.Call, scope: _Scope) -> Kind | None:
        """Tell what a call gives: functions that pass a list on, methods that give what is inside."""
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
        """Give the kind that forbids most."""
        kinds = {self.kind(node, scope) for node in nodes}
        return next((kind for kind in _STRENGTH if kind in kinds), None)

    def changes(self, place: _Place) -> bool:
        """Tell whether a node changes the list or a part of it, or could do so unseen."""
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
    """Tell a method that changes what it is called on."""
    return (node.attr in _METHODS or node.attr.startswith("__")) and code.fixed(node.value, scope)


def _by_subscript(code: _Code, node: ast.Subscript, scope: _Scope) -> bool:
    """Tell an assignment to an item, or its deletion."""
    named = isinstance(node.slice, ast.Constant) and node.slice.value == code.name  # of the names of the file
    return named or (not isinstance(node.ctx, ast.Load) and code.fixed(node.value, scope))


def _in_place(code: _Code, node: ast.AugAssign, scope: _Scope) -> bool:
    """Tell `x += [...]`."""
    return isinstance(node.target, ast.Name) and code.fixed(node.target, scope)


def _put_away(code: _Code, node: ast.Assign, scope: _Scope) -> bool:
    """Tell the whole list being put where it cannot be followed."""
    kept = any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    return kept and (node is code.assigned or code.kind(node.value, scope) == "list")


def _by_call(code: _Code, node: ast.Call, scope: _Scope) -> bool:
    """Tell a function that changes its argument, or that can set any name."""
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
    """Give the last word of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _values(call: ast.Call) -> list[ast.expr]:
    """Give the arguments of a call."""
    return [*call.args, *(word.value for word in call.keywords)]


def _parameters(function: Function) -> list[str]:
    """Name the parameters of a function in order."""
    return [arg.arg for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def _own_names(function: Function) -> set[str]:
    """Name what lives inside a function: its parameters, and what it assigns without saying that it is global."""
    every, args = list(_inside(function)), function.args
    others = {name for node in every if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    stored = {node.id for node in every if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    rest = {arg.arg for arg in (args.vararg, args.kwarg) if arg is not None}
    return (stored | rest | set(_parameters(function))) - others


def _inside(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of the functions in it."""
    stack: list[ast.AST] = [*function.body] if isinstance(function.body, list) else [function.body]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Function):
            stack.extend(ast.iter_child_nodes(node))
