"""What the tools of one server share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.agent.roots import Roots
from assay.agent.shelf import Shelf

if TYPE_CHECKING:
    from assay.agent.benchmarks import Benchmarks


@dataclass(frozen=True, slots=True)
class House:
    """The folders that are served, their indexes, and what measures engines."""

    roots: Roots
    shelf: Shelf
    benchmarks: Benchmarks
