"""URLs as they may be shown, stored and logged."""

from __future__ import annotations

import re
from typing import Final

#: In a message a URL ends at a space: a closing quote after a query is lost, as a quote may be part of a token.
#: The authority ends at the first / ? or #, and its credentials at the last @ before that (RFC 3986, 3.2).
_URL: Final = re.compile(
    r"""(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*://|^//)
    (?:[^\s/?#]*@)?
    (?P<rest>[^\s?#]*)
    (?:[?#]\S*)?""",
    re.VERBOSE,
)


def without_credentials(text: str) -> str:
    """Leave user, password, query and fragment out of a URL, or of every URL in a message; tokens stand in all four."""
    return _URL.sub(r"\g<scheme>\g<rest>", text)
