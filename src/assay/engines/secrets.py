"""Detection of secrets in settings, and settings without secrets for the records.

Settings are recorded, so a secret must be written as `{env:NAME}`; the value of the variable is never recorded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import unquote_plus

from assay.engines.templates import PATH_PLACEHOLDERS, has_placeholder, named_secrets, strip_placeholders
from assay.errors import ConfigError
from assay.redaction import has_issued_key, is_path, is_secret_name

#: Names of secrets in a header or URL; harmless in a body or an option.
_URL_NAME: Final = re.compile(r"(?:^|-)(?:key|auth|sig|signature)$", re.IGNORECASE)
#: Names of tokens that are not secrets: pagination and text length.
_HARMLESS: Final = re.compile(
    r"(?:page|next|previous|prev|continuation|continue|sync|start|end|stop|resume|max|min|num|pad|eos|bos|unk|sep|cls|mask)"
    r"[_-]?tokens?$",
    re.IGNORECASE,
)
_SCHEME: Final = re.compile(r"(?:bearer|basic|token|apikey) +\S", re.IGNORECASE)
#: `name=value`, `--name=value` and `Name: value` inside a text.
_INLINE: Final = re.compile(
    r"(?<![\w.%-])-{0,2}(?P<name>[A-Za-z][\w.-]*)(?:=| *: +)(?P<value>(?:(?:bearer|basic|token) +)?[^\s\"'&]+)",
    re.IGNORECASE,
)
_OPTION: Final = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)")
_PASSWORD: Final = re.compile(r"://[^/\s:@{}]*:[^/\s@{}]+@")
#: Dummy values for a required secret.
_DUMMY: Final = frozenset(
    ("anonymous", "dummy", "empty", "false", "local", "n/a", "no", "none", "not-needed", "null", "off", "on",
     "placeholder", "required", "true", "unused", "yes")
)  # fmt: skip
#: Long values of letters and digits; words, versions and collection names are shorter.
_KEY: Final = re.compile(r"(?=[^{}]*\d)(?=[^{}]*[A-Za-z])[\w.~+/=-]{16,}")
_DIGEST: Final = 12  # hex digits of a digest, enough to distinguish one user's settings


@dataclass(frozen=True, slots=True)
class _Named:
    name: str
    value: str
    exposed: bool = False  # whether it is part of a header or URL

    @property
    def is_secret(self) -> bool:
        named = is_secret_name(self.name) and not _HARMLESS.search(self.name)
        exposed = self.exposed and (_URL_NAME.search(self.name) or _SCHEME.match(self.value))
        return bool(named or exposed) and _is_literal(self.value)


def check_literal_secrets(where: str, templates: Mapping[str, object]) -> None:
    """Raise ConfigError for a literal secret in a setting, without quoting the secret."""
    for setting, template in templates.items():
        for text in _texts(setting, template, exposed=False):
            if text.is_secret:
                name = text.name
            elif has_issued_key(text.value) or _PASSWORD.search(text.value):
                name = setting or "value"
            else:
                continue
            location = f"{where}: {name}" if setting in (name, "") else f"{where}: {setting}: {name}"
            hint = "move the secret to an environment variable and write {env:NAME}"
            raise ConfigError(f"{location} contains a literal secret", hint=hint, keys=[setting])


def literal_secrets(table: Mapping[str, object]) -> tuple[str, ...]:
    texts = (text for name, value in table.items() for text in _texts(name, value, exposed=False))
    return tuple(dict.fromkeys(text.value for text in texts if text.is_secret or has_issued_key(text.value)))


def _is_literal(value: str) -> bool:
    value = value.strip()
    begins = ("$", *(f"{{{name}}}" for name in PATH_PLACEHOLDERS))
    if "{env:" in value or value.startswith(begins) or is_path(value):
        return False
    rest = strip_placeholders(value).strip()
    return bool(rest) and rest.lower() not in _DUMMY and not (rest.isdigit() and len(rest) < 6)


def _texts(name: str, value: object, *, exposed: bool) -> Iterator[_Named]:
    if isinstance(value, str):
        yield _Named(name, value, exposed)
        yield from (_Named(match["name"], match["value"]) for match in _INLINE.finditer(value))
        yield from (_Named(key, text, exposed=True) for key, text, _ in _parameters(value))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(str(key), item, exposed=exposed or name == "headers")
    elif isinstance(value, Sequence):
        for option, argument in pairwise(value):
            match = _OPTION.fullmatch(option) if isinstance(option, str) else None
            if match and isinstance(argument, str) and not argument.startswith("-"):
                yield _Named(match["name"], argument)
        for item in value:
            yield from _texts(name, item, exposed=exposed)


def _parameters(url: str) -> Iterator[tuple[str, str, str]]:
    query = url.partition("?")[2].partition("#")[0] if "://" in url or url.startswith("{env:") else ""
    for piece in filter(None, query.split("&")):
        name, _, written = piece.partition("=")
        yield unquote_plus(name), unquote_plus(written), written


def secret_values(
    templates: object, *, env: Mapping[str, str], urls: Iterable[str] = (), token_env: str | None = None
) -> tuple[str, ...]:
    """Return the values to redact: environment variables in templates, values of `env`, keys in URLs, and the token.

    Values of `env` that contain the placeholder of a directory or of {config} are not redacted.
    """
    from assay.http import read_token

    given = [value for value in env.values() if not any(has_placeholder(value, name) for name in PATH_PLACEHOLDERS)]
    keys = [value for url in urls for _, value, _ in _parameters(url) if _KEY.fullmatch(value)]
    values = (*named_secrets(templates), *given, *keys, read_token(token_env))
    return tuple(dict.fromkeys(value for value in values if value))


def recorded_url(url: str) -> str:
    """Return a URL for the records, with a digest in place of each parameter value that looks like a key."""
    head, mark, query = url.partition("?")
    for _, value, written in _parameters(url):
        if _KEY.fullmatch(value):
            query = query.replace(written, f"sha256:{_digest(value)}")
    return f"{head}{mark}{query}"


def recorded_table(name: str, table: Mapping[str, str]) -> dict[str, object]:
    values = "\0".join(f"{key}={table[key]}" for key in sorted(table))
    return {name: sorted(table), **({f"{name}_digest": _digest(values)} if table else {})}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
