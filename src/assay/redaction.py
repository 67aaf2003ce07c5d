from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Final
from urllib.parse import quote, quote_plus, unquote, urlsplit

from assay.errors import AssayError, EngineError

#: Names of secrets in variables, headers, parameters, options and keys.
_WORDS: Final = (
    "token|secret|passw(?:or)?d|passphrase|pwd|credentials?|authorization|cookie"
    "|(?:api|access|account|auth|encryption|functions|private|secret|shared|signing|subscription)[_-]?key"
)
#: A variable is redacted if its name contains such a word (`TOKEN_2`, `PRIVATE_URL`): a false positive costs little.
_NAMED: Final = re.compile(
    rf"{_WORDS.replace('token', 'token(?!iz)', 1)}|passw|private|auth(?!or(?!iz))", re.IGNORECASE
)
#: A setting is rejected only if its name ends with such a word, unlike `max_tokens` and `cookie_policy`.
_ENDS: Final = re.compile(rf"(?:{_WORDS})(?:_?\d+)?$", re.IGNORECASE)
_VARIABLE: Final = re.compile(r"\{env:(\w+)\}")
#: The password in a URL such as that of PIP_INDEX_URL, or a token in place of user and password.
_LOGIN: Final = re.compile(r"://(?:[^\s/?#:@]*:(?P<password>[^\s/?#]*)|(?<=https://)(?P<token>[^\s/?#:@]+))@")
#: Values that settings read from the environment, redacted for every engine: programs inherit all variables and may
#: print them.
_DECLARED: Final[set[str]] = set()
_VARIABLES: Final[set[str]] = set()  # the names of those environment variables
MARK: Final = "***"
_SHORTEST: Final = 6  # a shorter value is a word, not a secret; redacting it would obscure messages


class Redactor:
    """A filter that replaces secrets of six or more characters with `***`, also if escaped or in base64."""

    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values if len(value) >= _SHORTEST for form in _forms(value)}
        longest_first = sorted((form for form in forms if len(form) >= _SHORTEST), key=lambda f: (-len(f), f))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(MARK, text)

    def value(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(item) for key, item in value.items()}
        return [self.value(item) for item in value] if isinstance(value, list | tuple) else value

    @contextmanager
    def cleaning(self) -> Iterator[None]:
        """Redact message, hint and stderr of an AssayError raised in the block, and remove the cause."""
        try:
            yield
        except AssayError as problem:
            cleaned = problem.rewrite(self.text)
            if isinstance(cleaned, EngineError):
                cleaned.stderr = self.text(cleaned.stderr)
            raise cleaned from None


def make_redactor(secrets: Iterable[str]) -> Redactor:
    return _make_redactor((*secrets, *environment_secrets()))


@lru_cache(maxsize=16)  # every cell of a sweep needs the same one
def _make_redactor(values: tuple[str, ...]) -> Redactor:
    return Redactor(values)


def environment_secrets() -> tuple[str, ...]:
    """Return registered values, the values of environment variables with secret names, and passwords in their URLs.

    Paths are omitted.
    """
    values = {value.strip() for name, value in os.environ.items() if _NAMED.search(name)} | _DECLARED
    for value in (value for value in os.environ.values() if "://" in value):
        for match in _LOGIN.finditer(value):
            password = match["password"] or match["token"] or ""
            values |= {password, unquote(password)}
    return tuple(sorted(value for value in values if value and not is_path(value)))


def register_secrets(settings: object) -> None:
    register_variables(environment_names(settings))


def register_variables(names: Iterable[str]) -> None:
    """Treat the values of these environment variables as secrets."""
    _VARIABLES.update(names)
    register_secret_values(os.environ.get(name, "").strip() for name in _VARIABLES)


def secret_variables() -> tuple[str, ...]:
    """Return the registered environment variables, for worker processes: an engine may print a secret of another."""
    return tuple(sorted(_VARIABLES))


def register_secret_values(values: Iterable[str]) -> None:
    _DECLARED.update(values)


def environment_names(settings: object) -> set[str]:
    """Return the environment variables that nested settings name, as {env:NAME} or in keys that end with _env."""
    if isinstance(settings, str):
        return set(_VARIABLE.findall(settings))
    if isinstance(settings, Mapping):
        named = {str(value) for key, value in settings.items() if str(key).endswith("_env")}
        return named.union(*(environment_names(value) for value in settings.values()))
    items = settings if isinstance(settings, list | tuple) else ()
    return set().union(*(environment_names(item) for item in items))


def is_secret_name(name: str) -> bool:
    return _ENDS.search(name) is not None


def is_path(value: str) -> bool:
    return value.startswith(("/", "./", "../", "~"))


def _forms(value: str) -> set[str]:
    escaped = json.dumps(value)[1:-1]
    forms = {value, *value.split(), escaped, escaped.replace("/", r"\/"), repr(value)[1:-1]}
    forms |= {quote(value, safe=""), quote(value), quote_plus(value)}
    data = value.encode()
    for before in range(3):  # three bytes are four characters of base64, so there are three alignments
        first, sure = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        text = base64.b64encode(b"\0" * before + data).decode()[first:sure]
        forms |= {text, text.translate(str.maketrans("+/", "-_"))}
    return forms


def redact_url(url: str) -> str:
    """Return a web address without user, password, query and fragment; for any other text, return "the address"."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the address"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme in ("http", "https") and host else "the address"


#: In a message a URL ends at a space; a closing quote after a query is lost, since it may be part of a token.
#: The authority ends at the first / ? or #, and its credentials at the last @ before that (RFC 3986, 3.2).
_CREDENTIALS: Final = re.compile(
    r"""(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*://|^//)
    (?:[^\s/?#]*@)?
    (?P<rest>[^\s?#]*)
    (?:[?#]\S*)?""",
    re.VERBOSE,
)


def strip_credentials(text: str) -> str:
    """Remove user, password, query and fragment, which may contain tokens, from every URL in a text."""
    return _CREDENTIALS.sub(r"\g<scheme>\g<rest>", text)


# False positives are better than a password in a vocabulary or a gold set.
SCRUBBED: Final = "[secret]"
#: Prefixes of issued keys, and the pattern after them. Text for the shipped model was scrubbed with exactly these.
_ISSUERS: Final = (
    ("AKIA ASIA AGPA AIDA", r"[A-Z0-9]{16}\b"),  # Amazon
    ("ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{30}"),  # GitHub
    ("github_pat_", r"\w{40}"),
    ("glpat-", r"[\w-]{18}"),  # GitLab
    ("hf_", r"[A-Za-z0-9]{30}"),  # Hugging Face
    ("GOCSPX-", r"[\w-]{20}"),  # Google, for sign-in
    ("ya29.", r"[\w-]{20}"),
    ("dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{32}"),  # DigitalOcean
    ("shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32}"),  # Shopify
    ("SG.", r"[\w-]{16,64}\.[\w-]{16}"),  # SendGrid
    ("xapp-", r"[\w-]{20}"),
    ("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", r"[\w-]{10}"),  # Slack
    ("sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"\w{16}"),  # Stripe
    ("sk-", r"[A-Za-z0-9_-]{32}"),  # OpenAI
    ("AIza", r"[\w-]{35}"),  # Google
    ("gsk_ nvapi- r8_ xai- tvly-", r"[\w-]{32}"),  # Groq, Nvidia, Replicate, xAI, Tavily
    ("hvs. hvb.", r"[\w-]{24}"),  # Vault
    ("glsa_ glc_", r"[\w+/=]{32}"),  # Grafana
    ("dapi", r"[0-9a-f]{32}"),  # Databricks
    ("lin_api_ rubygems_ figd_ sq0atp- sq0csp- NRAK- pscale_tkn_", r"[\w-]{20}"),  # Linear, RubyGems, Figma, ...
    ("AGE-SECRET-KEY-1", r"[0-9A-Z]{50}"),
    ("npm_", r"[A-Za-z0-9]{36}\b"),
    ("pypi-", r"[\w-]{40}"),
    ("eyJ", r"[\w-]{15,2000}\.eyJ[\w-]{15}"),  # a signed web token
)
#: Shorter keys of test and compatible servers, which only settings are checked for.
_SHORT_KEY: Final = (
    r"(?<![A-Za-z0-9])(?:sk-(?:[a-z0-9]+-)*(?=\w*\d)\w{16}|gh[pousr]_[A-Za-z0-9]{20}|github_pat_\w{20}|glpat-[\w-]{16}"
    r"|hf_[A-Za-z0-9]{20}|AIza[\w-]{30}|eyJ[\w-]{8,}\.[\w-]{8,}\.)"
)
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?:[\s\S]{0,8000}?-----END)?")
#: The start of a long string literal without spaces, and the name before it.
_LONG: Final = re.compile(r"[\"'](?:[0-9a-fA-F]{32}|[A-Za-z0-9+/_-]{40})")
_KEY_NAME: Final = re.compile(
    r"(?:key|token|secret|passw(?:or)?d|pwd|credential|auth)\w{0,40}[\"']?\s*(?::=|=>|[:=,(])\s*$", re.IGNORECASE
)
_BEFORE: Final = 120  # characters before a long string to search for the name
_ADDRESS: Final = re.compile(r"://[^\s/:@\"']{1,64}:[^\s/:@\"'{}$<>]{8,200}@")  # scheme://user:password@


@cache  # compiled on first use: engines import this module at start-up
def _issued_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    # a pattern that begins with a plain string is fast, so the look-behind comes after it
    return tuple(
        (mark, re.compile(rf"{re.escape(mark)}(?<![A-Za-z0-9]{re.escape(mark)}){rest}"))
        for marks, rest in _ISSUERS
        for mark in marks.split()
    )


def has_issued_key(text: str) -> bool:
    issued = any(mark in text and pattern.search(text) for mark, pattern in _issued_patterns())
    return issued or bool(re.search(_SHORT_KEY, text) or _PRIVATE_KEY.search(text))


def find_secret_lines(text: str) -> Iterator[range]:
    """Yield the range of lines of each probable secret, counted from 0."""
    for match in _find_secrets(text):
        first = text.count("\n", 0, match.start())
        yield range(first, first + match[0].count("\n") + 1)


def scrub_secrets(text: str) -> str:
    spans = sorted((match.start(), match.end()) for match in _find_secrets(text))
    pieces, end = list[str](), 0
    for start, stop in spans:
        if start >= end:
            pieces += [text[end:start], SCRUBBED]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


def _find_secrets(text: str) -> Iterator[re.Match[str]]:
    for mark, pattern in _issued_patterns():
        if mark in text:
            yield from pattern.finditer(text)
    yield from _PRIVATE_KEY.finditer(text)
    for match in _LONG.finditer(text):
        before = text[max(0, match.start() - _BEFORE) : match.start()]
        if _KEY_NAME.search(before.rpartition("\n")[2]):
            yield match
    if "://" in text:
        yield from _ADDRESS.finditer(text)
