"""Web addresses: which are ones, and what may be shown of them."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, urlsplit

from assay.errors import ConfigError


def shown_url(url: str) -> str:
    """Give a web address without user, password, query and fragment, the four places where secrets stand."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the address"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme in ("http", "https") and host else "the address"


def web_address(url: str) -> SplitResult:
    """Refuse what is no plain web address before any of it is sent, and without repeating it: it may hold a secret."""
    wrong = ConfigError("not a web address", hint="write it as https://host/path")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong from None
    if not usable or not is_word(url):
        raise wrong
    if "@" in parts.netloc:
        hint = "put the token into an environment variable and give the name of that variable"
        raise ConfigError("the address holds a user or a password", file=shown_url(url), hint=hint)
    return parts


def query_secrets(address: SplitResult, shortest: int) -> frozenset[str]:
    """List what may be a secret in the query of an address: all of it, and each value that is no flag."""
    values = {value for _, value in parse_qsl(address.query) if len(value) >= shortest}
    return frozenset({address.query, *values} - {""})


def is_word(text: str) -> bool:
    """Tell printable ASCII without a space from what breaks a header: http.client's complaint would quote all of it."""
    return text.isascii() and text.isprintable() and " " not in text
