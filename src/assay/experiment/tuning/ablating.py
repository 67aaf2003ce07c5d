"""What is each part of an engine worth? Left out of the whole one by one, and added to nothing one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.engines.parts import Part
from assay.errors import ConfigError
from assay.experiment.tuning.variants import Variant

Way = Literal["left out", "added"]
BARE = "bare"
#: What is done by the word that a command takes for it.
WAYS: Mapping[str, tuple[Way, ...]] = {"both": ("left out", "added"), "out": ("left out",), "in": ("added",)}


@dataclass(frozen=True, slots=True)
class Step:
    """One comparison of an ablation: a variant, and what it is compared with."""

    part: str
    way: Way
    variant: str
    against: str
    kept: bool = True  # whether the next step up goes on from here


@dataclass(frozen=True, slots=True)
class Ablation:
    """The variants that an ablation runs beside the whole engine, each once, and the steps between them."""

    variants: tuple[Variant, ...]
    steps: tuple[Step, ...]


def plan_ablation(parts: Sequence[Part], base: str, ways: Sequence[Way] = WAYS["both"]) -> Ablation:
    """Plan both ways: each part left out of the whole, and each added to those before it, from the bare engine up.

    The last step up is the whole engine, and the one before it lacks the last part alone: those are not run twice.
    """
    _check(parts)
    named: dict[str, Mapping[str, object]] = {}
    steps: list[Step] = []
    if "left out" in ways:
        for part in parts:
            named[f"without {part.name}"] = switched_off([part])
            steps.append(Step(part.name, "left out", f"without {part.name}", base))
    if "added" in ways:
        steps += _climb(parts, base, named)
    return Ablation(tuple(Variant(name, changes) for name, changes in named.items()), tuple(steps))


def _climb(parts: Sequence[Part], base: str, named: dict[str, Mapping[str, object]]) -> Iterator[Step]:
    """Add one part after the other; what is named already under its changes keeps its name."""
    last = _called(BARE, switched_off(parts), named)
    for at, part in enumerate(parts, 1):
        missing = parts[at:]
        here = base if not missing else _called(f"up to {part.name}", switched_off(missing), named)
        yield Step(part.name, "added", here, last)
        last = here


def _called(name: str, changes: Mapping[str, object], named: dict[str, Mapping[str, object]]) -> str:
    """Give the name under which some changes are run."""
    known = next((one for one, other in named.items() if other == changes), None)
    if known is None:
        named[name] = changes
    return known or name


def switched_off(parts: Sequence[Part]) -> dict[str, object]:
    """Switch several parts off at once: lists are put together, one value for two parts must be the same."""
    off: dict[str, object] = {}
    for part in parts:
        for key, value in part.off.items():
            old = off.get(key, value)
            if isinstance(old, list | tuple) and isinstance(value, list | tuple):
                off[key] = list(dict.fromkeys((*old, *value)))
            elif old != value:
                raise ConfigError(
                    f"{part.name} sets {key} = {value!r}, another part {old!r}: they cannot be off together",
                    hint="give each part a setting of its own",
                )
            else:
                off[key] = value
    return off


def _check(parts: Sequence[Part]) -> None:
    """Refuse parts that say nothing."""
    if not parts:
        raise ConfigError("there is no part to leave out", hint='name parts: [sweeps.NAME] way = "leave-one-out"')
    for part in parts:
        if not part.off:
            raise ConfigError(
                f"the part {part.name!r} is not switched off by any setting", hint='{ "search.without" = ["stem"] }'
            )
    twice = [part.name for at, part in enumerate(parts) if part.name in {other.name for other in parts[:at]}]
    if twice:
        raise ConfigError(f"two parts are called {twice[0]!r}", hint="give each a name of its own")
