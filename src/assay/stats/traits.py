"""What the statistics need to know of a measure: its name, its range and which end is good."""

from __future__ import annotations

from typing import Protocol

from assay.stats.records import Range


class MeasureLike(Protocol):
    """A measure of `scoring`; its repr is its name in a score table."""

    @property
    def low(self) -> float:
        """The least value."""

    @property
    def high(self) -> float:
        """The greatest value."""

    @property
    def higher_is_better(self) -> bool:
        """Which end is good."""


def range_of(measure: MeasureLike | str) -> Range:
    """Look up a measure's range; a text is parsed by `scoring`."""
    if isinstance(measure, str):
        from assay.scoring import parse_measure

        measure = parse_measure(measure)
    return Range(float(measure.low), float(measure.high), bool(measure.higher_is_better))


def name_of(measure: MeasureLike | str) -> str:
    """Give the name a measure has in a score table."""
    if not isinstance(measure, str):
        return repr(measure)
    from assay.scoring import parse_measure

    return repr(parse_measure(measure))
