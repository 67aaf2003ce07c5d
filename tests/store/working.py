"""Programs that use one store at the same time; run by test_processes in processes of their own, and killed there.

python -m tests.store.working obtain ROOT SEED        make and read folders for ever
python -m tests.store.working cells ROOT SEED TIMES   write and read small things, and say how many were wrong
python -m tests.store.working prune ROOT              prune to nothing for ever
python -m tests.store.working stall ROOT NOTE         make half a folder, touch NOTE and wait to be killed
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from assay.store.store import Store

KEYS = tuple(f"key {number}" for number in range(6))


def content(key: str) -> dict[str, bytes]:
    """Give the files of a key: what they hold follows from it alone."""
    draw = random.Random(key)
    return {f"part-{n}.bin": draw.randbytes(draw.randint(0, 60_000)) for n in range(4)}


def put(name: str, data: bytes) -> Callable[[Path], None]:
    """Give a maker of a folder with one file."""

    def make(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return make


def fill(key: str, folder: Path) -> None:
    """Write the files of a key slowly, a piece at a time, so that a kill finds it in the middle."""
    for name, data in content(key).items():
        with (folder / name).open("wb") as stream:
            for start in range(0, len(data), 8_192):
                stream.write(data[start : start + 8_192])
                stream.flush()
                time.sleep(0.0005)


def check(artefacts: Store, key: str) -> None:
    """Obtain a folder and read every byte; anything else than what was meant is an error."""
    folder = artefacts.directory("tables", key, lambda place: fill(key, place))
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    if found != content(key):
        raise AssertionError(f"{key}: not what was made")


def obtain(root: Path, draw: random.Random) -> None:
    """Make and read folders until somebody ends this."""
    while True:
        with Store(root) as artefacts:
            check(artefacts, draw.choice(KEYS))


def cells(root: Path, draw: random.Random, times: int) -> None:
    """Write and read small things; each is what its key says, or not there."""
    artefacts = Store(root)
    for _ in range(times):
        key = f"cell {draw.randrange(50)}"
        data = random.Random(key).randbytes(300)
        if draw.random() < 0.5:
            artefacts.put("cells", key, data)
        elif artefacts.get("cells", key) not in (None, data):
            raise AssertionError(f"{key}: not what was written")
    if artefacts.troubles:
        raise AssertionError(str(artefacts.troubles))


def prune(root: Path) -> None:
    """Prune to nothing until somebody ends this."""
    while True:
        Store(root).prune(0)


def stall(root: Path, note: Path) -> None:
    """Stop in the middle of a folder."""

    def make(folder: Path) -> None:
        name, data = next(iter(content(KEYS[0]).items()))
        (folder / name).write_bytes(data[: len(data) // 2])
        (folder / "only-in-this-half").touch()
        note.touch()
        time.sleep(600)

    Store(root).directory("tables", KEYS[0], make)


if __name__ == "__main__":
    what, where, *rest = sys.argv[1:]
    if what == "stall":
        stall(Path(where), Path(rest[0]))
    elif what == "obtain":
        obtain(Path(where), random.Random(int(rest[0])))
    elif what == "prune":
        prune(Path(where))
    else:
        cells(Path(where), random.Random(int(rest[0])), int(rest[1]))
