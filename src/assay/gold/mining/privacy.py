"""What must not get from a user's files into a queue that is committed: secrets, addresses, homes, names.

A query that held any of it is not repaired but left out: what is missing would be the part that was asked for.
"""

from __future__ import annotations

import re
from typing import Final

from assay.syntax.secrets import scrub

_MAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
#: A folder of a user, on any system; the name is the group.
_HOME: Final = re.compile(r"(?:/home/|/Users/|/root\b|[A-Za-z]:[\\/]+Users[\\/]+|~[/\\])([\w.-]*)", re.IGNORECASE)
_HOST: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\bhttps?://|\bssh://|\b[\w-]+@[\w-]+\b")
#: Something that is called a secret, and its value. A name alone (`password hash`) is a question.
_GIVEN: Final = re.compile(
    r"(?:passw(?:or)?d|pwd|secret|token|api[ _-]?key|credentials?|bearer|authorization)\b[\"']?"
    r"\s*[=:]\s*[\"']?[^\s\"']{3}"
    r"|\bbearer\s+[\w.~+/-]{8}|(?:^|\s)-{1,2}p(?:assword)?[= ]\S{4}",
    re.IGNORECASE,
)
#: A long run without a blank. Names of code are long too, but they are made of words.
_RUN: Final = re.compile(r"[A-Za-z0-9+/_=-]{20,}")
_WORDS: Final = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_MADE_OF_WORDS: Final = 0.75  # least share of letters in words of a long name; of random base64 it is some 0.4
#: Folders below a home that are no person: they say nothing, and are words of code.
_NOBODY: Final = frozenset({"user", "users", "runner", "ubuntu", "root", "dev", "app", "admin", "shared", "public"})
_SHORTEST_NAME: Final = 3


def private_names(text: str) -> frozenset[str]:
    """Find the names of users in the home folders that a text mentions."""
    found = {name.lower() for name in _HOME.findall(text)}
    return frozenset(name for name in found - _NOBODY if len(name) >= _SHORTEST_NAME)


def private_part(text: str, names: frozenset[str] = frozenset()) -> str | None:
    """Say what kind of private thing a text holds, without repeating it; None when it holds none."""
    checks = {
        "what looks like a secret": scrub(text) != text or _GIVEN.search(text) or _random_run(text),
        "a mail address": _MAIL.search(text),
        "a folder of a user": _HOME.search(text),
        "the address of a machine": _HOST.search(text),
        "the name of a user": names and names.intersection(re.findall(r"[\w.-]+", text.lower())),
    }
    return next((kind for kind, found in checks.items() if found), None)


def _random_run(text: str) -> bool:
    """Tell whether a text has a long run that is not made of words: a key of an issuer that is not known."""
    return any(_is_random(run) for run in _RUN.findall(text))


def _is_random(run: str) -> bool:
    """Tell a key from a name."""
    spoken = sum(len(word) for word in _WORDS.findall(run))
    return spoken < _MADE_OF_WORDS * sum(character.isalnum() for character in run)
