"""Secrets of an engine: settings are recorded, committed and shown, so that none may be written out in them.

A secret is written `{env:NAME}`, a variable of the environment. Its value is read when it is needed, is struck out of
every message, and is in no record.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import unquote_plus

from assay.engines.templates import FOLDERS, named_secrets, names_place, without_places
from assay.errors import ConfigError
from assay.redaction import is_place, is_secret_name

#: Names that are harmless in a body or an option, but not in a header or in an address.
_MAYBE: Final = re.compile(r"(?:^|-)(?:key|auth|sig|signature)$", re.IGNORECASE)
#: Tokens that let nobody in: where the next page begins, and how long a text may get.
_COUNTED: Final = re.compile(
    r"(?:page|next|previous|prev|continuation|continue|sync|start|end|stop|resume|max|min|num|pad|eos|bos|unk|sep|cls|mask)"
    r"[_-]?tokens?$",
    re.IGNORECASE,
)
_SCHEME: Final = re.compile(r"(?:bearer|basic|token|apikey) +\S", re.IGNORECASE)
#: `name=value`, `--name=value` and `Name: value` inside a text.
_SAID: Final = re.compile(
    r"(?<![\w.%-])-{0,2}(?P<name>[A-Za-z][\w.-]*)(?:=| *: +)(?P<value>(?:(?:bearer|basic|token) +)?[^\s\"'&]+)",
    re.IGNORECASE,
)
_OPTION: Final = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)")
_PASSWORD: Final = re.compile(r"://[^/\s:@{}]*:[^/\s@{}]+@")
#: How the keys of well-known services begin: a secret wherever it stands and whatever it is called.
_SHAPE: Final = re.compile(
    r"(?<![\w-])(?:sk-(?:[a-z0-9]+-)*(?=\w*\d)\w{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_\w{20,}|xox[abprs]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)|-----BEGIN [A-Z ]*PRIVATE KEY"
)
#: What people write where a tool wants a secret and there is none.
_INNOCENT: Final = frozenset(
    ("anonymous", "dummy", "empty", "false", "local", "n/a", "no", "none", "not-needed", "null", "off", "on",
     "placeholder", "required", "true", "unused", "yes")
)  # fmt: skip
#: Keys are made of such characters; no word, version or name of a collection is so long and has letters and digits.
_KEY: Final = re.compile(r"(?=[^{}]*\d)(?=[^{}]*[A-Za-z])[\w.~+/=-]{16,}")
_DIGEST: Final = 12  # characters of a digest: enough to tell the settings of one user apart


@dataclass(frozen=True, slots=True)
class _Named:
    """A text under its name."""

    name: str
    value: str
    shown: bool = False  # whether it stands in a header or an address

    @property
    def is_secret(self) -> bool:
        named = (is_secret_name(self.name) and not _COUNTED.search(self.name)) or (
            self.shown and _MAYBE.search(self.name)
        )
        return (named and _is_telling(self.value)) or bool(self.shown and _is_scheme(self.value))


def check_written_out(where: str, templates: Mapping[str, object]) -> None:
    """Refuse a secret that is written out in a setting, without repeating it."""
    for setting, template in templates.items():
        for text in _texts(setting, template, shown=False):
            if text.is_secret:
                raise _refusal(where, setting, text.name)
            if _SHAPE.search(text.value) or _PASSWORD.search(text.value):
                raise _refusal(where, setting, "a secret")


def hidden_values(table: Mapping[str, object]) -> tuple[str, ...]:
    """List what is a secret in a file of the user's, where it may be written out."""
    found = (text for name, value in table.items() for text in _texts(name, value, shown=False))
    return tuple(dict.fromkeys(text.value for text in found if text.is_secret or _SHAPE.search(text.value)))


def _refusal(where: str, setting: str, name: str) -> ConfigError:
    told = f"{where}: {name}" if setting in (name, "") else f"{where}: {setting}: {name}"
    return ConfigError(
        f"{told} is written out", hint="put it into a variable of the environment and write {env:NAME} in its place"
    )


def _is_telling(value: str) -> bool:
    value = value.strip()
    if "{env:" in value or value.startswith("$") or is_place(value) or _is_folder(value):
        return False
    rest = without_places(value).strip()
    return bool(rest) and rest.lower() not in _INNOCENT and not (rest.isdigit() and len(rest) < 6)


def _is_scheme(value: str) -> bool:
    return _SCHEME.match(value) is not None and _is_telling(value)


def _is_folder(value: str) -> bool:
    return any(value.startswith(f"{{{place}}}") for place in FOLDERS)


def _texts(name: str, value: object, *, shown: bool) -> Iterator[_Named]:
    if isinstance(value, str):
        yield _Named(name, value, shown)
        yield from (_Named(said["name"], said["value"]) for said in _SAID.finditer(value))
        yield from (_Named(pair.name, pair.value, shown=True) for pair in _pairs(value))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(str(key), item, shown=shown or name == "headers")
    elif isinstance(value, Sequence):
        yield from _options(value)
        for item in value:
            yield from _texts(name, item, shown=shown)


def _options(arguments: Sequence[object]) -> Iterator[_Named]:
    for option, value in pairwise(arguments):
        match = _OPTION.fullmatch(option) if isinstance(option, str) else None
        if match and isinstance(value, str) and not value.startswith("-"):
            yield _Named(match["name"], value)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A parameter of an address."""

    name: str
    value: str
    written: str  # as it stands there, perhaps percent-encoded


def _pairs(url: str) -> Iterator[_Pair]:
    query = url.partition("?")[2].partition("#")[0] if "://" in url or url.startswith("{env:") else ""
    for piece in filter(None, query.split("&")):
        name, _, written = piece.partition("=")
        yield _Pair(unquote_plus(name), unquote_plus(written), written)


def secret_values(
    templates: object, *, env: Mapping[str, str], urls: Iterable[str] = (), token_env: str | None = None
) -> tuple[str, ...]:
    """List the values that no record may show: variables that are named, what a tool is given, keys, the token.

    All of the environment that is set for a tool is hidden, but for folders of ours: nobody knows what is in it.
    """
    from assay.http import read_token

    given = [value for value in env.values() if not any(names_place(value, folder) for folder in FOLDERS)]
    keys = [pair.value for url in urls for pair in _pairs(url) if _KEY.fullmatch(pair.value)]
    found = (*named_secrets(templates), *given, *keys, read_token(token_env))
    return tuple(dict.fromkeys(value for value in found if value))


def recorded_url(url: str) -> str:
    """Write an address down as it is, with a digest in place of what looks like a key."""
    head, mark, query = url.partition("?")
    for pair in _pairs(url):
        if _KEY.fullmatch(pair.value):
            query = query.replace(pair.written, f"sha256:{_digest(pair.value)}")
    return f"{head}{mark}{query}"


def recorded_table(name: str, table: Mapping[str, str]) -> dict[str, object]:
    """Write down the names in a table, and a digest that tells its values apart without saying them."""
    values = "\0".join(f"{key}={table[key]}" for key in sorted(table))
    return {name: sorted(table), **({f"{name}_digest": _digest(values)} if table else {})}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
