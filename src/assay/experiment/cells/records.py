"""What is known of a gold set and of an engine on it once somebody went there: small, and the same everywhere."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from assay.experiment.records.codec import dump, gold_json, ranking_json, read_facts, read_gold, read_ranking
from assay.types import CorpusFacts, EngineRun, Gold, Resources, Status

Lines = Mapping[str, tuple[int, ...]]  # path -> bytes of each line


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """Which engine on which gold set."""

    gold: str
    engine: str


@dataclass(frozen=True, slots=True)
class Ground:
    """A gold set with its corpus, as whoever went there saw it."""

    gold: Gold  # anchors resolved
    facts: CorpusFacts
    lines: Lines  # of the files that answers and adversaries name
    size: int  # bytes of source
    questions: int
    asked: str  # digest of the questions, in their order
    own: tuple[str, ...] = ()  # Assay's own files in the corpus, which nobody is blamed for finding


@dataclass(frozen=True, slots=True)
class Spent:
    """What a cell took where it ran; never compared, because others ran beside it."""

    index_seconds: float | None = None
    query_seconds: float = 0.0
    worker: str = ""
    made: tuple[str, ...] = ()  # steps that were made for it, not found


@dataclass(frozen=True, slots=True)
class Cell:
    """What one engine answered on one gold set."""

    engine: EngineRun  # of this gold set alone
    lines: Lines  # of the files that its results name
    spent: Spent = field(default_factory=Spent, compare=False)

    @property
    def whole(self) -> bool:
        """Whether every question was answered: a failure may be the machine's, so it is asked again another time."""
        return all(ranking.status is Status.OK for ranking in self.engine.rankings)


def cell_bytes(cell: Cell) -> bytes:
    """Write a cell down, packed: nine tenths of it are line sizes, which shrink well."""
    return zlib.compress(dump(cell_json(cell)).encode("utf-8"), 1)


def read_cell(data: bytes) -> Cell:
    """Read a cell back; whatever is wrong with it is a ValueError."""
    try:
        return cell_of(json.loads(zlib.decompress(data)))
    except (KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"no cell: {error!r}") from error


def cell_json(cell: Cell) -> dict[str, Any]:
    """Turn a cell into JSON."""
    return {"engine": engine_json(cell.engine), "lines": dict(cell.lines), "spent": asdict(cell.spent)}


def cell_of(row: Mapping[str, Any]) -> Cell:
    """Read a cell from JSON."""
    spent = Spent(**{**row["spent"], "made": tuple(row["spent"]["made"])})
    return Cell(engine_of(row["engine"]), _lines(row["lines"]), spent)


def engine_json(engine: EngineRun) -> dict[str, Any]:
    """Turn what an engine did on one gold set into JSON; what it is a variant of is said where it is named."""
    return {
        "name": engine.name,
        "role": engine.role,
        "oversample": engine.oversample,
        "config": dict(engine.config),
        "index_seconds": dict(engine.index_seconds),
        "notes": list(engine.notes),
        "resources": {gold: asdict(taken) for gold, taken in engine.resources.items()},
        "version": engine.version,
        "stderr": dict(engine.stderr),
        "parallel": engine.parallel,
        "date": engine.date,
        "rankings": [ranking_json(ranking) for ranking in engine.rankings],
    }


def engine_of(row: Mapping[str, Any]) -> EngineRun:
    """Read what an engine did on one gold set."""
    return EngineRun(
        **{
            **row,
            "notes": tuple(row["notes"]),
            "resources": {gold: Resources(**taken) for gold, taken in row["resources"].items()},
            "rankings": tuple(map(read_ranking, row["rankings"])),
        }
    )


def ground_json(ground: Ground) -> dict[str, Any]:
    """Turn a gold set with its corpus into JSON."""
    return {
        "gold": gold_json(ground.gold),
        "facts": asdict(ground.facts),
        "lines": dict(ground.lines),
        "size": ground.size,
        "questions": ground.questions,
        "asked": ground.asked,
        "own": list(ground.own),
    }


def ground_of(row: Mapping[str, Any]) -> Ground:
    """Read a gold set with its corpus from JSON."""
    own = tuple(row["own"])
    facts = read_facts(row["facts"])
    plain = {name: row[name] for name in ("size", "questions", "asked")}
    return Ground(gold=read_gold(row["gold"]), facts=facts, lines=_lines(row["lines"]), own=own, **plain)


def _lines(row: Mapping[str, Any]) -> Lines:
    """Read line sizes."""
    return {path: tuple(sizes) for path, sizes in row.items()}
