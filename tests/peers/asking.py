"""What tests of peers share: questions about the part of the standard library, and who is left afterwards."""

from __future__ import annotations

import os
from pathlib import Path

from assay.gold import load_gold
from assay.types import GoldSet, Hit, Run, Status

GOLD = """\
assay: 1
name: library
corpus: {path: "%s"}
queries:
  - id: deadline
    retrieval: {primary: ["asyncio/timeouts.py::Timeout"]}
    cognitive: {human: how is a task cancelled when its time is over?}
  - id: floats
    retrieval: {primary: ["json/encoder.py::JSONEncoder.iterencode"]}
    cognitive: {human: JSONEncoder float text of nan}
  - id: later
    retrieval: {primary: ["asyncio/base_events.py::BaseEventLoop.call_later"]}
    cognitive: {human: run a callback after some seconds}
  - id: decoding
    retrieval: {primary: ["json/decoder.py"]}
    cognitive: {human: 'where is a "string" read, and what if it never ends?'}
"""


def write_gold(library: Path, folder: Path, count: int | None = None) -> Path:
    """Write the gold set, or its first queries."""
    head, *queries = GOLD.split("  - id:")
    path = folder / "library.yaml"
    path.write_text("  - id:".join([head % library, *queries[:count]]), encoding="utf-8")
    return path


def read_gold(library: Path, folder: Path) -> GoldSet:
    return load_gold(write_gold(library, folder)).golds[0]


def rankings(run: Run) -> dict[str, list[tuple[Hit, ...]]]:
    """Give the hits of every engine, question by question; everybody answered all of them with something."""
    for engine in run.engines:
        for ranking in engine.rankings:
            assert ranking.status == Status.OK, f"{engine.name}: {ranking.error}"
            assert ranking.hits, f"{engine.name} found nothing for {ranking.query}"
    return {engine.name: [ranking.hits for ranking in engine.rankings] for engine in run.engines}


def places(found: list[tuple[Hit, ...]]) -> list[list[str]]:
    return [[str(hit.span) for hit in hits] for hits in found]


def left_running(mark: str) -> list[str]:
    """List the programs that were started with a variable of the environment and have not ended; Linux tells."""
    found: list[str] = []
    if not Path("/proc").is_dir():
        return found
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                environment = (folder / "environ").read_bytes()
                said = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            if mark.encode() in environment and said:
                found.append(said.decode(errors="replace"))
    return found
