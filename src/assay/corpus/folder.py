"""Corpora in local directories."""

from __future__ import annotations

from pathlib import Path

from assay.corpus.git import find_top
from assay.corpus.kinds import CorpusRequest, LocatedCorpus, subfolder
from assay.corpus.walk import WalkRoot
from assay.errors import CorpusError


def locate(request: CorpusRequest) -> LocatedCorpus:
    """Locate a local directory."""
    named = named_folder(request)
    root = subfolder(request.spec, named)
    return LocatedCorpus(WalkRoot(root, find_top(root) or named, git=True, built_in=True))


def named_folder(request: CorpusRequest) -> Path:
    """Return the directory that a spec names, relative to the base."""
    if "\0" in request.spec.value:
        raise CorpusError("the name of a folder cannot hold a NUL byte", hint="check the corpus in the gold file")
    folder = (request.base / Path(request.spec.value).expanduser()).resolve()
    if folder.is_dir():
        return folder
    what = "is not a folder" if folder.exists() else "does not exist"
    there = next((parent for parent in folder.parents if parent.is_dir()), folder)
    hint = f"relative folders begin at {request.base}; the nearest folder that exists is {there}"
    raise CorpusError(f"the corpus folder {what}", file=folder, hint=hint)
