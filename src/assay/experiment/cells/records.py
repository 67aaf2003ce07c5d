"""Results of a cell and facts about its gold set."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from assay.experiment.records.codec import (
    Lines,
    dump,
    engine_json,
    gold_json,
    ranking_json,
    read_engine,
    read_facts,
    read_gold,
)
from assay.types import CorpusInfo, EngineRun, GoldSet, Status


@dataclass(frozen=True, slots=True, order=True)
class CellId:
    """Which engine on which gold set."""

    gold: str
    engine: str


@dataclass(frozen=True, slots=True)
class CorpusSnapshot:
    """A gold set with its corpus, as whoever went there saw it."""

    gold: GoldSet  # anchors resolved
    facts: CorpusInfo
    lines: Lines  # of the files that answers and adversaries name
    size: int  # bytes of source
    questions: int
    asked: str  # digest of the questions, in their order
    own: tuple[str, ...] = ()  # Assay's own files in the corpus, which nobody is blamed for finding


@dataclass(frozen=True, slots=True)
class CellCost:
    """What a cell took where it ran; never compared, because others ran beside it."""

    index_seconds: float | None = None
    query_seconds: float = 0.0
    worker: str = ""
    made: tuple[str, ...] = ()  # steps that were made for it, not found


@dataclass(frozen=True, slots=True)
class CellResult:
    """What one engine answered on one gold set."""

    engine: EngineRun  # of this gold set alone
    lines: Lines  # of the files that its results name; cells of one gold set may have one table in common
    spent: CellCost = field(default_factory=CellCost, compare=False)

    @property
    def whole(self) -> bool:
        """Whether every question was answered: a failure may be the machine's, so it is asked again another time."""
        return all(ranking.status is Status.OK for ranking in self.engine.rankings)


def labelled(cell: CellResult, slot: CellId) -> CellResult:
    """Give a cell as one of a slot: the same questions may have been asked under another name of engine or gold set."""
    said = cell.engine
    if said.name == slot.engine and all(ranking.gold == slot.gold for ranking in said.rankings):
        return cell
    rankings = tuple(replace(ranking, gold=slot.gold) for ranking in said.rankings)
    stderr = dict.fromkeys((slot.gold,), "".join(said.stderr.values())) if said.stderr else {}
    return replace(cell, engine=replace(said, name=slot.engine, rankings=rankings, stderr=stderr))


def cell_bytes(cell: CellResult) -> bytes:
    """Write a cell down, packed: nine tenths of it are line sizes, which shrink well."""
    return zlib.compress(dump(cell_json(cell)).encode("utf-8"), 1)


def read_cell(data: bytes) -> CellResult:
    """Read a cell back; whatever is wrong with it is a ValueError."""
    try:
        return cell_of(json.loads(zlib.decompress(data)))
    except (KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"no cell: {error!r}") from error


def cell_json(cell: CellResult) -> dict[str, Any]:
    """Turn a cell into JSON."""
    return {
        "engine": engine_json(replace(cell.engine, variation=None)),  # said where it is named
        "rankings": [ranking_json(ranking) for ranking in cell.engine.rankings],
        "lines": dict(cell.lines),
        "spent": asdict(cell.spent),
    }


def cell_of(row: Mapping[str, Any]) -> CellResult:
    """Read a cell from JSON."""
    spent = CellCost(**{**row["spent"], "made": tuple(row["spent"]["made"])})
    return CellResult(read_engine(row["engine"], row["rankings"]), read_lines(row["lines"]), spent)


def ground_json(ground: CorpusSnapshot) -> dict[str, Any]:
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


def ground_of(row: Mapping[str, Any]) -> CorpusSnapshot:
    """Read a gold set with its corpus from JSON."""
    own = tuple(row["own"])
    facts = read_facts(row["facts"])
    plain = {name: row[name] for name in ("size", "questions", "asked")}
    return CorpusSnapshot(gold=read_gold(row["gold"]), facts=facts, lines=read_lines(row["lines"]), own=own, **plain)


def read_lines(row: Mapping[str, Any]) -> Lines:
    """Read line sizes."""
    return {path: tuple(sizes) for path, sizes in row.items()}
