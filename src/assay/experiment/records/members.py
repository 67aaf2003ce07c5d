"""The members of a run as text, one line for what changes on its own: a query, a file, a ranking.

Order stays where it means something (queries, engines, ranks); what has none, such as settings, is sorted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from itertools import islice
from sys import intern
from typing import Any

from assay import types
from assay.digests import digest_of
from assay.experiment.records.codec import dump, engine_json, gold_json, ranking_json, read_engine, read_gold
from assay.experiment.records.lines import LinesBySet

_SIZES = ',"bytes":'  # what stands before the lengths in a line of lines.jsonl, as `dump` writes it
_DECODER = json.JSONDecoder()
_RECORDS = 1  # the format of engines/NAME.jsonl


def gold_text(suite: types.Suite) -> str:
    """Write a resolved suite: a line for each set, followed by one for each of its queries.

    Where queries stand in their file is said in the set's line: one that is put before others moves them all.
    """
    return _text(row for gold in suite.golds for row in _gold_rows(gold))


def _gold_rows(gold: types.Gold) -> Iterator[dict[str, Any]]:
    """Give a set and its queries as JSON."""
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
    """Say how an engine was run; an engine that was asked in another run keeps what that one was made with."""
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


def read_engine_text(text: str, header: types.Header) -> types.EngineRun:
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
    """Write one line for each row."""
    return "".join(f"{dump(row)}\n" for row in rows)


def _rows(text: str) -> Iterator[Any]:
    """Read one row from each line; other characters that end a line elsewhere may stand inside one."""
    return (_row(line) for line in text.split("\n") if line)


def _row(line: str) -> Any:  # noqa: ANN401 - what a line holds is its reader's to know
    """Read a line as `json.loads` does, without looking for gaps around it: `dump` leaves none."""
    found, end = _DECODER.raw_decode(line)
    if end != len(line):
        raise ValueError(f"more than one value in a line: {line[end : end + 20]!r}")
    return found
