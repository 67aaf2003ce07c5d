"""Serve semble's library over stdin and stdout: one JSON object per line in, one per line out.

The interpreter of semble runs this script, which therefore does not import Assay: python semble_lines.py ROOT
{"id": 1, "query": "...", "k": 10, "paths": ["src/**"], "languages": ["python"]} -> {"id": 1, "results": [...]}
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

_WILDCARD = re.compile(r"(\*\*/|\*\*|\*|\?)")
_PATTERNS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def main() -> None:
    """Build the index, write `{"ready": true}`, and answer requests until stdin ends."""
    output, sys.stdout = sys.stdout, sys.stderr  # the library may print
    from semble import SembleIndex

    index = SembleIndex.from_path(sys.argv[1])
    print(json.dumps({"ready": True}), file=output, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        response = {"id": request.get("id"), "results": search(index, request)}
        print(json.dumps(response), file=output, flush=True)


def search(index: Any, request: dict[str, Any]) -> list[dict[str, Any]]:  # noqa: ANN401 - semble has no types here
    """Return the results of a request; semble filters by exact paths, so globs are expanded to paths."""
    paths = None
    if globs := request.get("paths"):
        files = sorted({chunk.file_path for chunk in index.chunks})
        paths = match_globs(globs, files) or globs  # semble reports unknown names
    found = index.search(
        request["query"],
        top_k=request["k"],
        filter_paths=paths,
        filter_languages=request.get("languages") or None,
        max_snippet_lines=0,
    )
    return [
        {
            "file_path": result.chunk.file_path,
            "start_line": result.chunk.start_line,
            "end_line": result.chunk.end_line,
            "score": result.score,
        }
        for result in found
    ]


def match_globs(globs: list[str], files: list[str]) -> list[str]:
    """Return the files that any of the globs matches: `**` also matches slashes, `*` and `?` do not."""
    parts = [[_PATTERNS.get(part) or re.escape(part) for part in _WILDCARD.split(glob)] for glob in globs]
    pattern = re.compile("|".join(map("".join, parts)))
    return [file for file in files if pattern.fullmatch(file)]


if __name__ == "__main__":
    main()
