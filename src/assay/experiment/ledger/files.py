"""Which files are ledgers. Workers that ask engines must know, so nothing heavy is imported here."""

from __future__ import annotations

from pathlib import Path

FILE = "ledger.jsonl"
FORMAT = 1
#: What every line of a ledger begins with.
MARK = b'{"assay_ledger": '


def is_ledger(path: Path) -> bool:
    """Tell a ledger of ours from another file of that name."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError:
        return False


def head_file(path: Path) -> Path:
    """Give the file that names the last line of a ledger."""
    return path.with_name(f"{path.stem}.head.json")


def ledgers_above(folder: Path) -> list[Path]:
    """List the ledgers in a folder and above it: they grow, and a corpus that holds one would be another each time."""
    found = []
    for place in (folder.resolve(), *folder.resolve().parents):
        for file in sorted(place.glob(f"*{FILE}")):
            found += [file, head_file(file)] if is_ledger(file) else []
    return found
