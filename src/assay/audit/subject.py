"""The engine under audit, and what it is asked about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.audit.records import Question
from assay.audit.wording import Wording
from assay.engines.base import FullEngine
from assay.experiment.spec.recipe import Recipe
from assay.types import Corpus, Query

if TYPE_CHECKING:
    from assay.gold.lint import Reach


@dataclass(frozen=True, slots=True)
class Subject:
    """An engine and what it is asked about."""

    name: str
    engine: FullEngine
    corpus: Corpus
    questions: tuple[Question, ...]
    wording: Wording
    recipe: Recipe | None = None  # how another process makes it; None for one that was handed in as an object
    gold: tuple[Query, ...] = ()  # queries whose targets should be reachable, anchors resolved
    reach: Reach | None = None  # all that the engine can return, where that is known
    ours: Callable[[str], bool] = field(default=lambda _: False)  # gold file and configuration in the corpus
    notes: tuple[str, ...] = ()
