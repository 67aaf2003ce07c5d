"""A baseline file: evidence that is kept in version control, one line a query, so that diffs and merges can be read.

It holds names, hashes, values and statuses; neither source nor questions nor settings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from assay.errors import EngineError
from assay.files import write_atomic
from assay.report.analysis import FAILED_SHARE
from assay.report.case import real_engines
from assay.report.evidence.record import EngineEvidence, Evidence, Trouble
from assay.report.evidence.steadiness import answered_text
from assay.report.pages.plain import plain
from assay.types import Claim, CorpusFacts, Unit

SCHEMA = "assay/baseline/2"


def write_baseline(path: Path, seen: Evidence, claim: Claim) -> None:
    """Write the engines that compete, on the measures of the claim; engines that failed make no baseline."""
    chosen = [engine for engine in seen.engines if engine.name in real_engines(seen)]
    for engine in chosen:
        if engine.role == "contestant" and (engine.silent or engine.failed > FAILED_SHARE * engine.asked):
            raise EngineError(
                f"{engine.name}: {answered_text(engine, seen.repeats, FAILED_SHARE)}",
                hint="a baseline made of failures would let everything pass; run it again",
            )
    write_atomic(path, baseline_text(seen, claim, chosen))


def baseline_text(seen: Evidence, claim: Claim, engines: Sequence[EngineEvidence]) -> str:
    """Write evidence as JSON whose lines are what changes on its own: a corpus, an engine, a query."""
    head = {
        "schema": SCHEMA,
        "assay": seen.assay,
        "date": seen.date,
        "gold_hash": seen.gold_hash,
        "k": seen.k,
        "repeats": seen.repeats,
        "golds": seen.golds,
        "synthetic": seen.synthetic,
        "claim": asdict(claim),
    }
    lines = ["{", *(f"{_json(key)}: {_json(value)}," for key, value in head.items())]
    lines += ['"corpora": {', *_joined(f" {_json(n)}: {_json(_corpus(f))}" for n, f in seen.corpora.items()), "},"]
    lines += ['"engines": [', *_joined(f" {_json(_engine(engine, seen, claim))}" for engine in engines), "],"]
    lines += ['"queries": [', *_joined(f" {_json(one)}" for one in _queries(seen, claim, engines)), "]}"]
    return "\n".join(lines) + "\n"


def _json(value: object) -> str:
    """Write a value on one line; whole numbers without a point, as most values of most measures are 0 or 1."""
    return json.dumps(_short(plain(value)), ensure_ascii=False, allow_nan=False)


def _short(value: object) -> object:
    """Turn whole floats into integers, everywhere."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _joined(lines: Iterator[str]) -> list[str]:
    """Put a comma behind every line but the last."""
    found = list(lines)
    return [f"{line}," for line in found[:-1]] + found[-1:]


def _corpus(facts: CorpusFacts) -> dict[str, object]:
    """Give what decides whether a corpus is the same."""
    return {key: getattr(facts, key) for key in ("repository", "revision", "digest", "files")}


def _engine(engine: EngineEvidence, seen: Evidence, claim: Claim) -> dict[str, object]:
    """Give what is known of an engine beside its values; means in the order of the claim's measures."""
    places = [seen.scores.measures.index(name) for name in claim.measures]
    fields = {
        key: getattr(engine, key) for key in ("name", "role", "settings", "asked", "failed", "answers", "changed")
    }
    means = [[row[place] for place in places] for row in engine.means]
    return fields | {"noise": [engine.noise[place] for place in places], "means": means}


def _queries(seen: Evidence, claim: Claim, engines: Sequence[EngineEvidence]) -> Iterator[dict[str, object]]:
    """Give the values of every engine, query by query."""
    scores = seen.scores
    rows = {engine.name: scores.values[scores.engines.index(engine.name)] for engine in engines}
    places = [scores.measures.index(name) for name in claim.measures]
    troubles = {e.name: {(t.gold, t.query, t.form): t for t in e.troubles} for e in engines}
    for at, unit in enumerate(scores.units):
        values = {name: [float(row[place, at]) for place in places] for name, row in rows.items()}
        facts = seen.corpora.get(unit.gold)
        home = {} if facts and facts.repository == unit.repository else {"repository": unit.repository}
        yield _unit(unit) | home | {"values": values} | _statuses(unit, troubles)


def _unit(unit: Unit) -> dict[str, object]:
    """Give what tells a query; its repository stands beside the corpus, as it is another on every machine."""
    found: dict[str, object] = {key: getattr(unit, key) for key in ("gold", "query", "form", "hash")}
    found |= {"tags": dict(unit.tags)} if unit.tags else {}
    return found | ({"shared": unit.shared} if unit.shared else {})


def _statuses(unit: Unit, troubles: Mapping[str, Mapping[tuple[str, str, str], Trouble]]) -> dict[str, object]:
    """Give the statuses of the engines that failed on a query, one a repeat; no news is good news."""
    key = (unit.gold, unit.query, unit.form)
    failed = {name: list(map(str, found[key].statuses)) for name, found in troubles.items() if key in found}
    return {"status": failed} if failed else {}
