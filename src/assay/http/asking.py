"""Ask until there is an answer, or no use in asking."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from assay.clock import Clock
from assay.http.address import query_secrets, web_address
from assay.http.calls import Answer, Call, Outcome, make_call
from assay.http.connections import Connections
from assay.http.limits import DEFAULT_HTTP, HttpLimits
from assay.http.waiting import time_to_wait
from assay.http.wording import failure, read_json, short

_CHANCE: Final = random.SystemRandom()  # no result depends on how long somebody waited

#: Wait for one's turn to send a request, and tell how many seconds that took.
Turn = Callable[[], float]


def _at_once() -> float:
    """Wait for nobody."""
    return 0.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often to ask; None is no limit."""

    attempt: float | None = 30.0  # seconds for one attempt, from the first byte sent to the last one read
    retries: int = 2  # after the first attempt
    whole: float | None = None  # seconds for all attempts and the waits between them


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer, and what it took to get it."""

    answer: Answer
    troubles: tuple[str, ...] = ()  # why it was asked again, each time
    waited: float = 0.0  # seconds for one's turn, which are not the server's


def ask(
    call: Call,
    connections: Connections,
    patience: Patience,
    *,
    turn: Turn = _at_once,
    chance: random.Random = _CHANCE,
) -> Heard:
    """Give the answer to a request, or raise what the user is to know.

    429 (or 403 that means it), 5xx and broken connections are tried again. Other refusals are not, nor is silence:
    that is what the time of an attempt is for. A wait that would outlast the whole time is not begun. Waiting for
    one's turn costs no time.
    """
    clock, waited = Clock(patience.whole), 0.0
    troubles: tuple[str, ...] = ()
    while True:
        pause = turn()
        clock.extend(pause)
        waited += pause
        outcome = connections.attempt(call, clock.within(patience.attempt))
        if isinstance(outcome, Answer) and outcome.fine:
            return Heard(outcome, troubles, waited)
        wait = _next(outcome, len(troubles), patience, connections.limits, chance)
        if wait is None or not clock.allows(wait):
            raise failure(call, outcome, troubles, connections.limits)
        troubles = (*troubles, short(outcome))
        time.sleep(wait)


def _next(outcome: Outcome, done: int, patience: Patience, limits: HttpLimits, chance: random.Random) -> float | None:
    """Say how long to wait before another attempt; None when there is none."""
    return time_to_wait(outcome, done, limits, chance) if done < patience.retries else None


def post_json(
    url: str,
    payload: object,
    *,
    token_env: str | None = None,
    timeout: float = 30.0,
    retries: int = 2,
    limits: HttpLimits = DEFAULT_HTTP,
    chance: random.Random = _CHANCE,
) -> object:
    """Send a JSON value and give the JSON value that comes back.

    429, 5xx and broken connections are tried again, `retries` times. Other refusals are not, nor is silence: `timeout`
    is the caller's patience with one attempt. What is refused for itself, and not for whom or where, is `Refused`.
    """
    body = json.dumps(payload, allow_nan=False).encode()
    call = make_call(
        url,
        method="POST",
        body=body,
        headers={"Content-Type": "application/json"},
        token_env=token_env,
        secrets=query_secrets(web_address(url), limits.secret_chars),
    )
    with Connections(limits=limits) as connections:
        heard = ask(call, connections, Patience(timeout, retries), chance=chance)
    return read_json(call, heard.answer, limits)
