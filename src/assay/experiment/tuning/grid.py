"""The points of a grid: every combination of the values that some knobs may have."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from assay.errors import ConfigError
from assay.experiment.spec.subjects import own_value
from assay.experiment.spec.sweeps import canonical, short_labels, value_text
from assay.experiment.tuning.variants import Variant


@dataclass(frozen=True, slots=True)
class TuneSettings:
    """The keys of [tune]."""

    engine: str = field(default="", metadata={"about": "the engine to tune; by default the only one there is"})
    knobs: Mapping[str, tuple[object, ...]] = field(
        default_factory=dict, metadata={"about": "dotted setting -> the values to try"}
    )
    partitions: int = field(
        # Each is used both ways; the honest mean then moves by some .002 from seed to seed on 50 queries.
        default=20,
        metadata={"about": "random halvings of the data"},
    )
    measure: str = field(default="", metadata={"about": "what is maximised; by default the primary measure"})
    most: int = field(
        # More points than that choose from noise: each query would be asked hundreds of times for one choice.
        default=500,
        metadata={"about": "points that a grid may have"},
    )

    def __post_init__(self) -> None:
        """Refuse what gives no grid."""
        for key in ("partitions", "most"):
            if getattr(self, key) < 1:
                raise ConfigError(f"{key} = {getattr(self, key)}", hint="it must be 1 or more")
        for key, values in self.knobs.items():
            if not values:
                raise ConfigError(f"knobs: {key} has no values", hint=f'"{key}" = [0.2, 0.4]')
            if len({canonical(value) for value in values}) < len(values):
                raise ConfigError(f"knobs: {key} has a value twice", hint="name each value once")


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a grid: its variant, and the settings in which it really differs from the engine."""

    variant: Variant
    moved: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Knob:
    """A dotted setting and the values to try."""

    key: str
    values: tuple[object, ...]


def parse_knob(text: str) -> Knob:
    """Read `KEY=V1,V2`; values are TOML, and texts need no quotes."""
    key, equals, rest = text.partition("=")
    if not equals or not key.strip() or not rest.strip():
        raise ConfigError(f"--knob {text}", hint="write it like --knob search.stem.files=0.2,0.4")
    try:
        values = tomllib.loads(f"v = [{rest}]")["v"]
    except tomllib.TOMLDecodeError:
        values = [value.strip() for value in rest.split(",")]
    return Knob(key.strip(), tuple(values))


def grid_points(knobs: Mapping[str, Sequence[object]], settings: Mapping[str, Any], most: int) -> tuple[Point, ...]:
    """List every combination, the first knob slowest; `settings` are those of the engine.

    A point that is where the engine stands already is the engine itself, and is left out.
    """
    if not knobs:
        raise ConfigError("there is no knob to tune", hint="--knob search.stem.files=0.2,0.4, or knobs under [tune]")
    size = prod(len(values) for values in knobs.values())
    if size > most:
        hint = "name fewer values or knobs, or raise most"
        raise ConfigError(f"knobs: the grid has {size} points, at most {most} are tried", hint=hint)
    labels = short_labels(tuple(knobs))
    own = {key: canonical(own_value(settings, key)) for key in knobs}
    points = []
    for values in product(*knobs.values()):
        changes = dict(zip(knobs, values, strict=True))
        moved = {key: value for key, value in changes.items() if canonical(value) != own[key]}
        if moved:
            name = ",".join(f"{labels[key]}={value_text(value)}" for key, value in changes.items())
            points.append(Point(Variant(name, changes), moved))
    if not points:
        raise ConfigError("knobs: the only point is where the engine stands already", hint="name other values")
    return tuple(points)


def toml_value(value: object) -> str:
    """Write a value as TOML."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
