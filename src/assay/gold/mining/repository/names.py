"""Intents from names: words of a name that only one definition has, as somebody types who half remembers it."""

from __future__ import annotations

from typing import Final

from assay.gold.mining.config import CHANGES, DOCS, TEXTS
from assay.gold.mining.drawing import generator, spread
from assay.gold.mining.ground import Ground, Spot, joined
from assay.gold.mining.proposals import Found, Intent
from assay.gold.review.items import Origin
from assay.gold.synth.config import Draw
from assay.syntax.identifiers import split

_GIVEN: Final = "a look-up by name: it tells whether an engine finds names, not whether it understands questions"


def mine_names(ground: Ground, wanted: Draw) -> Found:
    """Propose the words of names that stand for exactly one definition."""
    fitting = [
        Intent(" ".join(split(spot.name)), (target,), Origin("names", f"a name in {spot.path}"), "keyword", (_GIVEN,))
        for spot in ground.spots
        if _is_asked(ground, spot) and (target := ground.anchor(spot)) is not None
    ]
    if not fitting:
        return Found(notes=("names: no name of several words stands for exactly one definition",))
    return Found(spread(fitting, wanted, generator(wanted, "names")))


def _is_asked(ground: Ground, spot: Spot) -> bool:
    """Tell whether a name is of words enough, and the only one of its kind."""
    fits = DOCS.shortest <= spot.lines <= CHANGES.longest and ground.answers(spot)
    return fits and len(split(spot.name)) >= TEXTS.fewest and len(ground.by_name[joined(spot.name)]) == 1
