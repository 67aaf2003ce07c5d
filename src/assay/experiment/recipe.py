"""What an engine is made of, so that it can be made again: with other seeds, in another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay.types import Suite

if TYPE_CHECKING:
    from assay.engines.base import FullEngine


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `make_engine` makes an engine of."""

    spec: str | Mapping[str, object]
    folder: Path = Path()  # where its relative paths begin
    seed: int = 0
    suite: Suite | None = field(default=None, repr=False)
    declared: bool = False  # by an assay.toml, under the name it was asked for by

    def make(self) -> FullEngine:
        """Make it."""
        from assay.engines import make_engine

        return make_engine(self.spec, suite=self.suite, seed=self.seed, folder=self.folder)
