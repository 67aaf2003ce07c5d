"""Detect binary files, hash and decode files, and cache the results by stat values.

The cache compares size, mtime, ctime, inode and device. Programs can set mtime back but not ctime, which the system
sets at every write. So equal values mean equal contents, except for two writes within one tick of the file system's
clock. Therefore files changed shortly before a walk are not cached (git calls such entries racy).
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from assay._version import __version__
from assay.files import open_regular
from assay.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class WalkConfig:
    #: The limit of semble, so that both index the same files. The largest module of the standard library has 757,011
    #: bytes (pydoc_data/topics.py); larger files are generated tables, bundles and data.
    max_bytes: int = 1_000_000
    #: git decides between binary and text by the first 8,000 bytes.
    head_bytes: int = 8192
    #: A file that is not UTF-8 is binary above this share of control characters: 27 of the 255 bytes other
    #: than NUL, so 11 % of compressed or random data; texts with stray ones have far fewer than 2 %.
    control_share: float = 0.02
    #: Pages and JSON written by Assay are marked within their first 100 bytes, plus whitespace.
    own_bytes: int = 512
    #: Names listed in a note before "and N more".
    listed: int = 5


DEFAULT_WALKING = WalkConfig()
#: The head of pages written by browser/bundle.py.
_PAGE: Final = re.compile(
    rb'<!doctype html>\s*<html[^>]*>\s*<head>\s*<meta charset="utf-8">\s*<meta name="generator" content="Assay">'
)
#: The head of JSON written by Assay.
_DATA: Final = re.compile(rb'\s*\{\s*"schema":\s*"assay/[a-z-]+/\d+"')

#: Binary formats by their first bytes, since some have no NUL byte in the first 8 KiB.
_MAGIC: Final = {
    "PDF": (b"%PDF-",),
    "PNG": (b"\x89PNG\r\n\x1a\n",),
    "JPEG": (b"\xff\xd8\xff",),
    "GIF": (b"GIF87a", b"GIF89a"),
    "zip": (b"PK\x03\x04", b"PK\x05\x06"),
    "gzip": (b"\x1f\x8b",),
    "bzip2": (b"BZh",),
    "xz": (b"\xfd7zXZ\x00",),
    "zstd": (b"\x28\xb5\x2f\xfd",),
    "7z": (b"7z\xbc\xaf\x27\x1c",),
    "ELF": (b"\x7fELF",),
    "ar": (b"!<arch>\n",),
    "class or Mach-O": (b"\xca\xfe\xba\xbe",),
    "Mach-O": (b"\xcf\xfa\xed\xfe",),
    "WebAssembly": (b"\x00asm",),
    "font": (b"wOFF", b"wOF2"),
    "SQLite": (b"SQLite format 3\x00",),
    "Ogg": (b"OggS",),
    "MP3": (b"ID3",),
    "FLAC": (b"fLaC",),
    "UTF-16 text": (b"\xff\xfe", b"\xfe\xff"),
}
#: Bytes that no text encoding uses, not even as trail bytes (Shift-JIS, GBK, Big5, EUC), except tab, line ends, form
#: feed and escape (ISO 2022, terminals). Bytes above 0x7f are letters in some encoding.
_CONTROLS: Final = bytes({*range(0x20), 0x7F} - set(b"\t\n\r\f\x1b"))


@dataclass(frozen=True, slots=True)
class FileContents:
    shebang: bytes = b""  # the first line if it is a shebang
    size: int = 0
    sha256: str = ""
    utf8: bool = False
    reason: str = ""  # category of the exclusion; empty for an included file
    detail: str = ""


def examine(real: str, walking: WalkConfig) -> FileContents:
    with open_regular(real) as stream:
        head = stream.read(walking.head_bytes)
        if format_name := binary_format(head, walking):
            return FileContents(reason="binary", detail=format_name)
        if real.endswith(".html") and _PAGE.match(head[: walking.own_bytes]):
            return FileContents(reason="written by Assay", detail="an Assay report")
        if real.endswith(".json") and not head:  # `assay run --json > new.json`: the shell creates the file first
            detail = "empty, such as the output file of a running command"
            return FileContents(reason="written by Assay", detail=detail)
        if real.endswith((".json", ".jsonl")) and _DATA.match(head[: walking.own_bytes]):
            return FileContents(reason="written by Assay", detail="JSON written by Assay")
        data = head + stream.read(walking.max_bytes + 1 - len(head))
    if len(data) > walking.max_bytes:
        return FileContents(reason="oversized", detail=f"more than {walking.max_bytes:,} bytes")
    shebang = head.partition(b"\n")[0] if head.startswith(b"#!") else b""
    try:
        utf8 = data.isascii() or bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        utf8 = False
    return FileContents(shebang, len(data), hashlib.sha256(data).hexdigest(), utf8)


def decode_text(data: bytes) -> str:
    """Decode bytes as UTF-8 without the byte-order mark, or as Latin-1 if they are not valid UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def binary_format(head: bytes, walking: WalkConfig) -> str | None:
    """Return the format of a binary file, or why the file counts as binary, from its first bytes; None for text."""
    for name, magic in _MAGIC.items():
        if head.startswith(magic):
            return name
    if b"\0" in head:
        return "a NUL byte in its first bytes"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > walking.control_share * len(head):
        try:
            codecs.getincrementaldecoder("utf-8")().decode(head, len(head) < walking.head_bytes)
        except UnicodeDecodeError:
            return "control characters, not UTF-8"
    return None


#: Two seconds: FAT has the coarsest timestamps (HFS+ and old NFS: one second, ext4: some milliseconds), and two writes
#: in one tick have equal times.
_RACY_NS: Final = 2_000_000_000
#: The smallest int64, a time in 1677; earlier times, which some file systems have, do not fit.
_OLDEST_NS: Final = -(2**63)


class StatCache:
    def __init__(self, walking: WalkConfig = DEFAULT_WALKING, clock: Callable[[], int] = time.time_ns) -> None:
        self._walking = walking
        self._clock = clock
        self._moment = clock()
        self._known: dict[str, tuple[tuple[int, ...], FileContents]] = {}
        self._derived: dict[str, tuple[str, str]] = {}  # states of files, and a text that depends on them
        self._used: set[str] = set()  # keys of `_derived` in this walk
        self.changed = False  # since the cache was created or loaded

    def __len__(self) -> int:
        return len(self._known)

    def begin(self, walking: WalkConfig) -> None:
        """Begin a walk; drop all entries if the settings differ from those of the last walk."""
        if walking != self._walking:
            self._known.clear()
        self._walking = walking
        self._moment = self._clock()
        self._used.clear()

    def examine(self, real: str, state: os.stat_result) -> FileContents:
        now = _identity(state)
        known = self._known.get(real)
        if known is not None and known[0] == now:
            return known[1]
        self._known.pop(real, None)
        contents = examine(real, self._walking)
        if self._is_settled(now):
            self._known[real] = (now, contents)
            self.changed = True
        return contents

    def derive(self, key: str, files: Sequence[str], make: Callable[[], str | None]) -> str | None:
        """Return a text that depends only on `files`, from the cache if they have not changed; None is not cached."""
        self._used.add(key)
        states: list[tuple[int, ...]] = []
        for file in files:
            with suppress(OSError):
                states.append(_identity(os.stat(file)))
        now = repr(states)
        known = self._derived.get(key)
        if known is not None and known[0] == now:
            return known[1]
        self._derived.pop(key, None)
        text = make()
        if text is not None and all(map(self._is_settled, states)):
            self._derived[key] = (now, text)
            self.changed = True
        return text

    def _is_settled(self, state: tuple[int, ...]) -> bool:
        return all(_OLDEST_NS <= when < self._moment - _RACY_NS for when in state[1:3])

    def retain(self, reals: Collection[str]) -> None:
        retained = {real: known for real, known in self._known.items() if real in reals}
        used = {key: known for key, known in self._derived.items() if key in self._used}
        self.changed = self.changed or len(retained) < len(self._known) or len(used) < len(self._derived)
        self._known, self._derived = retained, used

    def columns(self) -> Mapping[str, NDArray[Any]]:
        import numpy as np

        from assay.store.array_file import pack_strings

        texts, numbers, nodes = [_stamp(self._walking)], [], []
        for real, (state, contents) in sorted(self._known.items()):
            texts += (os.fsencode(real), contents.shebang)
            texts += (contents.sha256.encode(), contents.reason.encode(), contents.detail.encode())
            numbers.append((*state[:3], contents.size, contents.utf8))
            nodes.append(state[3:])
        derived = [text for key, known in sorted(self._derived.items()) for text in (key, *known)]
        packed: dict[str, NDArray[Any]] = {}
        if derived:
            packed["derived"], packed["derived.offset"] = pack_strings(derived)
        return packed | {
            "texts": np.frombuffer(b"\0".join(texts), dtype=np.uint8),
            "numbers": np.array(numbers, dtype=np.int64).reshape(-1, 5),
            "nodes": np.array(nodes, dtype=np.uint64).reshape(-1, 2),
        }

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, NDArray[Any]],
        walking: WalkConfig = DEFAULT_WALKING,
        clock: Callable[[], int] = time.time_ns,
    ) -> StatCache:
        """Load a cache from the arrays of `columns`; return an empty cache if the Assay version or settings differ."""
        cache = cls(walking, clock)
        stamp, *texts = columns["texts"].tobytes().split(b"\0")
        if stamp != _stamp(walking):
            return cache
        by_row = (texts[column::5] for column in range(5))
        rows = zip(*by_row, columns["numbers"].tolist(), columns["nodes"].tolist(), strict=True)
        for path, shebang, sha256, reason, detail, (size, mtime, ctime, length, utf8), node in rows:
            contents = FileContents(shebang, length, sha256.decode(), bool(utf8), reason.decode(), detail.decode())
            cache._known[os.fsdecode(path)] = ((size, mtime, ctime, *node), contents)
        if "derived" in columns:
            from assay.store.array_file import StringColumn

            derived = StringColumn(columns["derived"], columns["derived.offset"]).all()
            triples = zip(derived[::3], derived[1::3], derived[2::3], strict=True)
            cache._derived = {key: (state, text) for key, state, text in triples}
        return cache


def _identity(state: os.stat_result) -> tuple[int, ...]:
    return (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev)


def _stamp(walking: WalkConfig) -> bytes:
    return f"{__version__} {walking!r}".encode()
