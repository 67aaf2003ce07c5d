"""Reading an answer, and no more of it than is wanted."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from email.message import Message
from http.client import HTTPException, HTTPResponse, IncompleteRead

from assay.errors import EngineError
from assay.http.calls import Answer, Broken, Outcome
from assay.http.limits import HttpLimits

#: Ten digits are a second of our time; fewer would be a time to wait, which others write there.
_SECOND = re.compile(r"[0-9]{10}")
_PLAIN = ("", "identity")
_CODINGS = ("br", "compress", "deflate", "gzip", "zstd")


@dataclass(frozen=True, slots=True)
class Read:
    """What was read of an answer, and whether that was all of it."""

    outcome: Outcome
    whole: bool


def read_answer(response: HTTPResponse, limits: HttpLimits) -> Read:
    """Read an answer; of a refusal the status is answer enough."""
    headers = response.headers
    head = Answer(response.status, b"", _wait(headers), headers.get("Location"), _is_spent(headers))
    try:
        body = _read_body(response, limits)
    except (OSError, HTTPException):
        if head.fine:
            raise
        return Read(head, whole=False)
    if isinstance(body, Broken):
        return Read(body if head.fine else head, whole=False)
    return Read(replace(head, body=body), whole=True)


def _is_spent(headers: Message) -> bool:
    """Tell whether a server says that nothing is left of what we may ask."""
    return str(headers.get("X-RateLimit-Remaining", "")).strip() == "0"


def _wait(headers: Message) -> str | None:
    """Give how long a server asks to wait: Retry-After, or until its limit begins anew, a second since 1970."""
    told, reset = headers.get("Retry-After"), str(headers.get("X-RateLimit-Reset", "")).strip()
    if told is not None or not _is_spent(headers) or not _SECOND.fullmatch(reset):
        return told
    return str(max(0, int(reset) - int(time.time()) + 1))


def _read_body(response: HTTPResponse, limits: HttpLimits) -> bytes | Broken:
    """Read a body in pieces, up to the bound; nothing of one that is announced as longer."""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in _PLAIN:
        named = coding if coding in _CODINGS else "a coding of its own"  # what it says may be anything, a token too
        return Broken(f"answered in {named}, which nobody asked for", EngineError, "let it answer uncompressed")
    pieces: list[bytes] = []
    size = 0
    while max(size, response.length or 0) <= limits.body_bytes:
        piece = response.read1(limits.piece_bytes)
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    else:
        return Broken(f"answered with more than {limits.body_bytes:,} bytes", EngineError, "ask for less at a time")
    if response.length:
        raise IncompleteRead(b"")
    return b"".join(pieces)
