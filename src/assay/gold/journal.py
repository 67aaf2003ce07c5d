"""Files that only grow, a JSON object a line: several processes append, and a kill costs no whole line."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assay.errors import GoldError, SetupError
from assay.files import sync_folder

if TYPE_CHECKING:
    import yaml

    from assay.gold.native.nodes import YamlNode


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JournalLimits:
    """How much of a journal is read."""

    bytes: int = 256_000_000  # some 250,000 proposals; beyond it the file was not written here


class JournalCache(Generic[T]):
    """What was made of a journal, for as long as the journal is the same: a server reads it with every request."""

    def __init__(self, path: Path, read: Callable[[], T]) -> None:
        self._path, self._read = path, read
        self._known: tuple[tuple[int, int, int], T] | None = None

    def __call__(self) -> T:
        """Give it, read anew where the file is another one, longer or younger."""
        key = self._key()
        known = self._known
        if known is None or known[0] != key:
            known = self._known = (key, self._read())  # what came in between has another key, and is read next time
        return known[1]

    def _key(self) -> tuple[int, int, int]:
        try:
            now = os.stat(self._path)
        except FileNotFoundError:
            return (0, 0, 0)
        except OSError as error:
            raise _unreadable(self._path, error) from error
        return (now.st_ino, now.st_size, now.st_mtime_ns)


class Journal:
    """A journal that nobody else writes meanwhile; made by `opened`."""

    def __init__(self, path: Path, handle: int, *, keep: bool = False) -> None:
        self.path = path
        self._handle = handle
        left = _torn_bytes(handle)
        self.cut = _torn_part(left)  # bytes that a killed writer left of a line
        if left and (keep or not self.cut):
            os.write(handle, b"\n")
        elif left:
            os.ftruncate(handle, os.fstat(handle).st_size - len(left))

    def rows(self) -> list[YamlNode]:
        """Give the lines that are there."""
        return read_rows(self.path)

    def append(self, values: Iterable[Mapping[str, object]]) -> None:
        """Add lines, all in one write, and wait until they are on the disk."""
        data = b"".join(_line(value, self.path) for value in values)
        while data:
            data = data[os.write(self._handle, data) :]
        os.fsync(self._handle)


@contextmanager
def opened(path: Path, *, keep: bool = False) -> Iterator[Journal]:
    """Hold a journal against other writers, made if it is not there; a line that a kill tore is cut off, or kept.

    A last line that is whole and lacks only its end, as some editors and tools leave it, is ended.
    """
    handle = _open(path)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield Journal(path, handle, keep=keep)
    except OSError as error:
        raise _unusable(path, error) from error
    finally:
        os.close(handle)


def append(path: Path, values: Sequence[Mapping[str, object]]) -> None:
    """Add lines to a log that keeps all it ever held: half a line stays, ended, for its reader to complain about."""
    with opened(path, keep=True) as journal:
        journal.append(values)


def truncated_bytes(path: Path) -> int:
    """Count the bytes of half a line at the end: what a kill, or a copy that broke off, left of it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        return _torn_part(_torn_bytes(handle))
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(handle)


def read_whole(path: Path) -> list[YamlNode]:
    """Read a journal that must not have lost anything: half a line at its end is an error, not the end of a file."""
    rows = read_rows(path)
    if truncated_bytes(path):
        hint = "complete the line or remove it; what it said does not count as it is"
        raise GoldError("the last line is cut off", file=path, line=len(rows) + 1, hint=hint)
    return rows


def read_rows(path: Path, limits: JournalLimits | None = None) -> list[YamlNode]:
    """Read the whole lines of a journal, none where there is no file; half a line at the end is no line."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(path, error) from error
    most = (limits or JournalLimits()).bytes
    if len(raw) > most:
        raise GoldError(f"the file has {len(raw)} bytes; at most {most} are read", file=path, hint="move it away")
    *lines, last = raw.split(b"\n")
    lines += [last] if last and not _torn_part(last) else []
    return [_row(path, number, line) for number, line in enumerate(lines, 1)]


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        if new:
            sync_folder(path.parent)
    except OSError as error:
        raise _unusable(path, error) from error
    return handle


def _torn_bytes(handle: int) -> bytes:
    size = os.fstat(handle).st_size
    if size == 0 or os.pread(handle, 1, size - 1) == b"\n":
        return b""
    return os.pread(handle, size, 0).rpartition(b"\n")[2]


def _torn_part(line: bytes) -> int:
    try:
        whole = isinstance(json.loads(line.decode("utf-8")), dict)
    except (ValueError, RecursionError):
        whole = False
    return 0 if whole else len(line)


def _line(value: Mapping[str, object], path: Path) -> bytes:
    try:
        return f"{json.dumps(value, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError as error:
        raise GoldError(
            "a text holds half a surrogate pair, which is no character", file=path, hint="write the whole character"
        ) from error


def read_row(value: Mapping[str, object], path: Path, number: int) -> YamlNode:
    """Give a line as it will be read, before it is written: what nobody can read back must not get in."""
    return _row(path, number, _line(value, path))


def _row(path: Path, number: int, line: bytes) -> YamlNode:
    """Read one line as nodes that know their line, so that gold readers can complain about it."""
    import yaml

    from assay.gold.native.nodes import YamlNode

    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=_Pairs)
        node = _node(value, yaml.Mark("", 0, number - 1, 0, None, 0))
    except (ValueError, RecursionError) as error:
        raise GoldError(
            f"not a line of JSON: {error}", file=path, line=number, hint="mend or remove the line; lines are not edited"
        ) from error
    return YamlNode(node, f"line {number}", str(path))


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of a JSON object, repeated keys kept: the reader of the mapping refuses them."""


def _node(value: object, mark: yaml.Mark) -> yaml.Node:
    from yaml.nodes import MappingNode, ScalarNode, SequenceNode

    def make(value: object) -> yaml.Node:
        if isinstance(value, str):
            return ScalarNode("tag:yaml.org,2002:str", value, mark, mark)
        if isinstance(value, _Pairs):
            pairs = [(make(key), make(item)) for key, item in value]
            return MappingNode("tag:yaml.org,2002:map", pairs, mark, mark)
        if isinstance(value, list):
            return SequenceNode("tag:yaml.org,2002:seq", [make(item) for item in value], mark, mark)
        return ScalarNode("tag:yaml.org,2002:str", json.dumps(value), mark, mark)  # a number stays the text it is

    return make(value)


def _unreadable(path: Path, error: OSError) -> GoldError:
    return GoldError(f"cannot be read: {error.strerror or error}", file=path, hint="check its rights")


def _unusable(path: Path, error: OSError) -> SetupError:
    return SetupError(
        f"cannot be written: {error.strerror or error}", file=path, hint="check the folder's rights and the free space"
    )
