"""Parts put together: all of one plan, none missing, and where two went to the same place they saw the same."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import InputError, NotComparableError
from assay.experiment.cells.records import Cell, Ground, Slot
from assay.experiment.cells.running import Work
from assay.experiment.records.layout import SHARDS
from assay.experiment.shards.files import SUFFIX, Part, read_shard


@dataclass(frozen=True, slots=True)
class _Found:
    """A part and where it was."""

    path: Path
    part: Part


def unite(places: Iterable[Path]) -> Part:
    """Read the shards in files and folders and make one part, the whole, of them."""
    found = sorted((_Found(path, read_shard(path)) for path in shard_files(places)), key=lambda one: one.part.shard)
    _check_one_plan(found)
    _check_all_there(found)
    first = found[0].part
    grounds, cells = _grounds(found), _cells(found)
    whole = Work(
        {name: grounds[name] for name in first.outline.golds}, {slot: cells[slot] for slot in first.outline.slots}
    )
    return Part(first.shard, first.outline, whole, first.declared)


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
    """Refuse parts of different plans."""
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
    """Name the shards that are not there."""
    of = found[0].part.shard.of
    missing = sorted(set(range(1, of + 1)) - {one.part.shard.index for one in found})
    if missing:
        named = ", ".join(f"{index}/{of}" for index in missing)
        folder = shlex.quote(str(_folder(found[0].path)))
        hint = f"run what is missing: assay run --shard {missing[0]}/{of} --out {folder}, and merge again"
        raise InputError(f"{len(missing)} of {of} shards are missing: {named}", hint=hint)


def _folder(path: Path) -> Path:
    """Name the folder that a shard was written for."""
    return path.parent.parent if path.parent.name == SHARDS else path.parent


def _grounds(found: Iterable[_Found]) -> dict[str, Ground]:
    """Take every gold set from the first part that went there; another that did must have seen the same corpus."""
    seen: dict[str, tuple[Ground, Path]] = {}
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


def _cells(found: Iterable[_Found]) -> Mapping[Slot, Cell]:
    """Take every cell; one that is there twice must be the same."""
    seen: dict[Slot, tuple[Cell, Path]] = {}
    for one in found:
        for slot, cell in one.part.work.cells.items():
            known, path = seen.setdefault(slot, (cell, one.path))
            if known != cell:
                message = f"says something else of {slot.engine} on {slot.gold} than {path}"
                raise InputError(message, file=one.path, hint="leave out one of the two files")
    return {slot: cell for slot, (cell, _) in seen.items()}
