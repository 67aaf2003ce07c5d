from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from itertools import islice
from sys import intern
from typing import Any, get_args, get_origin, get_type_hints

from assay.digests import digest_of
from assay.types import (
    OLD_ROLES,
    Cost,
    EngineRun,
    GoldSet,
    Hit,
    Query,
    Ranking,
    Run,
    RunMetadata,
    Status,
    Suite,
    current_keys,
)

Lines = Mapping[str, tuple[int, ...]]  # path -> bytes of each line
LinesBySet = Mapping[str, Lines]  # gold set -> lines of its corpus
_LineTable = dict[str, tuple[int, ...]]

_RECORDS = 1  # the format of engines/NAME.jsonl
_SURROGATES = re.compile("[\ud800-\udfff]")
_SIZES = ',"bytes":'  # precedes the lengths in lines.jsonl, as `dump` writes it
_ENGINE_KEYS = frozenset(field.name for field in fields(EngineRun))


@cache
def decoder(kind: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - a type hint is any object
    """Return a function that converts parsed JSON to a type, such as a dataclass or a tuple."""
    if is_dataclass(kind):
        decoders = {name: decoder(hint) for name, hint in get_type_hints(kind).items()}
        return lambda row: kind(**{key: decoders[key](value) for key, value in current_keys(row).items()})  # type: ignore[operator]
    if type(None) in (arguments := get_args(kind)):
        inner = decoder(arguments[0])
        return lambda value: None if value is None else inner(value)
    if get_origin(kind) is tuple:
        item = decoder(arguments[0])
        return tuple if item is _same else lambda values: tuple(map(item, values))
    if get_origin(kind) is Mapping:
        item = decoder(arguments[1])
        return lambda row: {key: item(value) for key, value in row.items()}
    return _same


def _same(value: Any) -> Any:  # noqa: ANN401 - a JSON value
    return value


def engine_text(run: Run, engine: EngineRun) -> str:
    """Encode the records of one engine: a header, then one line per ranking."""
    header = {
        "assay_records": _RECORDS,
        "assay": engine.assay or run.header.assay,
        **engine_json(engine),
        "config_hash": config_hash(engine.config),
        "k": run.k,
        "gold_hash": run.header.gold_hash,
        "corpora": {
            name: {key.name: getattr(facts, key.name) for key in fields(facts) if key.name != "file_digests"}
            for name, facts in run.header.corpora.items()  # the digests are in the run's header
        },
        "environment": dict(engine.environment or run.header.environment),
    }
    return _text([header, *map(ranking_json, engine.rankings)])


def read_engine_text(text: str, header: RunMetadata) -> EngineRun:
    """Decode the records of one engine; values equal to those of the run are left empty."""
    head, *rows = _rows(text)
    return replace(
        read_engine(head, rows),
        assay="" if head["assay"] == header.assay else head["assay"],
        environment={} if head["environment"] == header.environment else head["environment"],
    )


def engine_json(engine: EngineRun) -> dict[str, Any]:
    """Encode an engine without its rankings; unknown values are omitted."""
    optional = {
        "date": engine.date,
        "variation": None if engine.variation is None else asdict(engine.variation),
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
        "resources": {gold: asdict(used) for gold, used in engine.resources.items()},
        "stderr": dict(engine.stderr),
    } | {key: value for key, value in optional.items() if value}


def _sorted(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value


def read_engine(row: Mapping[str, Any], rankings: Iterable[Mapping[str, Any]]) -> EngineRun:
    """Decode an engine; records of older versions lack some keys."""
    known = {key: value for key, value in row.items() if key in _ENGINE_KEYS}
    names = {"name": row["engine"], "role": OLD_ROLES.get(row["role"], row["role"])}
    engine: EngineRun = decoder(EngineRun)({**known, **names, "rankings": ()})
    return replace(engine, rankings=tuple(map(read_ranking, rankings)))


def config_hash(config: Mapping[str, object]) -> str:
    return digest_of(config)[:16]


def ranking_json(ranking: Ranking) -> dict[str, object]:
    """Encode a ranking without snippets, which are source code."""
    hits: list[dict[str, object]] = []
    for (path, start, end, score, _), tokens in zip(ranking.hits, ranking.tokens, strict=True):
        hit: dict[str, object] = {"path": path, "start": start, "end": end, "score": score, "tokens": tokens}
        complete = start is not None and end is not None and score is not None
        hits.append(hit if complete else {key: value for key, value in hit.items() if value is not None})
    row: dict[str, object] = {
        "gold": ranking.gold,
        "query": ranking.query,
        "form": ranking.form,
        "status": str(ranking.status),
        "seconds": ranking.seconds,
        "hits": hits,
    }
    cost = {} if ranking.cost is None else {k: v for k, v in asdict(ranking.cost).items() if v is not None}
    optional = {"error": ranking.error, "notes": list(ranking.notes), "cost": cost}
    return row | {key: value for key, value in optional.items() if value}


def read_ranking(row: Mapping[str, Any]) -> Ranking:
    """Decode a ranking; names and paths are interned, which makes lookups faster."""
    hits, new = row["hits"], tuple.__new__  # without the checks of `Hit`, which take longer than the JSON
    status = row["status"]
    return Ranking(
        intern(row["gold"]),
        intern(row["query"]),
        intern(row["form"]),
        tuple([new(Hit, (intern(h["path"]), h.get("start"), h.get("end"), h.get("score"), None)) for h in hits]),
        tuple([h["tokens"] for h in hits]),
        Status.OK if status == "ok" else Status(status),
        row["seconds"],
        row.get("error"),
        tuple(row.get("notes", ())),
        Cost(**row["cost"]) if "cost" in row else None,
    )


def gold_text(suite: Suite) -> str:
    """Encode a resolved suite: one line per gold set, each followed by one line per query.

    The line numbers of the queries are in the line of the set, so that an inserted query changes few lines.
    """
    rows = []
    for gold in suite.golds:
        head = gold_json(gold)
        queries = head.pop("queries")
        rows += [{**head, "queries": len(queries), "lines": [query.pop("line") for query in queries]}, *queries]
    return _text(rows)


def read_suite(text: str) -> Suite:
    rows, golds = iter(_rows(text)), []
    for head in rows:
        lines, count = head.pop("lines"), head["queries"]
        queries = [{**query, "line": line} for query, line in zip(islice(rows, count), lines, strict=True)]
        golds.append(decoder(GoldSet)({**head, "queries": queries}))
    return Suite(tuple(golds))


def gold_json(gold: GoldSet) -> dict[str, Any]:
    """Encode a gold set; newer keys are omitted if empty, so that old records stay unchanged."""
    row = asdict(gold)
    for query in row["queries"]:
        adversaries = (adversary["target"] for adversary in query["adversaries"])
        for target in (*query["targets"], *adversaries, *query["irrelevant"]):
            if target["link"] is None:
                del target["link"]
        if not query["irrelevant"]:
            del query["irrelevant"]
    return row


def lines_text(lines: LinesBySet) -> str:
    """Encode line sizes: one line with the names of the gold sets, then one line per file."""
    files = [
        {"gold": gold, "path": path, "bytes": list(sizes)}
        for gold, table in sorted(lines.items())
        for path, sizes in sorted(table.items())
    ]
    return _text([{"golds": list(lines)}, *files])


def read_lines(text: str) -> dict[str, _LineTable]:
    first, _, rest = text.partition("\n")
    found: dict[str, _LineTable] = {name: {} for name in json.loads(first)["golds"]}
    known: _LineTable = {}  # gold sets on one corpus have the same files: each is decoded once
    files = [line.rpartition(_SIZES) for line in rest.split("\n") if line]
    names = json.loads(f"[{','.join([f'{named}}}' for named, _, _ in files])}]")
    for (_, _, sizes), row in zip(files, names, strict=True):
        if sizes not in known:
            known[sizes] = tuple(json.loads(sizes.removesuffix("}")))
        found[row["gold"]][intern(row["path"])] = known[sizes]
    return found


def query_paths(queries: Iterable[Query]) -> set[str]:
    """Return the files of targets and adversaries."""
    targets = (target for query in queries for target in (*query.targets, *(a.target for a in query.adversaries)))
    return {target.span.path for target in targets}


def hit_paths(rankings: Iterable[Ranking]) -> set[str]:
    return {hit.path for ranking in rankings for hit in ranking.hits}


def join_lines(tables: Iterable[Lines]) -> _LineTable:
    """Merge line tables of one corpus, sorted by path."""
    merged: _LineTable = {}
    for table in tables:
        merged.update(table)
    return dict(sorted(merged.items()))


def join_sets(first: LinesBySet, second: LinesBySet) -> dict[str, _LineTable]:
    return {gold: join_lines((first.get(gold, {}), second.get(gold, {}))) for gold in {**first, **second}}


def named_lines(tables: LinesBySet, suite: Suite, engines: Iterable[EngineRun]) -> dict[str, _LineTable]:
    """Return the tables of the suite's gold sets, limited to files of targets, adversaries and hits."""
    rankings = [ranking for engine in engines for ranking in engine.rankings]
    found = {}
    for gold in suite.golds:
        table = tables.get(gold.name, {})
        paths = query_paths(gold.queries) | hit_paths(ranking for ranking in rankings if ranking.gold == gold.name)
        found[gold.name] = {path: table[path] for path in sorted(paths) if path in table}
    return found


def dump(value: object, *, indent: int | None = None) -> str:
    """Encode JSON, compact or with one line per value; NaN is an error.

    A lone surrogate, which UTF-8 cannot encode, is escaped.
    """
    if indent is None:
        text = _compact(value)
    else:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ": "), allow_nan=False, indent=indent)
    return text if text.isascii() else _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def _text(rows: Iterable[object]) -> str:
    return "".join(f"{dump(row)}\n" for row in rows)


def _rows(text: str) -> Iterator[Any]:
    """Decode lines at once: a call for each takes longer than a short line."""
    return iter(json.loads(f"[{','.join(filter(None, text.split(chr(10))))}]"))
