"""Write and read runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from assay import types
from assay.errors import AssayError
from assay.experiment.records.codec import (
    engine_text,
    gold_text,
    lines_text,
    read_engine_text,
    read_gold,
    read_header,
    read_lines,
    read_suite,
)
from assay.experiment.records.folder import (
    ENGINES,
    FORMAT,
    GOLD,
    LINES,
    Snapshot,
    broken,
    file_names,
    from_here,
    read_generation,
    relative_paths,
    replace_generation,
    write_assayignore,
    write_gitignore,
)


def write_run(run: types.Run, folder: Path) -> None:
    """Write a run into a folder; what an earlier run left there goes with it."""
    names = file_names(engine.name for engine in run.engines)
    members = {GOLD: gold_text(run.suite), LINES: lines_text(run.lines)}
    members |= {f"{ENGINES}{names[engine.name]}.jsonl": engine_text(run, engine) for engine in run.engines}
    manifest = {
        "k": run.k,
        "suite": run.suite.name,
        "engines": [engine.name for engine in run.engines],
        "hashes": dict(sorted(run.hashes.items())),
        "header": asdict(run.header),
    }
    ways = relative_paths(run.suite, folder)
    manifest |= {"gold_files": ways} if ways else {}
    write_assayignore(folder)
    write_gitignore(folder)
    replace_generation(folder, manifest, members)


def read_run(folder: Path) -> types.Run:
    """Read a run back, checking every member against its hash; its gold files are named as they lie from here."""
    found = read_generation(folder)
    try:
        header = read_header(found.manifest["header"])
        order = {name: place for place, name in enumerate(found.manifest["engines"])}
        texts = [text for name, text in sorted(found.members.items()) if name.startswith(ENGINES)]
        engines = [read_engine_text(text, header) for text in texts]
        read = _read_older if found.manifest["assay_run"] < FORMAT else _read_members
        run = types.Run(
            k=found.manifest["k"],
            engines=tuple(sorted(engines, key=lambda engine: order[engine.name])),
            hashes=found.manifest["hashes"],
            header=header,
            **read(found),
        )
        return replace(run, suite=from_here(run.suite, folder, found.manifest.get("gold_files", {})))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise broken(folder, f"a record is malformed ({type(error).__name__}: {error})") from error


def earlier_run(folder: Path) -> types.Run | None:
    """Read the run that a new one is going to replace; none where there is none that can be trusted."""
    try:
        return read_run(folder)
    except AssayError:
        return None


def _read_members(found: Snapshot) -> dict[str, Any]:
    return {"suite": read_suite(found.members[GOLD]), "lines": read_lines(found.members[LINES])}


def _read_older(found: Snapshot) -> dict[str, Any]:
    plain = {name.rpartition("-")[0]: text for name, text in found.members.items()}
    golds, lines = json.loads(plain["gold"]), json.loads(plain["lines"])
    return {"suite": types.Suite(tuple(map(read_gold, golds))), "lines": {g: _sizes(f) for g, f in lines.items()}}


def _sizes(files: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {path: tuple(sizes) for path, sizes in files.items()}
