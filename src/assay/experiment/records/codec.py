"""Records as JSON and back: what the files of a run, kept cells and shards are written with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from sys import intern
from typing import Any

from assay import types

_HALVES = re.compile("[\ud800-\udfff]")


def gold_json(gold: types.Gold) -> dict[str, Any]:
    """Turn a gold set into JSON."""
    row = asdict(gold)
    for query in row["queries"]:
        adversaries = (adversary["target"] for adversary in query["adversaries"])
        for target in (*query["targets"], *adversaries, *query["irrelevant"]):
            if target["link"] is None:  # older versions of Assay read runs of sets without links
                del target["link"]
        if not query["irrelevant"]:  # likewise
            del query["irrelevant"]
    return row


def ranking_json(ranking: types.Ranking) -> dict[str, object]:
    """Turn a ranking into one JSON object; snippets stay out, they are source code."""
    hits = [_hit_json(h, t) for h, t in zip(ranking.hits, ranking.tokens, strict=True)]
    line: dict[str, object] = {
        "gold": ranking.gold,
        "query": ranking.query,
        "form": ranking.form,
        "status": str(ranking.status),
        "seconds": ranking.seconds,
        "hits": hits,
    }
    cost = {} if ranking.cost is None else {k: v for k, v in asdict(ranking.cost).items() if v is not None}
    optional = {"error": ranking.error, "notes": list(ranking.notes), "cost": cost}
    return line | {key: value for key, value in optional.items() if value}


def _hit_json(hit: types.Hit, tokens: int) -> dict[str, object]:
    """Turn a hit into JSON, leaving out what it does not have."""
    values = (("path", hit.path), ("start", hit.start), ("end", hit.end), ("score", hit.score), ("tokens", tokens))
    return {key: value for key, value in values if value is not None}


def read_ranking(row: Mapping[str, Any]) -> types.Ranking:
    """Read one ranking; names and paths that come again are one string each, which is quicker to look up."""
    hits = row["hits"]
    return types.Ranking(
        gold=intern(row["gold"]),
        query=intern(row["query"]),
        form=intern(row["form"]),
        hits=tuple([types.Hit(intern(h["path"]), h.get("start"), h.get("end"), h.get("score")) for h in hits]),
        tokens=tuple([h["tokens"] for h in hits]),
        status=types.Status(row["status"]),
        seconds=row["seconds"],
        error=row.get("error"),
        notes=tuple(row.get("notes", ())),
        cost=types.Cost(**row["cost"]) if "cost" in row else None,
    )


def engine_json(engine: types.EngineRun) -> dict[str, Any]:
    """Turn what an engine did into JSON, its rankings aside; what is not known stays out."""
    variation = None if engine.variation is None else asdict(engine.variation)
    optional = {
        "date": engine.date,
        "variation": variation,
        "fingerprint": engine.fingerprint,
        "code": engine.code,
    }
    return {
        "engine": engine.name,
        "role": engine.role,
        "oversample": engine.oversample,
        "config": _sorted(engine.config),
        "index_seconds": dict(engine.index_seconds),
        "notes": list(engine.notes),
        "version": engine.version,
        "parallel": engine.parallel,
        "resources": {gold: asdict(taken) for gold, taken in engine.resources.items()},
        "stderr": dict(engine.stderr),
    } | {key: value for key, value in optional.items() if value}


def read_engine(row: Mapping[str, Any], rankings: Iterable[Mapping[str, Any]]) -> types.EngineRun:
    """Read what an engine did; records of older runs lack what was not known then."""
    variation = row.get("variation")
    return types.EngineRun(
        name=row["engine"],
        rankings=tuple(map(read_ranking, rankings)),
        role=row["role"],
        oversample=row["oversample"],
        config=row["config"],
        index_seconds=row["index_seconds"],
        notes=tuple(row["notes"]),
        resources={gold: types.Resources(**taken) for gold, taken in row.get("resources", {}).items()},
        version=row.get("version", ""),
        stderr=row.get("stderr", {}),
        parallel=row.get("parallel", 1),
        variation=None if variation is None else types.Variation(**variation),
        date=row.get("date", ""),
        fingerprint=row.get("fingerprint", ""),
        code=row.get("code", ""),
    )


def _sorted(value: object) -> object:
    """Put the keys of settings in order, however deep; lists keep theirs."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value


def read_header(row: Mapping[str, Any]) -> types.Header:
    """Read what a run was made with."""
    claim = row["claim"]
    corpora = {name: read_facts(facts) for name, facts in row["corpora"].items()}
    return types.Header(**{**row, "corpora": corpora, "claim": None if claim is None else read_claim(claim)})


def read_claim(row: Mapping[str, Any]) -> types.Claim:
    """Read what was going to be said; those of older runs declare no family and no tables."""
    lists = {key: tuple(row.get(key, ())) for key in ("measures", "family", "tables")}
    return types.Claim(**{**row, **lists})


def read_facts(row: Mapping[str, Any]) -> types.CorpusFacts:
    """Read what is kept of a corpus."""
    return types.CorpusFacts(**{**row, "notes": tuple(row["notes"]), "problems": tuple(row["problems"])})


def read_gold(row: Mapping[str, Any]) -> types.Gold:
    """Read one gold set."""
    spec = row["corpus"]
    corpus = types.CorpusSpec(**{**spec, "include": tuple(spec["include"]), "exclude": tuple(spec["exclude"])})
    queries = tuple(map(read_query, row["queries"]))
    return types.Gold(row["name"], corpus, queries, row["provenance"], row["source"])


def read_query(row: Mapping[str, Any]) -> types.Query:
    """Read one query."""
    parts = dict(row)
    rationale = parts["rationale"]
    parts["targets"] = tuple(map(_target, parts["targets"]))
    parts["adversaries"] = tuple(types.Adversary(**{**a, "target": _target(a["target"])}) for a in parts["adversaries"])
    parts["rationale"] = None if rationale is None else types.Rationale(**rationale)
    parts["measures"] = tuple(parts["measures"])
    parts["labels"] = tuple(map(_label, parts.get("labels", ())))  # older runs have none
    parts["irrelevant"] = tuple(map(_target, parts.get("irrelevant", ())))
    return types.Query(**parts)


def _label(row: Mapping[str, Any]) -> types.Label:
    """Read where one label comes from."""
    return types.Label(**{**row, "by": tuple(row["by"]), "shown_by": tuple(row["shown_by"])})


def _target(row: Mapping[str, Any]) -> types.Target:
    """Read one target."""
    unit = row["unit"]
    return types.Target(
        span=types.Span(**row["span"]),
        grade=row["grade"],
        symbol=row["symbol"],
        unit=None if unit is None else types.Span(**unit),
        digest=row.get("digest"),
        link=row.get("link"),
    )


def dump(value: object, *, indent: int | None = None) -> str:
    """Write JSON, compact or with a line for each value; a NaN is a bug here, not a value.

    Half a character, which an engine's JSON can hold and UTF-8 cannot, is written as its escape and reads back.
    """
    gaps = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, ensure_ascii=False, separators=gaps, allow_nan=False, indent=indent)
    return text if text.isascii() else _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
