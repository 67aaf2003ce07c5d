"""`assay demo` in a new directory with an empty cache, and again: wall and processor seconds."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.pages import Section, table, timed_command

FIRST, AGAIN = 60.0, 10.0  # seconds, on two quiet cores


def main() -> Section:
    with TemporaryDirectory(prefix="assay-bench-") as name:
        directory, rows, passed = Path(name), [], True
        for label, most in (("first", FIRST), ("again", AGAIN)):
            command = [sys.executable, "-m", "assay", "demo", "--quiet"]
            took = timed_command(command, directory, {"ASSAY_CACHE_DIR": str(directory / "cache")})
            met = took.wall <= most
            rows.append((label, f"{took.wall:.1f}", f"{took.cpu:.1f}", f"{'met' if met else 'missed'}: {most:g}"))
            passed = passed and met
    lines = table(("run", "wall, s", "processor, s", "target for wall"), rows)
    print("\n".join(lines))
    return Section(lines, passed)


if __name__ == "__main__":
    sys.exit(0 if main().passed else 1)
