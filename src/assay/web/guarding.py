"""Who may ask: whoever was given the address once, by the name the server has, from the server's own pages.

A server on loopback is reachable by every page that a browser on this machine shows, and by every user of the machine.
Against both there is a secret; against pages also the name they asked for (a foreign name that was made to point here
is refused) and where they say that they come from. Cookies know no ports, so a page of another server on this machine
has our cookie sent along: it is the origin that keeps it from asking for anything.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from urllib.parse import urlencode

from assay.web.messages import HTML, Refused, Response

_BYTES = 32


@dataclass(frozen=True, slots=True)
class Guard:
    """The secrets of one server, and the names by which it may be asked."""

    hosts: tuple[str, ...]  # `127.0.0.1:8123`: as browsers write it
    cookie: str  # its name, which has the port: two servers must not overwrite each other's
    token: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)

    def check_host(self, headers: Message) -> None:
        """Refuse a request that was meant for another name."""
        given = headers.get_all("Host") or []
        if len(given) != 1 or given[0].lower() not in self.hosts:
            raise Refused(421, "this server goes by another name", hint="use the address that was printed")

    def check_source(self, headers: Message, method: str) -> None:
        """Refuse what another page asks: any POST, and every GET but somebody's following a link."""
        site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
        ours = origin == f"http://{headers['Host'].lower()}"
        if method == "POST":
            allowed = (site in (None, "same-origin")) and (ours or (origin is None and site is not None))
        else:
            link = headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
            allowed = (origin is None or ours) and (site in (None, "none", "same-origin") or link)
        if not allowed:
            raise Refused(403, "another page asked for this", hint="open Assay's page itself")

    def check_session(self, headers: Message) -> None:
        """Refuse whoever was not given the address."""
        given = [value for name, value in cookies(headers) if name == self.cookie]
        if not any(_same(value, self.session) for value in given):
            raise Refused(403, "this page needs the token of its server", hint="open the address that Assay printed")

    def admit(self, headers: Message, path: str, query: Mapping[str, str]) -> Response:
        """Take a token out of an address: the right one becomes a cookie, and the address is asked for without it."""
        if not _same(query["token"], self.token):
            raise Refused(403, "the token is not that of this server", hint="open the address that Assay printed last")
        rest = urlencode({name: value for name, value in query.items() if name != "token"})
        # Two slashes would name another server, and browsers take a backslash for one. Nothing but the path is kept.
        clean = "/" + path.replace("\\", "/").lstrip("/") + (f"?{rest}" if rest else "")
        cookie = f"{self.cookie}={self.session}; HttpOnly; SameSite=Strict; Path=/"
        if headers.get("Sec-Fetch-Site") in (None, "none", "same-origin"):
            return Response(b"", HTML, 303, headers={"Location": clean, "Set-Cookie": cookie})
        # Followed from another page, such as a terminal in a browser: a strict cookie would not be sent along with a
        # redirect, while what this answer itself asks for is no other page's doing any more.
        return Response(b"", HTML, 200, headers={"Refresh": f"0; url={clean}", "Set-Cookie": cookie})


def guard_for(host: str, port: int) -> Guard:
    """Make the secrets of a server that listens at a port of loopback."""
    names = {"[::1]" if ":" in host else host, "localhost"}
    tail = "" if port == 80 else f":{port}"  # browsers leave out the port that everybody knows
    return Guard(tuple(sorted(f"{name}{tail}" for name in names)), f"assay-{port}")


def cookies(headers: Message) -> list[tuple[str, str]]:
    """List the cookies of a request."""
    pairs = (part.partition("=") for line in headers.get_all("Cookie") or [] for part in line.split(";"))
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def _same(given: str, secret: str) -> bool:
    """Compare with a secret in a time that says nothing of it."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode("utf-8"))
