"""A small search engine behind HTTP: it reads a folder when told to and ranks files by the query's words."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.serving import Asked, Reply


@dataclass
class Searcher:
    """What it knows, and how often it says that it is not ready yet."""

    files: dict[str, str] = field(default_factory=dict)
    polls: int = 0

    def __call__(self, asked: Asked) -> Reply:
        """Answer as an API does: by path and method."""
        match asked.method, urlsplit(asked.path).path:
            case "PUT" | "POST", "/index":
                return self.read(asked.payload)
            case "GET", "/status":
                self.polls -= 1
                return Reply({"index": {"state": "ready" if self.polls < 0 else "building"}})
            case _, "/search":
                return self.search(_parameters(asked))
        return Reply({"error": "no such page"}, 404)

    def read(self, order: dict[str, str]) -> Reply:
        """Index a folder; what it writes goes into the store."""
        root = Path(order["root"])
        self.files = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}
        if "store" in order:
            Path(order["store"], "index.bin").write_bytes(b"x" * 1000)
        return Reply({"files": len(self.files)}, 202)

    def search(self, given: dict[str, Any]) -> Reply:
        """Rank files by how many of the query's words they hold."""
        words = set(re.findall(r"\w+", given["query"].lower()))
        scores = {path: len(words & set(re.findall(r"\w+", text.lower()))) for path, text in self.files.items()}
        wanted = given.get("paths", [])
        found = [
            {"file": path, "span": {"from": 1, "to": self.files[path].count("\n")}, "score": score}
            for path, score in sorted(scores.items(), key=lambda item: (-item[1], item[0]))
            if score and (not wanted or any(fnmatch.fnmatch(path, glob) for glob in wanted))
        ]
        return Reply({"data": {"results": found[: int(given["limit"])]}, "usage": {"tokens": 7, "calls": 1}})


def _parameters(asked: Asked) -> dict[str, Any]:
    """Read a query from JSON, a form or the address."""
    if isinstance(asked.payload, dict):
        return asked.payload
    fields = parse_qs(asked.payload or urlsplit(asked.path).query)
    return {name: values if name == "paths" else values[0] for name, values in fields.items()}
