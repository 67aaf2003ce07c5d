"""What must not get from a user's files into a queue that is committed: secrets, addresses, homes, names.

A query that held any of it is not repaired but left out: what is missing would be the part that was asked for.
Better a proposal too few: names that the code itself has are let through, what looks like a secret otherwise is not.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from ipaddress import AddressValueError, IPv6Address
from itertools import pairwise
from typing import Final

from assay.syntax.identifiers import split
from assay.syntax.secrets import scrub

#: A long run without a blank. Names of code are long too, but they are made of words.
_RUN: Final = re.compile(r"[A-Za-z0-9+/_=~-]{16,}")
_PIECE: Final = re.compile(r"\w+")
_LETTERS: Final = re.compile(r"[A-Za-z]+")
_WORDS: Final = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_MADE_OF_WORDS: Final = 0.75  # least share of letters in words of a long name; of random base64 it is some 0.4
#: Letters that often follow each letter in the names and comments of Python's library: 220 pairs, nine tenths of all.
_FOLLOWING: Final = (
    "a:bcdgiklmnprstuvy b:aeilorsu c:acehiklortu d:adeilorsu e:acdefglmnprstvwx f:aefilortu g:aehirs h:aeio"
    " i:abcdefglmnoprstvz k:eis l:adeilostuy m:abeimopsu n:acdefginostuv o:bcdgklmnoprstuvw p:aeiloprstuy q:u"
    " r:acdegilmnorstuy s:acehilopstuy t:acehilorstuy u:abceilmnprst v:aei w:aei x:pt y:p z:e"
)
_PAIRS: Final = frozenset(f"{row[0]}{second}" for row in _FOLLOWING.split() for second in row[2:])
_SPOKEN: Final = 0.65  # least share of such pairs in a name: English has 0.9, letters drawn at random 0.33
_FEWEST: Final = 10  # pairs; of fewer the share says nothing


def has_key(text: str, known: Container[str] = frozenset()) -> bool:
    """Tell whether a text has a run that looks drawn; names that the code itself has are known."""
    return any(_is_key(run, known) for run in _RUN.findall(text))


def _is_key(run: str, known: Container[str]) -> bool:
    strange = [piece for piece in _PIECE.findall(run) if piece not in known]
    rest = "".join(strange)
    if any(map(str.isdigit, rest)) and any(map(str.isalpha, rest)):
        return True
    return _spoken(rest) < _MADE_OF_WORDS * sum(map(str.isalnum, rest)) or not _follows(rest)


def _spoken(run: str) -> int:
    return sum(len(word) for word in _WORDS.findall(run))


def _follows(run: str) -> bool:
    pairs = [one + two for letters in _LETTERS.findall(run) for one, two in pairwise(letters.lower())]
    return len(pairs) < _FEWEST or sum(pair in _PAIRS for pair in pairs) >= _SPOKEN * len(pairs)


_MAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
#: A folder of a user, on any system; the name is the group.
_HOME: Final = re.compile(r"(?:/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+)([\w.-]*)|/root\b|~[/\\]", re.IGNORECASE)
#: `$HOME/x`, `%APPDATA%\x`, `~ada/x`, and a share of another machine: `\\server\ada`, also with its signs doubled.
_FOLDER: Final = re.compile(
    r"\$\{?[A-Za-z_]\w*\}?[/\\]+\w|%[A-Za-z_]\w*%[/\\]|(?:^|\s)~[A-Za-z][\w.-]*/"
    r"|(?<!\\)\\\\[\w.-]+\\[\w$.-]+|\\{4}[\w.-]+\\{2}[\w$.-]+"
)
_HOST: Final = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\bhttps?://|\b[a-z][a-z0-9+.-]*://[^\s\"'`)]|\b[\w-]+@[\w-]+\b"
    r"|\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b"
)
_INSIDE: Final = re.compile(
    r"\b[\w-]+(?:\.[\w-]+)*\.(?:internal|intranet|corp|local|localdomain|lan|home\.arpa)(?![\w(])", re.IGNORECASE
)
#: A name and a port. With a dot it may be a file and a line, without one a word and a small number.
_PORT: Final = re.compile(r"(?<![\w./-])([A-Za-z][\w-]*(?:\.[\w-]+)*):(\d{2,5})(?![\w.])")
_SUFFIX: Final = re.compile(r"\.(?:[a-z]|[a-z]{2}|[a-z]+\d|[a-z]*(?:py|js|ts|css|html|java|kt|rs|cpp|hpp|md|php|txt))$")
_SHORTEST_PORT: Final = 4  # digits behind a name without a dot
_IPV6: Final = re.compile(r"(?<![\w:])[0-9A-Fa-f:]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*")
#: Numbers of people: a social security number, a telephone, a card. A date of a commit or a large constant goes too.
_NUMBER: Final = re.compile(
    r"(?<![\w.])(?:\d{3}-\d{2}-\d{4}|\d{3}[-.]\d{4}|(?:\+|00)\d[\d ()./-]{5,}\d|\(\d{2,5}\)[ /-]?\d[\d -]{3,}\d"
    r"|\d{1,4}(?:[ ./-]?\d{2,4}){2,5})(?![\w])"
)
_FEWEST_DIGITS: Final = 9  # of a number that has no other sign of a telephone; a date has eight
#: Something that is called a secret, and its value. A name alone (`password hash`) is a question.
_GIVEN: Final = re.compile(
    r"(?:passw(?:or)?d|pwd|secret|token|api[ _-]?key|credentials?|bearer|authorization)\b[\"']?"
    r"\s*[=:]\s*[\"']?[^\s\"']{3}"
    r"|\bbearer\s+[\w.~+/-]{8}|(?:^|\s)-{1,2}p(?:assword)?[= ]\S{4}"
    r"|(?:^|\s)-p(?=\S*\d)\S{4}|\b(?:mysql|mariadb)\w*\s(?:.*\s)?-p\S|(?:^|\s)(?:-u|--user)[= ]?[^\s:]+:\S",
    re.IGNORECASE,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CALLED: Final = _words(
    "password passwords passwd passphrase passcode pass pwd pw secret token key apikey credential credentials ssn pin"
    " otp pat"
)
#: Words between what is called a secret and its value.
_BETWEEN: Final = _words("is was are for of to the a an my our on in at user root admin db login number no id = : ->")
#: Words with a digit that stand behind `key` and `token` in questions about code.
_USUAL: Final = _words(
    "sha1 sha224 sha256 sha384 sha512 md4 md5 base16 base32 base58 base64 base85 utf8 utf16 oauth1 oauth2 ed25519"
    " x25519 curve25519 secp256k1 p256 rsa2048 rsa4096 aes128 aes256 pbkdf2 argon2 pkcs1 pkcs7 pkcs8 pkcs11 pkcs12 x509"
    " http1 http2 http3 ipv4 ipv6 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64"
)
_SHORTEST_VALUE: Final = 4  # characters; `pass 2` and `key F1` are none
#: Folders below a home that are no person: they say nothing, and are words of code.
_NOBODY: Final = frozenset({"user", "users", "runner", "ubuntu", "root", "dev", "app", "admin", "shared", "public"})
_SHORTEST_NAME: Final = 3


def private_names(text: str) -> frozenset[str]:
    """Find the names of users in the home folders that a text mentions."""
    found = {name.lower() for name in _HOME.findall(text)}
    return frozenset(name for name in found - _NOBODY if len(name) >= _SHORTEST_NAME)


def private_part(text: str, names: frozenset[str] = frozenset(), known: Container[str] = frozenset()) -> str | None:
    """Say what kind of private thing a text holds, without repeating it; None when it holds none.

    `names` are users', `known` the names that the code has: these are no secret, however they look.
    """
    secret = scrub(text) != text or _GIVEN.search(text) or _says_secret(text, known) or has_key(text, known)
    checks = {
        "what looks like a secret": secret,
        "a mail address": _MAIL.search(text),
        "a folder of a user": _HOME.search(text) or _FOLDER.search(text),
        "the address of a machine": _HOST.search(text) or _has_machine(text, known),
        "the number of a person": any(map(_is_number, _NUMBER.finditer(text))),
        "the name of a user": names and names.intersection(re.findall(r"[\w.-]+", text.lower())),
    }
    return next((kind for kind, found in checks.items() if found), None)


def _says_secret(text: str, known: Container[str]) -> bool:
    return any(_is_value(value) and value not in known and value.lower() not in _USUAL for value in _values(text))


def _values(text: str) -> Iterator[str]:
    called = False
    for word in text.split():
        plain = word.strip("\"'`,;:.!?()[]{}<>=")
        if called and plain.lower() not in _BETWEEN and plain:
            yield plain
            called = False
        called = called or not _CALLED.isdisjoint(split(plain)[-1:])


def _is_value(word: str) -> bool:
    if len(word) < _SHORTEST_VALUE:
        return False
    return any(map(str.isdigit, word)) or re.search(r"[a-z].*[A-Z]", word) is not None


def _has_machine(text: str, known: Container[str]) -> bool:
    hosts = [found[0] for found in _INSIDE.finditer(text)]
    hosts += [found[1] for found in _PORT.finditer(text) if _is_port(found[1], found[2])]
    strange = any(not all(label in known for label in host.split(".")) for host in hosts)
    return strange or any(_is_ipv6(found) for found in _IPV6.findall(text))


def _is_port(host: str, port: str) -> bool:
    if "." in host:
        return _SUFFIX.search(host) is None
    return host.lower() not in ("localhost", "line") and (len(port) >= _SHORTEST_PORT or not host.isalpha())


def _is_ipv6(found: str) -> bool:
    plain = found.rstrip(".:") if not found.endswith("::") else found
    try:
        IPv6Address(plain)
    except AddressValueError:
        return False
    return any(map(str.isdigit, plain)) and sum(bool(group) for group in plain.split(":")) > 1


def _is_number(found: re.Match[str]) -> bool:
    digits = sum(map(str.isdigit, found[0]))
    signed = re.match(r"\+|00|\(|\d{3}-\d{2}-\d{4}$|\d{3}[-.]\d{4}$", found[0])
    return signed is not None or digits >= _FEWEST_DIGITS
