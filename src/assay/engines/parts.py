"""What an engine is made of, as far as it says: parts that an ablation switches off by settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Part:
    """Something that an engine can do without, and the dotted settings that switch it off."""

    name: str
    off: Mapping[str, object] = field(default_factory=dict)


def parts_of(settings: Mapping[str, object]) -> tuple[Part, ...]:
    """Ask the kind of an engine for its parts, in the order they work; none where it names none."""
    if settings.get("kind") != "builtin":
        return ()
    from assay.engines.builtin import ablations

    return ablations({key: value for key, value in settings.items() if key != "kind"})
