"""A name that is defined once in the corpus, and the lines that define it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from assay.gold.synth.config import TARGETS, Draw
from assay.gold.synth.drawing import Asked, draw
from assay.gold.synth.survey import ASKED, Survey, is_aside

if TYPE_CHECKING:
    import numpy as np

    from assay.syntax.outline import Definition

#: Blocks that go by the name of a type which is defined elsewhere.
_EXTENDS: Final = re.compile(r"(?:\w+ )*(?:impl|extension|defimpl)\b")
#: What keeps a C header from being read twice.
_GUARD: Final = re.compile(r"\w*_H(?:PP|XX)?_*|\w*_INCLUDED_*")


def symbols(survey: Survey, wanted: Draw, rng: np.random.Generator) -> tuple[Asked, ...]:
    """Draw names that are defined exactly once."""
    times = Counter(d.name for file in survey.files for d in file.definitions if not _EXTENDS.match(d.signature))
    candidates = [
        Asked(file.path, definition.start, definition.end, definition.name)
        for file in survey.files
        if not is_aside(file.path)
        for definition in file.definitions
        if times[definition.name] == 1 and _can_be_asked(definition)
    ]
    return draw(candidates, wanted, rng)


def _can_be_asked(definition: Definition) -> bool:
    """Tell whether somebody might type this name to find this definition."""
    name = definition.name
    lines = definition.end - definition.start + 1
    speaks = len(name) >= TARGETS.shortest_name and name.strip("_").isidentifier() and not name.startswith("__")
    guard = definition.kind in ("macro", "constant") and _GUARD.fullmatch(name)
    own = definition.kind in ASKED and not _EXTENDS.match(definition.signature)
    return speaks and own and not guard and lines <= TARGETS.longest
