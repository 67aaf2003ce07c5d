"""One comment on a pull request that is found again by a hidden line, and changed in place."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from assay.clock import Clock
from assay.errors import EngineError
from assay.http import (
    DEFAULT_HTTP,
    Answer,
    Call,
    Connections,
    HttpLimits,
    Patience,
    ask,
    make_call,
    read_json,
)
from assay.http.waiting import time_to_wait
from assay.http.wording import failure

#: Whose comments are ours to change: a stranger may copy the hidden line, and what stands there would bear their name.
_TRUSTED = ("OWNER", "MEMBER", "COLLABORATOR")


@dataclass(frozen=True, slots=True)
class CommentLimits:
    """How GitHub is asked."""

    attempt: float = 20.0  # seconds; it answers within one
    retries: int = 2  # after the first attempt, of whatever is asked
    per_page: int = 100  # GitHub's most
    pages: int = 100  # 10,000 comments: no pull request has more


DEFAULT = CommentLimits()


@dataclass(frozen=True, slots=True)
class Thread:
    """The comments of a pull request, and the variable that holds the token for it."""

    api: str
    repository: str
    pull: int
    token_env: str

    @property
    def comments(self) -> str:
        """The address of its comments."""
        return f"{self.api}/repos/{self.repository}/issues/{self.pull}/comments"

    def comment(self, number: int) -> str:
        """The address of one comment."""
        return f"{self.api}/repos/{self.repository}/issues/comments/{number}"


def stick(
    thread: Thread, marker: str, body: str, *, limits: CommentLimits = DEFAULT, http: HttpLimits = DEFAULT_HTTP
) -> str:
    """Change our comment, or make it where there is none; say which.

    A request that makes one is not repeated blindly: the answer may be lost and the comment there, so it is looked for
    again before another one is made.
    """
    with Connections(1, http) as connections:
        talk = _Talk(thread, connections, limits)
        for turn in count():
            known = talk.find(marker)
            if known is not None:
                talk.change(known, body)
                return "updated"
            wait = talk.make(body, turn)
            if wait is None:
                return "created"
            time.sleep(wait)
    raise AssertionError("it is made, or not, in the end")


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation with GitHub's API."""

    thread: Thread
    connections: Connections
    limits: CommentLimits

    def find(self, marker: str) -> int | None:
        """Find the first comment of ours that begins with the marker; pages are read until one is not full."""
        return next((one["id"] for one in self._comments() if _is_ours(one, marker)), None)

    def _comments(self) -> Iterator[dict[str, Any]]:
        """Give all comments, the oldest first."""
        for page in range(1, self.limits.pages + 1):
            url = f"{self.thread.comments}?per_page={self.limits.per_page}&page={page}"
            found = self._ask("GET", url)
            if not isinstance(found, list):
                raise EngineError(
                    "answered with no list of comments", file=self.thread.api, hint="check GITHUB_API_URL"
                )
            yield from (one for one in found if isinstance(one, dict))
            if len(found) < self.limits.per_page:
                return

    def change(self, number: int, body: str) -> None:
        """Give a comment another text."""
        self._ask("PATCH", self.thread.comment(number), body)

    def make(self, body: str, turn: int) -> float | None:
        """Make a comment; where that may work another time, say how long to wait before it is looked for."""
        call, limits = self._call("POST", self.thread.comments, body), self.connections.limits
        outcome = self.connections.attempt(call, Clock(self.limits.attempt))
        if isinstance(outcome, Answer) and outcome.fine:
            return None
        wait = time_to_wait(outcome, turn, limits, random.SystemRandom()) if turn < self.limits.retries else None
        if wait is None:
            raise failure(call, outcome, (), limits)
        return wait

    def _ask(self, method: str, url: str, body: str | None = None) -> object:
        """Ask for what may be asked for twice."""
        call = self._call(method, url, body)
        heard = ask(call, self.connections, Patience(self.limits.attempt, self.limits.retries))
        return read_json(call, heard.answer, self.connections.limits)

    def _call(self, method: str, url: str, body: str | None) -> Call:
        """Write a request; the token is read from the environment now, and kept nowhere else."""
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        data = None if body is None else json.dumps({"body": body}).encode()
        return make_call(url, method=method, body=data, headers=headers, token_env=self.thread.token_env)


def _is_ours(comment: dict[str, Any], marker: str) -> bool:
    """Tell our comment by its first line and by who may have written it: a bot, or somebody who may write here."""
    user = comment.get("user")
    bot = isinstance(user, dict) and user.get("type") == "Bot"
    trusted = bot or comment.get("author_association") in _TRUSTED
    return trusted and isinstance(comment.get("id"), int) and str(comment.get("body", "")).startswith(marker)
