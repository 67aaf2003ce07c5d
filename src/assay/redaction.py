"""Redaction of secrets in all output."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, quote_plus

from assay.errors import AssayError, EngineError

#: Names of secrets in variables, headers, parameters, options and keys.
_WORDS: Final = (
    "token|secret|passw(?:or)?d|passphrase|pwd|credentials?|authorization|cookie"
    "|(?:api|access|account|auth|encryption|functions|private|secret|shared|signing|subscription)[_-]?key"
)
#: Variables with such a word anywhere in their names are redacted, which costs little: `TOKEN_2`, `PRIVATE_THINGS`.
_NAMED: Final = re.compile(
    rf"{_WORDS.replace('token', 'token(?!iz)', 1)}|passw|private|auth(?!or(?!iz))", re.IGNORECASE
)
#: Settings are rejected, which costs more, so the word must end the name: not `max_tokens`, `cookie_policy`.
_ENDS: Final = re.compile(rf"(?:{_WORDS})(?:_?\d+)?$", re.IGNORECASE)
_VARIABLE: Final = re.compile(r"\{env:(\w+)\}")
#: Values that settings read from the environment, redacted for every engine: programs inherit all variables and may
#: print them.
_DECLARED: Final[set[str]] = set()
MARK: Final = "***"


@dataclass(frozen=True, slots=True)
class RedactionLimits:
    """Limits of redaction."""

    shortest: int = 6  # a shorter value is a word, not a secret; redacting it would obscure messages


REDACTION: Final = RedactionLimits()


class Redactor:
    """A filter that replaces secret values, including their quoted, escaped and base64 forms."""

    def __init__(self, values: Iterable[str], limits: RedactionLimits = REDACTION) -> None:
        forms = {form for value in values if len(value) >= limits.shortest for form in _forms(value)}
        longest_first = sorted((form for form in forms if len(form) >= limits.shortest), key=lambda f: (-len(f), f))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        return text if self._pattern is None else self._pattern.sub(MARK, text)

    def value(self, value: object) -> object:
        """Return a JSON value without the secrets; keys are not changed."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items()}
        return [self.value(item) for item in value] if isinstance(value, list | tuple) else value

    @contextmanager
    def cleaning(self) -> Iterator[None]:
        """Redact every AssayError raised in a block, and drop its cause."""
        try:
            yield
        except AssayError as problem:
            cleaned = problem.rewrite(self.text)
            if isinstance(cleaned, EngineError):
                cleaned.stderr = self.text(cleaned.stderr)
            raise cleaned from None


def make_redactor(secrets: Iterable[str]) -> Redactor:
    """Return a redactor for these values and for secrets in the environment."""
    return Redactor((*secrets, *environment_secrets()))


def environment_secrets() -> tuple[str, ...]:
    """Return the values of variables with secret names and declared values; paths are not secrets."""
    values = {value.strip() for name, value in os.environ.items() if _NAMED.search(name)} | _DECLARED
    return tuple(sorted(value for value in values if value and not is_place(value)))


def declare(settings: object) -> None:
    """Redact the variables that settings name, as {env:NAME} or in a key such as token_env, from now on."""
    declare_values(os.environ.get(name, "").strip() for name in variables(settings))


def declare_values(values: Iterable[str]) -> None:
    """Redact values from now on, in all output."""
    _DECLARED.update(values)


def variables(settings: object) -> set[str]:
    """Return the names of environment variables in settings, at any depth."""
    if isinstance(settings, str):
        return set(_VARIABLE.findall(settings))
    if isinstance(settings, Mapping):
        named = {str(value) for key, value in settings.items() if str(key).endswith("_env")}
        return named.union(*(variables(value) for value in settings.values()))
    items = settings if isinstance(settings, list | tuple) else ()
    return set().union(*(variables(item) for item in items))


def is_secret_name(name: str) -> bool:
    """Return whether a setting of this name should hold a secret."""
    return _ENDS.search(name) is not None


def is_place(value: str) -> bool:
    """Return whether a value is a path rather than a possible secret."""
    return value.startswith(("/", "./", "../", "~"))


def _forms(value: str) -> set[str]:
    plain = {value, *value.split()}
    quoted = {quote(value, safe=""), quote(value), quote_plus(value)}
    escaped = {json.dumps(value)[1:-1], json.dumps(value)[1:-1].replace("/", r"\/"), repr(value)[1:-1]}
    return plain | quoted | escaped | set(_base64(value.encode()))


def _base64(data: bytes) -> list[str]:
    found = []
    for before in range(3):  # three bytes are four characters, so there are three alignments
        text = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        first = -(-before * 8 // 6)
        sure = (before + len(data)) * 8 // 6
        found += [text[first:sure], text[first:sure].translate(str.maketrans("+/", "-_"))]
    return found
