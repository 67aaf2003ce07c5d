"""The terms of a text: roots of the parts of its identifiers, and each compound joined."""

from __future__ import annotations

import re
from hashlib import blake2b
from unicodedata import normalize

from assay.syntax.identifiers import split, unspaced_pairs
from assay.syntax.stems import stem

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
