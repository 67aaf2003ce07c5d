"""A review of a gold set: its files, and what a page asks its server, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

from assay.cli.gold.vote import set_problems
from assay.gold.review.items import ItemOrigin, ReviewQueue, make_item
from assay.gold.review.views import ReviewWorkspace
from assay.gold.review.votes import ReviewRules
from assay.types import Query
from assay.web.review_pages import review_routes
from assay.web.web_server import serve
from tests.web.asking import Client

ON = "2026-01-01T00:00:00.000+00:00"
COOKIE = "assay-reviewer"


Kind = Literal["query", "target", "adversary", "phrasing"]


def queue(
    gold_file: Path, kind: Kind, queries: Iterable[Query], origin: ItemOrigin, notes: tuple[str, ...] = ()
) -> list[str]:
    """Queue proposals of one kind; return their ids, which only Assay can compute."""
    made = [make_item(kind, query, origin, notes=notes) for query in queries]
    ReviewQueue(gold_file).add(made)
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


def all_votes(gold_file: Path) -> list[dict[str, Any]]:
    files = sorted((gold_file.parent / "gold.review" / "votes").iterdir())
    return [vote for file in files for vote in _lines(file)]


def items(gold_file: Path) -> list[dict[str, Any]]:
    return _lines(gold_file.parent / "gold.review" / "items.jsonl")


def decisions(gold_file: Path) -> list[dict[str, Any]]:
    return _lines(gold_file.parent / "gold.review" / "decisions.jsonl")


def _votes_file(gold_file: Path, name: str) -> Path:
    return gold_file.parent / "gold.review" / "votes" / f"{name}.jsonl"


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


@dataclass(frozen=True)
class Reviewer:
    """A name at a browser, which is known by a cookie."""

    http: Client
    told: list[str]  # what the terminal of the server shows
    name: str = ""
    browser: str = ""

    def answer(
        self, method: str, path: str, query: Mapping[str, str] | None = None, data: object = None
    ) -> tuple[int, Any]:
        """Ask, and return the status and the value of the answer."""
        own: dict[str, str | None] = {"Cookie": f"{self.http.cookie}; {COOKIE}={self.browser}"}
        body = None if method == "GET" else json.dumps(data).encode()
        reply = self.http.ask(method, f"/review/{path}?{urlencode(query or {})}", body, own)
        return reply.status, reply.json

    def get(self, path: str, /, **query: str) -> Any:
        """Ask for something that must be there."""
        status, value = self.answer("GET", path, {"as": self.name, **query})
        assert status == 200, value
        return value

    def post(self, path: str, /, **data: Any) -> tuple[int, Any]:
        return self.answer("POST", path, {}, {"as": self.name, **data})

    def as_(self, name: str, *, browser: str = "", sits: bool = True) -> Reviewer:
        """Sign in as somebody else at the same server; each name has a browser of its own unless one is given."""
        other = replace(self, name=name, browser=browser or f"browser-of-{name}".ljust(32, "-"))
        assert not sits or other.post("sit")[0] == 200
        return other


@contextmanager
def reviewing(gold_file: Path, *, least: int = 2) -> Iterator[Reviewer]:
    """Serve a review, as `assay gold review --browser` does, to one who has not signed in."""
    desk, told = ReviewWorkspace(gold_file), list[str]()
    rules = ReviewRules(least)
    routes = review_routes(desk, lambda gold: set_problems(desk, gold), tell=told.append, rules=rules)
    with serve(routes) as server:
        yield Reviewer(Client(server.start()), told)
