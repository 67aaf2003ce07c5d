"""Flood alerts with hysteresis."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from hydrolog.readings import Reading

CONSECUTIVE = 3


class Severity(Enum):
    """How bad it is."""

    NONE = 0
    WATCH = 1
    WARNING = 2
    EMERGENCY = 3


@dataclass(frozen=True)
class Threshold:
    """A level in centimeters from which on a severity holds."""

    severity: Severity
    level: float
    hysteresis: float = 5.0


@dataclass(frozen=True)
class AlertState:
    """What is known about a station between two readings."""

    severity: Severity = Severity.NONE
    above: int = 0


def evaluate(state: AlertState, reading: Reading, thresholds: Iterable[Threshold]) -> AlertState:
    """Return the state after a reading; an alert is raised after three readings above its threshold."""
    wanted = highest_exceeded(reading.level, thresholds)
    if wanted.value > state.severity.value:
        above = state.above + 1
        return AlertState(wanted, 0) if above >= CONSECUTIVE else replace(state, above=above)
    if should_clear(state.severity, reading.level, thresholds):
        return AlertState(wanted, 0)
    return replace(state, above=0)


def highest_exceeded(level: float, thresholds: Iterable[Threshold]) -> Severity:
    """Find the worst severity whose threshold is exceeded."""
    exceeded = [threshold.severity for threshold in thresholds if level >= threshold.level]
    return max(exceeded, key=lambda severity: severity.value, default=Severity.NONE)


def should_clear(severity: Severity, level: float, thresholds: Iterable[Threshold]) -> bool:
    """Tell whether the level has fallen far enough below the threshold of the current severity."""
    for threshold in thresholds:
        if threshold.severity is severity:
            return level < threshold.level - threshold.hysteresis
    return False
