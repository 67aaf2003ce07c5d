"""Reviewer sessions: one reviewer name per browser."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from assay.clock import timestamp
from assay.gold.journal import JournalCache, open_journal, read_rows
from assay.gold.yaml_nodes import MappingKeys, YamlNode
from assay.store.kinds import SEATS
from assay.store.store import Store
from assay.web.web_server import HttpError, Response, WebRequest

#: Without the port, which may differ after a restart.
COOKIE = "assay-reviewer"
_COOKIE_SECONDS = 180 * 86_400  # a review takes at most half a year
_ID = re.compile(r"[A-Za-z0-9_-]{32,64}")
_LINE = MappingKeys(("what", "browser", "name", "on"))
#: The code that moves a name to another browser is typed from a terminal; a guess succeeds once in 200,000 times.
_DIGITS, _TRIES = 6, 5


@dataclass(frozen=True, slots=True)
class ReviewerState:
    """Reviewers who are signed in, and the browsers in which votes of other reviewers were shown."""

    browsers: dict[str, str]  # by case-folded name
    names: dict[str, str]  # by browser
    saw: dict[str, frozenset[str]]  # by browser: case-folded names under which it showed other votes


class ReviewerRegistry:
    """Registry of the browser of each reviewer.

    `tell` prints on the terminal of the server; `has_voted` returns whether a name has taken part before.
    """

    def __init__(self, path: Path, tell: Callable[[str], None], has_voted: Callable[[str], bool]) -> None:
        self._path, self._tell, self._has_voted = path, tell, has_voted
        self._state = JournalCache(path, lambda: _state(read_rows(path)))
        self._codes: dict[str, tuple[str, int]] = {}  # code and tries left, by name

    def check(self, request: WebRequest, name: str) -> str:
        """Return the browser of a request; raise HttpError unless the name is signed in there."""
        browser, state = browser_of(request), self._state()
        if state.browsers.get(name.casefold()) != browser:
            self._check_free(state, browser, name)
            raise HttpError(409, f"{name} is not signed in at this browser", hint="reload the page and enter your name")
        return browser

    def sign_in(self, request: WebRequest, name: str) -> None:
        """Assign a name to the browser of a request; raise HttpError if the name is taken."""
        browser = browser_of(request)
        if self._state().browsers.get(name.casefold()) != browser:
            with open_journal(self._path) as journal:
                self._check_free(_state(journal.rows()), browser, name)
                journal.append([_line("sit", browser, name)])

    def sign_out(self, request: WebRequest) -> None:
        browser = browser_of(request)
        with open_journal(self._path) as journal:
            name = _state(journal.rows()).names.get(browser)
            if name is not None:
                journal.append([_line("leave", browser, name)])

    def record_unblinding(self, request: WebRequest, name: str) -> None:
        browser = self.check(request, name)
        if name.casefold() not in self._state().saw.get(browser, ()):
            with open_journal(self._path) as journal:
                journal.append([_line("saw", browser, name)])

    def check_blind(self, request: WebRequest, name: str) -> None:
        """Raise HttpError if the browser was unblinded under another name."""
        saw = self._state().saw.get(browser_of(request), frozenset()) - {name.casefold()}
        if saw:
            known = ", ".join(sorted(saw))
            hint = (
                f"vote from another browser or profile that has not seen other votes; {name} can decide disputed items"
            )
            raise HttpError(409, f"this browser has seen other votes, as {known}", hint=hint)

    def print_code(self, name: str) -> None:
        code = "".join(secrets.choice("0123456789") for _ in range(_DIGITS))
        self._codes[name.casefold()] = (code, _TRIES)
        self._tell(f"a browser wants to sign in as {name}; the code is {code}")

    def take_over(self, request: WebRequest, name: str, given: str) -> None:
        """Move a name to the browser that sends the code; a code works once."""
        browser = browser_of(request)
        code, tries = self._codes.pop(name.casefold(), ("", 0))
        if not code or not hmac.compare_digest(given.strip().encode(), code.encode()):
            if tries > 1:
                self._codes[name.casefold()] = (code, tries - 1)
            hint = "copy the code from the terminal of the server, or request another"
            raise HttpError(409, "wrong or expired code", hint=hint)
        with open_journal(self._path) as journal:
            self._check_own(_state(journal.rows()), browser, name)
            journal.append([_line("sit", browser, name)])
        self._tell(f"{name} is now signed in at that browser")

    def _check_free(self, state: ReviewerState, browser: str, name: str) -> None:
        self._check_own(state, browser, name)
        taken = name.casefold() in state.browsers
        if taken or self._has_voted(name):
            problem = f"{name} is signed in at another browser" if taken else f"{name} has already taken part"
            hint = "if the name is yours, take it over with the code on the terminal of the server; if not, use another"
            raise HttpError(423, problem, hint=hint)  # the page asks for the code

    @staticmethod
    def _check_own(state: ReviewerState, browser: str, name: str) -> None:
        own = state.names.get(browser)
        if own is not None and own.casefold() != name.casefold():
            hint = f"continue as {own}, or sign out first: click the name in the bar"
            raise HttpError(409, f"this browser is signed in as {own}", hint=hint)


def seats_file(gold_file: Path) -> Path:
    return Store().path(SEATS.name, str(gold_file.resolve())) / "seats.jsonl"


def port_file(gold_file: Path) -> Path:
    return seats_file(gold_file).with_suffix(".port")


def browser_of(request: WebRequest) -> str:
    """Return the digest of the browser's cookie, or raise HttpError."""
    given = request.cookies.get(COOKIE, "")
    if not _ID.fullmatch(given):
        raise HttpError(409, "this browser sent no reviewer cookie", hint="allow cookies and reload the page")
    return hashlib.sha256(given.encode("ascii")).hexdigest()[:32]


def with_cookie(request: WebRequest, response: Response) -> Response:
    """Add the cookie that identifies the browser, keeping an existing one."""
    given = request.cookies.get(COOKIE, "")
    own = given if _ID.fullmatch(given) else secrets.token_urlsafe(32)
    cookie = f"{COOKIE}={own}; HttpOnly; SameSite=Strict; Path=/review; Max-Age={_COOKIE_SECONDS}"
    return replace(response, headers={**response.headers, "Set-Cookie": cookie})


def _state(rows: Iterable[YamlNode]) -> ReviewerState:
    state = ReviewerState({}, {}, {})
    for row in rows:
        fields = row.mapping(_LINE)
        what, browser, name = (fields[key].text() for key in ("what", "browser", "name"))
        if what == "saw":
            state.saw[browser] = state.saw.get(browser, frozenset()) | {name.casefold()}
            continue
        state.names.pop(state.browsers.pop(name.casefold(), ""), None)
        if what == "sit":
            state.browsers[name.casefold()] = browser
            state.names[browser] = name
    return state


def _line(what: str, browser: str, name: str) -> dict[str, object]:
    return {"what": what, "browser": browser, "name": name, "on": timestamp()}
