"""Tasks for workers: top-level, so that they can be sent, and some that end their worker."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from assay.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Job:
    """A task that leaves a line for every time it was begun."""

    name: str
    folder: str
    deaths: int = 0  # how often it ends its worker before it succeeds
    gate: str = ""  # a file that it waits for

    def __str__(self) -> str:
        return self.name


def begun(folder: str | Path, name: str) -> list[int]:
    """List the processes that began a job."""
    path = Path(folder) / name
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def do(job: Job) -> str:
    """Do a job, or die over it."""
    with open(Path(job.folder) / job.name, "a") as stream:
        stream.write(f"{os.getpid()}\n")
    if len(begun(job.folder, job.name)) <= job.deaths:
        os.kill(os.getpid(), signal.SIGKILL)
    while job.gate and not Path(job.gate).exists():
        time.sleep(0.01)
    return job.name.upper()


def double(number: int) -> int:
    return 2 * number


def refuse(number: int) -> int:
    if number == 3:
        raise CorpusError("no such corpus", file="gold.yaml", line=number, hint="look again")
    return number


class Odd(Exception):
    """An error that can be pickled and not be read back."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first}{second}")


def fail_oddly(_: object) -> None:
    raise Odd("some", "thing")


def crash(_: object) -> None:
    raise ZeroDivisionError("by zero")


def circumstances(_: object) -> dict[str, object]:
    """Tell how a worker lives."""
    return {
        "threads": os.environ.get("OPENBLAS_NUM_THREADS"),
        "interrupt": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
        "pid": os.getpid(),
    }


def linger(folder: str) -> None:
    """Take long, and leave a note when asked to stop."""
    try:
        Path(folder, f"pid-{os.getpid()}").touch()
        time.sleep(600)
    finally:
        Path(folder, "tidied").touch()


def heavy(size: int) -> int:
    """Answer with the size of something that was made here."""
    return len(bytes(size))


def host_path(path: str) -> None:
    """Want a folder that may only be elsewhere."""
    if not Path(path).is_dir():
        raise CorpusError("no such folder", file=path, hint="check the path")
