"""The engine under audit, and how it is made again in another process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay.audit.records import Question
from assay.audit.wording import Wording
from assay.engines.base import FullEngine
from assay.types import Corpus, Query, Suite

if TYPE_CHECKING:
    from assay.gold.lint import Reach


@dataclass(frozen=True, slots=True)
class Recipe:
    """What `make_engine` made the engine of."""

    spec: str | Mapping[str, object]
    folder: Path = Path()
    seed: int = 0
    suite: Suite | None = field(default=None, repr=False)

    def make(self) -> FullEngine:
        """Make it again."""
        from assay.engines import make_engine

        return make_engine(self.spec, suite=self.suite, seed=self.seed, folder=self.folder)


@dataclass(frozen=True, slots=True)
class Subject:
    """An engine and what it is asked about."""

    name: str
    engine: FullEngine
    corpus: Corpus
    questions: tuple[Question, ...]
    wording: Wording
    recipe: Recipe | None = None  # None for an engine that was handed in as an object
    gold: tuple[Query, ...] = ()  # queries whose targets should be reachable, anchors resolved
    reach: Reach | None = None  # all that the engine can return, where that is known
    ours: Callable[[str], bool] = field(default=lambda _: False)  # gold file and configuration in the corpus
    notes: tuple[str, ...] = ()
