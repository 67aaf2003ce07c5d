"""What files were like when they were last read, so that those that have not changed need not be read again.

A file is known again by size, times, inode and device. Programs may set the time of modification back, but not the
time of change: that one only the system sets, at every write. So an unchanged state means unchanged contents, with one
exception: two writes within one tick of the file system's clock. Therefore nothing is remembered of a file that was
changed shortly before it was read (git calls such an entry racy).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from assay._version import __version__
from assay.corpus.config import DEFAULT_WALKING, WalkConfig
from assay.corpus.contents import FileContents, RejectedFile, examine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


#: The coarsest clock of a file system in use is that of FAT with two seconds (HFS+ and old NFS have one, ext4 some
#: milliseconds); a write in the same tick as the one before leaves no trace in the times.
_RACY_NS: Final = 2_000_000_000
#: What fits into a column; some file systems know times before 1678.
_OLDEST_NS: Final = -(2**63)
_SHA_BYTES: Final = 32


class _State(NamedTuple):
    """How a file is known again."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int


class StatCache:
    """What was found in the files of one tree; used by one walk at a time, and left holding what that walk met."""

    def __init__(self, walking: WalkConfig = DEFAULT_WALKING, clock: Callable[[], int] = time.time_ns) -> None:
        self._walking = walking
        self._clock = clock
        self._moment = clock()
        self._known: dict[str, tuple[_State, FileContents | RejectedFile]] = {}
        self.changed = False  # since it was made or read: whether writing it down again is worth anything

    def __len__(self) -> int:
        return len(self._known)

    def begin(self, walking: WalkConfig) -> None:
        """Begin a walk: what was found under other settings is forgotten, and from now on files may change."""
        if walking != self._walking:
            self._known.clear()
        self._walking = walking
        self._moment = self._clock()

    def examine(self, real: str, state: os.stat_result) -> FileContents | RejectedFile:
        """Say what is in a file; `state` was asked for since the walk began, and before this."""
        now = _State(state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev)
        known = self._known.get(real)
        if known is not None and known[0] == now:
            return known[1]
        self._known.pop(real, None)
        found = examine(real, self._walking)
        if all(_OLDEST_NS <= when < self._moment - _RACY_NS for when in (now.mtime_ns, now.ctime_ns)):
            self._known[real] = (now, found)
            self.changed = True
        return found

    def retain(self, reals: Collection[str]) -> None:
        """Forget every file but these."""
        kept = {real: known for real, known in self._known.items() if real in reals}
        self.changed = self.changed or len(kept) < len(self._known)
        self._known = kept

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Write everything as arrays, in an order that depends on the paths alone."""
        import numpy as np

        rows = sorted(self._known.items())
        states = [known[0] for _, known in rows]
        founds = [known[1] for _, known in rows]
        texts = [found if isinstance(found, FileContents) else _NO_CONTENTS for found in founds]
        refusals = [found if isinstance(found, RejectedFile) else _NO_REFUSAL for found in founds]
        return {
            "stamp": _joined([_stamp(self._walking)]),
            "paths": _joined(os.fsencode(real) for real, _ in rows),
            "states": np.array([state[:3] for state in states], dtype=np.int64).reshape(-1, 3),
            "nodes": np.array([state[3:] for state in states], dtype=np.uint64).reshape(-1, 2),
            "sizes": np.array([text.size for text in texts], dtype=np.int64),
            "utf8": np.array([text.utf8 for text in texts], dtype=np.bool_),
            "sha256": np.frombuffer(bytes.fromhex("".join(text.sha256 for text in texts)), dtype=np.uint8),
            "shebangs": _joined(text.shebang for text in texts),
            "reasons": _joined(refusal.reason.encode("utf-8") for refusal in refusals),
            "details": _joined(refusal.detail.encode("utf-8") for refusal in refusals),
        }

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, NDArray[Any]],
        walking: WalkConfig = DEFAULT_WALKING,
        clock: Callable[[], int] = time.time_ns,
    ) -> StatCache:
        """Read what `columns` wrote; of another version or under other settings nothing is known."""
        memory = cls(walking, clock)
        if _parted(columns["stamp"]) != [_stamp(walking)]:
            return memory
        states = zip(*columns["states"].T.tolist(), *columns["nodes"].T.tolist(), strict=True)
        paths = map(os.fsdecode, _parted(columns["paths"]))
        known = zip(map(_State._make, states), _founds(columns), strict=True)
        memory._known = dict(zip(paths, known, strict=True))
        return memory


#: What stands in the columns of a text for a file that was refused, and the other way round.
_NO_CONTENTS: Final = FileContents(b"", 0, "00" * _SHA_BYTES, True)
_NO_REFUSAL: Final = RejectedFile("", "")


def _founds(columns: Mapping[str, NDArray[Any]]) -> Iterable[FileContents | RejectedFile]:
    hexadecimal = columns["sha256"].tobytes().hex()
    width = 2 * _SHA_BYTES
    rows = zip(
        _parted(columns["shebangs"]),
        columns["sizes"].tolist(),
        (hexadecimal[at : at + width] for at in range(0, len(hexadecimal), width)),
        columns["utf8"].tolist(),
        _parted(columns["reasons"]),
        _parted(columns["details"]),
        strict=True,
    )
    for shebang, size, sha256, utf8, reason, detail in rows:
        yield (
            RejectedFile(reason.decode("utf-8"), detail.decode("utf-8"))
            if reason
            else FileContents(shebang, size, sha256, utf8)
        )


def _stamp(walking: WalkConfig) -> bytes:
    return f"{__version__} {walking!r}".encode()


def _joined(parts: Iterable[bytes]) -> NDArray[np.uint8]:
    import numpy as np

    return np.frombuffer(b"".join(part + b"\0" for part in parts), dtype=np.uint8)


def _parted(blob: NDArray[np.uint8]) -> list[bytes]:
    return blob.tobytes().split(b"\0")[:-1]
