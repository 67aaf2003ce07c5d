"""What the sessions of tools that are asked from outside have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from assay.engines.base import Answered, Wanted
from assay.engines.filtering import Filters


class AskedSession(ABC):
    """A session whose every search is one with filters, perhaps with none."""

    filtering: Filters  # those that are declared
    places: Mapping[str, str]  # what templates name

    @abstractmethod
    def search_filtered(self, query: str, k: int, wanted: Wanted, seconds: float | None) -> Answered:
        """Search among what is wanted only; the shorter of the two time limits holds."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""

    @property
    def filters(self) -> frozenset[str]:
        """What it can be asked for a part of."""
        return self.filtering.names

    def search(self, query: str, k: int) -> Answered:
        """Search with no limit but its own."""
        return self.search_within(query, k, None)

    def search_within(self, query: str, k: int, seconds: float | None) -> Answered:
        """Search in all of the corpus."""
        return self.search_filtered(query, k, Wanted(), seconds)
