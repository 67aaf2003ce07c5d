"""The rows of rows.json: one per engine of this run and of earlier runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from assay.digests import digest_of
from assay.errors import InputError
from assay.experiment.records import config_hash
from assay.experiment.records.directory import ROWS
from assay.experiment.records.merge import LASTING, Comparability, comparability_of, day_of, skipped_reason
from assay.files import read_utf8
from assay.report.render.formatting import SHOWN, clip, plain
from assay.report.scored_run import NOT_COMPARED, ScoredRun
from assay.stats.records import Comparison
from assay.types import OLD_ROLES, EngineRole, EngineRun, Status

State = Literal["measured", "skipped", "stale"]

_SCHEMA = "assay/rows/1"
#: Digits of a hash in tables; the files have all.
HASH_DIGITS = 12
GONE = "its records were replaced"


def corpora_hash(corpora: Mapping[str, str]) -> str:
    """Return one digest of all corpora (gold name -> digest): the common digest if all are equal."""
    digests = set(corpora.values())
    return digests.pop() if len(digests) == 1 else digest_of(sorted(corpora.items()))


@dataclass(frozen=True, slots=True)
class Value:
    measure: str
    mean: float
    low: float
    high: float
    queries: int


@dataclass(frozen=True, slots=True)
class EngineRow:
    """An engine that was measured in this run, skipped, or measured only in an earlier run (stale)."""

    engine: str
    state: State = "measured"
    reason: str = ""  # why it was skipped or is stale
    role: EngineRole = "candidate"
    base: str = ""  # the engine it is a variant of
    changes: dict[str, object] = field(default_factory=dict)  # settings of the variant
    date: str = ""  # day of the measurement
    assay: str = ""  # version of Assay that measured it
    version: str = ""  # reported by the engine
    gold_hash: str = ""
    corpora: dict[str, str] = field(default_factory=dict)  # gold name -> digest
    config_hash: str = ""
    fingerprint: str = ""  # of the tool and models
    code: str = ""  # digest of the parts of Assay that decide results
    k: int = 0
    forms: tuple[str, ...] = ()
    queries: int = 0
    repositories: int = 0
    asked: int = 0
    failed: int = 0
    primary: str = ""
    values: tuple[Value, ...] = ()
    baseline: str = ""
    verdict: str = ""  # against the baseline; empty without an analysis plan

    @property
    def footing(self) -> Comparability:
        return Comparability(self.gold_hash, self.corpora, self.k, self.forms)

    @property
    def corpora_hash(self) -> str:
        return corpora_hash(self.corpora)

    def value(self, measure: str) -> Value | None:
        return next((value for value in self.values if value.measure == measure), None)


def make_rows(scored: ScoredRun, comparison: Comparison) -> tuple[EngineRow, ...]:
    names = {engine.name for engine in scored.run.engines}
    skipped = (
        EngineRow(name, "skipped", reason) for name, reason in scored.run.header.skipped.items() if name not in names
    )
    footing = comparability_of(scored.run)
    return (*(_measured_row(scored, footing, engine, comparison) for engine in scored.run.engines), *skipped)


def _measured_row(scored: ScoredRun, footing: Comparability, engine: EngineRun, comparison: Comparison) -> EngineRow:
    units = [scored.scores.units[at] for at in scored.headline]
    variation = engine.variation
    verdict = next((row.summary for row in comparison.rows if row.engine == engine.name and row.in_family), "")
    return EngineRow(
        engine=engine.name,
        role=engine.role,
        base=variation.base if variation else "",
        changes=dict(variation.changes) if variation else {},
        date=day_of(engine, scored.run),
        assay=engine.assay or scored.run.header.assay,
        version=engine.version,
        gold_hash=footing.gold_hash,
        corpora=dict(footing.corpora),
        config_hash=config_hash(engine.config),
        fingerprint=engine.fingerprint,
        code=engine.code,
        k=footing.k,
        forms=footing.forms,
        queries=len(units),
        repositories=len({unit.repository for unit in units}),
        asked=len(engine.rankings),
        failed=sum(ranking.status != Status.OK for ranking in engine.rankings),
        primary=comparison.primary,
        values=tuple(
            Value(row.measure, row.mean, row.interval.low, row.interval.high, row.queries)
            for row in comparison.means
            if row.engine == engine.name
        ),
        baseline=comparison.baseline,
        verdict=NOT_COMPARED if engine.name in comparison.failed else verdict,
    )


def carry_over(
    rows: Iterable[EngineRow], earlier: Iterable[EngineRow], now: Comparability, stale: Mapping[str, str] | None = None
) -> tuple[EngineRow, ...]:
    """Add the rows of earlier runs, marked stale, for engines that were not measured now."""
    current = tuple(rows)
    measured = {row.engine for row in current if row.state == "measured"}
    skipped = {row.engine: row.reason for row in current if row.state == "skipped"}

    def reason(row: EngineRow) -> str:
        if row.engine in skipped:
            return skipped_reason(skipped[row.engine])
        lasting = row.reason if row.reason in LASTING else GONE
        return (stale or {}).get(row.engine) or row.footing.difference(now) or lasting

    kept = {
        row.engine: replace(row, state="stale", reason=reason(row), baseline="", verdict="")
        for row in earlier
        if row.state != "skipped" and row.engine not in measured
    }
    # a stale row with numbers replaces a skipped row without; its reason includes that of the skipped row
    fresh = [row for row in current if row.engine not in kept]
    return (*fresh, *(kept[name] for name in sorted(kept)))


def rows_text(rows: Iterable[EngineRow]) -> str:
    """Format rows as JSON, one per line, each with the corpora hash that tables show."""
    dicts = ({**asdict(row), "corpora_hash": row.corpora_hash} for row in rows)
    lines = ",\n".join(f"  {json.dumps(plain(row), ensure_ascii=False, allow_nan=False)}" for row in dicts)
    return f'{{\n "schema": "{_SCHEMA}",\n "rows": [\n{lines}\n ]\n}}\n'


def read_rows(directory: Path) -> tuple[EngineRow, ...] | None:
    path = directory / ROWS
    if not path.exists():
        return None
    try:
        document = json.loads(read_utf8(path))
        if document["schema"] != _SCHEMA:
            raise ValueError(f"expected the schema {_SCHEMA!r}, got {document['schema']!r}")
        rows = []
        for row in document["rows"]:
            values = tuple(Value(**value) for value in row["values"])
            row.pop("corpora_hash", None)  # computed from the corpora
            role = OLD_ROLES.get(row["role"], row["role"])
            rows.append(EngineRow(**{**row, "role": role, "values": values, "forms": tuple(row["forms"])}))
        return tuple(rows)
    except (ValueError, TypeError, KeyError) as error:
        hint = "delete the file to drop the rows of earlier runs"
        raise InputError(f"invalid rows of earlier runs: {error}", file=path, hint=hint) from error


def skipped_note(rows: Sequence[EngineRow]) -> str:
    """Return a sentence on skipped engines and on stale rows; empty without any."""
    states = {"skipped": "Not run", "stale": "From earlier runs and not comparable (RESULTS.md)"}
    names = {
        text: ", ".join(f"{row.engine} ({row.reason})" for row in rows if row.state == state)
        for state, text in states.items()
    }
    return clip(" ".join(f"{text}: {engines}." for text, engines in names.items() if engines), SHOWN.message)
