"""Sharded runs: split, run, write, merge."""

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
from assay.experiment.cells.estimating import learn
from assay.experiment.cells.keeping import CellStore
from assay.experiment.cells.outline import PlanSummary, outline_json, outline_of, read_outline
from assay.experiment.cells.records import (
    CellId,
    CellResult,
    CorpusSnapshot,
    cell_json,
    cell_of,
    ground_json,
    ground_of,
    read_lines,
)
from assay.experiment.cells.running import PlanResult, run_cells
from assay.experiment.corpora import Missing
from assay.experiment.records.codec import Lines, dump, join_lines
from assay.experiment.records.directory import SHARDS
from assay.experiment.records.merge import RetainedEngine
from assay.experiment.running.asking import Tell
from assay.experiment.running.matrix import ExecutionOptions, cell_store, executor_for, plan_of
from assay.experiment.spec import Spec
from assay.experiment.spec.model import retained_engines
from assay.files import atomic_stream
from assay.gold.access_log import log_access
from assay.types import Suite

T = TypeVar("T")
_HINT = "write I/N, such as 1/4, 2/4, 3/4 and 4/4 for four parts"


@dataclass(frozen=True, slots=True, order=True)
class ShardId:
    """One of several parts; the first is 1."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


def parse_shard(text: str) -> ShardId:
    """Read I/N."""
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip(), re.ASCII)
    if not found:
        raise ConfigError(f"--shard {text}: that is no part of a run", hint=_HINT)
    shard = ShardId(int(found[1]), int(found[2]))
    if not 1 <= shard.index <= shard.of:
        wrong = (
            "parts are counted from 1" if shard.index < 1 or shard.of < 1 else f"{shard.index} is more than {shard.of}"
        )
        raise ConfigError(f"--shard {text}: {wrong}", hint=_HINT)
    return shard


def choose(cells: Sequence[T], shard: ShardId) -> tuple[T, ...]:
    """Take a part of a plan's cells: neighbours, because they share a corpus; no part has two more than another."""
    begin = len(cells) * (shard.index - 1) // shard.of
    return tuple(cells[begin : len(cells) * shard.index // shard.of])


SUFFIX: Final = ".jsonl.gz"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What one shard did."""

    shard: ShardId
    outline: PlanSummary
    work: PlanResult
    declared: Mapping[str, RetainedEngine] = field(
        default_factory=dict
    )  # engines that keep their rows though not asked
    keeper: CellStore | None = field(default=None, compare=False, repr=False)  # of what it kept on the way


def shard_path(folder: Path, shard: ShardId) -> Path:
    """Say where a shard of a folder of results lies; numbers of one width, so that they sort."""
    width = len(str(shard.of))
    return folder / SHARDS / f"{shard.index:0{width}}-of-{shard.of}{SUFFIX}"


def write_shard(path: Path, part: ShardResult) -> None:
    """Write a part, whole or not at all; the same part is the same bytes."""
    digest = hashlib.sha256()
    with atomic_stream(path) as stream, gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
        for row in _rows(part):
            line = f"{dump(row)}\n".encode()
            digest.update(line)
            packed.write(line)
        packed.write(f"{dump({'sha256': digest.hexdigest()})}\n".encode())


def _rows(part: ShardResult) -> Iterator[dict[str, Any]]:
    yield {
        "assay_shard": _FORMAT,
        "shard": asdict(part.shard),
        "outline": outline_json(part.outline),
        "declared": {name: asdict(one) for name, one in part.declared.items()},
        "grounds": len(part.work.grounds),
        "cells": len(part.work.cells),
    }
    found = _found(part.work)
    for name, ground in part.work.grounds.items():
        yield {"ground": ground_json(ground), "found": found[name]}
    for slot, cell in part.work.cells.items():
        yield {"gold": slot.gold, "engine": slot.engine, "cell": cell_json(replace(cell, lines={}))}


def _found(work: PlanResult) -> dict[str, Lines]:
    tables: dict[str, dict[int, Lines]] = {name: {} for name in work.grounds}
    for slot, cell in work.cells.items():
        tables[slot.gold][id(cell.lines)] = cell.lines
    return {name: join_lines(several.values()) for name, several in tables.items()}


def read_shard(path: Path) -> ShardResult:
    """Read a part and check it to the last byte."""
    lines = _checked_lines(path)
    try:
        head = json.loads(lines[0])
        if head.get("assay_shard") != _FORMAT:
            raise _broken(path, f"has format {head.get('assay_shard')}, this Assay reads {_FORMAT}")
        rows = [json.loads(line) for line in lines[1:]]
        places, cells = rows[: head["grounds"]], rows[head["grounds"] :]
        if len(cells) != head["cells"]:
            raise _broken(path, f"has {len(cells)} cells of {head['cells']}")
        grounds = {ground.gold.name: ground for ground in (ground_of(row["ground"]) for row in places)}
        found = {name: read_lines(row["found"]) for name, row in zip(grounds, places, strict=True)}
        work = PlanResult(grounds, dict(_cell(row, found) for row in cells))
        declared = {name: RetainedEngine(**one) for name, one in head["declared"].items()}
        return ShardResult(ShardId(**head["shard"]), read_outline(head["outline"]), work, declared)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(path, f"is malformed ({type(error).__name__}: {error})") from error


def _cell(row: Mapping[str, Any], found: Mapping[str, Lines]) -> tuple[CellId, CellResult]:
    slot = CellId(row["gold"], row["engine"])
    return slot, replace(cell_of(row["cell"]), lines=found[slot.gold])


def _checked_lines(path: Path) -> list[bytes]:
    try:
        data = gzip.decompress(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError("there is no such file", file=path, hint="name a file or a folder of shards") from error
    except (OSError, EOFError, zlib.error) as error:
        raise _broken(path, f"cannot be read: {error}") from error
    body, _, last = data.rstrip(b"\n").rpartition(b"\n")
    body += b"\n"
    if last != dump({"sha256": hashlib.sha256(body).hexdigest()}).encode():
        raise _broken(path, "does not fit its checksum")
    return body.splitlines()


def _broken(path: Path, message: str) -> InputError:
    found = re.match(r"0*(\d+)-of-(\d+)", path.name)
    name = f"{found[1]}/{found[2]}" if found else "I/N"
    return InputError(message, file=path, hint=f"run that shard again: assay run --shard {name}")


def run_part(
    spec: Spec,
    suite: Suite,
    shard: ShardId,
    how: ExecutionOptions,
    *,
    missing: Missing | None = None,
    progress: Tell | None = None,
) -> ShardResult:
    """Run the cells of one shard; it goes only to the gold sets that it needs."""
    plan = plan_of(spec, suite, missing, reuse_index=how.reuse_index)
    slots = choose(plan.slots, shard)
    names = {slot.gold for slot in slots}
    log_access(Suite(tuple(gold for gold in plan.suite.golds if gold.name in names)), "run", list(plan.asked))
    keeper = cell_store(plan, how)
    with executor_for(spec, how) as fleet:
        work = run_cells(plan, slots, fleet, keeper, progress or (lambda _: None))
    learn(plan, work)
    outline = outline_of(plan, spec.analysis_plan())
    return ShardResult(shard, outline, work, retained_engines(spec, suite), keeper)


@dataclass(frozen=True, slots=True)
class _Found:
    """A part and where it was."""

    path: Path
    part: ShardResult


def merge_shards(places: Iterable[Path]) -> ShardResult:
    """Read the shards in files and folders and make one part, the whole, of them."""
    found = sorted((_Found(path, read_shard(path)) for path in shard_files(places)), key=lambda one: one.part.shard)
    _check_one_plan(found)
    _check_all_there(found)
    first = found[0].part
    grounds, cells = _grounds(found), _cells(found)
    whole = PlanResult(
        {name: grounds[name] for name in first.outline.golds}, {slot: cells[slot] for slot in first.outline.slots}
    )
    return ShardResult(first.shard, first.outline, whole, first.declared)


def shard_files(places: Iterable[Path]) -> list[Path]:
    """List the files that are meant, each once: a folder stands for the shards in it."""
    files: dict[Path, None] = {}
    for place in places:
        inside = (
            sorted([*place.glob(f"*{SUFFIX}"), *(place / SHARDS).glob(f"*{SUFFIX}")]) if place.is_dir() else [place]
        )
        if not inside:
            raise InputError("has no shards", file=place, hint="make one with `assay run --shard 1/4 --out FOLDER`")
        files |= dict.fromkeys(inside)
    return list(files)


def _check_one_plan(found: Sequence[_Found]) -> None:
    first = found[0]
    for other in found[1:]:
        one, two = first.part, other.part
        if one.outline != two.outline or one.declared != two.declared:
            what = (
                "is of another plan than" if one.outline.plan != two.outline.plan else "was run for another claim than"
            )
            hint = "shards go together when Assay, configuration and gold sets are the same; run the others again"
            raise NotComparableError(f"{what} {first.path}", file=other.path, hint=hint)
        if one.shard.of != two.shard.of:
            message = f"is shard {two.shard}, {first.path} is {one.shard}"
            raise NotComparableError(message, file=other.path, hint="leave out those of one division")


def _check_all_there(found: Sequence[_Found]) -> None:
    of = found[0].part.shard.of
    missing = sorted(set(range(1, of + 1)) - {one.part.shard.index for one in found})
    if missing:
        named = ", ".join(f"{index}/{of}" for index in missing)
        folder = shlex.quote(str(_folder(found[0].path)))
        hint = f"run what is missing: assay run --shard {missing[0]}/{of} --out {folder}, and merge again"
        raise InputError(f"{len(missing)} of {of} shards are missing: {named}", hint=hint)


def _folder(path: Path) -> Path:
    return path.parent.parent if path.parent.name == SHARDS else path.parent


def _grounds(found: Iterable[_Found]) -> dict[str, CorpusSnapshot]:
    """Take every gold set from the first part that went there; another that did must have seen the same corpus."""
    seen: dict[str, tuple[CorpusSnapshot, Path]] = {}
    for one in found:
        for name, ground in one.part.work.grounds.items():
            known, path = seen.setdefault(name, (ground, one.path))
            if (known.facts.digest, known.asked, known.gold.queries) != (
                ground.facts.digest,
                ground.asked,
                ground.gold.queries,
            ):
                message = f"the corpus or the questions of {name} are not those that {path} saw"
                raise NotComparableError(message, file=one.path, hint="run both shards again on the same files")
    return {name: ground for name, (ground, _) in seen.items()}


def _cells(found: Iterable[_Found]) -> Mapping[CellId, CellResult]:
    """Take every cell; one that is there twice must be the same."""
    seen: dict[CellId, tuple[CellResult, Path]] = {}
    for one in found:
        for slot, cell in one.part.work.cells.items():
            known, path = seen.setdefault(slot, (cell, one.path))
            if known != cell:
                message = f"says something else of {slot.engine} on {slot.gold} than {path}"
                raise InputError(message, file=one.path, hint="leave out one of the two files")
    return {slot: cell for slot, (cell, _) in seen.items()}
