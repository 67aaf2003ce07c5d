"""Readings in a SQLite database."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from hydrolog.readings import Reading

SCHEMA = """
CREATE TABLE IF NOT EXISTS reading (
    station TEXT NOT NULL,
    time TEXT NOT NULL,
    level REAL NOT NULL,
    PRIMARY KEY (station, time)
)
"""


class StaleReading(ValueError):
    """A reading that is older than the newest one stored."""


class ReadingStore:
    """Stores readings by station; opening creates the table."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path)
        self._db.execute(SCHEMA)

    def insert(self, station: str, readings: Iterable[Reading]) -> int:
        """Insert readings in one transaction and return how many were new."""
        newest = self.newest_time(station)
        rows = []
        for reading in readings:
            if newest is not None and reading.time < newest:
                raise StaleReading(f"stale reading for {station}: {reading.time} is before {newest}")
            rows.append((station, reading.time.isoformat(), reading.level))
        with self._db:
            before = self._db.total_changes
            self._db.executemany("INSERT OR IGNORE INTO reading VALUES (?, ?, ?)", rows)
            return self._db.total_changes - before

    def newest_time(self, station: str) -> datetime | None:
        """Return the time of the newest reading of a station."""
        row = self._db.execute("SELECT MAX(time) FROM reading WHERE station = ?", (station,)).fetchone()
        return datetime.fromisoformat(row[0]) if row[0] else None

    def prune(self, before: datetime) -> int:
        """Delete readings that are older than a date."""
        with self._db:
            return self._db.execute("DELETE FROM reading WHERE time < ?", (before.isoformat(),)).rowcount
