"""Detection of private data in text, such as secrets, addresses and user names.

A query that contains private data is dropped, not redacted, since the removed text may be the subject of the query.
A false positive only costs a proposal. Names from the code do not count as secrets or hosts.
"""

from __future__ import annotations

import re
from collections.abc import Container
from ipaddress import AddressValueError, IPv6Address
from itertools import pairwise
from typing import Final

from assay.gold.mining.questions import word_set
from assay.redaction import scrub_secrets
from assay.syntax.identifiers import split

_MAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
#: A home directory on any system; the group is the user name.
_HOME: Final = re.compile(r"(?:/home/|/Users/|[A-Za-z]:[\\/]+Users[\\/]+)([\w.-]*)|/root\b|~[/\\]", re.IGNORECASE)
#: `$HOME/x`, `%APPDATA%\x`, `~ada/x`, and a network share: `\\server\ada`, also with doubled backslashes.
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
_SHORTEST_PORT: Final = 4  # digits after a name without a dot
_IPV6: Final = re.compile(r"(?<![\w:])[0-9A-Fa-f:]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*")
#: Personal numbers: social security, telephone, card. A commit date or a large constant may match too.
_NUMBER: Final = re.compile(
    r"(?<![\w.])(?:\d{3}-\d{2}-\d{4}|\d{3}[-.]\d{4}|(?:\+|00)\d[\d ()./-]{5,}\d|\(\d{2,5}\)[ /-]?\d[\d -]{3,}\d"
    r"|\d{1,4}(?:[ ./-]?\d{2,4}){2,5})(?![\w])"
)
_FEWEST_DIGITS: Final = 9  # without a sign of a telephone number; a date has eight
#: A secret by name, with its value; a name alone (`password hash`) is a query.
_NAMED_SECRET: Final = re.compile(
    r"(?:passw(?:or)?d|pwd|secret|token|api[ _-]?key|credentials?|bearer|authorization)\b[\"']?"
    r"\s*[=:]\s*[\"']?[^\s\"']{3}"
    r"|\bbearer\s+[\w.~+/-]{8}|(?:^|\s)-{1,2}p(?:assword)?[= ]\S{4}"
    r"|(?:^|\s)-p(?=\S*\d)\S{4}|\b(?:mysql|mariadb)\w*\s(?:.*\s)?-p\S|(?:^|\s)(?:-u|--user)[= ]?[^\s:]+:\S",
    re.IGNORECASE,
)
_SECRET_NAMES: Final = word_set(
    "password passwords passwd passphrase passcode pass pwd pw secret token key apikey credential credentials ssn pin"
    " otp pat"
)
#: Words between the name of a secret and its value.
_BETWEEN: Final = word_set("is was are for of to the a an my our on in at user root admin db login number no id = : ->")
#: Words with a digit after `key` and `token` in queries about code.
_USUAL: Final = word_set(
    "sha1 sha224 sha256 sha384 sha512 md4 md5 base16 base32 base58 base64 base85 utf8 utf16 oauth1 oauth2 ed25519"
    " x25519 curve25519 secp256k1 p256 rsa2048 rsa4096 aes128 aes256 pbkdf2 argon2 pkcs1 pkcs7 pkcs8 pkcs11 pkcs12 x509"
    " http1 http2 http3 ipv4 ipv6 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64"
)
_SHORTEST_VALUE: Final = 4  # characters; not `pass 2` and `key F1`
#: Home directories that do not name a person.
_NO_PERSON: Final = frozenset({"user", "users", "runner", "ubuntu", "root", "dev", "app", "admin", "shared", "public"})
_SHORTEST_NAME: Final = 3


def private_names(text: str) -> frozenset[str]:
    names = {name.lower() for name in _HOME.findall(text)}
    return frozenset(name for name in names - _NO_PERSON if len(name) >= _SHORTEST_NAME)


def private_part(text: str, names: frozenset[str] = frozenset(), known: Container[str] = frozenset()) -> str | None:
    """Return the kind of private data in a text, or None; the data is not quoted.

    `names` are user names; `known` are names from the code, which do not count as secrets or hosts.
    """
    secret = scrub_secrets(text) != text or _NAMED_SECRET.search(text) or _has_secret_value(text, known)
    checks = {
        "a possible secret": secret or any(_is_key(run, known) for run in _RUN.findall(text)),
        "an email address": _MAIL.search(text),
        "a home directory": _HOME.search(text) or _FOLDER.search(text),
        "a host address": _HOST.search(text) or _has_machine(text, known),
        "a personal number": any(map(_is_number, _NUMBER.finditer(text))),
        "a user name": names and names.intersection(re.findall(r"[\w.-]+", text.lower())),
    }
    return next((kind for kind, applies in checks.items() if applies), None)


def _has_secret_value(text: str, known: Container[str]) -> bool:
    named = False  # whether the words so far end with the name of a secret
    for word in text.split():
        value = word.strip("\"'`,;:.!?()[]{}<>=")
        if named and value and value.lower() not in _BETWEEN:
            mixed = any(map(str.isdigit, value)) or re.search(r"[a-z].*[A-Z]", value)
            if len(value) >= _SHORTEST_VALUE and mixed and value not in known and value.lower() not in _USUAL:
                return True
            named = False
        named = named or not _SECRET_NAMES.isdisjoint(split(value)[-1:])
    return False


def _has_machine(text: str, known: Container[str]) -> bool:
    hosts = [match[0] for match in _INSIDE.finditer(text)]
    for host, port in _PORT.findall(text):
        long = len(port) >= _SHORTEST_PORT or not host.isalpha()
        if not _SUFFIX.search(host) if "." in host else long and host.lower() not in ("localhost", "line"):
            hosts.append(host)
    unknown = any(not all(label in known for label in host.split(".")) for host in hosts)
    return unknown or any(_is_ipv6(candidate) for candidate in _IPV6.findall(text))


def _is_ipv6(candidate: str) -> bool:
    plain = candidate.rstrip(".:") if not candidate.endswith("::") else candidate
    try:
        IPv6Address(plain)
    except AddressValueError:
        return False
    return any(map(str.isdigit, plain)) and sum(bool(group) for group in plain.split(":")) > 1


def _is_number(match: re.Match[str]) -> bool:
    signed = re.match(r"\+|00|\(|\d{3}-\d{2}-\d{4}$|\d{3}[-.]\d{4}$", match[0])
    return signed is not None or sum(map(str.isdigit, match[0])) >= _FEWEST_DIGITS


#: A long string without spaces; names in code are long too, but consist of words.
_RUN: Final = re.compile(r"[A-Za-z0-9+/_=~-]{16,}")
_WORDS: Final = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_WORD_SHARE: Final = 0.75  # minimum share of letters in words of a long name; about 0.4 in random base64
#: Letters that often follow each letter in the names and comments of Python's library: 220 pairs, 90% of all.
_FOLLOWING: Final = (
    "a:bcdgiklmnprstuvy b:aeilorsu c:acehiklortu d:adeilorsu e:acdefglmnprstvwx f:aefilortu g:aehirs h:aeio"
    " i:abcdefglmnoprstvz k:eis l:adeilostuy m:abeimopsu n:acdefginostuv o:bcdgklmnoprstuvw p:aeiloprstuy q:u"
    " r:acdegilmnorstuy s:acehilopstuy t:acehilorstuy u:abceilmnprst v:aei w:aei x:pt y:p z:e"
)
_PAIRS: Final = frozenset(f"{row[0]}{second}" for row in _FOLLOWING.split() for second in row[2:])
_ENGLISH: Final = 0.65  # minimum share of such pairs in a name: English has 0.9, random letters 0.33
_FEWEST: Final = 10  # pairs; with fewer the share is unreliable


def _is_key(run: str, known: Container[str]) -> bool:
    """Return whether a long string looks random: letters mixed with digits, few words, or rare pairs of letters."""
    rest = "".join(part for part in re.findall(r"\w+", run) if part not in known)
    if any(map(str.isdigit, rest)) and any(map(str.isalpha, rest)):
        return True
    if sum(len(word) for word in _WORDS.findall(rest)) < _WORD_SHARE * sum(map(str.isalnum, rest)):
        return True
    pairs = [first + two for letters in re.findall(r"[A-Za-z]+", rest) for first, two in pairwise(letters.lower())]
    return len(pairs) >= _FEWEST and sum(pair in _PAIRS for pair in pairs) < _ENGLISH * len(pairs)
