"""Several files replaced as one, under names that stay: the old generation or the new one, whatever happens.

A writer puts what is new into `.next.part/`, renames that to `.next/` (from here on the new generation holds), moves
the files to their places and `run.json` last. A reader takes `.next/run.json` where it is there, and each member
from `.next/` or from its place; every member must fit the hash that run.json has of it, so a mixture is never taken
for a run. Whoever is cut off leaves one or the other; the next writer finishes what was begun.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from assay.digests import bytes_digest, text_digest
from assay.errors import InputError
from assay.experiment.records.codec import dump
from assay.experiment.records.layout import COMMITTED, MANIFEST, STAGED
from assay.files import cannot_write, remove_leftovers, sync_folder, write_atomic

FORMAT = 2
READ = (1, FORMAT)
#: Runs below a folder that are named where it is none itself: as many as one line holds.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Patience:
    """How a reader that meets a writer goes on."""

    tries: int = 100  # a writer that is never done would keep a reader for ever
    seconds: float = 0.01  # between two of them; a generation is in its place within some milliseconds


PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class Generation:
    """A manifest and the texts of the members it names."""

    manifest: Mapping[str, Any]
    members: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Peek:
    """A manifest, and the digest that changes with every generation."""

    digest: str
    manifest: Mapping[str, Any]


def replace_generation(folder: Path, manifest: Mapping[str, object], members: Mapping[str, str]) -> None:
    """Put a generation in the place of the one that is there; members that it no longer has are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    digests = {name: text_digest(text) for name, text in sorted(members.items())}
    text = dump({"assay_run": FORMAT, **manifest, "members": digests}, indent=1) + "\n"
    try:
        with _alone(folder):
            _finish(folder)
            _stage(folder, text, members)
            os.rename(folder / STAGED, folder / COMMITTED)
            sync_folder(folder)
            _finish(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error


def read_generation(folder: Path) -> Generation:
    """Read the generation that holds; one that is replaced meanwhile is read anew."""
    for _ in range(PATIENCE.tries):
        text = _manifest_text(folder)
        try:
            manifest = _manifest(folder, text)
            return Generation(manifest, {name: _member(folder, name, it) for name, it in manifest["members"].items()})
        except InputError:
            if _manifest_text(folder) == text:  # nobody is writing: it is really broken
                raise
        time.sleep(PATIENCE.seconds)
    raise broken(folder, "it is being written all the time")


def peek_generation(folder: Path) -> Peek:
    """Read what the generation that holds says of itself; its members are only looked for."""
    text = _manifest_text(folder)
    manifest = _manifest(folder, text)
    for name in manifest["members"]:
        here = _is_inside(name) and any((place / name).is_file() for place in (folder / COMMITTED, folder))
        if not here and _manifest_text(folder) == text:
            raise broken(folder, f"{name} is not there")
    return Peek(text_digest(text), manifest)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one writer in at a time; the folder itself is the lock, so that nothing is left behind."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _stage(folder: Path, manifest: str, members: Mapping[str, str]) -> None:
    """Write down what is new beside what holds."""
    staged = folder / STAGED
    shutil.rmtree(staged, ignore_errors=True)
    for name, text in members.items():
        if not _has(folder / name, text):
            write_atomic(staged / name, text)
    write_atomic(staged / MANIFEST, manifest)


def _has(path: Path, text: str) -> bool:
    """Tell whether a file has this text already: then it need not move."""
    try:
        return path.read_bytes() == text.encode("utf-8")
    except OSError:
        return False


def _finish(folder: Path) -> None:
    """Move a generation that holds to its place, run.json last; without one there is nothing to finish."""
    new = folder / COMMITTED
    if (new / MANIFEST).exists():
        named = json.loads((new / MANIFEST).read_text(encoding="utf-8"))["members"]
        for name in [name for name in named if (new / name).exists()]:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(new / name, folder / name)
        _remove(folder, sorted(_named(folder).difference(named)))
        for place in sorted({(folder / name).parent for name in named} | {folder}):
            sync_folder(place)
        os.replace(new / MANIFEST, folder / MANIFEST)
        sync_folder(folder)
    shutil.rmtree(new, ignore_errors=True)
    remove_leftovers(folder, MANIFEST)


def _named(folder: Path) -> set[str]:
    """List the members of the generation that is leaving; a broken one names none."""
    try:
        named = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["members"]
        return {name for name in named if _is_inside(name)}
    except (OSError, ValueError, TypeError, KeyError):
        return set()


def _remove(folder: Path, names: Iterable[str]) -> None:
    """Remove members that no generation has any more."""
    for name in names:
        (folder / name).unlink(missing_ok=True)


def _manifest_text(folder: Path) -> str:
    """Read the manifest that holds."""
    for path in (folder / COMMITTED / MANIFEST, folder / MANIFEST):
        try:
            return path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise broken(folder, f"run.json cannot be read: {error}") from error
    raise InputError("there is no run here", file=folder, hint=_elsewhere(folder))


def _elsewhere(folder: Path) -> str:
    """Say where there is a run: in a folder of repeats there is one in each, in a repository perhaps below it."""
    from assay.experiment.records.folders import is_ours, is_run
    from assay.experiment.records.repeats import repeats_in

    repeats = repeats_in(folder)
    if repeats:
        return f"there are repeats of one: try {repeats[0]}; `assay gate {folder}` takes them together"
    below = [str(path) for path in sorted(folder.glob("[!.]*")) if is_run(path)]
    if below:
        return f"runs lie below it: name {' or '.join(below[:_NAMED])}"
    return f"make one with `assay run --out {folder}`" if is_ours(folder) else "name the folder that `assay run` wrote"


def _manifest(folder: Path, text: str) -> dict[str, Any]:
    """Read a manifest and check that it is one of ours."""
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise broken(folder, f"run.json cannot be read: {error}") from error
    if not isinstance(manifest, dict) or "assay_run" not in manifest:
        raise broken(folder, "run.json is not an Assay run")
    if manifest["assay_run"] not in READ:
        raise InputError(
            f"the run has format {manifest['assay_run']}, this Assay reads {' and '.join(map(str, READ))}",
            file=folder / MANIFEST,
            hint="score it with the Assay version in its header, or run it again",
        )
    if not isinstance(manifest.get("members"), dict):
        raise broken(folder, "run.json names no members")
    return manifest


def _member(folder: Path, name: str, digest: str) -> str:
    """Read one member of a run; its name must stay inside the folder and its content must fit the hash."""
    if not _is_inside(name):
        raise broken(folder, f"run.json names {name!r}, which lies outside the folder")
    text = None
    for path in (folder / COMMITTED / name, folder / name):
        try:
            data = path.read_bytes()
            text = data.decode("utf-8")
            break
        except (OSError, UnicodeDecodeError):
            continue
    if text is None:
        raise broken(folder, f"{name} cannot be read")
    if bytes_digest(data) != digest:
        raise broken(folder, f"{name} was changed after the run")
    return text


def _is_inside(name: str) -> bool:
    """Tell whether a name stays inside its folder."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and len(path.parts) > 0


def broken(folder: Path, message: str) -> InputError:
    """Make the error for a run folder that cannot be trusted."""
    return InputError(message, file=folder, hint="run it again; records are never edited by hand")
