"""Read report.html back: an implementation of its own, by what packing.py documents."""

import base64
import gzip
import json
import re
import struct
from dataclasses import dataclass
from typing import Any


def blocks(page: bytes) -> dict[str, bytes]:
    """The blocks of data in a page, by name."""
    found = re.findall(rb'<script type="application/gzip" id="data-(\w+)">([^<]*)</script>', page)
    return {name.decode(): gzip.decompress(base64.b64decode(data)) for name, data in found}


def summary(page: bytes) -> dict[str, Any]:
    return json.loads(blocks(page)["summary"])


def everything(page: bytes) -> str:
    """All that a page says, as text."""
    return page.decode() + "".join(data.decode("utf-8", "replace") for data in blocks(page).values())


@dataclass(frozen=True)
class Answer:
    """One engine on one unit."""

    status: str
    error: str | None
    seconds: float
    hits: list[tuple[str, int | None, int | None, int | None]]  # path, start, end, tokens
    marks: list[int]
    repeats: list[int]
    scores: list[float] | None


def columns(data: bytes) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The head of a table, and its columns."""
    (size,) = struct.unpack_from("<I", data)
    head = json.loads(data[4 : 4 + size])
    at, found = 4 + size, {}
    for name, kind, count, length in head["columns"]:
        part = data[at : at + length]
        found[name] = floats(part, count) if kind == "float32" else varints(part)
        assert len(found[name]) == count
        at += length
    assert at == len(data)
    return head, found


def varints(data: bytes) -> list[int]:
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number, shift = 0, 0
    assert shift == 0
    return numbers


def floats(data: bytes, count: int) -> list[float]:
    assert len(data) == 4 * count
    return [struct.unpack("<f", bytes(data[plane * count + at] for plane in range(4)))[0] for at in range(count)]


def rankings(data: bytes) -> list[list[Answer]]:
    """All answers: units, and the engines in each."""
    head, found = columns(data)
    places = iter(zip(found["path"], found["start"], found["lines"], found["tokens"], strict=True))
    scores = found.get("score") or [None] * len(found["hit"])
    hits = iter(zip(found["hit"], found["mark"], found["repeats"], scores, strict=True))
    cells = iter(zip(found["status"], found["error"], found["seconds"], found["hits"], strict=True))
    units = []
    for count in found["places"]:
        known = [_place(head, *next(places)) for _ in range(count)]
        units.append([_answer(head, known, hits, *next(cells)) for _ in range(head["engines"])])
    for rest in (places, hits, cells):
        assert next(rest, None) is None
    assert len(units) == head["units"]
    return units


def _place(head, path, start, lines, tokens):
    span = (start, start + lines - 1) if start else (None, None)
    return (head["paths"][path], *span, tokens - 1 if tokens else None)


def _answer(head, known, hits, status, error, seconds, count):
    mine = [next(hits) for _ in range(count)]
    spans, marks = [known[hit] for hit, *_ in mine], [mark for _, mark, *_ in mine]
    repeats, scores = [many for _, _, many, _ in mine], [score for *_, score in mine]
    said = head["errors"][error - 1] if error else None
    return Answer(head["statuses"][status], said, seconds, spans, marks, repeats, None if None in scores else scores)
