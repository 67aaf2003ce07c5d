"""A cache of file contents keyed by stat, so that unchanged files are not read again.

The key is size, times, inode and device. Programs can set mtime back but not ctime, which the system sets at every
write. So an equal key means equal contents, except for two writes within one tick of the file system's clock. Therefore
files changed shortly before they were read are not cached (git calls such entries racy).
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


#: The coarsest clock is that of FAT with two seconds (HFS+ and old NFS have one, ext4 some milliseconds); two writes in
#: one tick have equal times.
_RACY_NS: Final = 2_000_000_000
#: The smallest int64; some file systems have times before 1678.
_OLDEST_NS: Final = -(2**63)
_SHA_BYTES: Final = 32


class _State(NamedTuple):
    """The key of a file."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int


class StatCache:
    """Cached contents of the files of one tree; after a walk it holds the files of that walk."""

    def __init__(self, walking: WalkConfig = DEFAULT_WALKING, clock: Callable[[], int] = time.time_ns) -> None:
        self._walking = walking
        self._clock = clock
        self._moment = clock()
        self._known: dict[str, tuple[_State, FileContents | RejectedFile]] = {}
        self.changed = False  # since it was created or loaded

    def __len__(self) -> int:
        return len(self._known)

    def begin(self, walking: WalkConfig) -> None:
        """Begin a walk; entries made under other settings are dropped."""
        if walking != self._walking:
            self._known.clear()
        self._walking = walking
        self._moment = self._clock()

    def examine(self, real: str, state: os.stat_result) -> FileContents | RejectedFile:
        """Return the contents of a file; `state` is its stat, taken since the walk began."""
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
        """Drop all other files."""
        kept = {real: known for real, known in self._known.items() if real in reals}
        self.changed = self.changed or len(kept) < len(self._known)
        self._known = kept

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Return all entries as arrays, sorted by path."""
        import numpy as np

        rows = sorted(self._known.items())
        states = [known[0] for _, known in rows]
        founds = [known[1] for _, known in rows]
        texts = [found if isinstance(found, FileContents) else _NO_CONTENTS for found in founds]
        refusals = [found if isinstance(found, RejectedFile) else _NO_REFUSAL for found in founds]
        return {
            "stamp": _concatenate([_stamp(self._walking)]),
            "paths": _concatenate(os.fsencode(real) for real, _ in rows),
            "states": np.array([state[:3] for state in states], dtype=np.int64).reshape(-1, 3),
            "nodes": np.array([state[3:] for state in states], dtype=np.uint64).reshape(-1, 2),
            "sizes": np.array([text.size for text in texts], dtype=np.int64),
            "utf8": np.array([text.utf8 for text in texts], dtype=np.bool_),
            "sha256": np.frombuffer(bytes.fromhex("".join(text.sha256 for text in texts)), dtype=np.uint8),
            "shebangs": _concatenate(text.shebang for text in texts),
            "reasons": _concatenate(refusal.reason.encode("utf-8") for refusal in refusals),
            "details": _concatenate(refusal.detail.encode("utf-8") for refusal in refusals),
        }

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, NDArray[Any]],
        walking: WalkConfig = DEFAULT_WALKING,
        clock: Callable[[], int] = time.time_ns,
    ) -> StatCache:
        """Load the arrays of `columns`; those of another version or other settings are ignored."""
        memory = cls(walking, clock)
        if _split(columns["stamp"]) != [_stamp(walking)]:
            return memory
        states = zip(*columns["states"].T.tolist(), *columns["nodes"].T.tolist(), strict=True)
        paths = map(os.fsdecode, _split(columns["paths"]))
        known = zip(map(_State._make, states), _read_contents(columns), strict=True)
        memory._known = dict(zip(paths, known, strict=True))
        return memory


#: Placeholders in the columns of included files for excluded ones, and vice versa.
_NO_CONTENTS: Final = FileContents(b"", 0, "00" * _SHA_BYTES, True)
_NO_REFUSAL: Final = RejectedFile("", "")


def _read_contents(columns: Mapping[str, NDArray[Any]]) -> Iterable[FileContents | RejectedFile]:
    hexadecimal = columns["sha256"].tobytes().hex()
    width = 2 * _SHA_BYTES
    rows = zip(
        _split(columns["shebangs"]),
        columns["sizes"].tolist(),
        (hexadecimal[at : at + width] for at in range(0, len(hexadecimal), width)),
        columns["utf8"].tolist(),
        _split(columns["reasons"]),
        _split(columns["details"]),
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


def _concatenate(parts: Iterable[bytes]) -> NDArray[np.uint8]:
    import numpy as np

    return np.frombuffer(b"".join(part + b"\0" for part in parts), dtype=np.uint8)


def _split(blob: NDArray[np.uint8]) -> list[bytes]:
    return blob.tobytes().split(b"\0")[:-1]
