"""Subprocess of the determinism check: `python -m assay.audit.worker JOB ANSWERS`."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from assay.audit.sessions import SubprocessJob
from assay.errors import AssayError


def main(job: str, answers: str) -> None:
    """Do a job that was written down, and write the answers or what went wrong."""
    task = pickle.loads(Path(job).read_bytes())  # noqa: S301 - our own process wrote it
    assert isinstance(task, SubprocessJob)
    try:
        found: object = task.run()
    except AssayError as problem:
        found = problem
    done = Path(answers + ".part")
    done.write_bytes(pickle.dumps(found))
    done.replace(answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
