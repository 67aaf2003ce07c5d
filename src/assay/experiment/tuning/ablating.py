"""What is each part of an engine worth? Left out of the whole one by one, and added to nothing one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.engines.kinds import Part
from assay.errors import ConfigError
from assay.experiment.tuning.variants import Change

Way = Literal["left out", "added"]
BARE = "bare"
#: What is done by the word that a command takes for it.
WAYS: Mapping[str, tuple[Way, ...]] = {"both": ("left out", "added"), "out": ("left out",), "in": ("added",)}


@dataclass(frozen=True, slots=True)
class Rung:
    """One comparison of an ablation: a variant, and what it is compared with."""

    part: str
    way: Way
    variant: str
    against: str
    kept: bool = True  # whether the next rung goes on from here


@dataclass(frozen=True, slots=True)
class Ablation:
    """The variants that an ablation runs beside the whole engine, each once, and the steps between them."""

    variants: tuple[Change, ...]
    steps: tuple[Rung, ...]


def plan_ablation(parts: Sequence[Part], base: str, ways: Sequence[Way] = WAYS["both"]) -> Ablation:
    """Plan both ways: each part left out of the whole, and each added to those before it, from the bare engine up.

    The last step up is the whole engine, and the one before it lacks the last part alone: those are not run twice.
    """
    _check(parts)
    out = [Change(f"without {part.name}", switched_off([part])) for part in parts] if "left out" in ways else []
    up = list(_ladder(parts)) if "added" in ways else []
    every = [*out, *up]
    once = [one for at, one in enumerate(every) if _first(one, every) == at]
    steps = [Rung(part.name, "left out", one.name, base) for part, one in zip(parts, out, strict=False)]
    if up:
        names = [*(every[_first(one, every)].name for one in up), base]
        steps += [Rung(part.name, "added", new, old) for part, old, new in zip(parts, names, names[1:], strict=False)]
    return Ablation(tuple(once), tuple(steps))


def _ladder(parts: Sequence[Part]) -> Iterator[Change]:
    """Begin with all parts off and switch on one after the other; the whole engine is not among them."""
    yield Change(BARE, switched_off(parts))
    for at, part in enumerate(parts[:-1], 1):
        yield Change(f"up to {part.name}", switched_off(parts[at:]))


def _first(change: Change, every: Sequence[Change]) -> int:
    """Find the first that is set alike: it is run under that name."""
    return next(at for at, other in enumerate(every) if other.changes == change.changes)


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
