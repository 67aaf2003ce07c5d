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
    Denied,
    HttpLimits,
    Patience,
    ask,
    make_call,
    read_json,
)
from assay.http.client import failure, time_to_wait


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

    @property
    def viewer(self) -> str:
        """The address of whoever the token belongs to."""
        return f"{self.api}/user"


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
            if any(talk.change(number, body) for number in talk.find(marker)):
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

    def find(self, marker: str) -> list[int]:
        """Find our comments by the marker they begin with and by who wrote them; pages are read until one is not full.

        Anybody can copy the marker, and GitHub lets us change what others wrote: it would bear their name.
        """
        marked = [one for one in self._comments() if _is_marked(one, marker)]
        login = self._login() if marked else None
        return [one["id"] for one in marked if _is_by(one, login)]

    def _login(self) -> str | None:
        """Say who we are; None for an app such as GitHub's own, whose tokens are nobody's."""
        try:
            found = self._ask("GET", self.thread.viewer)
        except Denied:
            return None
        login = found.get("login") if isinstance(found, dict) else None
        return login if isinstance(login, str) else None

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

    def change(self, number: int, body: str) -> bool:
        """Give a comment another text; say whether we may, as it can be another app's, or gone."""
        try:
            self._ask("PATCH", self.thread.comment(number), body)
        except Denied:
            return False
        return True

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


def _is_marked(comment: dict[str, Any], marker: str) -> bool:
    """Tell whether a comment begins as ours does."""
    return isinstance(comment.get("id"), int) and str(comment.get("body", "")).startswith(marker)


def _is_by(comment: dict[str, Any], login: str | None) -> bool:
    """Tell whether a comment is by us: by that user, or by an app where we are one."""
    user = comment.get("user")
    named = user if isinstance(user, dict) else {}
    return named.get("type") == "Bot" if login is None else named.get("login") == login
