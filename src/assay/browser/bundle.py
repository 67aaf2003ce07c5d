"""Bundle the modules of a page into one script, because a page opened from disk cannot import modules."""

from __future__ import annotations

import gzip
import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import PurePosixPath

_IMPORT = re.compile(r'^import \{\s+([\w$,\s]+?),?\s+\} from "(\.{1,2}/[\w./-]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|let|class)\b)", re.MULTILINE)
_DECLARED = re.compile(r"^(?:export )?(?:async function\*?|function\*?|const|let|class) ([\w$]+)", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async function\*?|function\*?|const|let|class) ([\w$]+)", re.MULTILINE)
#: What ends an inline script for a browser, or keeps its end from being one (HTML, script data states).
_ENDING = re.compile(r"</script|<!--|<script", re.IGNORECASE)
_OTHER = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


class BundleError(Exception):
    """A module is written in a way that cannot be joined with others: a mistake in Assay's own scripts."""


@cache
def bundle(entry: str) -> str:
    """Join a module and all that it imports, each once, what is imported first."""
    order: list[str] = []
    _visit(entry, order, ())
    _check_names(order)
    joined = "\n".join(f"// {name}\n{_inlined(name)}" for name in order)
    if _ENDING.search(joined):
        raise BundleError(f"{entry}: its script would end, or hide its end, in the middle of a page: {_ENDING.pattern}")
    return joined


@cache
def read(name: str) -> str:
    """Read a script or a style of this room."""
    return (files("assay.browser") / name).read_text(encoding="utf-8")


def _visit(name: str, order: list[str], way: tuple[str, ...]) -> None:
    if name in way:
        raise BundleError(f"{name} imports itself: {' → '.join((*way, name))}")
    if name in order:
        return
    for names, target in _IMPORT.findall(read(name)):
        other = _resolved(name, target)
        _visit(other, order, (*way, name))
        known = set(_EXPORTED.findall(read(other)))
        missing = [one for one in re.split(r",\s*", names.strip(", ")) if one not in known]
        if missing:
            raise BundleError(f"{name} imports {', '.join(missing)}, which {other} does not export")
    order.append(name)


def _resolved(name: str, target: str) -> str:
    parts: list[str] = []
    for part in (*PurePosixPath(name).parent.parts, *PurePosixPath(target).parts):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _inlined(name: str) -> str:
    text = _EXPORT.sub("", _IMPORT.sub("", read(name)))
    left = _OTHER.search(text)
    if left:
        raise BundleError(f"{name} has an import or export that cannot be joined: {left[0]}")
    return text.strip() + "\n"


def _check_names(order: list[str]) -> None:
    owners: dict[str, str] = {}
    for name in order:
        for declared in _DECLARED.findall(read(name)):
            if declared in owners:
                raise BundleError(f"{declared} is declared in {owners[declared]} and in {name}")
            owners[declared] = name


#: Level 6 is within 2 % of level 9 on rankings, in a third of the time.
_LEVEL = 6
#: Who made a page. It stands behind the character set, where a corpus looks for it: our reports are no code of anybody.
GENERATOR = '<meta name="generator" content="Assay">'


class CompressedBlock(bytes):
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
        f'<meta http-equiv="Content-Security-Policy" content="{csp(code, style, live=live)}">\n'
        '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n"
        f'<body><div id="app"></div><noscript>{fallback}</noscript>\n{blocks}'
        f'<script type="module">{code}</script></body></html>\n'
    )
    return text.encode("utf-8", "backslashreplace")


def csp(code: str, style: str, *, live: bool) -> str:
    """Say what a page may do: run this script and show these styles, and if it is live ask its own server."""
    asks = "connect-src 'self'; " if live else ""
    return (
        f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; {asks}img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def packed(value: bytes) -> CompressedBlock:
    """Compress a block; the same bytes for the same value whenever it is done, as long as zlib stays the same."""
    return CompressedBlock(gzip.compress(value, compresslevel=_LEVEL, mtime=0))


def remaining_bytes(size: int, name: str) -> int:
    """Tell how many compressed bytes a block of this name may have, where so many are left in the page."""
    return max(0, (size - len(_block(name, CompressedBlock()))) // 4 * 3)


def _block(name: str, value: bytes) -> str:
    data = value if isinstance(value, CompressedBlock) else packed(value)
    return f'<script type="application/gzip" id="data-{name}">{b64encode(data).decode()}</script>\n'


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}"
