"""A copy of a small slug library (MIT), so that station codes need no dependency."""

import re
import unicodedata

_SEPARATORS = re.compile(r"[^a-z0-9]+")


def slugify(text: str, separator: str = "-") -> str:
    """Turn a station name into a code: `Köln Rheinhafen` becomes `koln-rheinhafen`."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return _SEPARATORS.sub(separator, plain.lower()).strip(separator)
