"""Detection of secrets in text; false positives are better than a password in a vocabulary or a gold set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

SCRUBBED: Final = "[secret]"
#: Prefixes of issued keys, and the pattern after them.
_ISSUERS: Final = (
    ("AKIA ASIA AGPA AIDA", r"[A-Z0-9]{16}\b"),  # Amazon
    ("ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{20,}"),  # GitHub
    ("github_pat_", r"\w{20,}"),
    ("glpat-", r"[\w-]{16,}"),  # GitLab
    ("hf_", r"[A-Za-z0-9]{20,}"),  # Hugging Face
    ("GOCSPX-", r"[\w-]{20}"),  # Google, for sign-in
    ("ya29.", r"[\w-]{20}"),
    ("dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{32}"),  # DigitalOcean
    ("shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32}"),  # Shopify
    ("SG.", r"[\w-]{16,64}\.[\w-]{16}"),  # SendGrid
    ("xapp-", r"[\w-]{20}"),
    ("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", r"[\w-]{10}"),  # Slack
    ("sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"\w{16}"),  # Stripe
    ("sk-", r"(?:(?:[a-z0-9]+-)*(?=\w*\d)\w{16,}|[\w-]{32,})"),  # OpenAI and compatible servers
    ("AIza", r"[\w-]{30,}"),  # Google
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
#: Patterns that begin with a plain string are fast, so the look-behind comes after it.
_ISSUED: Final = tuple(
    (mark, re.compile(rf"{re.escape(mark)}(?<![A-Za-z0-9]{re.escape(mark)}){rest}"))
    for marks, rest in _ISSUERS
    for mark in marks.split()
)
_PRIVATE_KEY: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?:[\s\S]{0,8000}?-----END)?")
#: A long string without a blank, and the name before it.
_LONG: Final = re.compile(r"[\"'](?:[0-9a-fA-F]{32}|[A-Za-z0-9+/_-]{40})")
_NAMED: Final = re.compile(
    r"(?:key|token|secret|passw(?:or)?d|pwd|credential|auth)\w{0,40}[\"']?\s*(?::=|=>|[:=,(])\s*$", re.IGNORECASE
)
_BEFORE: Final = 120  # characters before a long string to search for the name
_ADDRESS: Final = re.compile(r"://[^\s/:@\"']{1,64}:[^\s/:@\"'{}$<>]{8,200}@")  # scheme://user:password@


def has_issued_key(text: str) -> bool:
    """Return whether a text contains a key of a well-known service or a private key."""
    return any(mark in text and pattern.search(text) for mark, pattern in _ISSUED) or bool(_PRIVATE_KEY.search(text))


def secret_lines(text: str) -> Iterator[range]:
    """Yield the lines, from 0, of each probable secret."""
    for found in _secrets(text):
        first = text.count("\n", 0, found.start())
        yield range(first, first + found[0].count("\n") + 1)


def scrub(text: str) -> str:
    """Replace each probable secret in a text."""
    spans = sorted((found.start(), found.end()) for found in _secrets(text))
    kept, end = list[str](), 0
    for start, stop in spans:
        if start >= end:
            kept += [text[end:start], SCRUBBED]
        end = max(end, stop)
    return "".join([*kept, text[end:]])


def _secrets(text: str) -> Iterator[re.Match[str]]:
    for mark, pattern in _ISSUED:
        if mark in text:
            yield from pattern.finditer(text)
    yield from _PRIVATE_KEY.finditer(text)
    for found in _LONG.finditer(text):
        before = text[max(0, found.start() - _BEFORE) : found.start()]
        if _NAMED.search(before.rpartition("\n")[2]):
            yield found
    if "://" in text:
        yield from _ADDRESS.finditer(text)
