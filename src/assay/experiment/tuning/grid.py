"""The points of a grid: every combination of the values that some knobs may have."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any

from assay.errors import ConfigError
from assay.experiment.spec import Sweep
from assay.experiment.spec.subjects import own_value
from assay.experiment.spec.sweeps import canonical, points
from assay.experiment.tuning.variants import Change


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


@dataclass(frozen=True, slots=True)
class GridPoint:
    """One point of a grid: what it changes, and the settings in which it really differs from the engine."""

    change: Change
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


def grid_points(
    knobs: Mapping[str, tuple[object, ...]], settings: Mapping[str, Any], most: int
) -> tuple[GridPoint, ...]:
    """List every combination, the first knob slowest; `settings` are those of the engine.

    A point that is where the engine stands already is the engine itself, and is left out.
    """
    if not knobs:
        raise ConfigError("there is no knob to tune", hint="--knob search.stem.files=0.2,0.4, or knobs under [tune]")
    size = prod(len(values) for values in knobs.values())
    if size > most:
        hint = "name fewer values or knobs, or raise most"
        raise ConfigError(f"knobs: the grid has {size} points, at most {most} are tried", hint=hint)
    centre = partial(own_value, settings)
    made = points("", Sweep("", knobs=knobs), centre=centre, template=False)
    found = [GridPoint(Change(one.name, one.changes), _moved(one.changes, centre)) for one in made]
    kept = tuple(point for point in found if point.moved)
    if not kept:
        raise ConfigError("knobs: the only point is where the engine stands already", hint="name other values")
    return kept


def _moved(changes: Mapping[str, object], centre: Callable[[str], object]) -> Mapping[str, object]:
    """Keep the changes that are some."""
    return {key: value for key, value in changes.items() if canonical(value) != canonical(centre(key))}
