"""The tools of the servers that the MCP engine is tested on, well-behaved and hostile."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time

NAME, VERSION = "toy", "1.2.3"
WIRE = os.dup(1)  # the mcp package turns descriptor 1 to stderr; not every server is so careful
indexed: list[str] = []


class ToyError(Exception):
    """What a tool says that failed."""


def index(root: str) -> str:
    """Remember a folder."""
    if root == "bad":
        raise ToyError("no such folder")
    indexed.append(root)
    return "ok"


def search(query: str, top_k: int = 5, include: list[str] | None = None, language: str = "") -> list[dict[str, object]]:
    """Give structured results."""
    found: list[dict[str, object]] = [
        {"path": "json/encoder.py", "start": 1, "end": 2, "score": 0.5},
        {"path": "README.md", "start": 1, "end": 1, "score": 0.25},
    ]
    found.append({"path": json.dumps([query, top_k, include, language, indexed])})
    return found[:top_k]


def text(query: str) -> str:
    """Give fenced snippets under headers."""
    if query == "nothing":
        return "No results found."
    return "Found 1:\n\n### json/encoder.py:1-2 (score 0.5)\n```python\nREADME.md:1\n```\n"


def behave(query: str) -> str:
    """Do what the query says."""
    if query == "crash":
        print("out of luck", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if query == "hang":
        hang()
    if query == "junk":
        os.write(WIRE, b"\x1b[31mloading\x1b[0m\n\n[50%]\nWARNING {not json}\n50%\r\x1b[2K")
    if query == "flood":
        flood()
    if query == "close":
        close_pipe()
        hang()
    if query == "fail":
        raise ToyError("the index is gone")
    if query == "many":
        return "\n".join(f"dir/file{n}.py:{n}" for n in range(1, 10_001))
    if query == "outside":
        return "/etc/passwd:1\n../../secret.py:3\n"
    if query == "token":
        raise ToyError(f"refused {os.environ.get('TOY_TOKEN')}")
    return "README.md"


def hang() -> None:
    """Do nothing, and tell in a file that it has come to that."""
    with open(os.environ.get("TOY_HANGS", os.devnull), "w") as file:
        file.write("now")
    time.sleep(1000)


def flood() -> None:
    """Print without end and without a newline."""
    while True:
        os.write(WIRE, b"x" * 1_000_000)


def close_pipe() -> None:
    """Close every descriptor of stdout."""
    pipe = os.fstat(WIRE).st_ino
    for descriptor in range(1, 64):
        with contextlib.suppress(OSError):
            if os.fstat(descriptor).st_ino == pipe:
                os.close(descriptor)


def note_start() -> None:
    """Tell in a file that a server was started."""
    with open(os.environ.get("TOY_PIDS", os.devnull), "a") as file:
        file.write(f"{os.getpid()}\n")
