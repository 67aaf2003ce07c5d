"""A part on disk: what the plan leads to, the gold sets it went to, its cells; a checksum of all of it at the end."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from assay.errors import InputError
from assay.experiment.cells.keeping import Keeper
from assay.experiment.cells.outline import Outline, outline_json, read_outline
from assay.experiment.cells.records import Cell, Slot, cell_json, cell_of, ground_json, ground_of, read_lines
from assay.experiment.cells.running import Work
from assay.experiment.records.codec import dump
from assay.experiment.records.layout import SHARDS
from assay.experiment.records.lines import Lines, join_lines
from assay.experiment.records.merging import Declared
from assay.experiment.shards.dividing import Shard
from assay.files import atomic_stream

SUFFIX: Final = ".jsonl.gz"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Part:
    """What one shard did."""

    shard: Shard
    outline: Outline
    work: Work
    declared: Mapping[str, Declared] = field(default_factory=dict)  # engines that keep their rows though not asked
    keeper: Keeper | None = field(default=None, compare=False, repr=False)  # of what it kept on the way


def shard_path(folder: Path, shard: Shard) -> Path:
    """Say where a shard of a folder of results lies; numbers of one width, so that they sort."""
    width = len(str(shard.of))
    return folder / SHARDS / f"{shard.index:0{width}}-of-{shard.of}{SUFFIX}"


def write_shard(path: Path, part: Part) -> None:
    """Write a part, whole or not at all; the same part is the same bytes."""
    digest = hashlib.sha256()
    with atomic_stream(path) as stream, gzip.GzipFile("", "wb", 6, stream, mtime=0) as packed:
        for row in _rows(part):
            line = f"{dump(row)}\n".encode()
            digest.update(line)
            packed.write(line)
        packed.write(f"{dump({'sha256': digest.hexdigest()})}\n".encode())


def _rows(part: Part) -> Iterator[dict[str, Any]]:
    """Give a part line by line."""
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


def _found(work: Work) -> dict[str, Lines]:
    """Put the line sizes of all that was found together, once for each gold set: cells are many and find the same."""
    tables: dict[str, dict[int, Lines]] = {name: {} for name in work.grounds}
    for slot, cell in work.cells.items():
        tables[slot.gold][id(cell.lines)] = cell.lines
    return {name: join_lines(several.values()) for name, several in tables.items()}


def read_shard(path: Path) -> Part:
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
        work = Work(grounds, dict(_cell(row, found) for row in cells))
        declared = {name: Declared(**one) for name, one in head["declared"].items()}
        return Part(Shard(**head["shard"]), read_outline(head["outline"]), work, declared)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(path, f"is malformed ({type(error).__name__}: {error})") from error


def _cell(row: Mapping[str, Any], found: Mapping[str, Lines]) -> tuple[Slot, Cell]:
    """Read one cell with its place: a cell may have been kept under another engine's name, so it does not say."""
    slot = Slot(row["gold"], row["engine"])
    return slot, replace(cell_of(row["cell"]), lines=found[slot.gold])


def _checked_lines(path: Path) -> list[bytes]:
    """Read the lines of a part without the last, which is the checksum of all others."""
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
    """Make the error for a shard that cannot be trusted."""
    found = re.match(r"0*(\d+)-of-(\d+)", path.name)
    name = f"{found[1]}/{found[2]}" if found else "I/N"
    return InputError(message, file=path, hint=f"run that shard again: assay run --shard {name}")
