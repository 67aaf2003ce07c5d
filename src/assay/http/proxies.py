"""The way to a server: straight, or through the proxy that the environment names."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from assay.errors import ConfigError

_PORTS: Mapping[str, int] = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Route:
    """Whom to speak to, and who is to be reached that way."""

    tls: bool
    host: str
    port: int
    door: tuple[str, int]  # where the connection goes: the host itself, or a proxy
    pass_through: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)  # the proxy's password

    @property
    def proxied(self) -> bool:
        """Whether somebody stands between."""
        return self.door != (self.host, self.port)


def find_route(address: SplitResult) -> Route:
    """Find the way to an address; `http_proxy`, `https_proxy` and `no_proxy` are read each time, as curl does."""
    from urllib.request import getproxies, proxy_bypass

    host, port = address.hostname or "", address.port or _PORTS[address.scheme]
    tls = address.scheme == "https"
    proxy = getproxies().get(address.scheme)
    if not proxy or proxy_bypass(f"{host}:{port}"):
        return Route(tls, host, port, (host, port))
    parts = _read_proxy(proxy, address.scheme)
    return Route(tls, host, port, (parts.hostname or "", parts.port or _PORTS["http"]), _password(parts))


def _read_proxy(text: str, scheme: str) -> SplitResult:
    """Read the address of a proxy; what it says is not repeated, it may hold a password."""
    wrong = ConfigError(f"{scheme}_proxy names no proxy that can be used", hint="write it as http://host:port")
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        usable = parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong from None
    if not usable:
        raise wrong
    return parts


def _password(proxy: SplitResult) -> Mapping[str, str]:
    """Write the header that a proxy with a password wants."""
    if proxy.username is None:
        return {}
    plain = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(plain.encode()).decode()}"}
