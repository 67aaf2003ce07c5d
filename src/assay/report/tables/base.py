"""What a table on demand is: its name, the numbers behind it, how it is shown, and files of its own if it has any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from assay.report.case import Case
from assay.report.pages.document import Block
from assay.report.results import Results
from assay.stats.records import Comparison

T = TypeVar("T")


def _nothing(case: Case, comparison: Comparison) -> tuple[T, ...]:
    """Compute nothing: the table shows what every report has."""
    del case, comparison
    return ()


def _no_files(results: Results) -> Mapping[str, str]:
    """Write nothing."""
    del results
    return {}


@dataclass(frozen=True, slots=True)
class OnDemand(Generic[T]):
    """One table; `[run] tables` and results.json know it by its name."""

    name: str
    blocks: Callable[[Results], list[Block]]
    numbers: Callable[[Case, Comparison], Iterable[T]] = _nothing
    files: Callable[[Results], Mapping[str, str]] = _no_files  # by their names in the folder of results

    def of(self, results: Results) -> tuple[T, ...]:
        """Give its numbers; none where it was not wanted."""
        return cast(tuple[T, ...], results.numbers.get(self.name, ()))
