"""`--reuse-index`: the index of a tool, kept for the runs that come.

What is kept is never worked in. It is copied to a folder that has the same address in every run, since indexes hold
absolute paths, and that one process at a time may use.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from assay.artefacts import Artefacts
from assay.artefacts.kinds import INDEXES
from assay.artefacts.locking import making
from assay.artefacts.places import writing
from assay.clock import today
from assay.digests import digest_of, text_digest
from assay.engines.indexes.place import IndexPlace, copy_tree, found, fresh, root_name
from assay.types import Corpus

KIND = INDEXES.name
_AT_WORK = ".at-work"
_ABOUT = "about.json"
BUSY = "the kept index is in use by another process; it was made anew"
OUTSIDE = "the index lies outside {root} and {store}: it cannot be kept"


@dataclass(frozen=True, slots=True)
class Keep:
    """What tells a kept index from others, beside the corpus."""

    digest: str
    tool: Sequence[object]
    git: bool
    store: bool


class _NothingThere(Exception):
    """Making an index left nothing that could be kept."""


def kept(artefacts: Artefacts, corpus: Corpus, keep: Keep, make: Callable[[IndexPlace], bool]) -> IndexPlace | None:
    """Give the place of an index, as an earlier run made it or as this one does; None while another process has it."""
    key = digest_of([corpus.digest, root_name(corpus), keep.digest, keep.tool, keep.git, keep.store])
    folder = artefacts.root / _AT_WORK / text_digest(key)[:40]
    with ExitStack() as stack:
        with writing(folder):
            for holder in (folder.parent, artefacts.root / KIND):
                _close_to_others(holder)
        _sweep(folder.parent)
        if not stack.enter_context(making(folder.with_suffix(".lock"), wait=False)):
            return None
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(artefacts.release, KIND, key)
        place = _obtained(artefacts, key, folder.resolve(), corpus, keep, make)
        place.on_close = stack.pop_all().close
        return place


def _obtained(
    artefacts: Artefacts, key: str, folder: Path, corpus: Corpus, keep: Keep, make: Callable[[IndexPlace], bool]
) -> IndexPlace:
    """Work in a folder that has one address for ever, with what is kept for it."""
    made: list[IndexPlace] = []

    def fill(content: Path) -> None:
        made.append(_new(folder, corpus, keep))
        if not make(made[0]):
            raise _NothingThere
        copy_tree(folder, content / "place")
        about = {"day": today(), "stderr": made[0].stderr, "left": made[0].left}
        (content / _ABOUT).write_text(json.dumps(about), "utf-8")

    try:
        content = artefacts.obtain(KIND, key, fill)
    except _NothingThere:
        made[0].settle(None)
        made[0].notes = (OUTSIDE,)
        return made[0]
    place = made[0] if made else _refilled(content, folder, corpus, keep)
    place.settle(content / "place")
    return place


def _refilled(content: Path, folder: Path, corpus: Corpus, keep: Keep) -> IndexPlace:
    """Lay out again what an earlier run made."""
    copy_tree(content / "place", folder)
    about = json.loads((content / _ABOUT).read_text("utf-8"))
    place = found(folder, corpus, store=keep.store, on_close=_nothing)
    place.stderr, place.left = about["stderr"], about["left"]
    place.notes = (f"its index is that of {about['day']}, reused",)
    return place


def _new(folder: Path, corpus: Corpus, keep: Keep) -> IndexPlace:
    """Begin anew in a folder."""
    shutil.rmtree(folder, ignore_errors=True)  # of a broken one that is made anew
    return fresh(folder, corpus, git=keep.git, store=keep.store, on_close=_nothing)


def _close_to_others(folder: Path) -> None:
    """Make a folder that only we may look into: an index may hold what its tool was given, keys too."""
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(PermissionError):  # somebody else's, who decides
        folder.chmod(0o700)


def _sweep(at_work: Path) -> None:
    """Remove what killed processes left, where nobody works any more."""
    for folder in sorted(at_work.iterdir()):
        if folder.suffix != ".lock":
            with making(folder.with_suffix(".lock"), wait=False) as free:
                if free:
                    shutil.rmtree(folder, ignore_errors=True)


def _nothing() -> None:
    """Leave it to whoever holds the folder."""
