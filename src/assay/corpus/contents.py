"""What is in a file: its hash, whether it is text, whether that text is UTF-8."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
from dataclasses import dataclass
from typing import Final

from assay.corpus.config import WalkConfig

#: Folders of tools. Nobody keeps source of their own in one; when git tracks files in them, those count.
ALWAYS: Final = frozenset(
    {
        ".bzr",
        ".direnv",
        ".dart_tool",
        ".eggs",
        ".git",
        ".gradle",
        ".hg",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".jj",
        ".mypy_cache",
        ".next",
        ".nox",
        ".nuxt",
        ".parcel-cache",
        ".pixi",
        ".pytest_cache",
        ".ruff_cache",
        ".stack-work",
        ".svelte-kit",
        ".svn",
        ".terraform",
        ".tox",
        ".turbo",
        ".venv",
        "__pycache__",
        "__pypackages__",
        "_darcs",
        "bower_components",
        "elm-stuff",
        "node_modules",
    }
)

#: Names that are build output in one project and source in the next: left out only where git tracks nothing below.
AMBIGUOUS: Final = frozenset(
    {
        "_build",
        "bin",
        "build",
        "coverage",
        "deps",
        "dist",
        "env",
        "htmlcov",
        "obj",
        "out",
        "output",
        "target",
        "tmp",
        "vendor",
        "venv",
        "Pods",
    }
)

_CACHE_TAG: Final = b"Signature: 8a477f597d28d172789f06886806bc55"  # https://bford.info/cachedir/


def marked(real: str, names: frozenset[str]) -> str | None:
    """Say which file inside a folder marks it as a virtual environment or a cache."""
    if "pyvenv.cfg" in names:
        return "a virtual environment (pyvenv.cfg)"
    if "CACHEDIR.TAG" in names and _is_cache(os.path.join(real, "CACHEDIR.TAG")):
        return "a cache (CACHEDIR.TAG)"
    return None


def _is_cache(tag: str) -> bool:
    try:
        with open(tag, "rb") as stream:
            return stream.read(len(_CACHE_TAG)) == _CACHE_TAG
    except OSError:
        return False


#: How a page says who made it (browser/bundle.py), which stands behind the character set and before anything else.
_PAGE: Final = re.compile(
    rb'<!doctype html>\s*<html[^>]*>\s*<head>\s*<meta charset="utf-8">\s*<meta name="generator" content="Assay">'
)
#: How every JSON of ours begins, on one line or on several.
_DATA: Final = re.compile(rb'\s*\{\s*"schema":\s*"assay/[a-z-]+/\d+"')


def own_file_reason(real: str, head: bytes) -> str | None:
    """Say why a file counts as Assay's own, by its name and its first bytes; None for anybody else's."""
    if real.endswith(".html"):
        return "a page that Assay made" if _PAGE.match(head) else None
    if not real.endswith(".json"):
        return None
    if not head:
        # `assay run --json > made.json`: the shell makes the file before anything is in it
        return "empty, as a file is that the output of a command goes to"
    return "JSON that Assay wrote" if _DATA.match(head) else None


#: Formats whose first 8 KiB may hold no NUL byte.
_MAGIC: Final = (
    (b"%PDF-", "PDF"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"\x7fELF", "ELF"),
    (b"!<arch>\n", "ar"),
    (b"\xca\xfe\xba\xbe", "class or Mach-O"),
    (b"\xcf\xfa\xed\xfe", "Mach-O"),
    (b"\x00asm", "WebAssembly"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    (b"SQLite format 3\x00", "SQLite"),
    (b"OggS", "Ogg"),
    (b"ID3", "MP3"),
    (b"fLaC", "FLAC"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
#: What no encoding of text uses, neither Latin-1 and its kin nor the trail bytes of Shift-JIS, GBK, Big5 or EUC; tab,
#: line ends, form feed and escape (of ISO 2022 and of terminals) aside. Bytes above 0x7f are letters somewhere.
_CONTROLS: Final = bytes({*range(0x20), 0x7F} - set(b"\t\n\r\f\x1b"))


@dataclass(frozen=True, slots=True)
class FileContents:
    """A text file that was read: enough to place it in a corpus."""

    shebang: bytes  # the first line, when it is one
    size: int
    sha256: str
    utf8: bool


@dataclass(frozen=True, slots=True)
class RejectedFile:
    """A file that was read and does not count: the word to count by, and the sentence."""

    reason: str
    detail: str


def examine(real: str, walking: WalkConfig) -> FileContents | RejectedFile:
    """Read a file and hash it, or say why it does not count."""
    with open(real, "rb") as stream:
        head = stream.read(walking.head_bytes)
        if found := binary(head, walking):
            return RejectedFile("binary", found)
        if ours := own_file_reason(real, head[: walking.own_bytes]):
            return RejectedFile("written by Assay", ours)
        data = head + stream.read(walking.max_bytes + 1 - len(head))
    if len(data) > walking.max_bytes:
        return RejectedFile("oversized", f"more than {walking.max_bytes:,} bytes")
    shebang = head.partition(b"\n")[0] if head.startswith(b"#!") else b""
    return FileContents(shebang, len(data), hashlib.sha256(data).hexdigest(), _is_utf8(data))


def binary(head: bytes, walking: WalkConfig) -> str | None:
    """Say which binary format the first bytes belong to; None for text, in whatever encoding."""
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if b"\0" in head:
        return "a NUL byte in its first bytes"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > walking.control_share * len(head) and not _begins_as_utf8(head, whole=len(head) < walking.head_bytes):
        return "control characters, and no UTF-8"
    return None


def _begins_as_utf8(head: bytes, *, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, whole)
    except UnicodeDecodeError:
        return False
    return True


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
