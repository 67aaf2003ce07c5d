"""Runs for the explorer, and how its tests ask for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

from assay.web.run_pages import explorer_routes
from assay.web.web_server import serve
from tests.report.explorer.unpacking import blocks
from tests.running import run_experiment
from tests.web.asking import Client, Reply

#: Settings of an engine that finds by words alone.
OLD = 'search = {stem = {files = 0.0}, dense = {model = ""}}'
_EXPERIMENT = """\
[run]
gold = "%s"
k = 5
references = false
baseline = "keywords"
measures = ["nDCG@5", "RR@5"]

[engines.mine]
kind = "builtin"
%s

[engines.keywords]
kind = "keywords"

[engines.random]
kind = "random"
"""


def make_run(gold_file: Path, out: Path, builtin: str = "") -> None:
    """Run the builtin engine with these settings beside two references."""
    with TemporaryDirectory() as folder:
        run_experiment(_EXPERIMENT % (gold_file, builtin), Path(folder), out)


@contextmanager
def exploring(*folders: Path) -> Iterator[Client]:
    """Serve the runs below some folders, as `assay serve` does."""
    with serve(explorer_routes(folders)) as server:
        yield Client(server.start())


def listed(client: Client) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in client.get("/api/runs").json["runs"]}


def ask(client: Client, name: str = "before", **data: Any) -> Reply:
    given = {"engine": "mine", "gold": "shop", "changes": {}, **data}
    return client.post(f"/api/run/{listed(client)[name]['id']}/ask", given)


def source(client: Client, path: str, gold: str = "shop", name: str = "before") -> Reply:
    return client.get(f"/api/run/{listed(client)[name]['id']}/source?{urlencode({'gold': gold, 'path': path})}")


def compare(client: Client, old: str, new: str, query: str = "") -> Reply:
    found = listed(client)
    return client.get(f"/compare/{found[old]['id']}/{found[new]['id']}{query}")


def summary(reply: Reply) -> dict[str, Any]:
    """Return the summary that a page of a run holds."""
    found: dict[str, Any] = json.loads(blocks(reply.body)["summary"])
    return found


def problem(reply: Reply) -> dict[str, Any]:
    """Return what a page says that has nothing else to show."""
    found: dict[str, Any] = json.loads(blocks(reply.body)["problem"])
    return found
