"""Which handler answers which address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from assay.web.messages import Refused, Request, Response

Handler = Callable[[Request], Response]


@dataclass(frozen=True, slots=True)
class Route:
    """One address: `Route("GET", "/run/{id}", show)`; a `{name}` stands for one part between slashes, never for none.

    A GET changes nothing. Handlers are called from several threads at once.
    """

    method: str  # GET or POST
    pattern: str
    handler: Handler

    def match(self, path: str) -> dict[str, str] | None:
        """Give what the names of the pattern stand for in a path, None where it is another address."""
        names, given = self.pattern.split("/"), path.split("/")
        if len(names) != len(given):
            return None
        found: dict[str, str] = {}
        for name, part in zip(names, given, strict=True):
            # Decoded after it was cut: a slash that was encoded belongs to the part, and stays in it.
            value = decoded(part)
            if name.startswith("{") and value:
                found[name[1:-1]] = value
            elif name != value:
                return None
        return found


def decoded(part: str) -> str:
    """Decode a part of an address; what is no UTF-8 is refused."""
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise Refused(400, "the address is not UTF-8") from None


def find(routes: Sequence[Route], method: str, path: str) -> tuple[Route, dict[str, str]]:
    """Find the route of an address; one that takes other methods says which."""
    fitting = [(route, parts) for route in routes if (parts := route.match(path)) is not None]
    wanted = "GET" if method == "HEAD" else method
    for route, parts in fitting:
        if route.method == wanted:
            return route, parts
    if fitting:
        known = ", ".join(sorted({route.method for route, _ in fitting}))
        raise Refused(405, f"{method} is not taken here", hint=f"this address takes {known}")
    raise Refused(404, "nothing is at this address", hint="start from the address that was printed")
