"""JSON encoding of records for run files, cells and shards."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import islice
from sys import intern
from typing import Any

from assay import types
from assay.digests import digest_of
from assay.types import EngineRun, GoldSet, Query, Ranking, Suite

_HALVES = re.compile("[\ud800-\udfff]")


def gold_json(gold: types.GoldSet) -> dict[str, Any]:
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
        variation=None if variation is None else types.VariantInfo(**variation),
        date=row.get("date", ""),
        fingerprint=row.get("fingerprint", ""),
        code=row.get("code", ""),
    )


def _sorted(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value


def read_header(row: Mapping[str, Any]) -> types.RunMetadata:
    """Read what a run was made with."""
    claim = row["claim"]
    corpora = {name: read_facts(facts) for name, facts in row["corpora"].items()}
    return types.RunMetadata(**{**row, "corpora": corpora, "claim": None if claim is None else read_claim(claim)})


def read_claim(row: Mapping[str, Any]) -> types.AnalysisPlan:
    """Read what was going to be said; those of older runs declare no family and no tables."""
    lists = {key: tuple(row.get(key, ())) for key in ("measures", "family", "tables")}
    return types.AnalysisPlan(**{**row, **lists})


def read_facts(row: Mapping[str, Any]) -> types.CorpusInfo:
    """Read what is kept of a corpus."""
    return types.CorpusInfo(**{**row, "notes": tuple(row["notes"]), "problems": tuple(row["problems"])})


def read_gold(row: Mapping[str, Any]) -> types.GoldSet:
    """Read one gold set."""
    spec = row["corpus"]
    corpus = types.CorpusSpec(**{**spec, "include": tuple(spec["include"]), "exclude": tuple(spec["exclude"])})
    queries = tuple(map(read_query, row["queries"]))
    return types.GoldSet(row["name"], corpus, queries, row["provenance"], row["source"])


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


def _label(row: Mapping[str, Any]) -> types.LabelProvenance:
    return types.LabelProvenance(**{**row, "by": tuple(row["by"]), "shown_by": tuple(row["shown_by"])})


def _target(row: Mapping[str, Any]) -> types.Target:
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


Lines = Mapping[str, tuple[int, ...]]  # path -> bytes of each line
LinesBySet = Mapping[str, Lines]  # gold name -> those of its corpus
_Table = dict[str, tuple[int, ...]]


def query_paths(queries: Iterable[Query]) -> set[str]:
    """Give the files that targets and adversaries name."""
    targets = (target for query in queries for target in (*query.targets, *(a.target for a in query.adversaries)))
    return {target.span.path for target in targets}


def hit_paths(rankings: Iterable[Ranking]) -> set[str]:
    """Give the files that results name."""
    return {hit.path for ranking in rankings for hit in ranking.hits}


def join_lines(tables: Iterable[Lines]) -> _Table:
    """Put tables of one corpus together, in the order of paths."""
    found: _Table = {}
    for table in tables:
        found.update(table)
    return dict(sorted(found.items()))


def join_sets(first: LinesBySet, second: LinesBySet) -> dict[str, _Table]:
    """Put the tables of two runs together, set by set."""
    return {gold: join_lines((first.get(gold, {}), second.get(gold, {}))) for gold in {**first, **second}}


def named_lines(tables: LinesBySet, suite: Suite, engines: Iterable[EngineRun]) -> dict[str, _Table]:
    """Keep of the tables what a target, an adversary or a result names; sets that the suite lacks go."""
    rankings = [ranking for engine in engines for ranking in engine.rankings]
    return {gold.name: _named(tables.get(gold.name, {}), gold, rankings) for gold in suite.golds}


def _named(table: Lines, gold: GoldSet, rankings: Iterable[Ranking]) -> _Table:
    named = query_paths(gold.queries) | hit_paths(ranking for ranking in rankings if ranking.gold == gold.name)
    return {path: table[path] for path in sorted(named) if path in table}


_SIZES = ',"bytes":'  # what stands before the lengths in a line of lines.jsonl, as `dump` writes it
_DECODER = json.JSONDecoder()
_RECORDS = 1  # the format of engines/NAME.jsonl


def gold_text(suite: types.Suite) -> str:
    """Write a resolved suite: a line for each set, followed by one for each of its queries.

    Where queries stand in their file is said in the set's line: one that is put before others moves them all.
    """
    return _text(row for gold in suite.golds for row in _gold_rows(gold))


def _gold_rows(gold: types.GoldSet) -> Iterator[dict[str, Any]]:
    whole = gold_json(gold)
    queries = whole.pop("queries")
    yield {**whole, "queries": len(queries), "lines": [query.pop("line") for query in queries]}
    yield from queries


def read_suite(text: str) -> types.Suite:
    """Read a resolved suite."""
    rows, golds = iter(_rows(text)), []
    for head in rows:
        lines, count = head.pop("lines"), head["queries"]
        queries = [{**query, "line": at} for query, at in zip(islice(rows, count), lines, strict=True)]
        golds.append(read_gold({**head, "queries": queries}))
    return types.Suite(tuple(golds))


def lines_text(lines: LinesBySet) -> str:
    """Write the bytes of each line: a line with the names of the sets, then one for each file."""
    files = [
        {"gold": gold, "path": path, "bytes": list(sizes)}
        for gold, known in sorted(lines.items())
        for path, sizes in sorted(known.items())
    ]
    return _text([{"golds": list(lines)}, *files])


def read_lines(text: str) -> dict[str, dict[str, tuple[int, ...]]]:
    """Read the bytes of each line."""
    first, _, rest = text.partition("\n")
    found: dict[str, dict[str, tuple[int, ...]]] = {name: {} for name in json.loads(first)["golds"]}
    known: dict[str, tuple[int, ...]] = {}  # sets on one corpus name the same files: each is read once
    for line in filter(None, rest.split("\n")):
        named, _, sizes = line.rpartition(_SIZES)
        row = _row(f"{named}}}")
        if sizes not in known:
            known[sizes] = tuple(_row(sizes.removesuffix("}")))
        found[row["gold"]][intern(row["path"])] = known[sizes]
    return found


def engine_text(run: types.Run, engine: types.EngineRun) -> str:
    """Write one engine's records: header first, then a line for each ranking."""
    return _text([_engine_header(run, engine), *map(ranking_json, engine.rankings)])


def _engine_header(run: types.Run, engine: types.EngineRun) -> dict[str, object]:
    return {
        "assay_records": _RECORDS,
        "assay": engine.assay or run.header.assay,
        **engine_json(engine),
        "config_hash": config_hash(engine.config),
        "k": run.k,
        "gold_hash": run.header.gold_hash,
        "corpora": {name: asdict(facts) for name, facts in run.header.corpora.items()},
        "environment": dict(engine.environment or run.header.environment),
    }


def read_engine_text(text: str, header: types.RunMetadata) -> types.EngineRun:
    """Read one engine's records; what they share with the run is said there."""
    head, *rows = _rows(text)
    return replace(
        read_engine(head, rows),
        assay="" if head["assay"] == header.assay else head["assay"],
        environment={} if head["environment"] == header.environment else head["environment"],
    )


def config_hash(config: Mapping[str, object]) -> str:
    """Hash the settings that shape a ranking."""
    return digest_of(config)[:16]


def _text(rows: Iterable[object]) -> str:
    return "".join(f"{dump(row)}\n" for row in rows)


def _rows(text: str) -> Iterator[Any]:
    return (_row(line) for line in text.split("\n") if line)


def _row(line: str) -> Any:  # noqa: ANN401 - what a line holds is its reader's to know
    found, end = _DECODER.raw_decode(line)
    if end != len(line):
        raise ValueError(f"more than one value in a line: {line[end : end + 20]!r}")
    return found
