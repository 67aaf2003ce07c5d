"""What did a reader leave in the file? It says so in the provenance of the sets; here that becomes sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.gold.formats import native
from assay.gold.formats.common.losses import comes_from
from assay.types import Gold

#: Keys of the provenance under which readers write what is not in a set as the file has it.
KEYS = ("left out", "not read", "assumed")


def untaken(golds: Sequence[Gold]) -> tuple[str, ...]:
    """Say, file by file, what was not taken from it; sets of one file share what is told of it."""
    return tuple(dict.fromkeys(sentence for gold in golds for sentence in _of_set(gold)))


def _of_set(gold: Gold) -> Iterator[str]:
    """Say it for one set; a native file tells of an earlier reading, and is itself read whole."""
    notes = [(key, gold.provenance[key]) for key in KEYS if gold.provenance.get(key)]
    if not notes or _is_native(gold):
        return
    for key, text in notes:
        yield f"{gold.source or gold.name}: {key}: {text}"


def _is_native(gold: Gold) -> bool:
    """Tell a set that was read from a native file."""
    named = gold.source is not None and Path(gold.source).suffix in native.SUFFIXES
    return named and comes_from(gold, native.matches) is not None
