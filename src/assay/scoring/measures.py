"""Measures, such as `nDCG @ 10` and `Hit(grade=2) @ 5`.

The repr of a measure is its identity and its spelling on the command line; it includes everything that changes the
value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import numpy as np

from assay.errors import ConfigError, closest_match
from assay.scoring import formulas, robustness
from assay.scoring.grid import FloatArray, Grid
from assay.scoring.match import LEVELS
from assay.types import FORMS, SECONDARY

_CALL = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*(?:@\s*(\d+))?\s*", re.DOTALL)
_KEYWORD = re.compile(r"\s*(\w+)\s*=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    expects: str  # description of a valid value, for messages
    read: Callable[[str], object]  # raises ValueError for an invalid value
    default: object = None  # None: required
    pattern: str = ""  # regular expression of a positional value; empty: by name only
    shown: bool = False  # part of the name even at its default
    example: str = ""  # for the hint if the parameter is missing


@dataclass(frozen=True, slots=True)
class MeasureKind:
    name: str
    compute: Callable[[Grid, Measure], FloatArray]  # (engines, units); NaN where it does not apply
    params: tuple[Param, ...]
    bounds: Callable[[Measure], formulas.MeasureRange] = formulas.share_range
    cutoff: bool = True
    phrasings: bool = False  # combines another measure's values over the phrasings of one query
    binary: bool = False  # its values are 0 and 1
    check: Callable[[Measure], None] | None = None  # raises ConfigError for settings that exclude each other
    everywhere: bool = True  # applies to every query

    def param(self, name: str) -> Param:
        for param in self.params:
            if param.name == name:
                return param
        raise _unknown(f"setting of {self.name}", name, [param.name for param in self.params])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measure:
    """A measure with its settings; most measures also need a cutoff, set with `@`: `nDCG @ 10`."""

    kind: MeasureKind
    settings: tuple[tuple[str, object], ...] = ()  # name and value, in the order of the kind's parameters
    k: int | None = None

    def __call__(self, *values: object, **named: object) -> Measure:
        """Return the measure with these parameters; values are parsed like those of the command line."""
        kind, given = self.kind, dict(self.settings)
        texts = {name: str(value) for name, value in named.items()}
        fresh = {name: _parse_value(kind, name, text) for name, text in texts.items()}
        for text in map(str, values):
            positional = [param for param in kind.params if param.pattern]
            fits = (p for p in positional if p.name not in fresh and re.fullmatch(p.pattern, _bare(text), re.DOTALL))
            param = next(fits, None)
            if param is None:
                takes = " and ".join(param.expects for param in positional) or "named settings only"
                raise ConfigError(f"{kind.name}: unexpected argument {text.strip()!r}; expected {takes}")
            fresh[param.name] = _parse_value(kind, param.name, text)
        given |= fresh
        rule_level = formulas.RULE_LEVELS.get(str(given.get("rule")), "file")
        if rule_level != "file":  # part of the name, since by file is the default
            given.setdefault("level", rule_level)
        settings = tuple((param.name, given[param.name]) for param in kind.params if param.name in given)
        made = Measure(kind, settings, self.k)
        if kind.check:
            kind.check(made)
        return made

    def __matmul__(self, k: int) -> Measure:
        """Return the measure with the cutoff `k`; raise ConfigError if it takes no cutoff or `k` is below 1."""
        if not self.kind.cutoff:
            raise ConfigError(f"{self.name} takes no cutoff, got {k}", hint=f"write {self!r}")
        if k < 1:
            raise ConfigError(f"{self.name}@{k}: the cutoff must be at least 1")
        return Measure(self.kind, self.settings, int(k))

    def __getitem__(self, name: str) -> object:
        """Return the value of a parameter, or its default."""
        given = dict(self.settings)
        return given[name] if name in given else self.kind.param(name).default

    def __repr__(self) -> str:
        params = self.kind.params
        shown = [
            str(self[p.name]) if p.pattern else f"{p.name}={self[p.name]}"
            for p in params
            if p.shown or self[p.name] != p.default
        ]
        complete = all(self[p.name] is not None for p in params)  # otherwise shown without parentheses
        settings = f"({','.join(shown)})" if shown and complete else ""
        return f"{self.name}{settings}" + (f"@{self.k}" if self.k else "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self.name, {name: str(value) for name, value in self.settings}, self.k))

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def about(self) -> str:
        return (self.kind.compute.__doc__ or "").strip().partition("\n")[0]

    @property
    def low(self) -> float:
        return self.kind.bounds(self).low

    @property
    def high(self) -> float:
        return self.kind.bounds(self).high

    @property
    def worst(self) -> float:
        """Value of a failed query."""
        return self.kind.bounds(self).worst

    @property
    def higher_is_better(self) -> bool:
        return self.worst == self.low

    @property
    def of(self) -> Measure | None:
        """The measure whose values are combined over phrasings, if any."""
        inner = self["of"] if self.kind.phrasings else None
        return inner if isinstance(inner, Measure) else None

    @property
    def level(self) -> str:
        """The level at which hits match targets; lines if the measure has no such parameter."""
        if self.of is not None:
            return self.of.level
        return str(self["level"]) if self._takes_level else "lines"

    @property
    def _takes_level(self) -> bool:
        return any(param.name == "level" for param in self.kind.params)

    @property
    def everywhere(self) -> bool:
        """Whether the measure applies to every query; with a `grade` above 1, some queries may lack such targets."""
        selective = dict(self.settings).get("grade", SECONDARY) != SECONDARY
        return self.kind.everywhere and not selective and (self.of is None or self.of.everywhere)

    @property
    def depth(self) -> int:
        return self.k or (self.of.depth if self.of else 0)

    def complete(self) -> Measure:
        """Return the measure; raise ConfigError if its cutoff or a parameter is missing."""
        if self.kind.cutoff and self.k is None:
            raise ConfigError(f"{self!r} needs a cutoff", hint=f"write {self!r}@10")
        for param in self.kind.params:
            if self[param.name] is None:
                raise ConfigError(f"{self.name} needs {param.expects}", hint=f"write {self.name}({param.example})")
        return self

    def evaluate(self, grid: Grid) -> FloatArray:
        """Return values by engine × unit: the worst value for failed queries, NaN where the measure does not apply."""
        self.complete()
        if self.depth > grid.run.k:
            raise ConfigError(
                f"{self!r} needs {self.depth} results; this run has {grid.run.k} per query",
                hint=f"run again with k={self.depth}, or use a cutoff of at most {grid.run.k}",
            )
        values = self.kind.compute(grid, self)
        if self.kind.phrasings:  # combined from values with failures included
            return values
        return np.where(grid.ok | np.isnan(values), values, self.worst)


def _rebuild(name: str, named: dict[str, str], k: int | None) -> Measure:
    measure = MEASURES[name](**named)
    return measure if k is None else measure @ k


def _bare(text: str) -> str:
    return text.strip().strip("\"'")


def _parse_value(kind: MeasureKind, name: str, text: str) -> object:
    param = kind.param(name)
    try:
        return param.read(_bare(text))
    except ValueError as error:
        detail = f" ({error})" if str(error) else ""
        raise ConfigError(f"{kind.name}: {name}: expected {param.expects}, got {text.strip()!r}{detail}") from error


def _unknown(noun: str, given: str, known: Sequence[str], alias: str | None = None) -> ConfigError:
    guess = (alias,) if alias else closest_match(given, known)
    hint = f"did you mean {guess[0]}?" if guess else None
    return ConfigError(f"unknown {noun} {given!r}; expected one of: {', '.join(known) or 'none'}", hint=hint)


def _choice(options: Sequence[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in options:
            guess = closest_match(text, options)
            raise ValueError(f"did you mean {guess[0]}?" if guess else "")
        return text

    return read


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ValueError
        return int(text)

    return read


def _share(text: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) <= 1:
            return float(text)
    raise ValueError


def _pair(text: str) -> str:
    before, _, after = text.replace("->", robustness.ARROW).partition(robustness.ARROW)
    read = _choice(FORMS)
    pair = read(before.strip()), read(after.strip())
    if pair[0] == pair[1]:
        raise ValueError("the two phrasings are the same")
    return robustness.ARROW.join(pair)


def _ranked(text: str) -> Measure:
    measure = parse_measure(text)
    if measure.kind.phrasings:
        raise ValueError("the measure already combines phrasings")
    return measure


def _require_rule_level(measure: Measure) -> None:
    rule = str(measure["rule"])
    level = formulas.RULE_LEVELS.get(rule)
    if level and measure["level"] != level:
        hint = f"write {measure.name}(rule={rule})"
        raise ConfigError(f"{measure!r}: {rule}'s rule is defined for level={level} only", hint=hint)


def _rule(*names: str) -> Param:
    rules = ("assay", *names)
    return Param("rule", " | ".join(rules), _choice(rules), "assay")


_FILE = Param("level", " | ".join(LEVELS), _choice(LEVELS), "file")
_LINES = Param("level", " | ".join(LEVELS), _choice(LEVELS), "lines")
#: 1: every target counts; 2: only primary ones; higher for sets with more grades.
_GRADE = Param("grade", "the lowest grade that counts, at least 1", _whole(SECONDARY), SECONDARY)
#: 0.3: a hit three times as long as its target still counts.
_IOU = Param("iou", "a number above 0, at most 1", _share, 0.3, shown=True)
_TOKENS = Param("tokens", "a whole number of tokens", _whole(1), pattern=r"[^=()]+", example="2000")
#: 32,000: where semble's token_efficiency.py stops reading, so that figures are comparable.
_CAP = Param("cap", "a whole number of tokens", _whole(1), 32_000)
_OF = Param("of", "a measure", _ranked, pattern=r"(?:(?!→|->).)+", shown=True, example="Hit@10")
_PHRASINGS = r"\s*\w+\s*(?:→|->)\s*\w+\s*"
_FORMS = Param("forms", "phrasing→phrasing", _pair, pattern=_PHRASINGS, shown=True, example="human→wrong_terminology")
_COUNTED = (_FILE, _GRADE)


_RULED = partial(MeasureKind, check=_require_rule_level)
nDCG = Measure(_RULED("nDCG", formulas.ndcg, (_FILE, _rule("semble", "octocode")), formulas.ndcg_range))  # noqa: N816  the usual name
RR = Measure(_RULED("RR", formulas.reciprocal_rank, (*_COUNTED, _rule("octocode", "pyckle"))))
Hit = Measure(_RULED("Hit", formulas.hit, (*_COUNTED, _rule("octocode")), binary=True))
R = Measure(_RULED("R", formulas.recall, (*_COUNTED, _rule("octocode"))))
P = Measure(MeasureKind("P", formulas.precision, _COUNTED))
AP = Measure(MeasureKind("AP", formulas.average_precision, _COUNTED))
Judged = Measure(MeasureKind("Judged", formulas.judged, (_FILE,)))
LineR = Measure(MeasureKind("LineR", formulas.line_recall, (_GRADE,), everywhere=False))
LineP = Measure(MeasureKind("LineP", formulas.line_precision, (_GRADE,), everywhere=False))
SpanR = Measure(MeasureKind("SpanR", formulas.span_recall, (_IOU, _GRADE)))
RecallAtTokens = Measure(
    MeasureKind("RecallAtTokens", formulas.recall_at_tokens, (_TOKENS, _LINES, _GRADE), cutoff=False)
)
TokensToHit = Measure(
    MeasureKind("TokensToHit", formulas.tokens_to_hit, (_CAP, _LINES, _GRADE), formulas.token_range, cutoff=False)
)
Displacement = Measure(
    MeasureKind(
        "Displacement", robustness.displacement, (_FILE,), robustness.failure_range, binary=True, everywhere=False
    )
)
RankGap = Measure(MeasureKind("RankGap", robustness.rank_gap, (_FILE,), robustness.gap_range, everywhere=False))
_COMBINED = partial(MeasureKind, cutoff=False, phrasings=True)
Any = Measure(
    _COMBINED("Any", robustness.any_phrasing, (_OF,), robustness.inner_range, check=robustness.require_binary)
)
All = Measure(
    _COMBINED("All", robustness.all_phrasings, (_OF,), robustness.inner_range, check=robustness.require_binary)
)
Worst = Measure(_COMBINED("Worst", robustness.worst_phrasing, (_OF,), robustness.inner_range))
Spread = Measure(_COMBINED("Spread", robustness.spread, (_OF,), robustness.spread_range, everywhere=False))
#: `Drop(human→wrong_terminology)` is the drop of nDCG@10, the default; the repr includes the measure.
_OF_DROP = replace(_OF, default=nDCG @ 10, example="")
Drop = Measure(_COMBINED("Drop", robustness.drop, (_OF_DROP, _FORMS), robustness.drop_range, everywhere=False))

_RANKED = (nDCG, RR, Hit, R, P, AP, Judged, LineR, LineP, SpanR, RecallAtTokens, TokensToHit, Displacement, RankGap)
#: All measures by name, in display order.
MEASURES = MappingProxyType({measure.name: measure for measure in (*_RANKED, Any, All, Worst, Spread, Drop)})
#: Accepted spellings of the means of these measures, in any case.
_SPELLINGS = {"mrr": "RR", "recall": "R", "precision": "P", "map": "AP"}
#: Names in other tools, for hints only.
_ALIASES = {"success": "Hit", "hitrate": "Hit", "accuracy": "Hit"}


def parse_measure(text: str) -> Measure:
    """Parse a measure from its repr; spaces, quotes and `->` are accepted."""
    call = _CALL.fullmatch(text)
    if call is None:
        raise ConfigError(
            f"cannot parse the measure {text!r}", hint="write a measure such as nDCG@10 or Hit(grade=2)@5"
        )
    name, inside, cutoff = call.groups()
    name = _SPELLINGS.get(name.casefold(), name)
    if name not in MEASURES:
        raise _unknown("measure", name, list(MEASURES), _ALIASES.get(name.casefold()))
    positional: list[str] = []
    named: dict[str, str] = {}
    for argument in _split_arguments(inside or ""):
        # the `=` in `Any(Hit(grade=2)@5)` belongs to the inner measure: a keyword is a bare name before `=`
        if keyword := _KEYWORD.fullmatch(argument):
            if keyword[1] in named:
                raise ConfigError(f"{name}: {keyword[1]} is set twice")
            named[keyword[1]] = keyword[2]
        else:
            positional.append(argument)
    measure = MEASURES[name](*positional, **named)
    return (measure @ int(cutoff) if cutoff else measure).complete()


def default_level(measure: Measure, level: str) -> Measure:
    """Return the measure by lines if that is the level, the measure names none, and its rule allows it."""
    if measure.of is not None:
        return measure(of=default_level(measure.of, level))
    given = dict(measure.settings)
    if level != "lines" or not measure._takes_level or "level" in given:
        return measure
    try:
        return measure(level=level)
    except ConfigError:  # a rule for files only
        return measure


def _split_arguments(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]
