"""Striking secrets out of whatever is going to be written or shown."""

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

#: What secrets are called, in variables, headers, parameters, options and keys alike.
_WORDS: Final = (
    "token|secret|passw(?:or)?d|passphrase|pwd|credentials?|authorization|cookie"
    "|(?:api|access|account|auth|encryption|functions|private|secret|shared|signing|subscription)[_-]?key"
)
#: A variable with such a word anywhere in its name is hidden, which costs little: `TOKEN_2`, `PRIVATE_THINGS`.
_NAMED: Final = re.compile(
    rf"{_WORDS.replace('token', 'token(?!iz)', 1)}|passw|private|auth(?!or(?!iz))", re.IGNORECASE
)
#: A setting is refused, which costs more, so the word has to end the name: `max_tokens` and `cookie_policy` are none.
_ENDS: Final = re.compile(rf"(?:{_WORDS})(?:_?\d+)?$", re.IGNORECASE)
_VARIABLE: Final = re.compile(r"\{env:(\w+)\}")
#: Values that settings took from the environment. They are everybody's secrets: a program inherits the variables that
#: were meant for another one, and may print them all.
_DECLARED: Final[set[str]] = set()
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

    @contextmanager
    def cleaning(self) -> Iterator[None]:
        """Give every error of ours that comes out of a block without them, and without what it was raised from."""
        try:
            yield
        except AssayError as problem:
            raise self._clean(problem) from None

    def _clean(self, problem: AssayError) -> AssayError:
        hint = None if problem.hint is None else self.text(problem.hint)
        cleaned = type(problem)(self.text(problem.message), file=problem.file, line=problem.line, hint=hint)
        if isinstance(cleaned, EngineError) and isinstance(problem, EngineError):
            cleaned.waited = problem.waited
        return cleaned


def make_redactor(secrets: Iterable[str]) -> Redactor:
    """Strike these out, and what the environment holds by names that say secret."""
    return Redactor((*secrets, *environment_secrets()))


def environment_secrets() -> tuple[str, ...]:
    """List the values of variables that are named like secrets, or declared to be; folders and sockets are none."""
    values = {value.strip() for name, value in os.environ.items() if _NAMED.search(name)} | _DECLARED
    return tuple(sorted(value for value in values if value and not is_place(value)))


def declare(settings: object) -> None:
    """Take the variables that settings name, as {env:NAME} or in a key such as token_env, for secrets from now on."""
    declare_values(os.environ.get(name, "").strip() for name in variables(settings))


def declare_values(values: Iterable[str]) -> None:
    """Take values for secrets from now on, whoever says them."""
    _DECLARED.update(values)


def variables(settings: object) -> set[str]:
    """Find the names of variables in settings, however deep."""
    if isinstance(settings, str):
        return set(_VARIABLE.findall(settings))
    if isinstance(settings, Mapping):
        named = {str(value) for key, value in settings.items() if str(key).endswith("_env")}
        return named.union(*(variables(value) for value in settings.values()))
    items = settings if isinstance(settings, list | tuple) else ()
    return set().union(*(variables(item) for item in items))


def is_secret_name(name: str) -> bool:
    """Tell whether what stands under a name ought to be a secret."""
    return _ENDS.search(name) is not None


def is_place(value: str) -> bool:
    """Tell a file or a folder from what could be a secret."""
    return value.startswith(("/", "./", "../", "~"))


def _forms(value: str) -> set[str]:
    plain = {value, *value.split()}
    quoted = {quote(value, safe=""), quote(value), quote_plus(value)}
    escaped = {json.dumps(value)[1:-1], json.dumps(value)[1:-1].replace("/", r"\/"), repr(value)[1:-1]}
    return plain | quoted | escaped | set(_base64(value.encode()))


def _base64(data: bytes) -> list[str]:
    found = []
    for before in range(3):  # three bytes are four characters: there are three ways to begin
        text = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        first = -(-before * 8 // 6)
        sure = (before + len(data)) * 8 // 6
        found += [text[first:sure], text[first:sure].translate(str.maketrans("+/", "-_"))]
    return found
