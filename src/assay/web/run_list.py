from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from assay.digests import text_digest
from assay.errors import AssayError, ConfigError, located_message
from assay.experiment import read_run
from assay.experiment.records.directory import (
    COMMITTED,
    ENGINES,
    MANIFEST,
    QRELS,
    RESULTS,
    RUNS,
    SHARDS,
    is_run,
    peek_snapshot,
)
from assay.experiment.spec.analysis_plan import analysis_plan_of
from assay.types import OLD_ROLES, AnalysisPlan, GoldSet, Run, current_keys
from assay.web.web_server import HttpError, LruCache


@dataclass(frozen=True, slots=True)
class ExploringLimits:
    depth: int = 3  # of directories below the given one: results/2026-11/shop
    folders: int = 20_000  # scanned for runs: a home directory would take minutes
    runs: int = 1_000  # listed
    opened: int = 3  # runs in memory: two that are compared and one more; a large one takes 200 MB
    pages: int = 6  # 3 MB each
    corpora: int = 8  # lists of files, about 100 bytes per file
    indexes: int = 3  # of the run, of other settings, and the previous one; 100 MB for a large repository
    fresh: float = 20.0  # seconds between scans of a corpus: 5,000 files take one second
    query: int = 4_000  # characters: ten times the longest typed query
    deep: int = 100  # ranks that are compared, to follow hits beyond the first k
    source: int = 2_000_000  # bytes of a shown file


LIMITS = ExploringLimits()

#: Directories without runs: parts of a run, and directories of tools.
_SKIPPED = {*(name.rstrip("/") for name in (ENGINES, RUNS, QRELS, SHARDS)), "node_modules", "__pycache__"}


@dataclass(frozen=True, slots=True)
class RunDirectory:
    id: str
    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class CachedRun:
    found: RunDirectory
    digest: str
    run: Run

    @property
    def plan(self) -> AnalysisPlan:
        return analysis_plan_of(self.run)

    def gold(self, name: str) -> GoldSet:
        for gold in self.run.suite.golds:
            if gold.name == name:
                return gold
        raise HttpError(404, f"no gold set {name[:40]!r} in this run", hint="reload the page")


class RunList:
    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(dict.fromkeys(map(_check_root, roots)))
        self._known: dict[str, RunDirectory] = {}
        self._opened: LruCache[tuple[str, str], CachedRun] = LruCache(LIMITS.opened)

    def scan(self) -> tuple[RunDirectory, ...]:
        runs = (self._describe(root, path) for root in self.roots for path in _run_directories(root))
        known: dict[str, RunDirectory] = {}
        for run in islice(runs, LIMITS.runs):
            known.setdefault(run.id, run)
        self._known = known
        return tuple(known.values())

    def open(self, run_id: str) -> CachedRun:
        if run_id not in self._known:
            self.scan()
        if run_id not in self._known:
            raise HttpError(404, "this run does not exist", hint="go back to the list of runs")
        found = self._known[run_id]
        digest = peek_snapshot(found.path)[0]
        return self._opened.get((found.id, digest), lambda: CachedRun(found, digest, read_run(found.path)))

    def _describe(self, root: Path, path: Path) -> RunDirectory:
        name = path.relative_to(root).as_posix()
        if path == root:
            name = root.name or str(root)
        elif len(self.roots) > 1:
            name = f"{root.name}/{name}"
        return RunDirectory(text_digest(str(path))[:12], name, path)


def _check_root(directory: Path) -> Path:
    if not directory.is_dir():
        problem = "expected a directory, got a file" if directory.exists() else "no such directory"
        raise ConfigError(problem, file=directory, hint="pass a run directory, or a directory of runs")
    return directory.resolve()


def _run_directories(root: Path) -> Iterator[Path]:
    for name, children, _ in islice(os.walk(root), LIMITS.folders):
        path = Path(name)
        if is_run(path):
            yield path
        if len(path.relative_to(root).parts) >= LIMITS.depth:
            children.clear()
        children[:] = sorted(child for child in children if child not in _SKIPPED and not child.startswith("."))


_MINUTE = len("2026-01-01T12:00")
_DAY_SECONDS = 24 * 60 * 60 - 1
_UNREPORTED = "Its reports are missing or belong to another run; its page is built from the records."


def run_entry(found: RunDirectory) -> dict[str, Any]:
    """Return the list entry of a run, or its error if it cannot be read."""
    written = _written(found.path)
    changed = datetime.fromtimestamp(written, UTC).strftime("%Y-%m-%d %H:%M") if written else ""
    entry = {"id": found.id, "name": found.name, "when": None, "made": 0.0, "written": written, "changed": changed}
    try:
        manifest = peek_snapshot(found.path)[1]
        entry |= _from_manifest(manifest) | _from_results(found.path, manifest)
        date = str(entry["date"])
        return entry | {"when": date[:_MINUTE].replace("T", " "), "made": _made(date, written)}
    except AssayError as error:
        return entry | {"error": located_message(error), "hint": error.hint}
    except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
        return entry | {
            "error": f"{found.path}: cannot read the run ({type(error).__name__})",
            "hint": "repeat the run",
        }


def _written(directory: Path) -> float:
    for path in (directory / COMMITTED / MANIFEST, directory / MANIFEST):
        with suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def _made(date: str, written: float) -> float:
    """Return the time of a run for sorting.

    Untimed runs record only the day, so that their bytes do not depend on the time; then the time of writing counts,
    limited to that day, because a copy or a checkout is written later.
    """
    try:
        read = datetime.fromisoformat(date)
    except ValueError:
        return written
    moment = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    return moment if "T" in date else min(max(written, moment), moment + _DAY_SECONDS)


def _from_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    plan = current_keys(manifest["header"]).get("analysis_plan") or {}
    return {
        "suite": str(manifest.get("suite") or "+".join(manifest["header"]["corpora"])),
        "date": manifest["header"]["date"],
        "gold": manifest["header"]["gold_hash"],
        "k": manifest["k"],
        "queries": len(manifest["hashes"]),
        "engines": [{"name": name, "role": None} for name in manifest["engines"]],
        "primary": (plan.get("measures") or [None])[0],
        "best": None,
        "decision": None,
        "note": _UNREPORTED,
    }


def _from_results(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    results = _results(folder)
    if results is None or _identity(results["header"]) != _identity(manifest["header"]):
        return {}
    if [engine["name"] for engine in results["engines"]] != manifest["engines"]:
        return {}
    comparison = results["comparison"]
    means = {row["engine"]: row for row in comparison["means"] if row["measure"] == comparison["primary"]}
    return {
        "suite": results["suite"],
        "queries": results["queries"],
        "engines": [
            {"name": engine["name"], "role": OLD_ROLES.get(engine["role"], engine["role"])}
            for engine in results["engines"]
        ],
        "primary": comparison["primary"],
        "best": _best(means.get(results["leader"])),
        "decision": results.get("decision"),
        "note": None,
    }


def _results(folder: Path) -> dict[str, Any] | None:
    try:
        read = json.loads((folder / RESULTS).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _identity(header: Mapping[str, Any]) -> tuple[object, ...]:
    corpora = sorted((name, facts["digest"]) for name, facts in header["corpora"].items())
    return header["gold_hash"], header["date"], header["assay"], tuple(corpora)


def _best(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        "engine": row["engine"],
        "mean": row["mean"],
        "low": row["interval"]["low"],
        "high": row["interval"]["high"],
    }
