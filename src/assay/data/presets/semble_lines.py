"""Ask semble's library over stdin and stdout: one JSON object a line in, one a line out.

Run by semble's own interpreter, so it imports nothing of Assay's: python semble_lines.py ROOT
{"id": 1, "query": "...", "k": 10, "paths": ["src/**"], "languages": ["python"]} -> {"id": 1, "results": [...]}
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, TextIO

_GLOB = re.compile(r"\*\*/|\*\*|\*|\?")
_MEANS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def main() -> None:
    """Build the index, say so, and answer until stdin ends."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what the library prints is no answer
    from semble import SembleIndex

    index = SembleIndex.from_path(sys.argv[1])
    tell(answers, {"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        tell(answers, {"id": asked.get("id"), "results": search(index, asked)})


def tell(stream: TextIO, value: dict[str, Any]) -> None:
    """Write one line."""
    stream.write(json.dumps(value) + "\n")
    stream.flush()


def search(index: Any, asked: dict[str, Any]) -> list[dict[str, Any]]:  # noqa: ANN401 - semble has no types here
    """Search as the question says; semble filters by exact files, so globs become those they match."""
    paths = None
    if asked.get("paths"):
        files = sorted({chunk.file_path for chunk in index.chunks})
        paths = matching(asked["paths"], files) or asked["paths"]  # a name that is not there is semble's to answer
    found = index.search(
        asked["query"],
        top_k=asked["k"],
        filter_paths=paths,
        filter_languages=asked.get("languages") or None,
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


def matching(globs: list[str], files: list[str]) -> list[str]:
    """List the files that any of the globs matches."""
    rules = [re.compile(as_pattern(glob)) for glob in globs]
    return [file for file in files if any(rule.fullmatch(file) for rule in rules)]


def as_pattern(glob: str) -> str:
    """Write a glob as a regular expression: ** goes through folders, * and ? do not."""
    plain = [re.escape(part) for part in _GLOB.split(glob)]
    signs = [_MEANS[sign] for sign in _GLOB.findall(glob)] + [""]
    return "".join(part + sign for part, sign in zip(plain, signs, strict=True))


if __name__ == "__main__":
    main()
