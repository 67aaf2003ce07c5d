"""How a set was divided, kept in its provenance: the next division goes on the same way unless told otherwise."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import cast

from assay.gold.split.dividing import WAYS, By, Division
from assay.types import Gold, Suite

KEY = "split"
_SAID = re.compile(rf"by ({'|'.join(WAYS)})(?: of (\d+) folders?)?, seed (\d+)")


@dataclass(frozen=True, slots=True)
class Way:
    """What was not torn apart when a set was divided."""

    by: By
    depth: int | None = None

    def __str__(self) -> str:
        """Say it as the file does."""
        folders = f" of {self.depth} {'folder' if self.depth == 1 else 'folders'}" if self.depth else ""
        return f"by {self.by}{folders}"


def recall(suite: Suite) -> Way | None:
    """Read how the sets were divided; none where no file says so, or two say different things."""
    found = {said[0] if (said := _SAID.match(gold.provenance.get(KEY, ""))) else "" for gold in suite.golds}
    said = _SAID.match(found.pop()) if len({text.partition(",")[0] for text in found}) == 1 else None
    return None if said is None else Way(cast(By, said[1]), int(said[2]) if said[2] else None)


def remember(gold: Gold, division: Division) -> Gold:
    """Write into a set how it was divided."""
    way = Way(division.by, division.depth)
    return replace(gold, provenance={**gold.provenance, KEY: f"{way}, seed {division.seed}"})
