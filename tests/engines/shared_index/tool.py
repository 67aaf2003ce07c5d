"""A small search tool with an index: `tool.py index|search|serve CONFIG ROOT STORE [QUERY K]`.

Of its configuration `embedding` shapes the index (`pad` makes it large) and `search` the ranking. Every index it makes
is a line in $TOOL_LOG.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from pathlib import Path


def words(text: str) -> list[str]:
    """Split a text."""
    return re.findall(r"[a-z]+", text.lower())


def index(config: dict, root: Path, store: Path) -> None:
    """Count the words of every file and keep them, with absolute paths."""
    with open(os.environ["TOOL_LOG"], "a") as log:
        log.write(json.dumps([config, os.environ.get("TOOL_MODEL"), str(root)]) + "\n")
    if config["embedding"]["model"] == "broken":
        sys.exit(f"no model for {root}")
    cut = config["embedding"]["cut"]
    files = {str(path): words(path.read_text())[:cut] for path in sorted(root.rglob("*.py"))}
    (store / "index.json").write_text(json.dumps(files))
    if config["embedding"].get("pad"):
        with open(store / "pad", "wb") as file:
            file.truncate(config["embedding"]["pad"])


def search(config: dict, root: Path, store: Path, query: str, k: int) -> list[str]:
    """Rank files by the query's words; some answers write into the index."""
    files = json.loads((store / "index.json").read_text())
    if "junk" in files:
        sys.exit("the index is spoilt")
    weight = config["search"]["weight"]
    asked = words(query)
    scores = {path: sum(word in of for word in asked) - weight * len(of) for path, of in files.items()}
    if config["search"]["spoil"]:
        (store / "index.json").write_text(json.dumps({**files, "junk": []}))
        (root / "left.txt").write_text("x")
    assert all(path.startswith(str(root)) for path in files), "the index is of another place"
    return sorted(scores, key=lambda path: (-scores[path], path))[:k]


def main() -> None:
    """Do what is said."""
    what, config_path, root, store, *asked = sys.argv[1:]
    config = tomllib.loads(Path(config_path).read_text())
    places = (config, Path(root), Path(store))
    if what == "index":
        index(*places)
    elif what == "search":
        print("\n".join(search(*places, asked[0], int(asked[1]))))
    else:
        if not (Path(store) / "index.json").exists():
            index(*places)
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            given = json.loads(line)
            print(json.dumps({"results": search(*places, given["query"], given["k"])}), flush=True)


if __name__ == "__main__":
    main()
