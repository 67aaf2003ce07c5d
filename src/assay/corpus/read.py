"""Reading a file of a corpus: never outside the root, never an exception about its content."""

from __future__ import annotations

import os

from assay.corpus.writer import is_inside
from assay.errors import CorpusError
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
    """Tell a corpus that is gone from one file that is."""
    if not corpus.root.is_dir():
        return CorpusError(
            "the corpus folder vanished while it was in use", file=corpus.root, hint="bring it back and run again"
        )
    return CorpusError(
        f"cannot be read: {error.strerror or error}",
        file=corpus.root / path,
        hint="the corpus changed after it was opened; open it again",
    )
