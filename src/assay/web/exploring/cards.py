"""What the list says of each run: read from its reports where they are of this run, else from its manifest alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.experiment.records.generations import peek_generation
from assay.experiment.records.layout import COMMITTED, MANIFEST, RESULTS
from assay.report.comparison_blocks import verdict_tone
from assay.stats.records import ComparisonRow, Verdict
from assay.web.exploring.library import Found
from assay.web.messages import sentence_of

#: How much of a date says the minute, and what stands before its time, where it has one.
_MINUTE, _TIME = len("2026-01-01T12:00"), "T"
_DAY_SECONDS = 24 * 60 * 60 - 1
_UNREPORTED = "Its reports are of another run, or not written; its page is made from the records."


def card(found: Found) -> dict[str, Any]:
    """Describe a run; one that cannot be read is described by what is wrong with it."""
    said: dict[str, Any] = {"id": found.id, "name": found.name, "when": None, "made": 0.0, **_written(found.path)}
    try:
        manifest = peek_generation(found.path).manifest
        read = _from_manifest(manifest) | _from_results(found.path, manifest)
        date = str(read["date"])
        return said | read | {"when": date[:_MINUTE].replace(_TIME, " "), "made": _made(date, said["written"])}
    except AssayError as error:
        return said | {"error": sentence_of(error), "hint": error.hint}
    except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
        return said | {"error": f"{found.path}: it cannot be read ({type(error).__name__})", "hint": "run it again"}


def _written(folder: Path) -> dict[str, Any]:
    """Say when the run was written: as a number to sort by, and for people, UTC."""
    for path in (folder / COMMITTED / MANIFEST, folder / MANIFEST):
        try:
            moment = path.stat().st_mtime
        except OSError:
            continue
        return {"written": moment, "changed": datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M")}
    return {"written": 0.0, "changed": ""}


def _made(date: str, written: float) -> float:
    """Give the moment that tells an older run from a newer one.

    Results are the same bytes whenever cells were made, so a run of cells has only its day; then it is when the folder
    was written, kept inside that day: a copy or a checkout comes later.
    """
    try:
        read = datetime.fromisoformat(date)
    except ValueError:
        return written
    moment = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    return moment if _TIME in date else min(max(written, moment), moment + _DAY_SECONDS)


def _from_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Take what the records say without being scored."""
    claim = manifest["header"].get("claim") or {}
    return {
        "suite": str(manifest.get("suite") or "+".join(manifest["header"]["corpora"])),
        "date": manifest["header"]["date"],
        "gold": manifest["header"]["gold_hash"],
        "k": manifest["k"],
        "queries": len(manifest["hashes"]),
        "engines": [{"name": name, "role": None} for name in manifest["engines"]],
        "primary": (claim.get("measures") or [None])[0],
        "best": None,
        "verdict": None,
        "note": _UNREPORTED,
    }


def _from_results(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Take the numbers from results.json, if it is about this run."""
    results = _results(folder)
    if results is None or _identity(results["header"]) != _identity(manifest["header"]):
        return {}
    if [engine["name"] for engine in results["engines"]] != manifest["engines"]:
        return {}
    comparison = results["comparison"]
    means = {row["engine"]: row for row in comparison["means"] if row["measure"] == comparison["primary"]}
    rows = [row for row in comparison["rows"] if row["engine"] == results["challenger"]]
    return {
        "suite": results["suite"],
        "queries": results["queries"],
        "engines": [{"name": engine["name"], "role": engine["role"]} for engine in results["engines"]],
        "primary": comparison["primary"],
        "best": _best(means.get(results["leader"])),
        "verdict": _verdict(rows[0]) if rows else None,
        "note": None,
    }


def _results(folder: Path) -> dict[str, Any] | None:
    """Read results.json; None where there is none that can be read."""
    try:
        read = json.loads((folder / RESULTS).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _identity(header: Mapping[str, Any]) -> tuple[object, ...]:
    """Tell runs apart by what they were made with."""
    corpora = sorted((name, facts["digest"]) for name, facts in header["corpora"].items())
    return header["gold_hash"], header["date"], header["assay"], tuple(corpora)


def _best(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Give the best engine's mean with its interval."""
    if row is None:
        return None
    return {
        "engine": row["engine"],
        "mean": row["mean"],
        "low": row["interval"]["low"],
        "high": row["interval"]["high"],
    }


def _verdict(row: Mapping[str, Any]) -> dict[str, Any]:
    """Give the verdict on the best rival of the baseline, in the words and the tone that the report has for it."""
    kept = {name: row[name] for name in ("engine", "baseline", "measure", "verdict", "difference")}
    compared = _comparison(row)
    told = {"said": compared.said, "tone": verdict_tone(compared)}
    return kept | told | {"low": row["interval"]["low"], "high": row["interval"]["high"]}


def _comparison(row: Mapping[str, Any]) -> ComparisonRow:
    """Read a comparison, as far as its words and its tone depend on it."""
    known = {field.name: row[field.name] for field in fields(ComparisonRow) if field.name in row}
    return ComparisonRow(**{**known, "verdict": None if row["verdict"] is None else Verdict(row["verdict"])})
