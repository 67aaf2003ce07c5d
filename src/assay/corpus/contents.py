"""Examination of files: tool directories, binary formats, files written by Assay, hash and encoding."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from assay.corpus.config import WalkConfig

#: Directories of tools, which hold no source; files in them that git tracks are included.
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

#: Build output in some projects and source in others: excluded only where git tracks nothing below.
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


def tool_folder_reason(real: str, names: frozenset[str]) -> str | None:
    """Return why the files of a directory mark it as a virtual environment or a cache; else None."""
    if "pyvenv.cfg" in names:
        return "a virtual environment (pyvenv.cfg)"
    if "CACHEDIR.TAG" in names:
        with suppress(OSError), open(os.path.join(real, "CACHEDIR.TAG"), "rb") as stream:
            if stream.read(len(_CACHE_TAG)) == _CACHE_TAG:
                return "a cache (CACHEDIR.TAG)"
    return None


#: The head of pages written by browser/bundle.py.
_PAGE: Final = re.compile(
    rb'<!doctype html>\s*<html[^>]*>\s*<head>\s*<meta charset="utf-8">\s*<meta name="generator" content="Assay">'
)
#: The head of JSON written by Assay.
_DATA: Final = re.compile(rb'\s*\{\s*"schema":\s*"assay/[a-z-]+/\d+"')


def own_file_reason(real: str, head: bytes) -> str | None:
    """Return why a file, by its name and first bytes, was written by Assay; else None."""
    if real.endswith(".html"):
        return "a page that Assay made" if _PAGE.match(head) else None
    if not real.endswith(".json"):
        return None
    if not head:
        # `assay run --json > made.json`: the shell creates the file before Assay writes to it
        return "empty, such as the output file of a running command"
    return "JSON that Assay wrote" if _DATA.match(head) else None


#: Formats whose first 8 KiB may not contain a NUL byte.
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
#: Bytes that no text encoding uses, not even as trail bytes (Shift-JIS, GBK, Big5, EUC), except tab, line ends, form
#: feed and escape (ISO 2022, terminals). Bytes above 0x7f are letters in some encoding.
_CONTROLS: Final = bytes({*range(0x20), 0x7F} - set(b"\t\n\r\f\x1b"))


@dataclass(frozen=True, slots=True)
class FileContents:
    """The properties of a text file."""

    shebang: bytes  # the first line if it is a shebang
    size: int
    sha256: str
    utf8: bool


@dataclass(frozen=True, slots=True)
class RejectedFile:
    """An excluded file: category and explanation."""

    reason: str
    detail: str


def examine(real: str, walking: WalkConfig) -> FileContents | RejectedFile:
    """Read and hash a file, or return why it is excluded."""
    with open(real, "rb") as stream:
        head = stream.read(walking.head_bytes)
        if found := binary_format(head, walking):
            return RejectedFile("binary", found)
        if ours := own_file_reason(real, head[: walking.own_bytes]):
            return RejectedFile("written by Assay", ours)
        data = head + stream.read(walking.max_bytes + 1 - len(head))
    if len(data) > walking.max_bytes:
        return RejectedFile("oversized", f"more than {walking.max_bytes:,} bytes")
    shebang = head.partition(b"\n")[0] if head.startswith(b"#!") else b""
    return FileContents(shebang, len(data), hashlib.sha256(data).hexdigest(), _is_utf8(data))


def binary_format(head: bytes, walking: WalkConfig) -> str | None:
    """Return the binary format of a file by its first bytes; None for text in any encoding."""
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if b"\0" in head:
        return "a NUL byte in its first bytes"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > walking.control_share * len(head):
        try:
            codecs.getincrementaldecoder("utf-8")().decode(head, len(head) < walking.head_bytes)
        except UnicodeDecodeError:
            return "control characters, and no UTF-8"
    return None


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
