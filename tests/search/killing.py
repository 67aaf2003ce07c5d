"""Programs that index a repository while it changes; run by test_processes in a process of their own, and killed there.

python -m tests.search.killing kill FOLDER TIMES SEED
python -m tests.search.killing together FOLDER SECONDS SEED
python -m tests.search.killing encode FOLDER TIMES SEED
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

from assay.search import Index, SearchConfig, building, encoder
from assay.search.building import index_directory, index_key
from assay.search.config import DenseSettings, EncoderSettings
from assay.types import Hit
from tests.search.conftest import write_files
from tests.search.dense.models import WORDS, write_onnx
from tests.search.samples import EDITS, SAMPLES
from tests.search.test_laws import assert_same

_LANGUAGES = ("py", "js", "md", "txt")
_QUERIES = ("cart total", "refund", "where is an item put in?")


def edit(root: Path, draw: random.Random) -> None:
    """Write, rename or remove one file."""
    end = draw.choice(_LANGUAGES)
    place = root / f"{draw.choice('abc')}.{end}"
    what = draw.random()
    if what < 0.2:
        place.unlink(missing_ok=True)
    elif what < 0.3 and place.exists():
        place.replace(root / f"renamed.{end}")
    else:
        write_files(root, {place.name: draw.choice(EDITS[end]) * draw.randint(1, 40)})


def fork(work: Callable[[], object]) -> int:
    """Do something in a child; it ends with 1 and a traceback when that fails."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def index_for_ever(root: Path, draw: random.Random) -> None:
    """Edit and index until somebody ends this."""
    while True:
        edit(root, draw)
        Index.open(root, workers=2)


def check_whole(root: Path) -> None:
    """See that what is left is an index that says what a build says, and that nothing else is left."""
    opened, built = Index.open(root), Index.build(root)
    assert not opened.notes, opened.notes
    assert_same(opened.table, built.table)
    assert all(opened.search(query, 99) == built.search(query, 99) for query in _QUERIES)
    folder = index_directory(root, index_key(opened.config.index))
    (folder / ".index.assay.half").touch()  # as a writer leaves it that is killed between two writes
    write_files(root, {"always.py": f"x = {time.time_ns()}\n"})  # a change makes the next one a writer, who cleans up
    Index.open(root)
    assert set(os.listdir(folder)) <= {"index.assay", "seen.assay", "vectors-code.assay", "lock"}, os.listdir(folder)


def kill(root: Path, times: int, draw: random.Random) -> None:
    """Kill a process that indexes at random instants."""
    for _ in range(times):
        child = fork(lambda: index_for_ever(root, random.Random(draw.random())))
        time.sleep(draw.uniform(0, 0.3))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, "it did not end by itself"
        check_whole(root)


def answer(index: Index) -> tuple[tuple[Hit, ...], ...]:
    return tuple(index.search(query, 20, per=per) for query in _QUERIES for per in ("file", "span"))


def together(root: Path, seconds: float, draw: random.Random) -> None:
    """Let four processes index and search while this one edits; every answer is that of some state."""
    states = [None, *EDITS["py"]]
    changing = root / "changing.py"
    known = set()
    for text in states:
        change(changing, text)
        known.add(answer(Index.build(root)))
    assert len(known) == len(states)
    children = [fork(lambda: search_until(root, time.monotonic() + seconds, known)) for _ in range(4)]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        change(changing, draw.choice(states))
        time.sleep(draw.uniform(0, 0.02))
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    check_whole(root)


def encode(root: Path, times: int, draw: random.Random) -> None:
    """Kill a full encoding at random instants; the next process encodes the missing chunks only."""
    words = WORDS[2:11]
    write_files(
        root, {f"{a}.py": "".join(f"def {a}_{n}(a):\n    return {n}\n\n\n" * 9 for n in range(99)) for a in words}
    )
    model = write_onnx(root.parent / "model")
    config = SearchConfig(dense=DenseSettings(encoder=str(model)), encoder=EncoderSettings(mode="full"))
    encoder.BATCH = 4

    def encode_all(pause: float) -> list[int]:
        missing: list[int] = []
        scores = Index.open(root, config).view.encoder
        assert scores

        def wait(_done: int, total: int) -> None:
            missing.append(total)
            time.sleep(pause)

        scores.encoder.encode_all(wait)
        return missing

    Index.open(root)
    for _ in range(times):
        child = fork(partial(encode_all, 0.02))
        time.sleep(draw.uniform(0.1, 0.6))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    missing = encode_all(0)
    opened, built = Index.open(root, config), Index.build(root, config)
    chunks = len(opened.table.chunks)
    assert missing, "the children were killed before the end"
    assert missing[0] < chunks, "their vectors were kept"
    assert not encode_all(0), "all vectors are stored"
    assert all(opened.search(query, 99, per="span") == built.search(query, 99, per="span") for query in _QUERIES)


def change(place: Path, text: str | None) -> None:
    """Put a file into one of its states at once."""
    if text is None:
        place.unlink(missing_ok=True)
        return
    fresh = place.parent.parent / "fresh"
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(place)


def search_until(root: Path, end: float, known: set[tuple[tuple[Hit, ...], ...]]) -> None:
    """Open and ask until the time is up; twice at least."""
    rounds = 0
    while time.monotonic() < end or rounds < 2:
        index = Index.open(root, workers=2)
        assert answer(index) in known, (
            f"an answer of no state: {dict(zip(index.table.files.paths, index.table.files.hashes, strict=True))}"
        )
        assert not index.notes, index.notes
        rounds += 1


def main() -> None:
    """Run what the command line says, beside a repository of its own."""
    what, folder, amount, seed = sys.argv[1:]
    building.SHARE_BYTES = 2_000
    chosen = {path: text for path, text in SAMPLES.items() if path.endswith((".py", ".js", ".md"))}
    root = write_files(Path(folder) / "repo", chosen | {"always.py": "x = 1\n"})
    draw = random.Random(int(seed))
    Index.build(root)  # so that grammars are loaded before anything is killed
    if what == "kill":
        kill(root, int(amount), draw)
    elif what == "encode":
        encode(root, int(amount), draw)
    else:
        together(root, float(amount), draw)


if __name__ == "__main__":
    main()
