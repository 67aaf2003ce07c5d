"""Bundle the modules of a page into one script, because a page opened from disk cannot import modules."""

from __future__ import annotations

import gzip
import hashlib
import posixpath
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files

_IMPORT = re.compile(r'^import \{\s+([\w$,\s]+?),?\s+\} from "(\.{1,2}/[\w./-]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|let|class)\b)", re.MULTILINE)
_DECLARED = re.compile(r"^(export )?(?:async function\*?|function\*?|const|let|class) ([\w$]+)", re.MULTILINE)
#: What ends an inline script for a browser, or hides its end (HTML, script data states).
_SCRIPT_END = re.compile(r"</script|<!--|<script", re.IGNORECASE)
_OTHER_SYNTAX = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


class BundleError(Exception):
    """A script of Assay that cannot be bundled."""


@cache
def bundle(entry: str) -> str:
    """Return a module and everything it imports as one script, imported modules first."""
    order: list[str] = []
    _visit(entry, order, ())
    _check_names(order)
    script = "\n".join(f"// {name}\n{_inline(name)}" for name in order)
    if _SCRIPT_END.search(script):
        raise BundleError(f"{entry}: the script contains {_SCRIPT_END.pattern}, which would end it inside the page")
    return script


@cache
def read(name: str) -> str:
    """Return a script or stylesheet of this package."""
    return (files("assay.browser") / name).read_text(encoding="utf-8")


def _visit(name: str, order: list[str], importers: tuple[str, ...]) -> None:
    if name in importers:
        raise BundleError(f"{name} imports itself: {' → '.join((*importers, name))}")
    if name in order:
        return
    for names, target in _IMPORT.findall(read(name)):
        module = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        _visit(module, order, (*importers, name))
        exported = {declared for export, declared in _DECLARED.findall(read(module)) if export}
        missing = [imported for imported in re.split(r",\s*", names.strip(", ")) if imported not in exported]
        if missing:
            raise BundleError(f"{name} imports {', '.join(missing)}, which {module} does not export")
    order.append(name)


def _inline(name: str) -> str:
    text = _EXPORT.sub("", _IMPORT.sub("", read(name)))
    other = _OTHER_SYNTAX.search(text)
    if other:
        raise BundleError(f"{name}: unsupported import or export: {other[0]}")
    return text.strip() + "\n"


def _check_names(order: list[str]) -> None:
    owners: dict[str, str] = {}
    for name in order:
        for _, declared in _DECLARED.findall(read(name)):
            if declared in owners:
                raise BundleError(f"{declared} is declared in {owners[declared]} and in {name}")
            owners[declared] = name


#: Level 6 is within 2 % of level 9 on rankings, in a third of the time.
_LEVEL = 6
#: Marks pages of Assay, near the start of the file, so that a corpus walk can skip them.
GENERATOR = '<meta name="generator" content="Assay">'


class CompressedBlock(bytes):
    """A data block that is already compressed."""


def page(
    *,
    title: str,
    script: str,
    styles: Sequence[str],
    data: Mapping[str, bytes],
    fallback: str = "",
    live: bool = False,
) -> bytes:
    """Return the HTML of a page; `fallback` is escaped HTML for browsers without scripts.

    Blocks that are not compressed yet are compressed. Only a live page may send requests, to its own server.
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
    """Return the policy that allows this script and style and, on a live page, requests to its own server."""
    connect = "connect-src 'self'; " if live else ""
    return (
        f"default-src 'none'; script-src '{_hash(code)}'; style-src '{_hash(style)}'; {connect}img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def compress(value: bytes) -> CompressedBlock:
    """Compress a block; equal values give equal bytes with the same version of zlib."""
    return CompressedBlock(gzip.compress(value, compresslevel=_LEVEL, mtime=0))


def remaining_bytes(size: int, name: str) -> int:
    """Return how many compressed bytes a block may have in a page with `size` bytes left."""
    return max(0, (size - len(_block(name, CompressedBlock()))) // 4 * 3)


def _block(name: str, value: bytes) -> str:
    data = value if isinstance(value, CompressedBlock) else compress(value)
    return f'<script type="application/gzip" id="data-{name}">{b64encode(data).decode()}</script>\n'


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}"
