"""What a measure is: a value with a name, parameters, a cut-off and the range of what it can say.

`nDCG @ 10`, `Hit(grade=2) @ 5`, `nDCG(level="lines") @ 10`. Its repr is its identity, is what a command line takes, and
says everything that changes the number. Which measures there are stands in `measures.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import ConfigError, closest_match
from assay.types import SECONDARY

if TYPE_CHECKING:
    from assay.scoring.grid import Grid
    from assay.types import FloatArray

_CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*(?:@\s*(\d+))?\s*", re.DOTALL)
_KEYWORD = re.compile(r"\s*(\w+)\s*=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MeasureRange:
    """The least and the greatest value, and the one a failed query takes."""

    low: float
    high: float
    worst: float


@dataclass(frozen=True, slots=True)
class Param:
    """One setting of a measure, as it is written."""

    name: str
    expects: str  # for messages
    read: Callable[[str], object]  # raises ValueError on what it does not take
    default: object = None  # None: it must be given
    positional: bool = False
    shown: bool = False  # in the name even at its default
    looks: str = ""  # what a positional value looks like, a regular expression
    example: str = ""  # for the hint when it is missing


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """A measure before its settings: data, and one function over all rankings at once."""

    name: str
    compute: Callable[[Grid, Measure], FloatArray]  # (engines, units); NaN where it does not apply
    bounds: Callable[[Measure], MeasureRange]
    params: tuple[Param, ...] = ()
    cutoff: bool = True
    phrasings: bool = False  # over the forms of one intent, from another measure's values
    binary: bool = False  # its values are 0 and 1
    check: Callable[[Measure], None] | None = None  # settings that exclude each other
    everywhere: bool = True  # it has a value for every query: each has a target


@dataclass(frozen=True, slots=True)
class Setting:
    """The value given to one parameter."""

    name: str
    value: object


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measure:
    """A measure as a value; without its cut-off it is still a factory: `nDCG @ 10`."""

    kind: MeasureKind
    settings: tuple[Setting, ...] = ()  # in the order of the kind's parameters
    k: int | None = None

    def __call__(self, *values: object, **named: object) -> Measure:
        """Set parameters; values are read as they would be from text, so both spellings mean the same."""
        fresh = {name: Setting(name, _read(self.kind, name, str(value))) for name, value in named.items()}
        for value in values:
            placed = _place(self.kind, str(value), fresh)
            fresh[placed.name] = placed
        given = {setting.name: setting for setting in self.settings} | fresh
        made = Measure(self.kind, tuple(given[p.name] for p in self.kind.params if p.name in given), self.k)
        if self.kind.check:
            self.kind.check(made)
        return made

    def __matmul__(self, k: int) -> Measure:
        """Cut at rank `k`."""
        if not self.kind.cutoff:
            raise ConfigError(f"{self.name} takes no cut-off", hint=f"write {self!r}")
        if k < 1:
            raise ConfigError(f"{self.name}@{k}: a cut-off is at least 1")
        return Measure(self.kind, self.settings, int(k))

    def __getitem__(self, name: str) -> object:
        """Look a parameter up: what was set, else its default."""
        for setting in self.settings:
            if setting.name == name:
                return setting.value
        return _param(self.kind, name).default

    def __repr__(self) -> str:
        shown = [self._argument(p) for p in self.kind.params if p.shown or self[p.name] != p.default]
        whole = all(self[p.name] is not None for p in self.kind.params)  # a factory is written without brackets
        settings = f"({','.join(shown)})" if shown and whole else ""
        return f"{self.kind.name}{settings}" + (f"@{self.k}" if self.k else "")

    def _argument(self, param: Param) -> str:
        value = self[param.name]
        return str(value) if param.positional else f"{param.name}={value}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes by name: kinds hold functions, and both sides know them."""
        named = {setting.name: str(setting.value) for setting in self.settings}
        return (_rebuild, (self.name, named, self.k))

    @property
    def name(self) -> str:
        """The name without settings and cut-off."""
        return self.kind.name

    @property
    def about(self) -> str:
        """One line that says what it measures."""
        return (self.kind.compute.__doc__ or "").strip().partition("\n")[0]

    @property
    def low(self) -> float:
        """The least value it can have."""
        return self.kind.bounds(self).low

    @property
    def high(self) -> float:
        """The greatest value it can have."""
        return self.kind.bounds(self).high

    @property
    def worst(self) -> float:
        """The value of a query that failed."""
        return self.kind.bounds(self).worst

    @property
    def higher_is_better(self) -> bool:
        """Tell which way is up: the worst value is the least one or the greatest one."""
        return self.worst == self.low

    @property
    def of(self) -> Measure | None:
        """The measure that one over phrasings looks at."""
        inner = self["of"] if self.kind.phrasings else None
        return inner if isinstance(inner, Measure) else None

    @property
    def everywhere(self) -> bool:
        """Whether it applies to every query: one of higher grades alone applies where there are targets of them."""
        selective = any(setting.name == "grade" and setting.value != SECONDARY for setting in self.settings)
        return self.kind.everywhere and not selective and (self.of is None or self.of.everywhere)

    @property
    def depth(self) -> int:
        """How many results an engine must have been asked for."""
        return self.k or (self.of.depth if self.of else 0)

    def complete(self) -> Measure:
        """Return the measure, or say what its name lacks."""
        if self.kind.cutoff and self.k is None:
            raise ConfigError(f"{self!r} has no cut-off: cut-offs are in the name", hint=f"write {self!r}@10")
        for param in self.kind.params:
            if self[param.name] is None:
                raise ConfigError(f"{self.name} needs {param.expects}", hint=f"write {self.name}({param.example})")
        return self


def _rebuild(name: str, named: dict[str, str], k: int | None) -> Measure:
    from assay.scoring.measures import MEASURES

    measure = MEASURES[name](**named)
    return measure if k is None else measure @ k


def unknown(what: str, given: str, known: Sequence[str], *, meant: str | None = None) -> ConfigError:
    """Say that a name does not exist, what exists, and what it may have been meant for."""
    guess = (meant,) if meant else closest_match(given, known)
    hint = f"did you mean {guess[0]}?" if guess else None
    return ConfigError(f"no {what} {given!r}; there are: {', '.join(known) or 'none'}", hint=hint)


def _param(kind: MeasureKind, name: str) -> Param:
    for param in kind.params:
        if param.name == name:
            return param
    raise unknown(f"setting of {kind.name}", name, [param.name for param in kind.params])


def _bare(text: str) -> str:
    return text.strip().strip("\"'")


def _read(kind: MeasureKind, name: str, text: str) -> object:
    param = _param(kind, name)
    try:
        return param.read(_bare(text))
    except ValueError as error:
        detail = f" ({error})" if str(error) else ""
        raise ConfigError(f"{kind.name}: {name} is {param.expects}, not {text.strip()!r}{detail}") from error


def _place(kind: MeasureKind, text: str, taken: Container[str]) -> Setting:
    for param in kind.params:
        if param.positional and param.name not in taken and re.fullmatch(param.looks, _bare(text), re.DOTALL):
            return Setting(param.name, _read(kind, param.name, text))
    takes = [param.expects for param in kind.params if param.positional]
    raise ConfigError(f"{kind.name} takes {' and '.join(takes) or 'named settings only'}, not {text.strip()!r}")


def _arguments(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def parse(text: str, factories: Mapping[str, Measure], aliases: Mapping[str, str]) -> Measure:
    """Read a measure as its repr writes it; spaces, quotes and `->` are taken too."""
    call = _CALL.fullmatch(text)
    if call is None:
        raise ConfigError(f"cannot read the measure {text!r}", hint="write it like nDCG@10 or Hit(grade=2)@5")
    name, inside, cutoff = call.groups()
    if name not in factories:
        raise unknown("measure", name, list(factories), meant=aliases.get(name.casefold()))
    positional: list[str] = []
    named: dict[str, str] = {}
    for argument in _arguments(inside or ""):
        keyword = _KEYWORD.fullmatch(argument)
        # `Any(Hit(grade=2)@5)` holds an `=` that is not its own: a name is followed by it at once
        if keyword:
            if keyword[1] in named:
                raise ConfigError(f"{name}: {keyword[1]} is given twice")
            named[keyword[1]] = keyword[2]
        else:
            positional.append(argument)
    measure = factories[name](*positional, **named)
    return (measure @ int(cutoff) if cutoff else measure).complete()
