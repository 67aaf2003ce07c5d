"""Secrets do not belong into settings: settings are recorded, committed and shown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from assay.errors import ConfigError

#: Names of what nobody may know, wherever they stand.
_SECRET: Final = re.compile(
    r"(?:^|[^a-z])(?:\w*token|secret|passw(?:or)?d|pwd|credentials?|authorization|cookie"
    r"|\w*(?:api|access|private|subscription|functions)[_-]?key)$",
    re.IGNORECASE,
)
#: Names that are harmless in a body, but not in a header or an address.
_MAYBE: Final = re.compile(r"(?:^|-)(?:key|auth|sig|signature)$", re.IGNORECASE)
_SCHEME: Final = re.compile(r"(?:bearer|basic|token|apikey) +\S", re.IGNORECASE)
_VARIABLE: Final = re.compile(r"\{env:\w+\}")
#: Keys are made of such characters; no word, version or name of a collection is so long and has letters and digits.
_KEY: Final = re.compile(r"(?=[^{}]*\d)(?=[^{}]*[A-Za-z])[\w.~+/=-]{16,}")


@dataclass(frozen=True, slots=True)
class _Named:
    """A text of a request under its name."""

    where: str
    name: str
    value: str
    shown: bool  # whether it stands in a header or an address


def check_literals(where: str, url: str, headers: Mapping[str, str], body: object) -> None:
    """Refuse a secret that is written out, without repeating it."""
    for text in _texts(url, headers, body):
        named = _SECRET.search(text.name) or (text.shown and _MAYBE.search(text.name))
        wrong = named or (text.where == "headers" and _SCHEME.match(text.value))
        if wrong and text.value and not _VARIABLE.search(text.value):
            raise ConfigError(
                f"{where}: {text.where}: {text.name} is written out",
                hint="put it into a variable of the environment and write {env:NAME}, or name it in token_env",
            )


def literal_secrets(url: str) -> tuple[str, ...]:
    """List the values in the query of an address that look like keys, whatever their names."""
    return tuple(pair.value for pair in _pairs(url) if _KEY.fullmatch(pair.value))


def recorded_url(url: str) -> str:
    """Write an address down as it is, with a digest in place of what looks like a key."""
    head, mark, query = url.partition("?")
    keys = [pair for pair in _pairs(url) if _KEY.fullmatch(pair.value)]
    for pair in keys:
        digest = hashlib.sha256(pair.value.encode()).hexdigest()[:12]
        query = query.replace(pair.written, f"sha256:{digest}")
    return f"{head}{mark}{query}"


@dataclass(frozen=True, slots=True)
class _Pair:
    """A parameter of an address."""

    name: str
    value: str
    written: str  # as it stands there, perhaps percent-encoded


def _pairs(url: str) -> Iterator[_Pair]:
    """Read the query of an address, which need not be a sound one."""
    query = url.partition("?")[2].partition("#")[0]
    for piece in filter(None, query.split("&")):
        name, _, written = piece.partition("=")
        yield _Pair(unquote_plus(name), unquote_plus(written), written)


def _texts(url: str, headers: Mapping[str, str], body: object) -> Iterator[_Named]:
    """List the named texts of a request."""
    for pair in _pairs(url):
        yield _Named("url", pair.name, pair.value, shown=True)
    for name, value in headers.items():
        yield _Named("headers", name, value, shown=True)
    yield from _body_texts("", body)


def _body_texts(name: str, value: object) -> Iterator[_Named]:
    """List the texts in a body; what is in a list has the list's name."""
    if isinstance(value, str) and name:
        yield _Named("body", name, value, shown=False)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _body_texts(key, item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _body_texts(name, item)
