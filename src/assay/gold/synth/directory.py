"""The folder that synthetic gold is written to: one file a kind, and the stripped copy of the corpus."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from assay.errors import InputError
from assay.files import atomic_folder
from assay.gold.loading import SYNTHETIC_MARK
from assay.gold.native.layers import write_native
from assay.gold.synth.sets import COPY, Sets
from assay.types import GoldSet

_MARK_TEXT = "Made by `assay gold synth`, which replaces this folder when it is run again.\n"
_IGNORE_FILE = ".assayignore"
_GIT_IGNORE_FILE = ".gitignore"
#: Questions are no source: the next corpus must not find them. The copy is one, whatever the rules above it say.
_IGNORE = "# Synthetic gold is not source: this keeps it out of every corpus.\n*\n"
#: Other tools know nothing of ours, and would find every file of the repository twice.
_GIT_IGNORE = "# Synthetic gold can be made again: this keeps it out of git and of tools that heed git.\n*\n"
_KEEP = f"# Every file here was chosen already.\n!*\n/{_IGNORE_FILE}\n"


def check_folder(folder: Path) -> Path:
    """Make sure, before any work, that a folder is new, empty or one of ours."""
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file, not a folder", file=folder, hint="name another place with --out")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / SYNTHETIC_MARK).is_file():
        raise InputError(
            "holds files that `assay gold synth` did not make",
            file=folder,
            hint="name a new or empty folder with --out",
        )
    return folder


def write_sets(sets: Sets, folder: Path) -> tuple[Path, ...]:
    """Write gold sets and their corpus; an earlier folder of ours is replaced whole. Gives the gold files."""
    check_folder(folder)
    with atomic_folder(folder) as work:
        (work / SYNTHETIC_MARK).write_text(_MARK_TEXT, "utf-8")
        (work / _IGNORE_FILE).write_text(_IGNORE, "utf-8")
        (work / _GIT_IGNORE_FILE).write_text(_GIT_IGNORE, "utf-8")
        for gold in sets.golds:
            text = write_native(_placed(gold, folder))
            (work / _file(gold)).write_text(text, "utf-8", newline="\n")
        for path, data in sorted(sets.stripped.items()):
            (work / COPY / path).parent.mkdir(parents=True, exist_ok=True)
            (work / COPY / path).write_bytes(data)
        if sets.stripped:
            (work / COPY / _IGNORE_FILE).write_text(_KEEP, "utf-8")
    return tuple(folder / _file(gold) for gold in sets.golds)


def _file(gold: GoldSet) -> str:
    return f"{gold.provenance['synthetic']}.yaml"


def _placed(gold: GoldSet, folder: Path) -> GoldSet:
    if gold.corpus.kind != "path" or gold.corpus.value == COPY:
        return gold
    there = Path(gold.corpus.value).expanduser().resolve()
    return replace(gold, corpus=replace(gold.corpus, value=os.path.relpath(there, folder.resolve())))
