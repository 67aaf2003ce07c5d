"""What the numbers of a search configuration may be.

A weight is finite and 0 or more, a count 1 or more, unless a line below says otherwise; so a number that somebody adds
is checked before anybody thinks of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fnmatch import fnmatchcase
from functools import cache
from math import isfinite
from typing import Any, Final, Literal, cast, get_args, get_origin, get_type_hints

from assay.errors import ConfigError, closest_match
from assay.search.fusion import parse_fusion
from assay.search.models import SHIPPED

#: The stages that `without` may name; a test holds them against the pipeline.
STAGES: Final = (
    "coherence", "neighbours", "stem", "definition", "scope", "references", "identifier", "noise", "gaps",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Constraint:
    """What a number must be, as code and in words."""

    holds: Callable[[Any], bool]
    wanted: str


@dataclass(frozen=True, slots=True)
class ConstraintViolation:
    """A law that is broken, and the settings that break it together, the likeliest culprit first."""

    keys: tuple[str, ...]
    message: str
    hint: str


_WEIGHT: Final = Constraint(lambda value: isfinite(value) and value >= 0, "a number, 0 or more")
_SHARE: Final = Constraint(lambda value: 0 <= value <= 1, "a number from 0 to 1")
_FACTOR: Final = Constraint(lambda value: isfinite(value) and value >= 1, "a number, 1 or more")
_COUNT: Final = Constraint(lambda value: value >= 1, "a whole number, 1 or more")
_ROOM: Final = Constraint(lambda value: value >= 0, "a whole number, 0 or more")

#: Settings that are more than a weight or a count, by pattern; the first that fits.
_LAWS: Final[Mapping[str, Constraint]] = {
    "lexical.b": _SHARE,
    "coherence.decay": _SHARE,
    "*.prefix": _SHARE,
    "references.least": _SHARE,
    "noise.*": _SHARE,
    "gaps.*": _SHARE,
    "growth.neighbour": _SHARE,
    "growth.times": _FACTOR,
    "dense.reach": _ROOM,
    "index.chunks.overlap": _ROOM,
    "index.chunks.slack": _ROOM,
    "index.chunks.shortest": _ROOM,
    "index.chunks.whole_class": _ROOM,
}


def setting_hints(record: type[object]) -> Mapping[str, Any]:
    """List the settings of a record and of the records in it, by dotted name, with their types."""
    return _setting_hints(cast(Hashable, record))


@cache
def _setting_hints(record: Any) -> Mapping[str, Any]:  # noqa: ANN401 - mypy takes no class for hashable
    found: dict[str, Any] = {}
    hints = get_type_hints(record)
    for setting in fields(cast(Any, record)):
        hint = hints[setting.name]
        inner = setting_hints(cast(type[object], hint)) if is_dataclass(hint) else None
        found |= {setting.name: hint} if inner is None else {f"{setting.name}.{k}": v for k, v in inner.items()}
    return found


def flatten(config: object) -> dict[str, object]:
    """Give the settings of a configuration by dotted name."""
    return {name: _value(config, name) for name in setting_hints(type(config))}


def _value(config: object, name: str) -> object:
    for part in name.split("."):
        config = getattr(config, part)
    return config


def check_laws(config: object) -> None:
    """Refuse a configuration that would silently mean something else."""
    breach = find_breach(flatten(config), setting_hints(type(config)))
    if breach:
        raise ConfigError(f"search setting {breach.message}", hint=breach.hint)


def find_breach(values: Mapping[str, object], hints: Mapping[str, Any]) -> ConstraintViolation | None:
    """Find the first law that settings break."""
    return next(_breaches(values, hints), None)


def _breaches(values: Mapping[str, object], hints: Mapping[str, Any]) -> Iterator[ConstraintViolation]:
    """List what is broken: first each setting for itself, then those that must fit each other."""
    for name, value in values.items():
        law = _law(name, hints[name])
        if law and not law.holds(value):
            yield ConstraintViolation((name,), f"{name} = {value!r}", f"{name} must be {law.wanted}")
    yield from _overlap(values)
    yield from _without(values)
    yield from _fusion(values)
    yield from _translation(values)


@cache
def _law(name: str, hint: Any) -> Constraint | None:  # noqa: ANN401 - a type hint is any object
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        return Constraint(lambda value: value in choices, "one of " + ", ".join(map(str, choices)))
    if hint not in (int, float):
        return None
    own = next((law for pattern, law in _LAWS.items() if fnmatchcase(name, pattern)), None)
    law = own or (_COUNT if hint is int else _WEIGHT)
    kinds = (int,) if hint is int else (int, float)
    return Constraint(
        lambda value: isinstance(value, kinds) and not isinstance(value, bool) and law.holds(value), law.wanted
    )


def _overlap(values: Mapping[str, object]) -> Iterator[ConstraintViolation]:
    names = ("index.chunks.overlap", "index.chunks.size")
    overlap, size = (cast(int, values.get(name, at)) for at, name in enumerate(names))
    if overlap >= size:
        message = f"{names[0]} = {overlap} with {names[1]} = {size}"
        yield ConstraintViolation(names, message, "the overlap must be smaller than the size")


def _fusion(values: Mapping[str, object]) -> Iterator[ConstraintViolation]:
    name = "dense.fusion"
    try:
        parse_fusion(str(values.get(name, "max")))
    except ConfigError as error:
        yield ConstraintViolation((name,), f"{name}: {error.message}", error.hint or "")


def _translation(values: Mapping[str, object]) -> Iterator[ConstraintViolation]:
    name = "translation.model"
    spec = str(values.get(name, ""))
    if spec and spec.partition(":")[0] != SHIPPED:
        yield ConstraintViolation(
            (name,), f"{name} = {spec!r}", f"it is {SHIPPED}, {SHIPPED}:FOLDER, or empty for none"
        )


def _without(values: Mapping[str, object]) -> Iterator[ConstraintViolation]:
    for name in cast(tuple[str, ...], values.get("without", ())):
        if name not in STAGES:
            near = closest_match(name, STAGES)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            yield ConstraintViolation(
                ("without",), f"without: unknown stage {name!r}{meant}", f"stages: {', '.join(STAGES)}"
            )
