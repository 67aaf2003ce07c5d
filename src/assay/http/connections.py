"""Connections that are kept and used again, and one attempt on one of them.

What happens to an attempt comes back as a value, so that no exception carries the request any further.
"""

from __future__ import annotations

import ssl
import threading
from contextlib import suppress
from functools import cached_property
from http.client import HTTPException, IncompleteRead, LineTooLong
from types import TracebackType
from typing import Self

from assay.clock import Clock, told
from assay.errors import EngineError, EngineTimeout
from assay.http.calls import Broken, Call, Outcome
from assay.http.connection import Connection, NoWayError, Reached
from assay.http.limits import DEFAULT_HTTP, HttpLimits
from assay.http.proxies import Route, find_route
from assay.http.reading import read_answer

_UNTRUSTED = Broken("its certificate is not trusted", hint="set SSL_CERT_FILE to the certificates of your network")


class Connections:
    """Connections of one asker; threads may share it. At most `keep` wait for the next request."""

    def __init__(self, keep: int = 0, limits: HttpLimits = DEFAULT_HTTP) -> None:
        self.limits = limits
        self._keep = keep
        self._idle: list[Connection] = []  # the one that was used last is at the end, and is used first
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close those that wait; one that is in use is closed when it comes back."""
        with self._lock:
            idle, self._idle, self._keep = self._idle, [], 0
        for connection in idle:
            connection.close()

    def attempt(self, call: Call, clock: Clock) -> Outcome:
        """Send a request once and read the answer."""
        route = find_route(call.address)
        try:
            return self._exchange(route, call, clock)
        except (OSError, HTTPException) as error:
            return _explain(error, clock, route)

    def _fresh(self, route: Route) -> Connection:
        """Make a connection; it opens when it is used."""
        return Connection(route, lambda: self._tls, self.limits.piece_bytes)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The certificates that are trusted: the system's, or those of SSL_CERT_FILE."""
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _take(self, route: Route) -> Connection | None:
        """Take a connection that was kept for this way and is still quiet; others of it are closed."""
        while True:
            with self._lock:
                at = next((n for n in reversed(range(len(self._idle))) if self._idle[n].route == route), None)
                found = None if at is None else self._idle.pop(at)
            if found is None or found.is_quiet():
                return found
            found.close()

    def _exchange(self, route: Route, call: Call, clock: Clock) -> Outcome:
        """Send the request and read the answer; keep the connection when all of it was read."""
        reached = self._reach(route, call, clock)
        connection, again = reached.connection, False
        try:
            with reached.response as response:
                read = read_answer(response, self.limits)
                again = read.whole and not response.will_close
        finally:
            if not (again and self._give_back(connection)):
                connection.close()
        return read.outcome

    def _reach(self, route: Route, call: Call, clock: Clock) -> Reached:
        """Send a request; a kept connection that the server closed meanwhile is no answer, and costs no attempt."""
        kept = self._take(route)
        if kept is not None:
            with suppress(ConnectionError):
                return kept.ask(call, clock, keep=True)
        return self._fresh(route).ask(call, clock, keep=self._keep > 0)

    def _give_back(self, connection: Connection) -> bool:
        """Keep a connection for the next request, when there is room."""
        with self._lock:
            room = len(self._idle) < self._keep
            if room:
                self._idle.append(connection)
        return room


def _explain(error: OSError | HTTPException, clock: Clock, route: Route) -> Broken:
    """Say what broke without a word of the request: messages of http.client quote headers and addresses."""
    if isinstance(error, TimeoutError) and clock.limit is not None:
        return Broken(f"no answer within {told(clock.limit)}", EngineTimeout, "allow more time, or send less at a time")
    if isinstance(error, ssl.SSLCertVerificationError):
        return _UNTRUSTED
    if isinstance(error, IncompleteRead):
        return Broken("broke off in the middle of its answer", passing=True)
    if isinstance(error, NoWayError):
        return Broken(f"the proxy answered {error.status}", hint="check https_proxy, or add the host to no_proxy")
    if isinstance(error, LineTooLong) or type(error) is HTTPException:  # of http.client: more than 100 headers
        return Broken("its headers have no end", EngineError, "see that it is the address of an API")
    said = error.strerror if isinstance(error, OSError) else None
    way = " through the proxy" if route.proxied else ""
    return Broken(f"cannot be reached{way} ({said or type(error).__name__})", passing=True)
