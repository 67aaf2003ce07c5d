"""Measures as values with a name, parameters, a cut-off and a range: `nDCG @ 10`, `Hit(grade=2) @ 5`.

The repr of a measure is its identity and its spelling on the command line; it includes everything that changes the
number. `measures.py` lists the measures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError, closest_match
from assay.types import SECONDARY

if TYPE_CHECKING:
    from assay.scoring.grid import Grid
    from assay.types import FloatArray

_CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*(?:@\s*(\d+))?\s*", re.DOTALL)
_KEYWORD = re.compile(r"\s*(\w+)\s*=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MeasureRange:
    """The lowest and highest value, and the value of a failed query."""

    low: float
    high: float
    worst: float


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a measure."""

    name: str
    expects: str  # what a value is, for messages
    read: Callable[[str], object]  # raises ValueError for an invalid value
    default: object = None  # None: required
    positional: bool = False
    shown: bool = False  # part of the name even at its default
    looks: str = ""  # regular expression of a positional value
    example: str = ""  # for the hint if it is missing


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """A measure without its settings, with the function that computes it for all rankings at once."""

    name: str
    compute: Callable[[Grid, Measure], FloatArray]  # (engines, units); NaN where it does not apply
    bounds: Callable[[Measure], MeasureRange]
    params: tuple[Param, ...] = ()
    cutoff: bool = True
    phrasings: bool = False  # combines another measure's values over the phrasings of one intent
    binary: bool = False  # its values are 0 and 1
    check: Callable[[Measure], None] | None = None  # raises ConfigError for settings that exclude each other
    everywhere: bool = True  # it has a value for every query, since each has a target


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measure:
    """A measure as a value; without its cut-off it is a factory: `nDCG @ 10`."""

    kind: MeasureKind
    settings: tuple[tuple[str, object], ...] = ()  # name and value, in the order of the kind's parameters
    k: int | None = None

    def __call__(self, *values: object, **named: object) -> Measure:
        """Set parameters; values are parsed as from text, so both spellings are the same measure."""
        fresh = {name: _parse_value(self.kind, name, str(value)) for name, value in named.items()}
        for value in values:
            name = _place(self.kind, str(value), fresh)
            fresh[name] = _parse_value(self.kind, name, str(value))
        given = dict(self.settings) | fresh
        settings = tuple((param.name, given[param.name]) for param in self.kind.params if param.name in given)
        made = Measure(self.kind, settings, self.k)
        if self.kind.check:
            self.kind.check(made)
        return made

    def __matmul__(self, k: int) -> Measure:
        """Cut at rank `k`."""
        if not self.kind.cutoff:
            raise ConfigError(f"{self.name} has no cut-off", hint=f"write {self!r}")
        if k < 1:
            raise ConfigError(f"{self.name}@{k}: the cut-off must be at least 1")
        return Measure(self.kind, self.settings, int(k))

    def __getitem__(self, name: str) -> object:
        """Return the value of a parameter, or its default."""
        given = dict(self.settings)
        return given[name] if name in given else _param(self.kind, name).default

    def __repr__(self) -> str:
        shown = [
            str(self[p.name]) if p.positional else f"{p.name}={self[p.name]}"
            for p in self.kind.params
            if p.shown or self[p.name] != p.default
        ]
        whole = all(self[p.name] is not None for p in self.kind.params)  # a factory is shown without brackets
        settings = f"({','.join(shown)})" if shown and whole else ""
        return f"{self.kind.name}{settings}" + (f"@{self.k}" if self.k else "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by name, because kinds hold functions."""
        named = {name: str(value) for name, value in self.settings}
        return (_rebuild, (self.name, named, self.k))

    @property
    def name(self) -> str:
        """Name without settings and cut-off."""
        return self.kind.name

    @property
    def about(self) -> str:
        """One-line description."""
        return (self.kind.compute.__doc__ or "").strip().partition("\n")[0]

    @property
    def low(self) -> float:
        """Lowest possible value."""
        return self.kind.bounds(self).low

    @property
    def high(self) -> float:
        """Highest possible value."""
        return self.kind.bounds(self).high

    @property
    def worst(self) -> float:
        """Value of a failed query."""
        return self.kind.bounds(self).worst

    @property
    def higher_is_better(self) -> bool:
        """Return whether the worst value is the lowest one."""
        return self.worst == self.low

    @property
    def of(self) -> Measure | None:
        """The measure that one over phrasings combines."""
        inner = self["of"] if self.kind.phrasings else None
        return inner if isinstance(inner, Measure) else None

    @property
    def everywhere(self) -> bool:
        """Return whether it applies to every query; one of higher grades needs targets of these grades."""
        selective = dict(self.settings).get("grade", SECONDARY) != SECONDARY
        return self.kind.everywhere and not selective and (self.of is None or self.of.everywhere)

    @property
    def depth(self) -> int:
        """Number of results that it needs."""
        return self.k or (self.of.depth if self.of else 0)

    def complete(self) -> Measure:
        """Return the measure; raise ConfigError if its cut-off or a parameter is missing."""
        if self.kind.cutoff and self.k is None:
            raise ConfigError(f"{self!r} needs a cut-off", hint=f"write {self!r}@10")
        for param in self.kind.params:
            if self[param.name] is None:
                raise ConfigError(f"{self.name} needs {param.expects}", hint=f"write {self.name}({param.example})")
        return self


def evaluate(grid: Grid, measure: Measure) -> FloatArray:
    """Compute engines × units; a failed query gets the worst value, NaN where the measure does not apply (rule 2)."""
    measure.complete()
    if measure.depth > grid.run.k:
        raise ConfigError(
            f"{measure!r} needs {measure.depth} results; this run has {grid.run.k} per query",
            hint=f"run again with k={measure.depth}, or score at {grid.run.k} or less",
        )
    values = measure.kind.compute(grid, measure)
    if measure.kind.phrasings:  # combined from values with failures included
        return values
    return np.where(grid.ok | np.isnan(values), values, measure.worst)


def _rebuild(name: str, named: dict[str, str], k: int | None) -> Measure:
    from assay.scoring.measures import MEASURES

    measure = MEASURES[name](**named)
    return measure if k is None else measure @ k


def _param(kind: MeasureKind, name: str) -> Param:
    for param in kind.params:
        if param.name == name:
            return param
    raise _unknown(f"setting of {kind.name}", name, [param.name for param in kind.params])


def _bare(text: str) -> str:
    return text.strip().strip("\"'")


def _parse_value(kind: MeasureKind, name: str, text: str) -> object:
    param = _param(kind, name)
    try:
        return param.read(_bare(text))
    except ValueError as error:
        detail = f" ({error})" if str(error) else ""
        raise ConfigError(f"{kind.name}: {name}: expected {param.expects}, got {text.strip()!r}{detail}") from error


def _place(kind: MeasureKind, text: str, taken: Container[str]) -> str:
    for param in kind.params:
        if param.positional and param.name not in taken and re.fullmatch(param.looks, _bare(text), re.DOTALL):
            return param.name
    takes = [param.expects for param in kind.params if param.positional]
    raise ConfigError(f"{kind.name} takes {' and '.join(takes) or 'named settings only'}, not {text.strip()!r}")


def parse(text: str, factories: Mapping[str, Measure], aliases: Mapping[str, str]) -> Measure:
    """Parse a measure from its repr; spaces, quotes and `->` are accepted."""
    call = _CALL.fullmatch(text)
    if call is None:
        raise ConfigError(f"cannot parse the measure {text!r}", hint="write it like nDCG@10 or Hit(grade=2)@5")
    name, inside, cutoff = call.groups()
    if name not in factories:
        raise _unknown("measure", name, list(factories), meant=aliases.get(name.casefold()))
    positional: list[str] = []
    named: dict[str, str] = {}
    for argument in _split_arguments(inside or ""):
        keyword = _KEYWORD.fullmatch(argument)
        # the `=` in `Any(Hit(grade=2)@5)` belongs to the inner measure: a keyword is a bare name before `=`
        if keyword:
            if keyword[1] in named:
                raise ConfigError(f"{name}: {keyword[1]} is set twice")
            named[keyword[1]] = keyword[2]
        else:
            positional.append(argument)
    measure = factories[name](*positional, **named)
    return (measure @ int(cutoff) if cutoff else measure).complete()


def _split_arguments(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def _unknown(what: str, given: str, known: Sequence[str], *, meant: str | None = None) -> ConfigError:
    guess = (meant,) if meant else closest_match(given, known)
    hint = f"did you mean {guess[0]}?" if guess else None
    return ConfigError(f"unknown {what} {given!r}; expected one of: {', '.join(known) or 'none'}", hint=hint)
