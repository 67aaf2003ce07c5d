"""What people are told of a server that did not do as asked: never a secret, always a next step."""

from __future__ import annotations

import json
from collections.abc import Sequence

from assay.errors import AssayError, EngineError
from assay.http.address import shown_url
from assay.http.calls import Answer, Broken, Call, Denied, Outcome, Refused
from assay.http.limits import HttpLimits
from assay.redaction import Redactor


def read_json(call: Call, answer: Answer, limits: HttpLimits) -> object:
    """Give the value that an answer is, or raise what the user is to know."""
    why, hint = "", "check that the address is the API's and not a page's"
    try:
        return json.loads(answer.body, parse_constant=_no_constant)
    except _NoNumberError as error:
        why, hint = f" (it holds {error})", "the model behind the address failed; see the server's own log"
    except (ValueError, RecursionError):
        pass
    sentence = f"answered {answer.status}, but not with JSON{why}: {_excerpt(answer.body, call, limits)}"
    raise EngineError(sentence, file=_place(call), hint=hint)


class _NoNumberError(Exception):
    """Something that Python writes as a number and JSON does not."""


def _no_constant(name: str) -> object:
    """Refuse NaN and Infinity, which are no JSON."""
    raise _NoNumberError(name)


def failure(call: Call, outcome: Outcome, troubles: Sequence[str], limits: HttpLimits) -> AssayError:
    """Word why there is no answer: what broke, or the status and what the server said."""
    after = f" ({asked_again(len(troubles) + 1, troubles)})" if troubles else ""
    if isinstance(outcome, Broken):
        if set(troubles) == {outcome.sentence}:  # the same each time is said once
            after = f" (asked {len(troubles) + 1} times)"
        return outcome.kind(outcome.sentence + after, file=_place(call), hint=outcome.hint)
    said = _excerpt(outcome.body, call, limits)
    sentence = f"answered {outcome.status}" + (f": {said}" if said else "")
    kind = Refused if outcome.refuses else Denied if outcome.denies else EngineError
    return kind(sentence + after, file=_place(call), hint=_advice(call, outcome))


def asked_again(times: int, troubles: Sequence[str]) -> str:
    """Say how often a server was asked, and what was the matter each time before the last."""
    return f"asked {times} times: {', '.join(troubles)}"


def short(outcome: Outcome) -> str:
    """Name an attempt that failed in a word or two."""
    return outcome.sentence if isinstance(outcome, Broken) else str(outcome.status)


def _advice(call: Call, answer: Answer) -> str:
    """Say what to do about a status."""
    if 300 <= answer.status < 400:
        where = _clean(shown_url(answer.location or ""), call)
        return f"redirects are not followed; if you trust it, configure where it leads: {where}"
    if answer.limits:
        asks = f" (Retry-After: {_clean(answer.retry_after, call):.40})" if answer.retry_after else ""
        return f"the API's limit is reached{asks}; wait, or send less at a time"
    if answer.status in (401, 403):
        return f"check the token in {call.token_env}" if call.token_env else "name the variable that holds the token"
    return "see the server's own log" if answer.status >= 500 else "check the address and the names in the request"


def _place(call: Call) -> str:
    """Name the address."""
    return _clean(shown_url(call.url), call)


def _excerpt(body: bytes, call: Call, limits: HttpLimits) -> str:
    """Cut a short, clean beginning out of a body."""
    text = _clean(body.decode("utf-8", "replace"), call)
    most = limits.excerpt_chars
    return text if len(text) <= most else text[: most - 1] + "…"


def _clean(text: str, call: Call) -> str:
    """Make foreign text one printable line and strike out the secrets, in this order: none may come together again."""
    line = " ".join("".join(char for char in text if char.isprintable() or char.isspace()).split())
    return Redactor(call.secrets).text(line)
