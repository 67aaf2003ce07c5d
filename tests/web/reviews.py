"""The files of a review: what is queued, and who voted how."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from assay.gold.review import Origin, Queue, make_item
from assay.types import Query

ON = "2026-01-01T00:00:00.000+00:00"


Kind = Literal["query", "target", "adversary", "phrasing"]


def queue(
    gold_file: Path, kind: Kind, queries: Iterable[Query], origin: Origin, notes: tuple[str, ...] = ()
) -> list[str]:
    """Queue proposals of one kind; return their ids, which only Assay can compute."""
    made = [make_item(kind, query, origin, notes=notes) for query in queries]
    Queue(gold_file).add(made)
    return [item.id for item in made]


def write_votes(gold_file: Path, name: str, values: Mapping[str, str], reason: str) -> None:
    """Vote as the command line does, by item."""
    path = _votes_file(gold_file, name)
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for item, value in values.items():
            line = {"item": item, "reviewer": name, "reader": "human", "value": value, "reason": reason, "on": ON}
            file.write(json.dumps(line) + "\n")


def votes(gold_file: Path, name: str) -> list[dict[str, Any]]:
    """Read every vote of a reviewer, changed ones too, in order."""
    return _lines(_votes_file(gold_file, name))


def items(gold_file: Path) -> list[dict[str, Any]]:
    return _lines(gold_file.parent / "gold.review" / "items.jsonl")


def decisions(gold_file: Path) -> list[dict[str, Any]]:
    return _lines(gold_file.parent / "gold.review" / "decisions.jsonl")


def _votes_file(gold_file: Path, name: str) -> Path:
    return gold_file.parent / "gold.review" / "votes" / f"{name}.jsonl"


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
