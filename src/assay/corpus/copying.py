"""A copy of a corpus: the files that count and nothing else, for an engine that may leave what it likes beside them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from assay.corpus.config import Limits
from assay.corpus.git.command import git
from assay.corpus.read import read_bytes
from assay.errors import CorpusError, EnvironmentFailure
from assay.types import Corpus

#: The author of the one commit of a copy, whoever runs this.
_IDENTITY = ("-c", "user.name=assay", "-c", "user.email=assay@localhost", "-c", "commit.gpgsign=false")


def copy_corpus(corpus: Corpus, folder: Path, *, commit: bool = False) -> Corpus:
    """Copy a corpus into a folder, below its own name, since engines read names; `commit` makes it a repository."""
    root = folder / (corpus.root.resolve().name or "corpus")
    root.mkdir(parents=True)
    for file in corpus.files:
        data = read_bytes(corpus, file.path)
        _check(corpus, file.path, data)
        _write(root / file.path, data)
    if commit:
        _commit(root)
    return replace(corpus, root=root)


def _check(corpus: Corpus, path: str, data: bytes) -> None:
    """Make sure that every engine gets the same file."""
    known = corpus.hashes.get(path)
    if known is not None and hashlib.sha256(data).hexdigest() != known:
        raise CorpusError(
            f"{path} changed after the run began", file=corpus.root, hint="let the folder rest while it is measured"
        )


def _write(path: Path, data: bytes) -> None:
    """Write one file, and the folders it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "xb") as stream:
        stream.write(data)


def _commit(root: Path) -> None:
    """Make a folder a git repository with one commit."""
    limits = Limits()
    for arguments in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "--all", "--force"),
        (*_IDENTITY, "commit", "--quiet", "--allow-empty", "--no-verify", "--message=corpus"),
    ):
        answer = git(*arguments, cwd=root, limits=limits)
        if answer.code:
            raise EnvironmentFailure(
                f"git failed in a copy of the corpus: {answer.last_words}", hint="run git init in an empty folder"
            )


def folder_bytes(folder: Path) -> int:
    """Add up the files below a folder; links are not followed, what vanishes meanwhile counts nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
    return total
