"""Striking secrets out of whatever is going to be written or shown."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, quote_plus

#: Variables of the user's environment whose values no message may hold.
_NAMED: Final = re.compile("TOKEN(?!IZ)|SECRET|PASSW|CREDENTIAL|API_?KEY|PRIVATE|AUTH(?!OR)", re.IGNORECASE)
MARK: Final = "***"


@dataclass(frozen=True, slots=True)
class RedactionLimits:
    """What is worth hiding."""

    shortest: int = 6  # a shorter value is a word, not a secret; hiding it would hide the message


REDACTION: Final = RedactionLimits()


class Redactor:
    """Strike values out of texts, in the forms in which programs repeat them."""

    def __init__(self, values: Iterable[str], limits: RedactionLimits = REDACTION) -> None:
        forms = {form for value in values if len(value) >= limits.shortest for form in _forms(value)}
        longest_first = sorted((form for form in forms if len(form) >= limits.shortest), key=lambda f: (-len(f), f))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """Give the text without them."""
        return text if self._pattern is None else self._pattern.sub(MARK, text)

    def value(self, value: object) -> object:
        """Give a JSON value without them; keys are names and stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items()}
        return [self.value(item) for item in value] if isinstance(value, list | tuple) else value


def hiding(secrets: Iterable[str]) -> Redactor:
    """Strike these out, and what the environment holds by names that say secret."""
    return Redactor((*secrets, *environment_secrets()))


def environment_secrets() -> tuple[str, ...]:
    """List the values of variables that are named like secrets; folders and addresses of sockets are none."""
    values = {value.strip() for name, value in os.environ.items() if _NAMED.search(name)}
    return tuple(sorted(value for value in values if value and not value.startswith("/")))


def _forms(value: str) -> set[str]:
    """Write a value as it is, as one word of several, quoted for an address, in JSON, and in base 64 at any offset."""
    plain = {value, *value.split()}
    quoted = {quote(value, safe=""), quote(value), quote_plus(value)}
    escaped = {json.dumps(value)[1:-1], json.dumps(value)[1:-1].replace("/", r"\/"), repr(value)[1:-1]}
    return plain | quoted | escaped | set(_base64(value.encode()))


def _base64(data: bytes) -> list[str]:
    """Give the characters of base 64 that depend on the value alone, whatever stands before and after it."""
    found = []
    for before in range(3):  # three bytes are four characters: there are three ways to begin
        text = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        first = -(-before * 8 // 6)
        sure = (before + len(data)) * 8 // 6
        found += [text[first:sure], text[first:sure].translate(str.maketrans("+/", "-_"))]
    return found
