"""`assay train` that kills itself the hard way when it is about to write a certain file; run by test_train.

python -m tests.training.killing NAME NUMBER train FOLDER ...
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from assay import files
from assay.cli.main import main
from assay.store import array_file as store


def kill_at(name: str, number: int) -> None:
    """Die in the middle of the n-th writing of a file whose name begins so, and take the first process along."""
    count, first = 0, os.getpid()

    @contextmanager
    def dying_stream(path: Path) -> Iterator[IO[bytes]]:
        nonlocal count
        count += path.name.startswith(name)
        with files.atomic_stream(path) as stream:
            if path.name.startswith(name) and count == number:
                stream.write(b"half")
                stream.flush()
                for process in (first, os.getpid()):
                    os.kill(process, signal.SIGKILL)
            yield stream

    store.atomic_stream = dying_stream  # type: ignore[assignment, attr-defined]


if __name__ == "__main__":
    kill_at(sys.argv[1], int(sys.argv[2]))
    sys.exit(main(sys.argv[3:]))
