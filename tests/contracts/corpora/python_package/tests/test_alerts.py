from datetime import datetime, timezone

from hydrolog.alerts import AlertState, Severity, Threshold, evaluate
from hydrolog.readings import Reading

THRESHOLDS = [Threshold(Severity.WATCH, 620.0), Threshold(Severity.WARNING, 830.0, hysteresis=10.0)]


def reading(level: float) -> Reading:
    return Reading(datetime(2024, 1, 1, tzinfo=timezone.utc), level)


def test_alert_needs_three_readings_above_the_threshold():
    state = AlertState()
    for _ in range(2):
        state = evaluate(state, reading(640.0), THRESHOLDS)
    assert state.severity is Severity.NONE
    assert evaluate(state, reading(640.0), THRESHOLDS).severity is Severity.WATCH


def test_alert_is_not_cleared_inside_the_hysteresis():
    state = AlertState(Severity.WARNING)
    assert evaluate(state, reading(825.0), THRESHOLDS).severity is Severity.WARNING
    assert evaluate(state, reading(815.0), THRESHOLDS).severity is Severity.WATCH
