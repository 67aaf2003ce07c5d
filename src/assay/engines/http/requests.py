"""Requests from templates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import SplitResult, urlencode, urlsplit

from assay.engines.filtering import merge
from assay.engines.http.settings import Request, Settings
from assay.engines.secrets import check_written_out
from assay.engines.templates import check_template, fill, fill_json, fill_url, named_secrets
from assay.errors import ConfigError
from assay.http import Call, make_call, web_address

_TYPES = {"json": "application/json", "form": "application/x-www-form-urlencoded", "text": "text/plain; charset=utf-8"}
_ACCEPT = "application/json, */*;q=0.5"


@dataclass(frozen=True, slots=True)
class Sender:
    """What all requests of an engine have in common."""

    token_env: str | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def build(self, request: Request, places: Mapping[str, object], added: Mapping[str, object] | None = None) -> Call:
        """Fill the templates of a request; what is added goes into its body, or into its address if it has none."""
        texts = {name: _sendable(str(value)) for name, value in places.items()}
        headers = {name.lower(): fill(value, texts) for name, value in request.headers.items()}
        bare = request.body is None
        return make_call(
            _with_parameters(fill_url(request.url, texts), added if bare and added else {}),
            method=request.method or ("GET" if bare else "POST"),
            body=_fill_body(request, places, added or {}),
            headers={**_defaults(request), **headers},
            token_env=self.token_env,
            secrets=self.secrets,
        )


def requests_of(settings: Settings) -> dict[str, Request]:
    """Name the requests that an engine makes."""
    named = {"search": settings.search, "index": settings.index, "update": settings.update, "ready": settings.ready}
    return {name: request for name, request in named.items() if request is not None}


def templates_of(settings: Settings) -> list[object]:
    """List everything that may hold a placeholder."""
    requests = [[one.url, one.headers, one.body or ""] for one in requests_of(settings).values()]
    return [*requests, settings.path_filter, settings.language_filter]


def check_request(request: Request, places: Sequence[str], asked: Sequence[str], where: str) -> None:
    """Refuse a request that cannot be made: before anything runs, and without repeating a secret."""
    check_template(request.url, (*places, *asked), f"{where}: url")
    check_template(request.headers, places, f"{where}: headers")
    check_template(request.body or "", (*places, *asked), f"{where}: body")
    named_secrets([request.url, request.headers, request.body or ""])
    _check_address(request, (*places, *asked), where)
    check_written_out(where, {"url": request.url, "headers": request.headers, "body": request.body or ""})
    if request.form and not isinstance(request.body, Mapping):
        raise ConfigError(f"{where}: form without a table as body", hint="write body = { q = '{query}' }")
    Sender().build(request, dict.fromkeys((*places, *asked), "x"))


def _check_address(request: Request, names: Sequence[str], where: str) -> None:
    """Refuse an address that is none, and one whose host depends on what is asked: the token would go there."""
    ways = [_address(request.url, dict.fromkeys(names, value), where) for value in ("a", "b")]
    if ways[0].netloc != ways[1].netloc:
        raise ConfigError(f"{where}: url: the host has a placeholder", hint="only {env:NAME} may stand there")


def _address(template: str, places: Mapping[str, object], where: str) -> SplitResult:
    """Fill an address in and read it."""
    try:
        return web_address(fill_url(template, places))
    except ConfigError as problem:
        raise ConfigError(f"{where}: url: {problem.message}", hint=problem.hint) from None


def _defaults(request: Request) -> dict[str, str]:
    """Say what is sent and what is liked; the headers of the settings hold before these."""
    if request.body is None:
        return {"accept": _ACCEPT}
    kind = "text" if isinstance(request.body, str) else "form" if request.form else "json"
    return {"accept": _ACCEPT, "content-type": _TYPES[kind]}


def _fill_body(request: Request, places: Mapping[str, object], added: Mapping[str, object]) -> bytes | None:
    """Fill the template of a body, and put into it what is added."""
    if request.body is None:
        return None
    if isinstance(request.body, str):
        return fill(request.body, {name: _sendable(str(value)) for name, value in places.items()}).encode()
    table = cast(Mapping[str, object], merge(fill_json(request.body, places), added))
    return _parameters(table).encode() if request.form else json.dumps(table, default=str).encode()  # TOML has dates


def _sendable(text: str) -> str:
    """Replace half characters, which only JSON can write."""
    return text.encode("utf-8", "replace").decode()


def _with_parameters(url: str, parameters: Mapping[str, object]) -> str:
    """Add parameters to the query of an address."""
    if not parameters:
        return url
    parts = urlsplit(url)
    return parts._replace(query="&".join(filter(None, (parts.query, _parameters(parameters))))).geturl()


def _parameters(table: Mapping[str, object]) -> str:
    """Write a table as a form; what is a list stands there once for each item."""
    pairs = [(key, _text(item)) for key, value in table.items() for item in _items(value)]
    return urlencode(pairs, errors="replace")


def _items(value: object) -> Iterable[object]:
    """Give the items of a list, or the one value."""
    return value if isinstance(value, list | tuple) else (value,)


def _text(value: object) -> str:
    """Write a value of a form."""
    if isinstance(value, Mapping):
        raise ConfigError("engine http: a table in a form", hint="a form has texts, numbers and lists of them")
    return str(value).lower() if isinstance(value, bool) else str(value)
