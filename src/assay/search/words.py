"""The terms of a text: roots of the parts of its identifiers, and each compound joined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import PurePosixPath
from unicodedata import normalize

import numpy as np

from assay.search.table import NameTable, offsets
from assay.syntax.identifiers import split, stem, unspaced_pairs
from assay.syntax.outline import LineSpan

#: What no word can cross: ASCII blanks and punctuation, the underscore aside. Newlines come along, to count lines.
RUN = re.compile(r"[^\x00-/:-@\[-^`{-\x7f]+|\n")
_WORD = re.compile(r"[^\x00-/:-@\[-^`{-\x7f]+")


def runs(text: str) -> list[str]:
    """List the identifiers and words of a text as they stand."""
    return _WORD.findall(text)


def terms(run: str) -> tuple[str, ...]:
    """Take one run apart into the roots of its parts and, when there are several, that of the compound."""
    parts = split(run)
    if len(parts) == 1:
        found: tuple[str, ...] = (stem(parts[0]),)
    else:
        found = (*map(stem, parts), stem("".join(parts))) if parts else ()
    return found if run.isascii() else (*found, *unspaced_pairs(normalize("NFC", run.lower())))


def term_hash(term: str) -> int:
    """Name a term by 64 bits: two of a million terms share one by a chance of 1 in 30 million."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


#: Files that are named after nothing: the folder says what they are.
_NAMELESS = frozenset({"mod", "index", "__init__", "lib", "main", "init", "package-info", "__main__"})


_NOWHERE = LineSpan(0, 0)


@dataclass(frozen=True, slots=True)
class NameRow:
    """A name of an owner, taken apart."""

    owner: int
    text: str
    parts: tuple[str, ...]
    lines: LineSpan = _NOWHERE


def stem_name(path: str) -> str:
    """Give the name of a file without its extension; `mod.rs`, `index.ts` and their kin are named by their folder."""
    parsed = PurePosixPath(path)
    name = parsed.name.split(".")[0] or parsed.name.lstrip(".").split(".")[0]
    return parsed.parent.name if name.lower() in _NAMELESS and parsed.parent.name else name


def folder_name(path: str) -> str:
    """Give the names of the folders a file lies in."""
    return " ".join(PurePosixPath(path).parent.parts)


def name_row(owner: int, text: str, lines: LineSpan = _NOWHERE) -> NameRow:
    """Take a name apart."""
    return NameRow(owner, text, _roots(text), lines)


@lru_cache(maxsize=20_000)  # the methods of a class share their scope; some 5 MB
def _roots(text: str) -> tuple[str, ...]:
    return tuple(stem(part) for run in runs(text) for part in split(run))


@lru_cache(maxsize=20_000)
def whole_hash(text: str) -> int:
    """Hash a name as one lower-case word without its joints."""
    return term_hash("".join(part for run in runs(text) for part in split(run)))


def names_table(rows: Sequence[NameRow], *, keep_texts: bool = False) -> NameTable:
    """Put names into columns."""
    words = sorted({part for row in rows for part in row.parts})
    number = {word: i for i, word in enumerate(words)}
    return NameTable(
        tuple(row.text for row in rows) if keep_texts else (),
        np.array([row.owner for row in rows], dtype=np.int32),
        np.array([row.lines.start for row in rows], dtype=np.int32),
        np.array([row.lines.end for row in rows], dtype=np.int32),
        np.array([whole_hash(row.text) for row in rows], dtype=np.uint64),
        offsets(np.array([len(row.parts) for row in rows], dtype=np.int64)),
        np.array([number[part] for row in rows for part in row.parts], dtype=np.int32),
        tuple(words),
    )
