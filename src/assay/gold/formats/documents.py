"""Judged documents, shared by BEIR and TREC, and the documents of a BEIR set as the files of its corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.corpus.spec import document_paths
from assay.errors import GoldError
from assay.files import atomic_folder
from assay.gold.building import GoldLocation, build_query
from assay.gold.formats.export import describe_renames, safe_ids
from assay.gold.formats.multi_repo import Omitted, corpus_hint, left_out
from assay.gold.formats.rows import Record, open_source, read_entries
from assay.types import CorpusSpec, GoldSet, Query, Rationale, Target

CORPUS = "corpus.jsonl"
#: The directory of the documents, beside their gold set.
FOLDER = "documents"
#: The corpus of a set that has no other.
OWN = CorpusSpec("path", FOLDER)
_IGNORE_FILE = ".assayignore"
_KEEP = f"# Every file here is a document of the set, whatever its name.\n!*\n/{_IGNORE_FILE}\n"


@dataclass(frozen=True, slots=True)
class Judgment:
    """The relevance of a document for a query, and where it is written."""

    query: str
    document: str
    score: int
    place: GoldLocation


@dataclass(frozen=True, slots=True)
class Topic:
    """The phrasings of a query, and where they are written."""

    forms: Mapping[str, str]
    place: GoldLocation
    rationale: Rationale | None = None


def read_judgment(query: str, document: str, score: str, place: GoldLocation) -> Judgment:
    """Return the judgment of one line."""
    if not score.removeprefix("-").isdecimal() or not score.isascii() or len(score) > 9:
        raise place.error(f"'{score}' is not a score", "a score is a whole number, as in 2, 1 or 0")
    return Judgment(place.text(query, "the id of the query"), place.text(document, "the document"), int(score), place)


def judge(
    topics: Mapping[str, Topic], judgments: Sequence[Judgment], target: Callable[[Judgment, int], Target]
) -> tuple[list[Query], dict[str, str]]:
    """Return the queries in the order of their topics, and the provenance of what is left out or changed."""
    by_query: dict[str, dict[str, Judgment]] = {}
    for one in judgments:
        first = by_query.setdefault(one.query, {}).setdefault(one.document, one)
        if first is not one:
            raise one.place.error(
                f"'{one.document}' is judged twice for '{one.query}', first in line {first.place.line}", "keep one"
            )
    ids = safe_ids(topics)
    omitted = [Omitted("queries without a judgment", name) for name in topics if name not in by_query]
    omitted += [Omitted("judged queries without a text", name) for name in by_query if name not in topics]
    queries: list[Query] = []
    judged = {name: by_query[name] for name in topics if name in by_query}
    for name, found in judged.items():
        if not any(one.score > 0 for one in found.values()):
            omitted.append(Omitted("queries without a relevant document", name))
            continue
        targets: list[Target] = []
        for one in found.values():
            try:
                targets.append(target(one, max(one.score, 0)))
            except GoldError:
                if one.score > 0:
                    raise
                omitted.append(Omitted("irrelevant documents that are not in the corpus", f"{one.document} for {name}"))
        topic = topics[name]
        queries.append(build_query(ids[name], topic.forms, targets, topic.place, rationale=topic.rationale, least=1))
    negative = sum(one.score < 0 for found in judged.values() for one in found.values())
    assumed = {"assumed": f"negative scores are 0: {negative}"} if negative else {}
    return queries, {**assumed, **describe_renames(ids), **left_out(omitted)}


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The corpus of each set by name, and the directories of documents to write beside the sets."""

    corpora: Mapping[str, CorpusSpec]
    folders: Mapping[str, Mapping[str, str]]  # relative directory -> path in it -> text
    notes: tuple[str, ...] = ()  # sentences about documents without text and about renamed ones


def unpack(golds: Sequence[GoldSet]) -> Unpacked:
    """Return the documents of the sets whose corpus is their BEIR directory."""
    folders = {gold.name: Path(gold.source).parent for gold in golds if gold.source and gold.corpus == OWN}
    found = {name: folder for name, folder in folders.items() if (folder / CORPUS).is_file()}
    several = len(set(found.values())) > 1
    places = {folder: f"{FOLDER}/{folder.name}" if several else FOLDER for folder in found.values()}
    return Unpacked(
        {name: replace(OWN, value=places[folder]) for name, folder in found.items()},
        {place: documents(folder) for folder, place in places.items()},
        tuple(note for folder in places for note in _notes(folder)),
    )


def _notes(folder: Path) -> Iterator[str]:
    records = read_documents(folder)
    empty = sum(not record.values.get("text") for record in records.values())
    if empty:
        yield (
            f"{empty} of {len(records)} documents in {folder / CORPUS} have no text, so their files hold a title at "
            "most; if they stand for places in code, say where it is: --corpus PATH"
        )
    renamed = {name: path for name, path in document_paths(records).items() if name != path}
    if renamed:
        name, path = next(iter(renamed.items()))
        yield (
            f"document ids in {folder / CORPUS} that cannot be file names: {len(renamed)}, such as {name!r:.80}, which "
            f"is {path:.80}; run files may use either"
        )


def documents(folder: Path) -> Mapping[str, str]:
    """Return the documents of a BEIR directory as text by path, and an ignore file that hides none of them."""
    records = read_documents(folder)
    files = {_IGNORE_FILE: _KEEP}
    for name, path in document_paths(records).items():
        parts = [str(records[name].values.get(key) or "") for key in ("title", "text")]
        files[path] = "\n\n".join(part for part in parts if part)
    return files


def read_documents(folder: Path) -> dict[str, Record]:
    """Read the entries of a BEIR corpus by id."""
    path = folder / CORPUS
    if not path.is_file():
        raise GoldError(f"there is no {CORPUS}", file=folder, hint=corpus_hint(folder))
    records: dict[str, Record] = {}
    for record in read_entries(open_source(path)):
        name = record.verbatim("_id")
        if name in records:
            raise record.place.error(f"the document '{name}' appears twice", "keep one")
        records[name] = record
    return records


def is_ours(folder: Path) -> bool:
    """Return whether Assay wrote a directory of documents: only then may it be replaced."""
    mark = folder / _IGNORE_FILE
    return mark.is_file() and mark.read_bytes() == _KEEP.encode("utf-8")


def write_documents(folder: Path, files: Mapping[str, str]) -> None:
    """Write a directory of documents atomically."""
    with atomic_folder(folder) as work:
        for path, text in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text, "utf-8", newline="")
