"""Open a gold file as text with lines, whatever it is packed in."""

from __future__ import annotations

from pathlib import Path

from assay.gold.formats.common.parquet import is_parquet, rows_as_lines
from assay.gold.source import Source, SourceLimits, read_source

#: Data sets are larger than what somebody wrote: CrossCodeEval's Python part, with its retrieved code, has some 60 MB.
DATA_SET = SourceLimits(bytes=256_000_000)
_DATA_SETS = frozenset({".jsonl", ".parquet"})


def open_source(path: Path) -> Source:
    """Read a gold file; every format then sees text with lines. Row n of a Parquet file is line n."""
    if is_parquet(path):
        return Source(path, rows_as_lines(path))
    return read_source(path, DATA_SET if path.suffix in _DATA_SETS else None)
