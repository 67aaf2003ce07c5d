"""One row per engine, merged over runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from assay.digests import digest_of
from assay.errors import InputError
from assay.experiment.records import config_hash
from assay.experiment.records.directory import ROWS
from assay.experiment.records.merge import LASTING, Comparability, comparability_of, day_of, skipped_reason
from assay.files import read_utf8
from assay.report.comparison import NOT_COMPARED
from assay.report.render.document import Block, Cell, Heading, Paragraph, Tone, table
from assay.report.render.terminal import plain
from assay.report.render.text import mean_text
from assay.report.scored_run import ScoredRun
from assay.scoring import parse_measure
from assay.stats.records import Comparison
from assay.types import EngineRole, EngineRun, Status

State = Literal["measured", "skipped", "stale"]


#: Digits of a hash that people are shown; the files hold them all, so that a shown one can be looked up.
HASH_DIGITS = 12


def corpora_hash(corpora: Mapping[str, str]) -> str:
    """Give one digest of all corpora (gold name -> digest): where there is one corpus its own."""
    digests = set(corpora.values())
    return digests.pop() if len(digests) == 1 else digest_of(sorted(corpora.items()))


@dataclass(frozen=True, slots=True)
class Value:
    """The mean of one measure."""

    measure: str
    mean: float
    low: float
    high: float
    queries: int


@dataclass(frozen=True, slots=True)
class EngineRow:
    """One engine: measured in this run, skipped in it, or stale: measured in an earlier one on another footing."""

    engine: str
    state: State = "measured"
    reason: str = ""  # why it was skipped or is stale
    role: EngineRole = "contestant"
    base: str = ""  # what it is a variant of
    changes: dict[str, object] = field(default_factory=dict)  # by which settings
    date: str = ""  # the day it was asked
    assay: str = ""  # the version that asked it
    version: str = ""  # what the engine says of itself
    gold_hash: str = ""
    corpora: dict[str, str] = field(default_factory=dict)  # gold name -> digest
    config_hash: str = ""
    fingerprint: str = ""  # of the tool and models that answered
    code: str = ""  # of Assay, as far as it decides answers
    k: int = 0
    forms: tuple[str, ...] = ()
    queries: int = 0
    repositories: int = 0
    asked: int = 0
    failed: int = 0
    primary: str = ""
    values: tuple[Value, ...] = ()
    baseline: str = ""
    verdict: str = ""  # against the baseline; empty where none is claimed

    @property
    def footing(self) -> Comparability:
        """What it was asked, and on what."""
        return Comparability(self.gold_hash, self.corpora, self.k, self.forms)

    @property
    def corpora_hash(self) -> str:
        """One hash of all corpora."""
        return corpora_hash(self.corpora)

    def value(self, measure: str) -> Value | None:
        """Give the mean of a measure; none where it was not measured or applies to no query."""
        return next((value for value in self.values if value.measure == measure), None)


GONE = "its records were replaced"


def carry_over(
    rows: Iterable[EngineRow], earlier: Iterable[EngineRow], now: Comparability, stale: Mapping[str, str] | None = None
) -> tuple[EngineRow, ...]:
    """Put the rows of earlier runs behind those of this one, marked stale; an engine has one row, the newest."""
    current = tuple(rows)
    measured = {row.engine for row in current if row.state == "measured"}
    skipped = {row.engine: row.reason for row in current if row.state == "skipped"}
    kept = {
        row.engine: replace(row, state="stale", reason=_reason(row, now, stale or {}, skipped), baseline="", verdict="")
        for row in earlier
        if row.state != "skipped" and row.engine not in measured
    }
    # A row with numbers says more than one without; its reason has that of the other.
    fresh = [row for row in current if row.engine not in kept]
    return (*fresh, *(kept[name] for name in sorted(kept)))


def _reason(row: EngineRow, now: Comparability, stale: Mapping[str, str], skipped: Mapping[str, str]) -> str:
    if row.engine in skipped:
        return skipped_reason(skipped[row.engine])
    lasting = row.reason if row.reason in LASTING else GONE
    return stale.get(row.engine) or row.footing.difference(now) or lasting


_SCHEMA = "assay/rows/1"


def rows_text(rows: Iterable[EngineRow]) -> str:
    """Write rows, each on a line of its own."""
    lines = ",\n".join(f"  {json.dumps(plain(_line(row)), ensure_ascii=False, allow_nan=False)}" for row in rows)
    return f'{{\n "schema": "{_SCHEMA}",\n "rows": [\n{lines}\n ]\n}}\n'


def _line(row: EngineRow) -> dict[str, object]:
    """Give a row with the hash of its corpora that tables show, so that it can be looked up."""
    return {**asdict(row), "corpora_hash": row.corpora_hash}


def read_rows(folder: Path) -> tuple[EngineRow, ...] | None:
    """Read the rows that earlier runs left; None where none was ever written."""
    path = folder / ROWS
    if not path.exists():
        return None
    try:
        document = json.loads(read_utf8(path))
        if document["schema"] != _SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}")
        return tuple(map(_row, document["rows"]))
    except (ValueError, TypeError, KeyError) as error:
        hint = "remove it: rows of engines that are not run any more go with it"
        raise InputError(f"cannot be read as rows of earlier runs: {error}", file=path, hint=hint) from error


def _row(row: Mapping[str, Any]) -> EngineRow:
    values = tuple(Value(**value) for value in row["values"])
    given = {key: value for key, value in row.items() if key != "corpora_hash"}  # it follows from the corpora
    return EngineRow(**{**given, "values": values, "forms": tuple(row["forms"])})


def make_rows(case: ScoredRun, comparison: Comparison) -> tuple[EngineRow, ...]:
    """Make the rows of a run: its engines in their order, then what was skipped."""
    footing = comparability_of(case.run)
    return (*(_measured(case, footing, engine, comparison) for engine in case.run.engines), *_skipped(case))


def _measured(case: ScoredRun, footing: Comparability, engine: EngineRun, comparison: Comparison) -> EngineRow:
    units = [case.scores.units[at] for at in case.headline]
    variation = engine.variation
    return EngineRow(
        engine=engine.name,
        role=engine.role,
        base=variation.base if variation else "",
        changes=dict(variation.changes) if variation else {},
        date=day_of(engine, case.run),
        assay=engine.assay or case.run.header.assay,
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
        values=tuple(_values(engine.name, comparison)),
        baseline=comparison.baseline,
        verdict=_verdict(engine.name, comparison),
    )


def _values(name: str, comparison: Comparison) -> Iterator[Value]:
    for row in comparison.means:
        if row.engine == name:
            yield Value(row.measure, row.mean, row.interval.low, row.interval.high, row.queries)


def _verdict(name: str, comparison: Comparison) -> str:
    if name in comparison.failed:
        return NOT_COMPARED
    return next((row.claim for row in comparison.rows if row.engine == name and row.in_family), "")


def _skipped(case: ScoredRun) -> Iterator[EngineRow]:
    there = {engine.name for engine in case.run.engines}
    for name, reason in case.run.header.skipped.items():
        if name not in there:
            yield EngineRow(name, "skipped", reason)


_VERDICT = "verdict"


def row_blocks(rows: Sequence[EngineRow], primary: str, measures: Sequence[str]) -> list[Block]:
    """Show all rows, best first; those of earlier runs stand apart, because their numbers are on another footing."""
    measured = sorted((row for row in rows if row.state == "measured"), key=lambda row: _rank(row, primary))
    skipped = [row for row in rows if row.state == "skipped"]
    others = [measure for measure in measures if measure != primary]
    columns = ["engine", f">{primary}", *(f">{measure}" for measure in others), ">failed", _VERDICT]
    columns += [">queries", ">repositories", ">k", "date", "Assay", "gold", "corpora", "settings"]
    lines = [_line_showing(row, primary, others) for row in measured] + [_empty(row, columns) for row in skipped]
    blocks: list[Block] = [Heading("Results"), table(columns, lines, _NOTE)]
    return [*blocks, *_stale(rows)]


_NOTE = (
    "Each row has the day and the version it was made with and hashes of what it was made from: gold set, corpora, "
    "settings; rows.json has them in full. Intervals and verdicts are explained below."
)


def skipped_blocks(rows: Sequence[EngineRow]) -> list[Block]:
    """Say in a sentence each who was not run, and whose rows are of earlier runs."""
    said: list[Block] = [
        Paragraph(f"{row.engine} was not run: {row.reason}.", "quiet") for row in rows if row.state == "skipped"
    ]
    stale = [f"{row.engine} ({row.reason})" for row in rows if row.state == "stale"]
    text = f"Rows of earlier runs are in RESULTS.md, marked stale: {', '.join(stale)}."
    return [*said, Paragraph(text, "quiet")] if stale else said


def _rank(row: EngineRow, primary: str) -> tuple[float, str]:
    value = row.value(primary)
    sign = -1 if parse_measure(primary).higher_is_better else 1
    return (float("inf") if value is None else sign * value.mean, row.engine)


def _line_showing(row: EngineRow, primary: str, others: Sequence[str]) -> list[str | Cell]:
    return [
        row.engine,
        _interval(row.value(primary)),
        *(_mean(row.value(measure)) for measure in others),
        Cell(f"{row.failed} of {row.asked}", "bad") if row.failed else "0",
        Cell(_verdict_showing(row), _tone(row)),
        str(row.queries),
        str(row.repositories),
        str(row.k),
        *_made(row),
    ]


def _empty(row: EngineRow, columns: Sequence[str]) -> list[str | Cell]:
    told: dict[str, str | Cell] = {"engine": row.engine, _VERDICT: Cell(f"skipped: {row.reason}", "warning")}
    return [told.get(column, "–") for column in columns]


def _verdict_showing(row: EngineRow) -> str:
    ends = {"floor": "the floor", "ceiling": "the ceiling"}
    if row.engine == row.baseline:
        return row.verdict or "the baseline"
    return row.verdict or ends.get(row.role, "–")


def _tone(row: EngineRow) -> Tone:
    return "good" if row.verdict.startswith("better") else "bad" if row.verdict.startswith("worse") else "plain"


def _made(row: EngineRow) -> list[str]:
    hashes = (row.gold_hash, row.corpora_hash, row.config_hash)
    return [row.date, row.assay, *(digest[:HASH_DIGITS] for digest in hashes)]


def _stale(rows: Sequence[EngineRow]) -> list[Block]:
    stale = [row for row in rows if row.state == "stale"]
    if not stale:
        return []
    lines = [
        [row.engine, row.reason, *_measured_showing(row), str(row.queries), str(row.k), *_made(row)] for row in stale
    ]
    columns = ["engine", "stale because", "measure", ">mean", ">queries", ">k", "date", "Assay", "gold", "corpora"]
    note = (
        "These were measured in earlier runs and cannot be compared with the rows above. "
        "`assay run` measures those that are declared; `assay run --forget` drops the others."
    )
    return [Heading("Rows of earlier runs"), table([*columns, "settings"], lines, note)]


def _measured_showing(row: EngineRow) -> list[str]:
    return [row.primary, _interval(row.value(row.primary))]


def _interval(value: Value | None) -> str:
    return "–" if value is None else mean_text(value.mean, value)


def _mean(value: Value | None) -> str:
    return "–" if value is None else f"{value.mean:.3f}"
