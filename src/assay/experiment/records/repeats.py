"""Several runs of one experiment: OUT/1, OUT/2, ... Each is a folder of results like any other."""

from __future__ import annotations

from pathlib import Path

from assay.errors import InputError
from assay.experiment.records.folders import check_folder
from assay.experiment.records.layout import MANIFEST


def repeats_in(folder: Path) -> tuple[Path, ...]:
    """List the repeats that lie in a folder, in their order; none where it is a run itself, or anything else."""
    if (folder / MANIFEST).exists():
        return ()
    found = [path for path in folder.glob("[0-9]*") if path.name.isascii() and path.name.isdigit() and path.is_dir()]
    return tuple(sorted(found, key=lambda path: int(path.name)))


def repeat_folders(folder: Path, count: int) -> tuple[Path, ...]:
    """Name the folders of a number of repeats, and make sure that they can be written and are all there will be."""
    if (folder / MANIFEST).exists():
        raise InputError("holds a single run", file=folder, hint="name another place for repeats with --out")
    chosen = tuple(folder / str(number) for number in range(1, count + 1))
    left = [path for path in repeats_in(folder) if path not in chosen]
    if left:
        raise InputError(
            f"holds more repeats than {count}: {', '.join(path.name for path in left)}",
            file=folder,
            hint="remove them: a gate would take them for repeats of this run",
        )
    return tuple(map(check_folder, chosen))
