"""The points of a sweep: every combination, one change at a time, or one part left out at a time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from assay.errors import ConfigError, meant
from assay.experiment.spec.record import Sweep
from assay.settings import flat, parts

#: More points than this are a mistake in the file, not an experiment.
MOST_POINTS = 10_000
#: What the engine itself is called in a sweep around it, where it does not run by itself.
CENTRE = "centre"


@dataclass(frozen=True, slots=True)
class Point:
    """One variant of a sweep."""

    name: str
    changes: Mapping[str, Any]


def check_sweep(sweep: Sweep) -> None:
    """Refuse a sweep that makes no sense, before its points are made."""
    wanted, unwanted = ("parts", "knobs") if sweep.way == "leave-one-out" else ("knobs", "parts")
    if getattr(sweep, unwanted):
        raise ConfigError(f"{unwanted} mean nothing for {sweep.way}", hint=f"it takes {wanted}")
    if not getattr(sweep, wanted):
        raise ConfigError(f"{sweep.way} needs {wanted}", hint=_EXAMPLES[wanted])
    for key, values in sweep.knobs.items():
        shown = [canonical(value) for value in values]
        if not shown or len(set(shown)) < len(shown):
            what = "has no value" if not shown else "has a value twice"
            raise ConfigError(f"knobs: {key} {what}", hint="list the values to try, each once")
    for part, off in sweep.parts.items():
        if not off:
            raise ConfigError(f"parts: {part} is switched off by nothing", hint=_EXAMPLES["parts"])
    if sweep.way == "grid" and (many := math.prod(map(len, sweep.knobs.values()))) > MOST_POINTS:
        raise ConfigError(f"a grid of {many:,} points", hint=f"at most {MOST_POINTS:,}; take values out, or use tune")


_EXAMPLES = {
    "knobs": 'knobs = { "search.stem.files" = [0.2, 0.4] }',
    "parts": 'parts = { stem = { "search.without" = ["stem"] } }',
}


def points(
    name: str, sweep: Sweep, *, centre: Callable[[str], object], template: bool, others: Iterable[str] = ()
) -> list[Point]:
    """Make the points of a sweep, in the order of the file; `centre` gives the engine's own value of a setting.

    Their names begin with that of the sweep, unless it has none. `others` are the knobs of the sweeps beside it: what
    a setting is called by its last parts means that setting in the whole file.
    """
    check_sweep(sweep)
    labels = short_labels(tuple(dict.fromkeys((*sweep.knobs, *others))))
    if sweep.way == "grid":
        return list(_grid(name, sweep, labels))
    if sweep.way == "leave-one-out":
        return [Point(_named(sweep, f"{name}:no-{part}", {"part": part}), off) for part, off in sweep.parts.items()]
    around = list(_around(name, sweep, labels, centre))
    return [Point(f"{name}:{CENTRE}", {}), *around] if template else around


def _grid(name: str, sweep: Sweep, labels: Mapping[str, str]) -> Iterator[Point]:
    """Combine every value with every other; the last knob turns fastest."""
    shortest = short_labels(tuple(sweep.knobs))  # what the name of the sweep may call them
    for values in product(*sweep.knobs.values()):
        chosen = dict(zip(sweep.knobs, values, strict=True))
        told = {key: value_text(value) for key, value in chosen.items()}
        usual = (f"{name}:" if name else "") + ",".join(f"{labels[key]}={text}" for key, text in told.items())
        fields = {labels[key]: text for key, text in told.items()} | told
        fields |= {shortest[key]: text for key, text in told.items()}
        yield Point(_named(sweep, usual, fields), flat(chosen))


def _around(name: str, sweep: Sweep, labels: Mapping[str, str], centre: Callable[[str], object]) -> Iterator[Point]:
    """Change one knob at a time; a value that the engine has anyway is the engine."""
    for key, values in sweep.knobs.items():
        own = canonical(centre(key))
        for value in values:
            if canonical(value) != own:
                text = value_text(value)
                fields = {"knob": labels[key], "value": text}
                yield Point(_named(sweep, f"{name}:{labels[key]}={text}", fields), flat({key: value}))


def _named(sweep: Sweep, usual: str, fields: Mapping[str, str]) -> str:
    """Name a point as the sweep says, or as usual."""

    def filled(match: re.Match[str]) -> str:
        """Fill one field in."""
        if match[1] not in fields:
            raise ConfigError(
                f"name: nothing is called {{{match[1]}}} here",
                hint=meant(match[1], fields) or f"there are: {', '.join(f'{{{field}}}' for field in fields)}",
            )
        return fields[match[1]]

    return re.sub(r"\{([^{}]*)\}", filled, sweep.name) if sweep.name else usual


def short_labels(keys: Sequence[str]) -> dict[str, str]:
    """Name each setting by the last parts of its key: as few as tell it from the others."""
    split = {key: parts(key) for key in keys}
    labels = {}
    for key, names in split.items():
        others = [other for label, other in split.items() if label != key]
        fewest = (n for n in range(1, len(names)) if all(other[-n:] != names[-n:] for other in others))
        labels[key] = ".".join(names[-next(fewest, len(names)) :])
    return labels


def value_text(value: object) -> str:
    """Write a value in a name: as TOML would, without quotes; a list's items are joined by a plus sign."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "+".join(map(value_text, value)) or "[]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}={value_text(item)}" for key, item in value.items()) + "}"
    return str(value)


def canonical(value: object) -> str:
    """Write a value so that equal ones are equal texts: 1 and 1.0 are one number, true is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value)) if abs(value) < 2**53 else repr(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    return f"{type(value).__name__}:{value}"
