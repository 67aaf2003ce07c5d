from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.errors import ConfigError, InputError, SetupError
from assay.files import cannot_write, read_utf8, write_atomic
from assay.locks import FileLock
from assay.report.render.formatting import count
from assay.settings import read_settings

FILE = "assay-history.jsonl"
#: A file of a run directory.
_TREND = "history.jsonl"
#: The first key of every line, which keeps the file out of every corpus.
_SCHEMA = "assay/history/1"
_HINT = "correct or remove this line"
#: Points of a trend: a month of daily commits, and one line of a terminal.
POINTS = 30
_BARS = "▁▂▃▄▅▆▇█"
_LOCK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class GatedCommit:
    """The outcome of a gate on one engine at one commit."""

    date: str
    commit: str  # empty outside of a repository
    exit_code: int
    outcome: str
    engine: str
    measure: str
    mean: float | None
    baseline: float | None  # mean of the baseline; None without a comparison
    difference: float | None
    interval: tuple[float, float] | None
    queries: int
    assay: str  # version
    matching: int  # version of the matching rule

    def replaces(self, other: GatedCommit) -> bool:
        """Return whether this is another gate of the same engine and measure at the same commit."""
        return bool(self.commit) and self.commit == other.commit and self._series == other._series

    def continues(self, other: GatedCommit) -> bool:
        """Return whether the means of both can be drawn as one line."""
        return self._series == other._series and self.matching == other.matching

    @property
    def _series(self) -> tuple[str, str]:
        return self.engine, self.measure


def find_history(flag: str | None, against: Sequence[str]) -> Path | None:
    """Return the file of --history, else the existing one beside the baseline file, else None."""
    if flag:
        return Path(flag)
    files = [path for path in map(Path, against) if path.is_file()]
    beside = files[0].parent / FILE if files else None
    return beside if beside and beside.exists() else None


def check_history(path: Path) -> None:
    """Raise InputError if a file exists and is not a history."""
    if path.exists():
        _read_lines(path)


def record_gate(path: Path, gated: GatedCommit) -> list[GatedCommit]:
    """Add a gate to a history, replacing an earlier gate of the same commit; return the last points of the trend.

    Other lines stay unchanged. Concurrent writers wait for each other.
    """
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not lock.acquire(wait=_LOCK_SECONDS):
            raise SetupError(f"cannot lock {path}: another process uses it", hint="try again")
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        lines = [line for line in _read_lines(path) if not gated.replaces(line[1])]
        lines.append((_format_line(gated), gated))
        write_atomic(path, "".join(f"{text}\n" for text, _ in lines))
    finally:
        lock.release()
    return [line for _, line in lines if gated.continues(line)][-POINTS:]


def write_trend(directory: Path, points: Sequence[GatedCommit]) -> None:
    """Write the points of a trend into a run directory, for its report."""
    write_atomic(directory / _TREND, "".join(f"{_format_line(point)}\n" for point in points))


def read_trend(directory: Path) -> tuple[GatedCommit, ...]:
    path = directory / _TREND
    return tuple(point for _, point in _read_lines(path)) if path.is_file() else ()


def _format_line(gated: GatedCommit) -> str:
    return json.dumps({"schema": _SCHEMA, **asdict(gated)}, ensure_ascii=False, allow_nan=False)


def _read_lines(path: Path) -> list[tuple[str, GatedCommit]]:
    lines = []
    for number, text in enumerate(read_utf8(path).split("\n"), 1):
        if text.strip():
            try:
                lines.append((text, _parse_line(text)))
            except (ConfigError, ValueError, RecursionError) as error:
                reason = getattr(error, "message", None) or getattr(error, "msg", error)
                raise InputError(f"invalid history: {reason}", file=path, line=number, hint=_HINT) from error
    return lines


def _parse_line(text: str) -> GatedCommit:
    data = json.loads(text, parse_constant=_reject_constant)
    schema = data.pop("schema", None) if isinstance(data, dict) else None
    if schema != _SCHEMA:
        raise ValueError(f"expected the schema {_SCHEMA!r}, got {schema!r}")
    return read_settings(GatedCommit, data, "gate")


def _reject_constant(text: str) -> float:
    raise ValueError(f"expected a finite number, got {text}")


def trend_text(points: Sequence[GatedCommit]) -> str:
    """Draw the means of a trend as bars; empty with fewer than two means."""
    drawn = [point.mean for point in points if point.mean is not None]
    if len(drawn) < 2:
        return ""
    last = points[-1]
    known = drawn if last.baseline is None else [*drawn, last.baseline]
    low, width = min(known), max(known) - min(known)
    steps = [math.floor((mean - low) / width * (len(_BARS) - 1) + 0.5) if width else 3 for mean in drawn]
    bars = "".join(_BARS[step] for step in steps)
    baseline = "" if last.baseline is None else f", baseline {last.baseline:.3f}"
    return f"{last.engine}, {last.measure}: {bars} {drawn[-1]:.3f}{baseline} ({count(len(drawn), 'commit')})"
