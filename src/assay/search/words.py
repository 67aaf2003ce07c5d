"""Words: the terms of a text, their hashes, and the names of files."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Final
from unicodedata import normalize

from assay.syntax.identifiers import split, stem, unspaced_pairs

#: Identifiers and words: everything but ASCII blanks and punctuation other than the underscore.
_WORD: Final = re.compile(r"[^\x00-/:-@\[-^`{-\x7f]+")
#: The same, and newlines, to count lines.
RUN: Final = re.compile(rf"{_WORD.pattern}|\n")
#: File names that say nothing: the folder names the file.
_NAMELESS: Final = frozenset({"mod", "index", "__init__", "lib", "main", "init", "package-info", "__main__"})


def runs(text: str) -> list[str]:
    """Return the identifiers and words of a text as written."""
    return _WORD.findall(text)


def terms(run: str) -> tuple[str, ...]:
    """Return the stems of the parts of an identifier and, when there are several, that of the compound."""
    parts = split(run)
    if len(parts) == 1:
        found: tuple[str, ...] = (stem(parts[0]),)
    else:
        found = (*map(stem, parts), stem("".join(parts))) if parts else ()
    return found if run.isascii() else (*found, *unspaced_pairs(normalize("NFC", run.lower())))


def term_hash(term: str) -> int:
    """Return 64 bits for a term: two of a million terms collide with a probability of 1 in 30 million."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@lru_cache(maxsize=20_000)
def whole_hash(text: str) -> int:
    """Return the hash of a name as one lower-case word without joints."""
    return term_hash("".join(part for run in runs(text) for part in split(run)))


def stem_name(path: str) -> str:
    """Return the name of a file without extension; `mod.rs`, `index.ts` and the like are named by their folder."""
    parsed = PurePosixPath(path)
    name = parsed.name.split(".")[0] or parsed.name.lstrip(".").split(".")[0]
    return parsed.parent.name if name.lower() in _NAMELESS and parsed.parent.name else name


def folder_name(path: str) -> str:
    """Return the names of the folders of a file."""
    return " ".join(PurePosixPath(path).parent.parts)
