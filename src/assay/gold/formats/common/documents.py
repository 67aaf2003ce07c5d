"""The documents of a BEIR set as files: where a set is about texts of its own, they are the corpus."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from assay.errors import GoldError
from assay.files import atomic_folder
from assay.gold.formats.common.corpora import corpus_hint
from assay.gold.formats.common.jsonlines import read_entries
from assay.gold.formats.common.opening import open_source
from assay.gold.formats.common.records import Record
from assay.gold.targets import path_problem
from assay.types import CorpusSpec, Gold

CORPUS = "corpus.jsonl"
#: The folder that the files are written to, beside the gold set that asks about them.
FOLDER = "documents"
#: The corpus of a set that has no other.
OWN = CorpusSpec("path", FOLDER)
_IGNORE_FILE = ".assayignore"
_KEEP = f"# Every file here is a document of the set, whatever its name.\n!*\n/{_IGNORE_FILE}\n"
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST = 100  # characters of a name: file systems end at 255 bytes
_LONGEST_PATH = 400  # and of a path: some end at 1,024 bytes, with the folders above
_DIGITS = 16  # of the hash that tells names apart which would be the same


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Where the documents of sets go: the corpus of each set by its name, and folders to lie beside the sets."""

    corpora: Mapping[str, CorpusSpec]
    folders: Mapping[str, Mapping[str, str]]  # relative folder -> path in it -> text
    notes: tuple[str, ...] = ()  # sentences about documents that say nothing


def documents(folder: Path) -> Mapping[str, str]:
    """Give the documents of a BEIR folder as files: path to text, with the rule that no ignore file hides one."""
    records = _records(folder)
    paths = file_names(records)
    return {_IGNORE_FILE: _KEEP, **{paths[name]: _text(record) for name, record in records.items()}}


def unpack(golds: Sequence[Gold]) -> Unpacked:
    """Find the sets whose corpus is the documents of their BEIR folder, and give these as files to lie beside them."""
    folders = {gold.name: Path(gold.source).parent for gold in golds if gold.source and gold.corpus == OWN}
    found = {name: folder for name, folder in folders.items() if (folder / CORPUS).is_file()}
    several = len(set(found.values())) > 1
    places = {folder: f"{FOLDER}/{folder.name}" if several else FOLDER for folder in found.values()}
    return Unpacked(
        {name: replace(OWN, value=places[folder]) for name, folder in found.items()},
        {place: documents(folder) for folder, place in places.items()},
        tuple(note for folder in places for note in _textless(folder)),
    )


def _textless(folder: Path) -> Iterator[str]:
    """Tell of documents without a text: what Assay writes as BEIR has none, for its gold is places."""
    records = _records(folder)
    count = sum(not record.values.get("text") for record in records.values())
    if count:
        yield (
            f"{count} of {len(records)} documents in {folder / CORPUS} have no text, so their files hold a title at "
            "most; if they stand for places in code, say where it is: --corpus PATH"
        )


def is_ours(folder: Path) -> bool:
    """Tell a folder of documents that was written here: only such a one may be replaced whole."""
    mark = folder / _IGNORE_FILE
    return mark.is_file() and mark.read_bytes() == _KEEP.encode("utf-8")


def write_documents(folder: Path, files: Mapping[str, str]) -> None:
    """Write a folder of documents, whole or not at all."""
    with atomic_folder(folder) as work:
        for path, text in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text, "utf-8", newline="")


def document_ids(folder: Path) -> tuple[str, ...]:
    """Give the ids of the documents of a BEIR folder."""
    return tuple(_records(folder))


def file_names(ids: Iterable[str]) -> dict[str, str]:
    """Give each document a file name: its id where that is a plain path with a suffix, else one made of it.

    Names differ on a file system that ignores case, and none is a folder of another.
    """
    names = {name: name if _is_path(name) else _made(name) for name in ids}
    apart: set[str] = set()
    while clash := _clashing(names) - apart:  # again, since an id may be the very name that another was given
        names |= {name: _apart(name) for name in clash}
        apart |= clash
    return names


def _clashing(names: Mapping[str, str]) -> set[str]:
    """Give the ids whose files would be one, or lie in one."""
    files = Counter(path.casefold() for path in names.values())
    folders = {str(above) for path in files for above in PurePosixPath(path).parents}
    return {name for name, path in names.items() if files[path.casefold()] > 1 or path.casefold() in folders}


def _records(folder: Path) -> dict[str, Record]:
    """Read the documents by their ids; no id stands for two."""
    path = folder / CORPUS
    if not path.is_file():
        raise GoldError(f"there is no {CORPUS}", file=folder, hint=corpus_hint(folder))
    records: dict[str, Record] = {}
    for record in read_entries(open_source(path)):
        name = record.verbatim("_id")
        if name in records:
            raise record.place.error(f"the document '{name}' stands twice", "keep one")
        records[name] = record
    return records


def _text(record: Record) -> str:
    """Put title and text of a document together; either may be missing."""
    parts = [str(record.values.get(key) or "") for key in ("title", "text")]
    return "\n\n".join(part for part in parts if part)


def _is_path(name: str) -> bool:
    """Tell whether an id can be a file as it is, on any file system."""
    steps = name.split("/")
    short = len(name) <= _LONGEST_PATH and max(map(len, steps)) <= _LONGEST
    return short and path_problem(name) is None and all(map(_SAFE.fullmatch, steps)) and "." in steps[-1].rstrip(".")


def _made(name: str) -> str:
    """Make a file name of an id."""
    plain = _UNSAFE.sub("_", name).lstrip(".-")[:_LONGEST]
    return f"{plain or 'document'}.txt"


def _apart(name: str) -> str:
    """Make a file name that no other id has."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{_made(name).removesuffix('.txt')}-{digest}.txt"
