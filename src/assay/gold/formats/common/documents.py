"""The documents of a BEIR set as files: where a set is about texts of its own, they are the corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.corpus.document_names import document_paths
from assay.errors import GoldError
from assay.files import atomic_folder
from assay.gold.formats.common.corpora import corpus_hint
from assay.gold.formats.common.jsonlines import read_entries
from assay.gold.formats.common.opening import open_source
from assay.gold.formats.common.records import Record
from assay.types import CorpusSpec, Gold

CORPUS = "corpus.jsonl"
#: The folder that the files are written to, beside the gold set that asks about them.
FOLDER = "documents"
#: The corpus of a set that has no other.
OWN = CorpusSpec("path", FOLDER)
_IGNORE_FILE = ".assayignore"
_KEEP = f"# Every file here is a document of the set, whatever its name.\n!*\n/{_IGNORE_FILE}\n"


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Where the documents of sets go: the corpus of each set by its name, and folders to lie beside the sets."""

    corpora: Mapping[str, CorpusSpec]
    folders: Mapping[str, Mapping[str, str]]  # relative folder -> path in it -> text
    notes: tuple[str, ...] = ()  # sentences about documents that say nothing


def documents(folder: Path) -> Mapping[str, str]:
    """Give the documents of a BEIR folder as files: path to text, with the rule that no ignore file hides one."""
    records = _records(folder)
    paths = document_paths(records)
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
        tuple(note for folder in places for note in (*_textless(folder), *_renamed(folder))),
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


def _renamed(folder: Path) -> Iterator[str]:
    """Count the documents whose ids cannot be file names."""
    renamed = {name: path for name, path in document_paths(_records(folder)).items() if name != path}
    if renamed:
        name, path = next(iter(renamed.items()))
        yield (
            f"document ids in {folder / CORPUS} that cannot be file names: {len(renamed)}, such as {name!r:.80}, which "
            f"is {path:.80}; run files may use either"
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
