"""What is asked of the server and what it answers, as values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from assay.errors import AssayError, InputError, NotComparableError

JSON = "application/json; charset=utf-8"
HTML = "text/html; charset=utf-8"

#: What is no page of ours may do nothing at all in a browser.
_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'"
_POLICY = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([^"]+)">')

#: The policy stands in the head of a page, before anything that people wrote.
_HEAD_BYTES = 4_096


class Refused(InputError):
    """A request that is not answered, with the status that says so."""

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """One request that has passed every check: it comes from our own page, or from whoever was given the address."""

    method: str
    path: str  # as it was asked for, without what follows `?`
    parts: Mapping[str, str] = field(default_factory=dict)  # what the {names} of the route's pattern stood for
    query: Mapping[str, str] = field(default_factory=dict)  # what follows `?`; a name that comes twice is refused
    data: Mapping[str, object] = field(default_factory=dict)  # the JSON object of a POST
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)  # of routes that know browsers by their own

    def text(self, name: str) -> str:
        """Give a text of the data; what is missing or no text is refused."""
        value = self.data.get(name)
        if not isinstance(value, str):
            raise Refused(400, f"{name!r} must be a text", hint="reload the page")
        return value


@dataclass(frozen=True, slots=True)
class Response:
    """What is sent back."""

    body: bytes
    kind: str = JSON
    status: int = 200
    policy: str = _NOTHING  # what a browser may do with it
    headers: Mapping[str, str] = field(default_factory=dict)


def json_response(value: object, status: int = 200) -> Response:
    """Answer with a value."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Half a character, as broken file names have it, becomes the escape that JSON knows it by.
    return Response(text.encode("utf-8", "backslashreplace"), status=status)


def page_response(page: bytes, status: int = 200) -> Response:
    """Answer with a page of `browser.shell`, under the policy that it carries."""
    found = _POLICY.search(page[:_HEAD_BYTES])
    if not found:
        raise ValueError("a page without a policy")
    return Response(page, HTML, status, policy=found[1].decode("ascii"))


def error_response(status: int, message: str, hint: str | None = None, *, as_page: bool = False) -> Response:
    """Answer with a sentence: JSON for scripts, a bare page for whoever typed an address."""
    if not as_page:
        return json_response({"error": message, **({"hint": hint} if hint else {})}, status)
    said = f"<h1>{escape(message)}</h1>" + (f"<p>{escape(hint)}</p>" if hint else "")
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Assay</title></head>'
    text = f"{head}<body>{said}</body></html>\n"
    return Response(text.encode("utf-8", "backslashreplace"), HTML, status)


def status_of(error: AssayError) -> int:
    """Give the status that an error is answered with."""
    if isinstance(error, Refused):
        return error.status
    if isinstance(error, NotComparableError):
        return 409
    return 400 if isinstance(error, InputError) else 500


def sentence_of(error: AssayError) -> str:
    """Say what was wrong and where, without the hint."""
    line = f":{error.line}" if error.line is not None else ""
    return f"{error.file}{line}: {error.message}" if error.file else error.message
