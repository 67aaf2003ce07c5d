"""What is in a file: its hash, whether it is text, whether that text is UTF-8."""

from __future__ import annotations

import codecs
import hashlib
from dataclasses import dataclass
from typing import Final

from assay.corpus.config import Walking
from assay.corpus.walking.ours import written_by_assay

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
class Contents:
    """A text file that was read: enough to place it in a corpus."""

    shebang: bytes  # the first line, when it is one
    size: int
    sha256: str
    utf8: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that was read and does not count: the word to count by, and the sentence."""

    reason: str
    detail: str


def examine(real: str, walking: Walking) -> Contents | Refused:
    """Read a file and hash it, or say why it does not count."""
    with open(real, "rb") as stream:
        head = stream.read(walking.head_bytes)
        if found := binary(head, walking):
            return Refused("binary", found)
        if ours := written_by_assay(real, head[: walking.own_bytes]):
            return Refused("written by Assay", ours)
        data = head + stream.read(walking.max_bytes + 1 - len(head))
    if len(data) > walking.max_bytes:
        return Refused("oversized", f"more than {walking.max_bytes:,} bytes")
    shebang = head.partition(b"\n")[0] if head.startswith(b"#!") else b""
    return Contents(shebang, len(data), hashlib.sha256(data).hexdigest(), _is_utf8(data))


def binary(head: bytes, walking: Walking) -> str | None:
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
    """Tell whether these are the first bytes of a UTF-8 text; the last character may be cut unless they are all."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, whole)
    except UnicodeDecodeError:
        return False
    return True


def _is_utf8(data: bytes) -> bool:
    """Tell whether the bytes are UTF-8."""
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
