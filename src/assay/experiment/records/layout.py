"""What lies in a folder of results, by name: nobody who writes or reads one spells a name himself."""

from __future__ import annotations

from typing import Final

#: The records: run.json names the others with their hashes.
MANIFEST: Final = "run.json"
GOLD: Final = "gold.jsonl"
LINES: Final = "lines.jsonl"
ENGINES: Final = "engines/"
#: A generation that is being written, and one that holds but is not in its place yet.
STAGED: Final = ".next.part"
COMMITTED: Final = ".next"

#: What is made from the records.
PAGE: Final = "RESULTS.md"
RESULTS: Final = "results.json"
ROWS: Final = "rows.json"
SCORES: Final = "per-query.csv"
PARQUET: Final = "per-query.parquet"
HTML: Final = "report.html"
FOREST: Final = "forest.csv"
RUNS: Final = "runs/"  # whole files, for qrels/
LINE_RUNS: Final = "runs/lines/"
QRELS: Final = "qrels/"
OLD_RUNS: Final = "runs/files/"  # where whole files were; what is there goes

#: What is of this machine or this moment alone.
LOCK: Final = ".lock"
TIMINGS: Final = "timings.json"
UNFINISHED: Final = ".unfinished"
SHARDS: Final = "shards"

#: What keeps results out of corpora, and the rest out of version control.
IGNORE: Final = ".assayignore"
GIT_IGNORE: Final = ".gitignore"
