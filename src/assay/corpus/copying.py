"""Read the files of a corpus, find them by path, and copy them for engines that write to their directory."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from assay.corpus.git import git
from assay.corpus.unpack import is_inside
from assay.errors import CorpusError, SetupError
from assay.types import Corpus

#: The author of the one commit of a copy.
_IDENTITY = ("-c", "user.name=assay", "-c", "user.email=assay@localhost", "-c", "commit.gpgsign=false")


def read_text(corpus: Corpus, path: str) -> str:
    """Read a file as UTF-8 without its byte-order mark, or as Latin-1 if it is not UTF-8."""
    return decode_text(read_bytes(corpus, path))


def decode_text(data: bytes) -> str:
    """Decode bytes as UTF-8 without a byte-order mark, or as Latin-1 if they are not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_bytes(corpus: Corpus, path: str) -> bytes:
    real = inside(os.path.realpath(corpus.root), path)
    try:
        with open(real, "rb") as stream:
            return stream.read()
    except OSError as error:
        if not corpus.root.is_dir():
            message, hint = "the corpus directory was removed during use", "restore the directory and run again"
            raise CorpusError(message, file=corpus.root, hint=hint) from error
        message, hint = (
            f"cannot read the file: {error.strerror or error}",
            "run again; the corpus changed after it was opened",
        )
        raise CorpusError(message, file=corpus.root / path, hint=hint) from error


def inside(root: str, path: str) -> str:
    """Return the real path of a file; raise CorpusError if it is not below `root`, which must be a real path."""
    if path and "\0" not in path and not path.startswith("/") and ".." not in path.split("/"):
        real = os.path.realpath(os.path.join(root, path))
        if is_inside(real, root):
            return real
    raise CorpusError(f"{path!r} is outside the corpus", file=root, hint="use paths relative to the corpus root")


class ListedPaths:
    """A lookup of corpus files by path, which follows symbolic links."""

    def __init__(self, corpus: Corpus, root: Path | None = None) -> None:
        self._known = frozenset(file.path for file in corpus.files)
        self._root = os.path.realpath(root or corpus.root)
        self._found: dict[str, str | None] = {}

    def find(self, path: str) -> str | None:
        """Return the corpus path of a file, following links, or None if the corpus does not include the file."""
        if path in self._known:
            return path
        if path not in self._found:
            self._found[path] = None
            with suppress(CorpusError, ValueError):  # outside, or an invalid file name
                real = inside(self._root, path)
                direct = os.path.relpath(real, self._root)
                if os.path.isfile(real):
                    self._found[path] = direct if direct in self._known else self._listed_links.get(real)
        return self._found[path]

    @cached_property
    def _listed_links(self) -> dict[str, str]:
        reals = {os.path.realpath(os.path.join(self._root, path)): path for path in sorted(self._known)}
        return {real: path for real, path in reals.items() if real != os.path.join(self._root, path)}


def copy_corpus(corpus: Corpus, folder: Path, *, commit: bool = False) -> Corpus:
    """Copy a corpus into `folder`, keeping the name of its root; with `commit`, the copy is a git repository."""
    root = folder / (corpus.root.resolve().name or "corpus")
    root.mkdir(parents=True)
    for file in corpus.files:
        data = read_bytes(corpus, file.path)
        known = corpus.hashes.get(file.path)
        if known is not None and hashlib.sha256(data).hexdigest() != known:
            hint = "do not edit the corpus during a run"
            raise CorpusError(f"{file.path} changed during the run", file=corpus.root, hint=hint)
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as stream:
            stream.write(data)
    steps = (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "--all", "--force"),
        (*_IDENTITY, "commit", "--quiet", "--allow-empty", "--no-verify", "--message=corpus"),
    )
    for arguments in steps if commit else ():
        answer = git(*arguments, cwd=root)
        if answer.code:
            hint = "check that `git init` works in an empty directory"
            raise SetupError(f"git failed in a copy of the corpus: {answer.last_words}", hint=hint)
    return replace(corpus, root=root)


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below a directory, without following links."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total
