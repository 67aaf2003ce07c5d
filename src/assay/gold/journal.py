from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar

from assay.errors import GoldError, SetupError
from assay.files import sync_directory
from assay.locks import FileLock

if TYPE_CHECKING:
    import yaml

    from assay.gold.yaml_nodes import YamlNode

T = TypeVar("T")

#: Suffix of the review directory beside a gold file.
REVIEW_SUFFIX = ".review"
#: Suffix of the log of accesses to sealed queries, beside a gold file.
ACCESS_LOG_SUFFIX = ".looks.jsonl"

_LARGEST = 256_000_000  # bytes; about 250,000 proposals


class JournalCache(Generic[T]):
    def __init__(self, path: Path, read: Callable[[], T]) -> None:
        self._path, self._read = path, read
        self._known: tuple[tuple[int, int, int], T] | None = None

    def __call__(self) -> T:
        """Return the cached value; read the journal again if its inode, size or modification time changed."""
        try:
            now = os.stat(self._path)
            key = (now.st_ino, now.st_size, now.st_mtime_ns)
        except FileNotFoundError:
            key = (0, 0, 0)
        except OSError as error:
            raise _unreadable(self._path, error) from error
        if self._known is None or self._known[0] != key:
            self._known = (key, self._read())  # later writes change the key
        return self._known[1]


class Journal:
    def __init__(self, path: Path, file: BinaryIO, *, keep: bool = False) -> None:
        self.path = path
        self._file = file
        left = _last_line(path)
        self.cut = _torn_size(left)  # bytes of an incomplete last line, left by a killed writer
        if left and (keep or not self.cut):
            file.write(b"\n")
        elif left:
            file.truncate(file.tell() - len(left))

    def rows(self) -> list[YamlNode]:
        return read_rows(self.path)

    def append(self, values: Iterable[Mapping[str, object]]) -> None:
        data = b"".join(_line(value, self.path) for value in values)
        while data:  # a nearly full disk may accept only a part
            data = data[os.write(self._file.fileno(), data) :]
        os.fsync(self._file.fileno())


@contextmanager
def open_journal(path: Path, *, keep: bool = False) -> Iterator[Journal]:
    """Open and lock a journal, creating it if needed.

    A last line without a newline gets one, or is removed if it is incomplete and `keep` is false.
    """
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        lock.acquire()
        if new:
            sync_directory(path.parent)
        with path.open("ab", buffering=0) as file:
            yield Journal(path, file, keep=keep)
    except OSError as error:
        hint = "check the directory permissions and the free disk space"
        raise SetupError(f"cannot write the file: {error.strerror or error}", file=path, hint=hint) from error
    finally:
        lock.release()


def append(path: Path, values: Sequence[Mapping[str, object]]) -> None:
    """Append lines to a journal; an incomplete last line is kept as an invalid one, on which readers raise."""
    with open_journal(path, keep=True) as journal:
        journal.append(values)


def truncated_bytes(path: Path) -> int:
    """Return the size in bytes of an incomplete last line, as left by a killed writer, or 0 if there is none."""
    try:
        return _torn_size(_last_line(path))
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise _unreadable(path, error) from error


def read_whole(path: Path) -> list[YamlNode]:
    """Read a journal like `read_rows`, but raise if the last line is incomplete."""
    rows = read_rows(path)
    if truncated_bytes(path):
        hint = "complete or remove the line"
        raise GoldError("the last line is incomplete", file=path, line=len(rows) + 1, hint=hint)
    return rows


def read_rows(path: Path, most: int = _LARGEST) -> list[YamlNode]:
    """Read all lines of a journal except an incomplete last one; return an empty list if the file is missing."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(raw) > most:
        hint = "remove lines that are no longer needed"
        raise GoldError(f"file too large: {len(raw)} bytes, the limit is {most}", file=path, hint=hint)
    *lines, last = raw.split(b"\n")
    lines += [last] if last and not _torn_size(last) else []
    return [_row(path, number, line) for number, line in enumerate(lines, 1)]


def _last_line(path: Path) -> bytes:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return b""
        file.seek(-1, os.SEEK_END)
        if file.read() == b"\n":
            return b""
        file.seek(0)
        return file.read().rpartition(b"\n")[2]


def _torn_size(line: bytes) -> int:
    try:
        whole = isinstance(json.loads(line.decode("utf-8")), dict)
    except (ValueError, RecursionError):
        whole = False
    return 0 if whole else len(line)


def _line(value: Mapping[str, object], path: Path) -> bytes:
    try:
        return f"{json.dumps(value, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError as error:
        raise GoldError("cannot write an unpaired surrogate", file=path, hint="remove the character") from error


def read_row(value: Mapping[str, object], path: Path, number: int) -> YamlNode:
    """Return a value as readers will parse it from line `number`, so that it can be checked before it is written."""
    return _row(path, number, _line(value, path))


def _row(path: Path, number: int, line: bytes) -> YamlNode:
    import yaml

    from assay.gold.yaml_nodes import YamlNode

    mark = yaml.Mark("", 0, number - 1, 0, None, 0)

    def make(value: object) -> yaml.Node:
        if isinstance(value, _Pairs):
            pairs = [(make(key), make(item)) for key, item in value]
            return yaml.MappingNode("tag:yaml.org,2002:map", pairs, mark, mark)
        if isinstance(value, list):
            return yaml.SequenceNode("tag:yaml.org,2002:seq", [make(item) for item in value], mark, mark)
        text = value if isinstance(value, str) else json.dumps(value)
        return yaml.ScalarNode("tag:yaml.org,2002:str", text, mark, mark)

    try:
        node = make(json.loads(line.decode("utf-8"), object_pairs_hook=_Pairs))
    except (ValueError, RecursionError) as error:
        raise GoldError(f"invalid JSON: {error}", file=path, line=number, hint="fix or remove the line") from error
    return YamlNode(node, f"line {number}", str(path))


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, including duplicate keys, on which `YamlNode.mapping` raises."""


def _unreadable(path: Path, error: OSError) -> GoldError:
    return GoldError(f"cannot read the file: {error.strerror or error}", file=path, hint="check the file permissions")
