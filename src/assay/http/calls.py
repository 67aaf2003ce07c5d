"""What is asked of a server, and what comes of one attempt."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult

from assay.errors import AssayError, ConfigError, EngineError, EnvironmentFailure
from assay.http.address import is_word, web_address

#: RFC 9110, 5.6.2: what a method or the name of a header is made of.
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Set by what is sent, not by whom.
_OURS: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})
#: By these a server refuses a request as it stands.
_REFUSALS: Final = frozenset({400, 413, 422})
_DENIALS: Final = frozenset({401, 403, 404})
#: Ollama and llama.cpp answer 500 to a text that is too long for them; asking again is of no use.
_TOO_MUCH: Final = re.compile(rb"too large to process|context (?:length|size|window)", re.IGNORECASE)


class Refused(EngineError):
    """A server does not take a request as it stands; a smaller one may do."""


class Denied(EngineError):
    """A server does not let us: without the right, GitHub and others say that nothing is there."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request; its repr holds no secret. `make_call` checks it."""

    url: str = field(repr=False)
    address: SplitResult = field(repr=False)
    method: str
    body: bytes | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    token_env: str | None
    secrets: frozenset[str] = field(repr=False)  # what no message may show


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said."""

    status: int
    body: bytes = field(repr=False)
    retry_after: str | None = field(default=None, repr=False)
    location: str | None = field(default=None, repr=False)
    spent: bool = False  # it says that nothing is left of what we may ask

    @property
    def fine(self) -> bool:
        """Whether it is what was asked for."""
        return 200 <= self.status < 300

    @property
    def denies(self) -> bool:
        """Whether it is the asker that may not."""
        return self.status in _DENIALS and not self.limits

    @property
    def limits(self) -> bool:
        """Whether it is only too much at a time; GitHub says so by 403 too, with the time to wait or what is left."""
        return self.status == 429 or (self.status == 403 and (self.spent or self.retry_after is not None))

    @property
    def refuses(self) -> bool:
        """Whether it is the request that is wrong, and neither the moment nor the asker."""
        return self.status in _REFUSALS or (self.status >= 500 and _TOO_MUCH.search(self.body) is not None)


@dataclass(frozen=True, slots=True)
class Broken:
    """Why there is no answer."""

    sentence: str
    kind: type[AssayError] = EnvironmentFailure
    hint: str = "check the address, and that the server runs and can be reached from here"
    passing: bool = False


Outcome = Answer | Broken


def make_call(
    url: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    token_env: str | None = None,
    secrets: Iterable[str] = (),
) -> Call:
    """Check a request before any of it is sent; the token goes into the Authorization header."""
    address = web_address(url)
    _check(method, headers or {})
    token = read_token(token_env)
    given = {"Accept": "application/json", "User-Agent": "assay"} | dict(headers or {})
    own = {"Authorization": f"Bearer {token}"} if token else {}
    hidden = frozenset({token, *secrets} - {""})
    return Call(url, address, method, body, _merged(given, own), token_env, hidden)


def read_token(name: str | None) -> str:
    """Read the token; its value is in no message."""
    if name is None:
        return ""
    token = os.environ.get(name, "").strip()
    if not token:
        raise ConfigError(f"the environment variable {name} is not set", hint=f"export {name}=... with the API's token")
    if not is_word(token):
        hint = "a token is one word of plain ASCII characters"
        raise ConfigError(f"the environment variable {name} holds no token", hint=hint)
    return token


def _check(method: str, headers: Mapping[str, str]) -> None:
    """Refuse what would break out of its line, without repeating it: http.client would quote it."""
    if not _NAME.fullmatch(method):
        raise ConfigError("the method is no word", hint="write GET, POST or PUT")
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or name.lower() in _OURS:
            raise ConfigError(f"{name!r:.40} is no header that can be set", hint="write it like X-Request-Source")
        if not (value.isascii() and value.isprintable()):
            hint = "a header is one line of plain ASCII characters; check the variable it comes from"
            raise ConfigError(f"the header {name} holds what no header can", hint=hint)


def _merged(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Put headers together; a name stands once, whatever its case, and the later one holds."""
    by_name = {name.lower(): (name, value) for headers in (first, second) for name, value in headers.items()}
    return dict(by_name.values())
