"""Gauge stations and where they are registered."""

from dataclasses import dataclass


class UnknownStation(LookupError):
    """Raised when a station code is not registered."""


@dataclass(frozen=True)
class Station:
    """A gauge on a river; `datum` is the height of its zero point above sea level in meters."""

    code: str
    river: str = ""
    datum: float = 0.0

    def absolute_level(self, level: float) -> float:
        """Convert a level in centimeters above the gauge zero to meters above sea level."""
        return self.datum + level / 100


class StationRegistry:
    """Stations by code, in the order of registration."""

    def __init__(self) -> None:
        self._stations: dict[str, Station] = {}

    def add(self, station: Station) -> None:
        """Register a station; registering a code twice replaces the first station."""
        self._stations[station.code] = station

    def find(self, code: str) -> Station:
        """Return the station with this code."""
        try:
            return self._stations[code]
        except KeyError:
            raise UnknownStation(f"station {code!r} is not registered") from None

    def on_river(self, river: str) -> list[Station]:
        """List the stations on a river, from the source downwards."""
        found = [station for station in self._stations.values() if station.river == river]
        return sorted(found, key=lambda station: -station.datum)

    def __len__(self) -> int:
        return len(self._stations)
