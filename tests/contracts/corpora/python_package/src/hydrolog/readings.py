"""Readings as the feed delivers them: one line of text each."""

import re
from dataclasses import dataclass
from datetime import datetime, timezone

MISSING = -999.0
_LINE = re.compile(r"(?P<time>\S+)\s+(?P<level>-?\d+(?:\.\d+)?)\s*(?P<unit>cm|m)?$")


class MalformedReading(ValueError):
    """A line that cannot be parsed."""


@dataclass(frozen=True, order=True)
class Reading:
    """A water level in centimeters at a point in time."""

    time: datetime
    level: float

    @property
    def is_missing(self) -> bool:
        """Whether the sensor reported its missing value marker."""
        return self.level == MISSING


def parse_reading(line: str) -> Reading:
    """Parse `2024-03-01T06:00Z 412.5 cm`; meters are converted to centimeters."""
    match = _LINE.match(line.strip())
    if match is None:
        raise MalformedReading(f"malformed reading: {line!r}")
    level = float(match["level"])
    if match["unit"] == "m":
        level *= 100
    return Reading(_parse_time(match["time"]), level)


def parse_feed(text: str) -> list[Reading]:
    """Parse all lines of a feed, without comments and blank lines, oldest first."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return sorted(parse_reading(line) for line in lines)


def drop_missing(readings: list[Reading]) -> list[Reading]:
    """Remove readings that only say that the sensor was silent."""
    return [reading for reading in readings if not reading.is_missing]


def _parse_time(text: str) -> datetime:
    """Parse an ISO timestamp; one without a zone is taken as UTC."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
