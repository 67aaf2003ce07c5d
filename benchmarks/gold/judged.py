"""What people said of a sample: read beside it, counted, and only where it is still the sample that was judged."""

from __future__ import annotations

import csv
import io
from pathlib import Path


def judgement(sample: Path) -> str:
    """Say how many of a sample were found right, by the first reader and by the second."""
    path = sample.with_name(f"{sample.stem}-judged.csv")
    judged = _rows(path)
    drawn = [tuple(row.values()) for row in _rows(sample)]
    columns = list(_rows(sample)[0])
    known = {tuple(row[column] for column in columns): row for row in judged}
    rows = [known[row] for row in drawn if row in known]
    parts = [_reader(name, [row[name] for row in rows if row[name]]) for name in ("first", "second")]
    extra = [row["first"] for row in judged if tuple(row[column] for column in columns) not in set(drawn)]
    beyond = f" Beyond the sample: {_reader('first', extra)}." if extra else ""
    return f"{len(rows)} of the {len(drawn)} drawn are in {path.name}: {'; '.join(parts)}.{beyond}"


def _reader(name: str, verdicts: list[str]) -> str:
    """Count what one reader found right."""
    return f"{name} reader {verdicts.count('right')} of {len(verdicts)} right"


def _rows(path: Path) -> list[dict[str, str]]:
    """Read a table."""
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
