"""The files a run leaves for people and programs, each replaced whole."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay.files import write_atomic
from assay.report.html import to_html
from assay.report.markdown import to_markdown
from assay.report.results import Results
from assay.report.sections import document
from assay.scoring import score
from assay.types import Run, Scores


def results_json(results: Results) -> dict[str, Any]:
    """Give the results as JSON can hold them."""
    return {"schema": "assay/results/1", **asdict(results)}


def write_reports(results: Results, run: Run, folder: Path) -> None:
    """Write RESULTS.md, results.json, per-query.csv and report.html."""
    report = document(results)
    write_atomic(folder / "results.json", json.dumps(plain(results_json(results)), indent=1, ensure_ascii=False) + "\n")
    write_atomic(folder / "RESULTS.md", to_markdown(report))
    write_atomic(folder / "per-query.csv", per_query_csv(score(run, results.measures)))
    write_atomic(folder / "report.html", to_html(report))


def per_query_csv(scores: Scores) -> str:
    """Write one line for each engine × form of a query, one column for each measure; empty where it does not apply."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["engine", "gold", "query", "form", "repository", "hash", *scores.measures])
    for e, engine in enumerate(scores.engines):
        for u, unit in enumerate(scores.units):
            values = [_text(float(scores.values[e, m, u])) for m in range(len(scores.measures))]
            writer.writerow([engine, unit.gold, unit.query, unit.form, unit.repository, unit.hash, *values])
    return stream.getvalue()


def _text(value: float) -> str:
    """Write a value so that it reads back as the same number."""
    return "" if math.isnan(value) else repr(value)


def plain(value: object) -> object:
    """Make a value JSON can hold in UTF-8: a number that does not exist is null, half a character its code."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
