"""Which of many proposals are queued: drawn by a seed, spread over the files, as synthetic sets are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.gold.mining.config import SOURCES
from assay.gold.mining.proposals import Intent
from assay.gold.synth.config import Draw
from assay.gold.synth.drawing import Asked, draw

if TYPE_CHECKING:
    import numpy as np


def spread(intents: Sequence[Intent], wanted: Draw, rng: np.random.Generator) -> tuple[Intent, ...]:
    """Draw intents, one of each file a round; they come in path order."""
    ordered = sorted(intents, key=lambda intent: (intent.targets[0].anchor, intent.text, intent.origin.source))
    asked = [Asked(intent.targets[0].span.path, n, n, intent.text) for n, intent in enumerate(ordered)]
    return tuple(ordered[one.start] for one in draw(asked, wanted, rng))


def generator(wanted: Draw, source: str) -> np.random.Generator:
    """Give each source a stream of its own, so that leaving one out changes no other."""
    import numpy as np

    return np.random.default_rng([wanted.seed, SOURCES.index(source)])
