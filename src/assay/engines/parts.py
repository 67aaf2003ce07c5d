"""What an engine is made of, as far as it says: parts that an ablation switches off by settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from assay.engines.kinds import kind_named


@dataclass(frozen=True, slots=True)
class Part:
    """Something that an engine can do without, and the dotted settings that switch it off."""

    name: str
    off: Mapping[str, object] = field(default_factory=dict)


def parts_of(settings: Mapping[str, object]) -> tuple[Part, ...]:
    """Ask the kind of an engine for its parts, in the order they work; none where it names none."""
    kind = kind_named(settings.get("kind"))
    if kind is None or not kind.ours:  # a stranger's module is not imported for that: nobody knows what is in it
        return ()
    named: Callable[[Mapping[str, object]], tuple[Part, ...]] | None
    named = getattr(import_module(kind.module), "ablations", None)
    return () if named is None else named({key: value for key, value in settings.items() if key != "kind"})
