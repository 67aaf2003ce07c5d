"""Ask a JSON API over HTTP: retries, a bound on everything, and a token that nobody ever sees.

The token is read from the environment when the call is made, and lives in that call alone. No redirect is followed, so
that it never reaches a host the user did not name. What the server says is shown only after the token is struck out.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO, Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from assay.errors import AssayError, ConfigError, EngineError, EngineTimeout, EnvironmentFailure


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """How much of a server's answer is read, and how patiently it is asked again."""

    #: 256 embeddings of 3,072 numbers are 17 MB of JSON; the largest answer anyone has a use for, twice.
    body_bytes: int = 32_000_000
    #: Read at a time, so that the clock and the size are looked at in between.
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
_CHANCE: Final = random.SystemRandom()  # no result depends on how long somebody waited
#: By these a server refuses a request as it stands.
_REFUSALS: Final = frozenset({400, 413, 422})
#: Ollama and llama.cpp answer 500 to a text that is too long for them; asking again is of no use.
_TOO_MUCH: Final = re.compile(rb"too large to process|context (?:length|size|window)", re.IGNORECASE)


class Refused(EngineError):
    """A server does not take a request as it stands; a smaller one may do."""


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
    call = _Call(url, web_address(url), body, token_env, _token(token_env), limits)
    for attempt in range(retries):
        outcome = _ask(call, timeout)
        wait = _wait(outcome, attempt, limits, chance)
        if wait is None:
            return _settle(call, outcome)
        time.sleep(wait)
    return _settle(call, _ask(call, timeout))


def shown_url(url: str) -> str:
    """Give a web address without user, password, query and fragment, the four places where secrets stand."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the address"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme in ("http", "https") and host else "the address"


def web_address(url: str) -> SplitResult:
    """Refuse what is no plain web address before any of it is sent, and without repeating it: it may hold a secret."""
    wrong = ConfigError("not a web address", hint="write it as https://host/path")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong from None
    if not usable or not _is_word(url):
        raise wrong
    if "@" in parts.netloc:
        hint = "put the token into an environment variable and give the name of that variable"
        raise ConfigError("the address holds a user or a password", file=shown_url(url), hint=hint)
    return parts


@dataclass(frozen=True, slots=True)
class _Call:
    """One request; its repr holds no secret."""

    url: str = field(repr=False)
    address: SplitResult = field(repr=False)
    body: bytes = field(repr=False)
    token_env: str | None
    token: str = field(repr=False)
    limits: HttpLimits

    def headers(self) -> dict[str, str]:
        """Write the request's headers."""
        plain = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "assay"}
        return plain | {"Authorization": f"Bearer {self.token}"} if self.token else plain

    def secrets(self) -> tuple[str, ...]:
        """List what must not be shown, the longest first so that no part of one is left over."""
        values = {value for _, value in parse_qsl(self.address.query) if len(value) >= self.limits.secret_chars}
        plain = {self.token, self.address.query, *values} - {""}
        escaped = {secret.replace("/", r"\/") for secret in plain}  # as PHP writes JSON
        return tuple(sorted(plain | escaped, key=lambda text: (-len(text), text)))


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the server said."""

    status: int
    body: bytes
    retry_after: str | None = None
    location: str | None = None

    @property
    def refuses(self) -> bool:
        """Whether it is the request that is wrong, and neither the moment nor the asker."""
        return self.status in _REFUSALS or (self.status >= 500 and _TOO_MUCH.search(self.body) is not None)


@dataclass(frozen=True, slots=True)
class _Broken:
    """Why there is no answer."""

    sentence: str
    kind: type[AssayError] = EnvironmentFailure
    hint: str = "check the address, and that the server runs and can be reached from here"
    passing: bool = False


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Give a redirect to the caller as it is."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow nothing."""


def _token(name: str | None) -> str:
    """Read the token; its value is in no message."""
    if name is None:
        return ""
    token = os.environ.get(name, "").strip()
    if not token:
        raise ConfigError(f"the environment variable {name} is not set", hint=f"export {name}=... with the API's token")
    if not _is_word(token):
        hint = "a token is one word of plain ASCII characters"
        raise ConfigError(f"the environment variable {name} holds no token", hint=hint)
    return token


def _is_word(text: str) -> bool:
    """Tell printable ASCII without a space from what breaks a header: http.client's complaint would quote all of it."""
    return text.isascii() and text.isprintable() and " " not in text


def _ask(call: _Call, timeout: float) -> _Answer | _Broken:
    """Send the request once; whatever happens comes back as a value, so that no exception carries it further."""
    request = urllib.request.Request(call.url, call.body, call.headers(), method="POST")  # noqa: S310 (web_address checked it)
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=timeout) as response:
            return _read(response, response.status, time.monotonic() + timeout, call.limits)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return _read_refusal(refusal, timeout, call.limits)
    except (OSError, HTTPException) as error:
        return _explain(error, timeout)


def _read_refusal(refusal: urllib.error.HTTPError, timeout: float, limits: HttpLimits) -> _Answer | _Broken:
    """Read why the server refused; when that fails, the status is answer enough."""
    try:
        answer = _read(refusal, refusal.code, time.monotonic() + timeout, limits)
    except (OSError, HTTPException):
        answer = None
    if isinstance(answer, _Answer):
        return answer
    return _Answer(refusal.code, b"", refusal.headers.get("Retry-After"), refusal.headers.get("Location"))


def _read(
    response: HTTPResponse | urllib.error.HTTPError, status: int, deadline: float, limits: HttpLimits
) -> _Answer | _Broken:
    """Read the body in pieces, up to the bounds of size and time."""
    pieces: list[bytes] = []
    size = 0
    while piece := response.read1(limits.piece_bytes):
        pieces.append(piece)
        size += len(piece)
        if size > limits.body_bytes:
            hint = "ask for less at a time"
            return _Broken(f"answered with more than {limits.body_bytes:,} bytes", EngineError, hint)
        if time.monotonic() > deadline:
            raise TimeoutError
    if response.length:
        return _Broken("broke off in the middle of its answer", passing=True)
    return _Answer(status, b"".join(pieces), response.headers.get("Retry-After"), response.headers.get("Location"))


def _explain(error: OSError | HTTPException, timeout: float) -> _Broken:
    """Say what broke without a word of the request: messages of http.client quote headers and addresses."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return _Broken(f"no answer within {timeout:g} s", EngineTimeout, "allow more time, or send less at a time")
    if isinstance(reason, ssl.SSLCertVerificationError):
        return _Broken("its certificate is not trusted", hint="set SSL_CERT_FILE to the certificates of your network")
    said = reason.strerror if isinstance(reason, OSError) else None
    return _Broken(f"cannot be reached ({said or type(reason).__name__})", passing=True)


def _wait(outcome: _Answer | _Broken, attempt: int, limits: HttpLimits, chance: random.Random) -> float | None:
    """Say how long to wait before the next attempt; None when there is no use in one."""
    longest = min(limits.backoff_seconds * 2**attempt, limits.longest_backoff)
    backoff = longest * (1 - limits.jitter * chance.random())
    if isinstance(outcome, _Broken):
        return backoff if outcome.passing else None
    if outcome.refuses or (outcome.status != 429 and outcome.status < 500):
        return None
    asked = _retry_after(outcome.retry_after)
    wait = backoff if asked is None else asked
    return wait if wait <= limits.longest_wait else None


def _retry_after(value: str | None) -> float | None:
    """Read Retry-After, seconds or a date (RFC 9110, 10.2.3); nonsense is as good as nothing."""
    if value is None:
        return None
    try:
        seconds = float(value)
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


def _settle(call: _Call, outcome: _Answer | _Broken) -> object:
    """Give the answer's value, or raise what the user is to know."""
    if isinstance(outcome, _Broken):
        raise outcome.kind(outcome.sentence, file=shown_url(call.url), hint=outcome.hint)
    if not 200 <= outcome.status < 300:
        raise _refused(call, outcome)
    why, hint = "", "check that the address is the API's and not a page's"
    try:
        return json.loads(outcome.body, parse_constant=_no_constant)
    except _NoNumberError as error:
        why, hint = f" (it holds {error})", "the model behind the address failed; see the server's own log"
    except (ValueError, RecursionError):
        pass
    sentence = f"answered {outcome.status}, but not with JSON{why}: {_excerpt(outcome.body, call)}"
    raise EngineError(sentence, file=shown_url(call.url), hint=hint)


class _NoNumberError(Exception):
    """Something that Python writes as a number and JSON does not."""


def _no_constant(name: str) -> object:
    """Refuse NaN and Infinity, which are no JSON."""
    raise _NoNumberError(name)


def _refused(call: _Call, answer: _Answer) -> EngineError:
    """Word a refusal: the status, what the server said, and what to do next."""
    said = _excerpt(answer.body, call)
    sentence = f"answered {answer.status}" + (f": {said}" if said else "")
    kind = Refused if answer.refuses else EngineError
    return kind(sentence, file=shown_url(call.url), hint=_advice(call, answer))


def _advice(call: _Call, answer: _Answer) -> str:
    """Say what to do about a status."""
    if 300 <= answer.status < 400:
        where = _clean(shown_url(answer.location or ""), call)
        return f"redirects are not followed; if you trust it, configure where it leads: {where}"
    if answer.status in (401, 403):
        return f"check the token in {call.token_env}" if call.token_env else "name the variable that holds the token"
    if answer.status == 429:
        return "the API's limit is reached; wait, or send less at a time"
    return "see the server's own log" if answer.status >= 500 else "check the address and the model's name"


def _excerpt(body: bytes, call: _Call) -> str:
    """Cut a short, clean beginning out of a body."""
    text = _clean(body.decode("utf-8", "replace"), call)
    most = call.limits.excerpt_chars
    return text if len(text) <= most else text[: most - 1] + "…"


def _clean(text: str, call: _Call) -> str:
    """Make foreign text one printable line and strike out the secrets, in this order: none may come together again."""
    line = " ".join("".join(char for char in text if char.isprintable() or char.isspace()).split())
    for secret in call.secrets():
        line = line.replace(secret, "***")
    return line
