"""GitHub's comments on one pull request, on loopback."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.serving import Asked, Reply

THREAD = "/repos/octo/shop/issues/7/comments"
BOT = {"login": "github-actions[bot]", "type": "Bot"}


def pull(fork: bool = False) -> dict[str, Any]:
    """The event of a pull request."""
    head = "stranger/shop" if fork else "octo/shop"
    repositories = {"head": {"repo": {"full_name": head}}, "base": {"repo": {"full_name": "octo/shop"}}}
    return {"pull_request": {"number": 7, **repositories}}


@dataclass
class Forge:
    """Comments that are listed in pages, made and changed."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    refuses: int = 0  # the status that writing is answered with
    viewer: str = ""  # the user whose token it is; GitHub's own app is nobody
    foreign: tuple[int, ...] = ()  # comments that may not be changed
    asked: list[str] = field(default_factory=list)

    def fill(self, count: int, **more: Any) -> None:
        """Let people talk."""
        for _ in range(count):
            person = {"user": {"login": "ann", "type": "User"}, "author_association": "NONE", "body": "nice", **more}
            self.comments.append({"id": len(self.comments) + 1, **person})

    def __call__(self, asked: Asked) -> Reply:
        url = urlsplit(asked.path)
        self.asked.append(f"{asked.method} {asked.path}")
        if asked.token is None:
            return Reply({"message": "Requires authentication"}, 401)
        if asked.method == "GET" and url.path == THREAD:
            given = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
            start = (given.get("page", 1) - 1) * given.get("per_page", 30)
            return Reply(self.comments[start : start + given.get("per_page", 30)])
        if asked.method == "GET" and url.path == "/user" and self.viewer:
            return Reply({"login": self.viewer})
        if self.refuses or asked.method == "GET":
            return Reply({"message": "Resource not accessible by integration"}, self.refuses or 403)
        return self._write(asked, url.path)

    def _write(self, asked: Asked, path: str) -> Reply:
        body = asked.payload["body"]
        if len(body) > 65_536:
            return Reply({"message": "Body is too long (maximum is 65536 characters)"}, 422)
        if asked.method == "POST" and path == THREAD:
            person = {"login": self.viewer, "type": "User"} if self.viewer else BOT
            self.comments.append({"id": len(self.comments) + 1, "user": person, "body": body})
            return Reply(self.comments[-1], 201)
        known = re.fullmatch(r"/repos/octo/shop/issues/comments/(\d+)", path)
        if known and int(known[1]) in self.foreign:
            return Reply({"message": "Resource not accessible by integration"}, 403)
        if asked.method == "PATCH" and known:
            self.comments[int(known[1]) - 1]["body"] = body
            return Reply(self.comments[int(known[1]) - 1])
        return Reply({"message": "Not Found"}, 404)
