"""Assemble cells into a run; the result does not depend on where they ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay._version import __version__
from assay.digests import text_digest
from assay.experiment.cells.records import CellId, CellResult, CorpusSnapshot
from assay.experiment.records.codec import Lines, join_lines
from assay.experiment.running.engine_runs import joined
from assay.gold import gold_hash, query_hash
from assay.types import Run, RunMetadata, Suite, VariantInfo


def assemble(
    grounds: Sequence[CorpusSnapshot],
    cells: Mapping[CellId, CellResult],
    names: Sequence[str],
    k: int,
    *,
    header: RunMetadata,
    variations: Mapping[str, VariantInfo] | None = None,
) -> Run:
    """Put the cells of engines on gold sets together, in the order of both; the header gets what the cells decide."""
    known = variations or {}
    engines = [
        joined(name, [cells[CellId(ground.gold.name, name)].engine for ground in grounds], known.get(name))
        for name in names
    ]
    resolved = Suite(tuple(ground.gold for ground in grounds))
    return Run(
        suite=resolved,
        k=k,
        engines=tuple(engines),
        lines={ground.gold.name: _lines(ground, cells, names) for ground in grounds},
        hashes={f"{g.name}/{q.id}": query_hash(q, g.corpus) for g in resolved.golds for q in g.queries},
        header=header,
    )


def make_header(
    grounds: Sequence[CorpusSnapshot],
    *,
    date: str,
    environment: Mapping[str, object],
    timeout: float,
    timed: bool,
    skipped: Mapping[str, str] | None = None,
) -> RunMetadata:
    """Describe inputs and environment."""
    joined_hashes = "\n".join(gold_hash(ground.gold) for ground in grounds)
    return RunMetadata(
        assay=__version__,
        date=date,
        gold_hash=text_digest(joined_hashes)[:16],
        corpora={ground.gold.name: ground.facts for ground in grounds},
        environment=environment,
        timeout=timeout,
        skipped=skipped or {},
        timed=timed,
    )


def _lines(ground: CorpusSnapshot, cells: Mapping[CellId, CellResult], names: Sequence[str]) -> Lines:
    tables = (cells[CellId(ground.gold.name, name)].lines for name in names)
    return join_lines([ground.lines, *{id(table): table for table in tables}.values()])  # cells have theirs in common
