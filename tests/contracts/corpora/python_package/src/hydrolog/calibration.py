"""Compare pressure sensors with manual staff readings."""

from hydrolog.readings import Reading, drop_missing

MAX_OFFSET = 50.0
MAX_DRIFT_PER_DAY = 1.0
MIN_PAIRS = 4


class CalibrationError(ValueError):
    """The readings do not allow a calibration."""


def calibrate(sensor: list[Reading], staff: list[Reading], window: float = 900.0) -> dict[str, float]:
    """Estimate offset and drift of a sensor from pairs of readings that are close in time."""
    sensor = sorted(drop_missing(sensor))
    staff = sorted(drop_missing(staff))
    if not sensor or not staff:
        raise CalibrationError("no readings to compare")

    # Pair every staff reading with the sensor reading that is nearest in time.
    pairs: list[tuple[float, float]] = []
    position = 0
    for manual in staff:
        while position + 1 < len(sensor):
            here = abs((sensor[position].time - manual.time).total_seconds())
            there = abs((sensor[position + 1].time - manual.time).total_seconds())
            if there > here:
                break
            position += 1
        gap = abs((sensor[position].time - manual.time).total_seconds())
        if gap <= window:
            moment = (manual.time - staff[0].time).total_seconds()
            pairs.append((moment, manual.level - sensor[position].level))
    if len(pairs) < MIN_PAIRS:
        raise CalibrationError(f"only {len(pairs)} pairs of readings, {MIN_PAIRS} are needed")

    # Remove outliers: differences that are far from the median.
    differences = sorted(difference for _, difference in pairs)
    middle = len(differences) // 2
    if len(differences) % 2:
        median = differences[middle]
    else:
        median = (differences[middle - 1] + differences[middle]) / 2
    deviations = sorted(abs(difference - median) for difference in differences)
    spread = deviations[len(deviations) // 2]
    limit = 3 * 1.4826 * spread
    if limit == 0:
        limit = 1.0
    kept = [(moment, difference) for moment, difference in pairs if abs(difference - median) <= limit]
    if len(kept) < MIN_PAIRS:
        raise CalibrationError("too many outliers")

    # Fit a line through the differences: the intercept is the offset, the slope the drift.
    count = len(kept)
    mean_time = sum(moment for moment, _ in kept) / count
    mean_difference = sum(difference for _, difference in kept) / count
    variance = sum((moment - mean_time) ** 2 for moment, _ in kept)
    if variance == 0:
        drift = 0.0
    else:
        covariance = sum((moment - mean_time) * (difference - mean_difference) for moment, difference in kept)
        drift = covariance / variance
    offset = mean_difference - drift * mean_time

    # Drift of more than a centimeter a day is a broken cable, not an aging membrane.
    if abs(drift) * 86400 > MAX_DRIFT_PER_DAY:
        raise CalibrationError(f"drift of {drift * 86400:.2f} cm per day: check the cable")
    span = max(moment for moment, _ in kept) - min(moment for moment, _ in kept)
    if span < window:
        drift = 0.0
        offset = mean_difference

    # A sensor that is off by half a meter has slipped and must be mounted again.
    if abs(offset) > MAX_OFFSET:
        raise CalibrationError(f"offset of {offset:.1f} cm: check the mounting of the sensor")
    residuals = [difference - offset - drift * moment for moment, difference in kept]
    squares = sum(residual * residual for residual in residuals)
    error = (squares / max(count - 2, 1)) ** 0.5
    return {
        "offset": offset,
        "drift_per_day": drift * 86400,
        "error": error,
        "pairs": float(count),
        "outliers": float(len(pairs) - count),
    }


def apply_offset(readings: list[Reading], offset: float) -> list[Reading]:
    """Shift the levels of readings by a calibrated offset."""
    return [Reading(reading.time, reading.level + offset) for reading in readings]
