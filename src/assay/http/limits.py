"""The bounds of a conversation with a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """How much of a server's answer is read, and how patiently it is asked again."""

    #: 256 embeddings of 3,072 numbers are 17 MB of JSON; the largest answer anyone has a use for, twice.
    body_bytes: int = 32_000_000
    #: Sent and read at a time, so that the clock and the size are looked at in between.
    piece_bytes: int = 65_536
    #: Two lines of a terminal: APIs put the reason into the first sentence.
    excerpt_chars: int = 160
    #: A value in a URL's query that is shorter is an API version or a flag, and no secret.
    secret_chars: int = 8
    #: The first wait when the server names none; doubled each time: 0.5 s, 1 s. A limit per second is over by then.
    backoff_seconds: float = 0.5
    #: Doubled up to here: a server that restarts loads its model for some ten seconds.
    longest_backoff: float = 8.0
    #: Taken off such a wait by chance, at most: those who failed together shall not come back together.
    jitter: float = 0.5
    #: Limits per minute are the usual ones; who asks for a longer wait has a daily limit, and nobody waits that out.
    longest_wait: float = 60.0


DEFAULT_HTTP: Final = HttpLimits()
