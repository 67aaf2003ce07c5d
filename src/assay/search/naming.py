"""What files and units are called, taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

import numpy as np

from assay.search.tables import Names, offsets
from assay.search.words import runs, term_hash
from assay.syntax.identifiers import split
from assay.syntax.outline import Lines
from assay.syntax.stems import stem

#: Files that are named after nothing: the folder says what they are.
_NAMELESS = frozenset({"mod", "index", "__init__", "lib", "main", "init", "package-info", "__main__"})


_NOWHERE = Lines(0, 0)


@dataclass(frozen=True, slots=True)
class NameRow:
    """A name of an owner, taken apart."""

    owner: int
    text: str
    parts: tuple[str, ...]
    lines: Lines = _NOWHERE


def stem_name(path: str) -> str:
    """Give the name of a file without its extension; `mod.rs`, `index.ts` and their kin are named by their folder."""
    parsed = PurePosixPath(path)
    name = parsed.name.split(".")[0] or parsed.name.lstrip(".").split(".")[0]
    return parsed.parent.name if name.lower() in _NAMELESS and parsed.parent.name else name


def folder_name(path: str) -> str:
    """Give the names of the folders a file lies in."""
    return " ".join(PurePosixPath(path).parent.parts)


def name_row(owner: int, text: str, lines: Lines = _NOWHERE) -> NameRow:
    """Take a name apart."""
    return NameRow(owner, text, _roots(text), lines)


@lru_cache(maxsize=20_000)  # the methods of a class share their scope; some 5 MB
def _roots(text: str) -> tuple[str, ...]:
    """Give the roots of the parts of a name."""
    return tuple(stem(part) for run in runs(text) for part in split(run))


@lru_cache(maxsize=20_000)
def whole_hash(text: str) -> int:
    """Hash a name as one lower-case word without its joints."""
    return term_hash("".join(part for run in runs(text) for part in split(run)))


def names_table(rows: Sequence[NameRow], *, keep_texts: bool = False) -> Names:
    """Put names into columns."""
    words = sorted({part for row in rows for part in row.parts})
    number = {word: i for i, word in enumerate(words)}
    return Names(
        tuple(row.text for row in rows) if keep_texts else (),
        np.array([row.owner for row in rows], dtype=np.int32),
        np.array([row.lines.start for row in rows], dtype=np.int32),
        np.array([row.lines.end for row in rows], dtype=np.int32),
        np.array([whole_hash(row.text) for row in rows], dtype=np.uint64),
        offsets(np.array([len(row.parts) for row in rows], dtype=np.int64)),
        np.array([number[part] for row in rows for part in row.parts], dtype=np.int32),
        tuple(words),
    )
