"""What is learned, as the folder that a search reads: small numbers, and where they come from in words."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from assay.errors import EnvironmentFailure
from assay.files import sync_folder, write_atomic
from assay.search.store.format import JSON, write_store
from assay.training.pairs import TF_POWER
from assay.training.translations import Translations
from assay.training.vectors import Table
from assay.training.vocabulary import Vocabulary, write_vocabulary

FORMAT: Final = 1
WEIGHTS, TERMS, MODEL, MANIFEST, LICENCE = (
    "weights.assay", "vocabulary.txt", "model.json", "manifest.json", "LICENCE.md",
)  # fmt: skip
_MOST: Final = 127  # of an int8; -128 has no counterpart

_LICENCE_TEXT: Final = """\
# Licence of this model

The weights, the vocabulary and the tables in this folder are under the MIT licence, like Assay itself.

They were learned from random numbers; no weights of anybody else are in them. What they were learned from is listed in
manifest.json: each repository with its address, its commit and its licence, all of them permissive. None of its code or
text is in this folder, only words and numbers that were counted and learned over many repositories.
"""


@dataclass(frozen=True, slots=True)
class Packed:
    """The arrays of a model, and a name for them that changes with any bit."""

    arrays: Mapping[str, NDArray[Any]]
    identity: str


def pack(table: Table, vocabulary: Vocabulary, translations: Translations) -> Packed:
    """Make the arrays that a search reads; terms are named by their hashes."""
    vector, scale = quantise(table.vectors)
    source, offset, target, strength = _by_hash(translations, vocabulary.hashes)
    arrays: dict[str, NDArray[Any]] = {
        "term": vocabulary.hashes, "vector": vector, "scale": scale,
        "asked": np.exp(table.asked), "said": np.exp(table.said),
        "source": source, "offset": offset, "target": target, "strength": strength,
    }  # fmt: skip
    return Packed(arrays, _identity(arrays))


def quantise(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Write each row as whole numbers from -127 to 127 times a scale."""
    scale = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), np.finfo(np.float32).tiny) / np.float32(_MOST)
    return np.rint(vectors / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def _by_hash(
    table: Translations, hashes: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint8]]:
    """Name the terms of translations by hashes; rows are in their order already, so rising stays rising."""
    return hashes[table.source], table.offset, hashes[table.target], table.strength


def _identity(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Name arrays by their bytes."""
    found = sha256()
    for name in sorted(arrays):
        array = arrays[name]
        found.update(f"{name} {array.dtype.str} {array.shape}\n".encode("ascii"))
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def write_model(
    folder: Path,
    packed: Packed,
    vocabulary: Vocabulary,
    about: Mapping[str, Any],
    manifest: Mapping[str, Any],
    licence: str = _LICENCE_TEXT,
) -> None:
    """Write a model folder whole; one that stood there is replaced at the end."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        made.chmod(0o755)
        _write_files(made, packed, vocabulary, about, manifest)
        write_atomic(made / LICENCE, licence)
        _swap(made, folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _write_files(
    folder: Path, packed: Packed, vocabulary: Vocabulary, about: Mapping[str, Any], manifest: Mapping[str, Any]
) -> None:
    """Write the files of a model."""
    dimension = int(packed.arrays["vector"].shape[1])
    meta: dict[str, JSON] = {"format": FORMAT, "dimension": dimension, "tf": TF_POWER, "identity": packed.identity}
    write_store(folder / WEIGHTS, meta, packed.arrays)
    write_vocabulary(folder / TERMS, vocabulary)
    write_atomic(folder / MODEL, _json({"format": FORMAT, "identity": packed.identity, **about}))
    write_atomic(folder / MANIFEST, _json(manifest))


def _swap(made: Path, folder: Path) -> None:
    """Put a finished folder into its place; the one before it goes last."""
    if folder.exists():
        old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        folder.replace(old)
        made.replace(folder)
        shutil.rmtree(old)
    else:
        made.replace(folder)
    sync_folder(folder.parent)


def _json(value: Mapping[str, Any]) -> str:
    """Write JSON that people read and that is the same every time."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _unwritable(folder: Path, error: OSError) -> EnvironmentFailure:
    """Say that the model has no place."""
    return EnvironmentFailure(
        f"the model cannot be written: {error.strerror or error}", file=folder, hint="name another folder with --out"
    )
