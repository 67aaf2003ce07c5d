"""A copy of a corpus: the files that count and nothing else, for an engine that may leave what it likes beside them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from assay.corpus.config import ArchiveLimits
from assay.corpus.git import git
from assay.corpus.writer import is_inside
from assay.errors import CorpusError, SetupError
from assay.types import Corpus


def read_text(corpus: Corpus, path: str) -> str:
    """Read a file as UTF-8 without its byte order mark, else as Latin-1."""
    return decode_text(read_bytes(corpus, path))


def decode_text(data: bytes) -> str:
    """Read bytes as UTF-8 without its byte order mark, else as Latin-1, which every byte is."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_bytes(corpus: Corpus, path: str) -> bytes:
    """Read a file as it is."""
    real = inside(os.path.realpath(corpus.root), path)
    try:
        with open(real, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise _unreadable(corpus, path, error) from error


def inside(root: str, path: str) -> str:
    """Find a file on disk, refusing any that is not below the root, a real path, links followed."""
    if path and "\0" not in path and not path.startswith("/") and ".." not in path.split("/"):
        real = os.path.realpath(os.path.join(root, path))
        if is_inside(real, root):
            return real
    raise CorpusError(f"{path!r} is not inside the corpus", file=root, hint="name files relative to the corpus root")


def _unreadable(corpus: Corpus, path: str, error: OSError) -> CorpusError:
    if not corpus.root.is_dir():
        return CorpusError(
            "the corpus folder vanished while it was in use", file=corpus.root, hint="bring it back and run again"
        )
    return CorpusError(
        f"cannot be read: {error.strerror or error}",
        file=corpus.root / path,
        hint="the corpus changed after it was opened; open it again",
    )


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
    known = corpus.hashes.get(path)
    if known is not None and hashlib.sha256(data).hexdigest() != known:
        raise CorpusError(
            f"{path} changed after the run began", file=corpus.root, hint="let the folder rest while it is measured"
        )


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "xb") as stream:
        stream.write(data)


def _commit(root: Path) -> None:
    limits = ArchiveLimits()
    for arguments in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "--all", "--force"),
        (*_IDENTITY, "commit", "--quiet", "--allow-empty", "--no-verify", "--message=corpus"),
    ):
        answer = git(*arguments, cwd=root, limits=limits)
        if answer.code:
            raise SetupError(
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
