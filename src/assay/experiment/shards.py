"""Sharded runs: execute part of a plan, write its results to a file, and merge the files of all shards."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from assay.errors import ConfigError, InputError, NotComparableError
from assay.experiment.cell_cache import CellId, CellResult, CorpusSnapshot, cell_from_json, cell_json, snapshot_json
from assay.experiment.corpora import Missing
from assay.experiment.execution import PlanResult, execute
from assay.experiment.interleaved import ProgressCallback
from assay.experiment.records.codec import Lines, decoder, dump, join_lines
from assay.experiment.records.directory import SHARDS
from assay.experiment.records.merge import RetainedEngine
from assay.experiment.run_plan import ExecutionOptions, PlanSummary, make_plan
from assay.experiment.spec import Spec
from assay.experiment.spec.engine_entries import retained_engines
from assay.files import atomic_stream
from assay.types import Suite

T = TypeVar("T")
SUFFIX: Final = ".jsonl.gz"
_FORMAT: Final = 1
_HINT: Final = "for four shards, use 1/4, 2/4, 3/4 and 4/4"


@dataclass(frozen=True, slots=True, order=True)
class ShardId:
    """Number of a shard, starting at 1, and the number of all shards."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


def parse_shard(text: str) -> ShardId:
    """Parse a shard such as 1/4."""
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip(), re.ASCII)
    if not match:
        raise ConfigError(f"--shard: expected I/N, got {text!r}", hint=_HINT)
    shard = ShardId(int(match[1]), int(match[2]))
    if not 1 <= shard.index <= shard.of:
        below = shard.index < 1 or shard.of < 1
        problem = "shards are numbered from 1" if below else f"{shard.index} is more than {shard.of}"
        raise ConfigError(f"--shard {text}: {problem}", hint=_HINT)
    return shard


def choose(cells: Sequence[T], shard: ShardId) -> tuple[T, ...]:
    """Return the cells of a shard, which are adjacent and so share corpora; shard sizes differ by at most one."""
    begin = len(cells) * (shard.index - 1) // shard.of
    return tuple(cells[begin : len(cells) * shard.index // shard.of])


@dataclass(frozen=True, slots=True)
class ShardResult:
    shard: ShardId
    summary: PlanSummary
    results: PlanResult
    declared: Mapping[str, RetainedEngine] = field(default_factory=dict)  # engines that are not run but keep their rows


def execute_shard(
    spec: Spec,
    suite: Suite,
    shard: ShardId,
    options: ExecutionOptions,
    *,
    missing: Missing | None = None,
    progress: ProgressCallback | None = None,
) -> ShardResult:
    """Execute the cells of one shard; only the gold sets of these cells are opened."""
    plan = make_plan(spec, suite, options, missing=missing, timed=False)
    results = execute(plan, choose(plan.cells, shard), options, progress)
    return ShardResult(shard, plan.summary(results.conditions), results, retained_engines(spec, suite))


def shard_path(directory: Path, shard: ShardId) -> Path:
    """Return the file of a shard in a results directory; its number is zero-padded, so that file names sort."""
    width = len(str(shard.of))
    return directory / SHARDS / f"{shard.index:0{width}}-of-{shard.of}{SUFFIX}"


def write_shard(path: Path, part: ShardResult) -> None:
    """Write a shard atomically; equal shards give equal files."""
    digest = hashlib.sha256()
    with atomic_stream(path) as stream, gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
        for row in _rows(part):
            line = f"{dump(row)}\n".encode()
            digest.update(line)
            packed.write(line)
        packed.write(f"{dump({'sha256': digest.hexdigest()})}\n".encode())


def _rows(part: ShardResult) -> Iterator[dict[str, Any]]:
    results = part.results
    yield {
        "assay_shard": _FORMAT,
        "shard": asdict(part.shard),
        "outline": asdict(part.summary),
        "declared": {name: asdict(engine) for name, engine in part.declared.items()},
        "grounds": len(results.snapshots),
        "cells": len(results.cells),
    }
    tables: dict[str, dict[int, Lines]] = {gold: {} for gold in results.snapshots}  # cells share tables
    for cell, result in results.cells.items():
        tables[cell.gold][id(result.lines)] = result.lines
    for gold, snapshot in results.snapshots.items():
        yield {"ground": snapshot_json(snapshot), "found": join_lines(tables[gold].values())}
    for cell, result in results.cells.items():
        yield {"gold": cell.gold, "engine": cell.engine, "cell": cell_json(replace(result, lines={}))}


def read_shard(path: Path) -> ShardResult:
    """Read a shard and verify its checksum."""
    lines = _verified_lines(path)
    try:
        head = json.loads(lines[0])
        if head.get("assay_shard") != _FORMAT:
            raise _broken(path, f"expected shard format {_FORMAT}, got {head.get('assay_shard')}")
        rows = [json.loads(line) for line in lines[1:]]
        grounds, cells = rows[: head["grounds"]], rows[head["grounds"] :]
        if len(cells) != head["cells"]:
            raise _broken(path, f"expected {head['cells']} cells, got {len(cells)}")
        surveyed = [decoder(CorpusSnapshot)(row["ground"]) for row in grounds]
        snapshots = {snapshot.gold.name: snapshot for snapshot in surveyed}
        tables = {gold: decoder(Lines)(row["found"]) for gold, row in zip(snapshots, grounds, strict=True)}
        results = {
            CellId(row["gold"], row["engine"]): replace(cell_from_json(row["cell"]), lines=tables[row["gold"]])
            for row in cells
        }
        declared = {name: RetainedEngine(**engine) for name, engine in head["declared"].items()}
        summary = decoder(PlanSummary)(head["outline"])
        return ShardResult(ShardId(**head["shard"]), summary, PlanResult(snapshots, results), declared)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(path, f"malformed shard ({type(error).__name__}: {error})") from error


def _verified_lines(path: Path) -> list[bytes]:
    try:
        data = gzip.decompress(path.read_bytes())
    except FileNotFoundError as error:
        hint = "pass shard files, or directories that contain them"
        raise InputError("no such file", file=path, hint=hint) from error
    except (OSError, EOFError, zlib.error) as error:
        raise _broken(path, f"cannot read the shard: {error}") from error
    body, _, last = data.rstrip(b"\n").rpartition(b"\n")
    body += b"\n"
    if last != dump({"sha256": hashlib.sha256(body).hexdigest()}).encode():
        raise _broken(path, "checksum mismatch")
    return body.splitlines()


def _broken(path: Path, message: str) -> InputError:
    match = re.match(r"0*(\d+)-of-(\d+)", path.name)
    name = f"{match[1]}/{match[2]}" if match else "I/N"
    return InputError(message, file=path, hint=f"repeat the shard: assay run --shard {name}")


def merge_shards(paths: Iterable[Path]) -> ShardResult:
    """Read the shards in files and directories and return them as one."""
    read = {path: read_shard(path) for path in shard_files(paths)}
    parts = dict(sorted(read.items(), key=lambda item: item[1].shard))
    _check_complete(parts)
    first = next(iter(parts.values()))
    snapshots: dict[str, tuple[CorpusSnapshot, Path]] = {}
    cells: dict[CellId, tuple[CellResult, Path]] = {}
    for path, part in parts.items():
        for gold, snapshot in part.results.snapshots.items():
            other, other_path = snapshots.setdefault(gold, (snapshot, path))
            mine, theirs = ((s.facts.digest, s.asked, s.gold.queries) for s in (snapshot, other))
            if mine != theirs:
                message = f"the corpus or the queries of {gold} differ from those of {other_path}"
                raise NotComparableError(message, file=path, hint="run both shards again on the same files")
        for cell, result in part.results.cells.items():
            known, other_path = cells.setdefault(cell, (result, path))
            if known != result:
                message = f"the result of {cell.engine} on {cell.gold} differs from that of {other_path}"
                raise InputError(message, file=path, hint="leave out one of the two files")
    results = PlanResult(
        {gold: snapshots[gold][0] for gold in first.summary.golds},
        {cell: cells[cell][0] for cell in first.summary.cells},
    )
    return ShardResult(first.shard, first.summary, results, first.declared)


def shard_files(paths: Iterable[Path]) -> list[Path]:
    """Return the named files and the shards in the named directories, each once."""
    files: dict[Path, None] = {}
    for path in paths:
        shards = [path]
        if path.is_dir():
            shards = sorted([*path.glob(f"*{SUFFIX}"), *(path / SHARDS).glob(f"*{SUFFIX}")])
        if not shards:
            raise InputError("no shards found", file=path, hint="create one with `assay run --shard 1/4 --out DIR`")
        files |= dict.fromkeys(shards)
    return list(files)


def _check_complete(parts: Mapping[Path, ShardResult]) -> None:
    """Raise an error unless the shards belong to one plan and none is missing."""
    (first_path, first), *others = parts.items()
    for path, part in others:
        if first.summary != part.summary or first.declared != part.declared:
            same_plan = first.summary.plan == part.summary.plan
            problem = "the analysis plan differs from" if same_plan else "the plan differs from"
            hint = "run all shards with the same Assay, configuration and gold sets"
            raise NotComparableError(f"{problem} {first_path}", file=path, hint=hint)
        if first.shard.of != part.shard.of:
            message = f"this is shard {part.shard}, but {first_path} is {first.shard}"
            raise NotComparableError(message, file=path, hint="merge only shards of one run")
    of = first.shard.of
    missing = sorted(set(range(1, of + 1)) - {part.shard.index for part in parts.values()})
    if missing:
        names = ", ".join(f"{index}/{of}" for index in missing)
        directory = first_path.parent.parent if first_path.parent.name == SHARDS else first_path.parent
        hint = f"run `assay run --shard {missing[0]}/{of} --out {shlex.quote(str(directory))}` and merge again"
        raise InputError(f"{len(missing)} of {of} shards are missing: {names}", hint=hint)
