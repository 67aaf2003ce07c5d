"""River gauge readings and flood alerts."""

from hydrolog.alerts import AlertState, evaluate
from hydrolog.readings import Reading, parse_reading
from hydrolog.stations import Station, StationRegistry

__all__ = ["AlertState", "Reading", "Station", "StationRegistry", "evaluate", "parse_reading"]
