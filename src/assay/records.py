"""The `dataclass` decorator of modules that `assay search` imports: methods are made when they are first called.

`dataclasses.dataclass` compiles up to ten methods per class at import, 0.7 ms; a search imports 140 classes, and calls
the constructors of a third of them and few other methods. Here a class takes 0.05 ms, and the first call of a
constructor compiles it. Instances, `fields`, `replace`, `asdict` and pickles are as with the standard decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, field
from inspect import Signature, get_annotations, signature
from operator import attrgetter, eq, ge, gt, le, lt
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):  # noqa: ANN001, ANN003, ANN201 - typed above
        """Return a dataclass; the options are frozen, slots, eq, order, repr and kw_only."""
        return (lambda decorated: _make(decorated, **options)) if cls is None else _make(cls, **options)


def _make(
    cls: type[Any],
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    order: bool = False,
    repr: bool = True,  # noqa: A002 - as in `dataclasses`
    kw_only: bool = False,
) -> type[Any]:
    namespace = dict(cls.__dict__)
    fields: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-2:0:-1]:
        fields |= base.__dict__.get("__dataclass_fields__", {})
    own = _own_fields(cls, namespace, kw_only)
    fields |= own
    for name, each in own.items():
        if slots or each.default is MISSING:
            namespace.pop(name, None)
        else:
            namespace[name] = each.default
    namespace["__dataclass_fields__"] = fields
    namespace["__dataclass_params__"] = _FROZEN if frozen else _MUTABLE
    namespace["__match_args__"] = tuple(name for name, each in fields.items() if each.init and not each.kw_only)
    if slots:
        taken = {name for base in cls.__mro__[1:] for name in base.__dict__.get("__slots__", ())}
        namespace["__slots__"] = tuple(name for name in fields if name not in taken)
    if frozen:
        namespace |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
        if slots:
            namespace |= {"__getstate__": _state, "__setstate__": _set_state}
    if repr:
        namespace.setdefault("__repr__", _repr)
    if eq:
        _add_comparisons(namespace, fields, frozen, order)
    namespace.pop("__dict__", None)
    namespace.pop("__weakref__", None)
    metaclass: Any = type(cls)
    made: Any = metaclass(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    if "__init__" not in namespace:
        made.__init__ = _first_init(made, list(fields.values()), frozen)
        made.__signature__ = _ClassSignature()
    return made  # type: ignore[no-any-return]


#: What the standard decorator reads of a base class.
_FROZEN = SimpleNamespace(frozen=True)
_MUTABLE = SimpleNamespace(frozen=False)


def _own_fields(cls: type[Any], namespace: dict[str, Any], kw_only: bool) -> dict[str, Field[Any]]:
    fields: dict[str, Field[Any]] = {}
    for name, annotation in get_annotations(cls).items():
        if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        value = namespace.get(name, MISSING)
        made: Any = value if isinstance(value, Field) else field(default=value)
        made.name, made.type, made._field_type = name, annotation, dataclasses._FIELD  # type: ignore[attr-defined]
        if made.kw_only is MISSING:
            made.kw_only = kw_only
        fields[name] = made
    return fields


def _add_comparisons(namespace: dict[str, Any], fields: dict[str, Field[Any]], frozen: bool, order: bool) -> None:
    compared = _values_of([name for name, each in fields.items() if each.compare])
    hashed = _values_of([n for n, each in fields.items() if (each.compare if each.hash is None else each.hash)])
    # Python sets __hash__ to None in classes that define __eq__
    if namespace.get("__hash__") is None and not ("__hash__" in namespace and "__eq__" not in namespace):
        namespace["__hash__"] = (lambda self: hash(hashed(self))) if frozen else None
    namespace.setdefault("__eq__", _comparison(compared, eq))
    if order:
        operators = {"__lt__": lt, "__le__": le, "__gt__": gt, "__ge__": ge}
        namespace |= {name: _comparison(compared, operator) for name, operator in operators.items()}


def _values_of(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _comparison(
    values: Callable[[Any], tuple[Any, ...]], operator: Callable[[Any, Any], bool]
) -> Callable[[Any, Any], Any]:
    def compare(self: object, other: object) -> Any:  # noqa: ANN401 - bool or NotImplemented
        return operator(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

    return compare


class _ClassSignature:
    """The `__signature__` of a class, for `help` and editors before the constructor is compiled."""

    def __get__(self, instance: object, cls: type[Any]) -> Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        whole = signature(_compile_init(cls, list(cls.__dataclass_fields__.values()), frozen=False))
        return whole.replace(parameters=[*whole.parameters.values()][1:])


def _first_init(cls: Any, fields: list[Field[Any]], frozen: bool) -> Callable[..., None]:  # noqa: ANN401 - sets a method
    def init(self: object, /, *args: object, **keywords: object) -> None:
        cls.__init__ = _compile_init(cls, fields, frozen)
        cls.__init__(self, *args, **keywords)

    return init


def _compile_init(cls: type[Any], fields: list[Field[Any]], frozen: bool) -> Callable[..., None]:
    """Compile a constructor; its parameters are the fields, those that are keywords only after the others."""
    known: dict[str, Any] = {"_MISSING": MISSING, "_set": object.__setattr__}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines = []
    for each in fields:
        name, value = each.name, each.name
        known[f"_default_{name}"] = each.default
        if each.default_factory is not MISSING:
            known |= {f"_default_{name}": MISSING, f"_make_{name}": each.default_factory}
            value = f"_make_{name}()" if not each.init else f"_make_{name}() if {name} is _MISSING else {name}"
        elif not each.init:
            if each.default is MISSING:
                continue
            value = f"_default_{name}"
        if each.init:
            optional = each.default is not MISSING or each.default_factory is not MISSING
            parameters[bool(each.kw_only)].append(f"{name}=_default_{name}" if optional else name)
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    keywords = ["*", *parameters[True]] if parameters[True] else []
    body = "\n    ".join(lines or ["pass"])
    source = f"def __init__({', '.join(['self', *parameters[False], *keywords])}):\n    {body}"
    exec(source, known)  # noqa: S102 - as `dataclasses` does
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {each.name: each.type for each in fields if each.init} | {"return": None}
    return init


def _repr(self: Any) -> str:  # noqa: ANN401 - any dataclass
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_assignment(_self: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:  # noqa: ANN401 - any dataclass
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:  # noqa: ANN401 - any dataclass
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
