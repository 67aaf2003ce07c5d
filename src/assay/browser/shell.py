"""One self-contained page: its script, its styles and its data inline, and a policy under which nothing else runs."""

from __future__ import annotations

import gzip
import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

from assay.browser.bundling import bundle, read

#: Level 6 is within 2 % of level 9 on rankings, in a third of the time.
_LEVEL = 6
#: Who made a page. It stands behind the character set, where a corpus looks for it: our reports are no code of anybody.
GENERATOR = '<meta name="generator" content="Assay">'


class Packed(bytes):
    """A block that is compressed already, for who must know how large it becomes."""


def page(
    *,
    title: str,
    script: str,
    styles: Sequence[str],
    data: Mapping[str, bytes],
    fallback: str = "",
    live: bool = False,
) -> bytes:
    """Make a page of a script with its data; `fallback` is HTML, escaped already, for who runs no scripts.

    Data is compressed here, where it is not yet. A live page may ask the server that it came from; any other asks
    nobody for anything.
    """
    code, style = bundle(script), "\n".join(read(f"styles/{name}") for name in styles)
    blocks = "".join(_block(name, value) for name, value in data.items())
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{GENERATOR}\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(code, style, live=live)}">\n'
        '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n"
        f'<body><div id="app"></div><noscript>{fallback}</noscript>\n{blocks}'
        f'<script type="module">{code}</script></body></html>\n'
    )
    return text.encode("utf-8", "backslashreplace")


def policy(code: str, style: str, *, live: bool) -> str:
    """Say what a page may do: run this script and show these styles, and if it is live ask its own server."""
    asks = "connect-src 'self'; " if live else ""
    return (
        f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; {asks}img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def packed(value: bytes) -> Packed:
    """Compress a block; the same bytes for the same value whenever it is done, as long as zlib stays the same."""
    return Packed(gzip.compress(value, compresslevel=_LEVEL, mtime=0))


def room_in(size: int, name: str) -> int:
    """Tell how many compressed bytes a block of this name may have, where so many are left in the page."""
    return max(0, (size - len(_block(name, Packed()))) // 4 * 3)


def _block(name: str, value: bytes) -> str:
    """Write a block of data, which no browser runs: base64 has no character that ends it."""
    data = value if isinstance(value, Packed) else packed(value)
    return f'<script type="application/gzip" id="data-{name}">{b64encode(data).decode()}</script>\n'


def _hash(text: str) -> str:
    """Give the hash by which a policy knows an inline script or style."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}"
