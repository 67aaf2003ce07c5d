"""TREC runs and judgments: their text, columns and document ids."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Container, Iterable
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

from assay.types import EngineRun, GoldSet, Hit, Status

#: Prefix of the last column of a run that Assay wrote.
TAG = "assay:"
#: Characters to escape: column separators, terminal controls, and the escape character.
_ESCAPED = re.compile("[\\s%\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def run_text(engine: EngineRun, *, whole_files: bool) -> str:
    """Return the rankings of an engine as a TREC run; failed queries have no lines."""
    tag, rows = TAG + to_column(engine.name), []
    for ranking in engine.rankings:
        if ranking.status is not Status.OK:
            continue
        first: dict[str, Hit] = {}
        for hit in ranking.hits:
            first.setdefault(path_column(hit.path) if whole_files else to_docno(hit), hit)
        query = to_column(f"{ranking.gold}/{ranking.query}/{ranking.form}")
        scores = _scores([*first.values()])
        for rank, (docno, score) in enumerate(zip(first, scores, strict=True), start=1):
            rows.append(f"{query} Q0 {docno} {rank} {score} {tag}\n")
    return "".join(rows)


def _scores(hits: list[Hit]) -> list[str]:
    """Return the engine's scores if they decrease strictly, else descending integers."""
    own = [hit.score for hit in hits if hit.score is not None]
    single = array("f", own)  # trec_eval's precision
    if len(own) == len(hits) and all(first > second for first, second in pairwise(single)):
        return [repr(float(score)) for score in own]
    return [str(len(hits) - position) for position in range(len(hits))]


def qrels_text(gold: GoldSet, queries: AbstractSet[tuple[str, str, str]]) -> str:
    """Return the judgments of the phrasings in `queries`: the highest grade of each file, 0 for adversaries."""
    rows = []
    for query in gold.queries:
        grades: dict[str, int] = {}
        for target in query.targets:
            docno = path_column(target.span.path)
            grades[docno] = max(target.grade, grades.get(docno, 0))
        for wrong in (*(adversary.target for adversary in query.adversaries), *query.irrelevant):
            grades.setdefault(path_column(wrong.span.path), 0)
        for form in query.ordered_forms:
            if (gold.name, query.id, form) in queries:
                name = to_column(f"{gold.name}/{query.id}/{form}")
                rows += [f"{name} 0 {docno} {grade}\n" for docno, grade in grades.items()]
    return "".join(rows)


def to_column(text: str) -> str:
    """Escape whitespace, control characters and `%`, so that a text is one column; an empty text becomes `%`."""
    return _ESCAPED.sub(lambda found: quote(found[0], safe="", errors="surrogatepass"), text) or "%"


def from_column(text: str) -> str:
    return "" if text == "%" else unquote(text, errors="surrogatepass")


@lru_cache(maxsize=10_000)  # the same files are in many rankings
def path_column(path: str) -> str:
    """Escape a path for one column; its colons too, since a colon separates path and lines."""
    return to_column(path).replace(":", "%3A")


def to_docno(hit: Hit) -> str:
    path = path_column(hit.path)
    return path if hit.start is None else f"{path}:{hit.start}-{hit.end}"


_STEP = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]|^[.-]|\.\Z")
_LONGEST = 100  # characters of a name: file systems allow 255 bytes
_LONGEST_PATH = 400  # and of a path: some systems allow 1,024 bytes including parent directories
_DIGITS = 16  # hexadecimal digits of the hash that distinguishes clashing names


def document_paths(ids: Iterable[str]) -> dict[str, str]:
    """Map document ids to paths that are unique even ignoring case; no path is a parent directory of another."""
    names = {name: document_path(name) for name in ids}
    hashed: set[str] = set()
    while True:  # repeated, since an id may equal the new path of another
        files = Counter(path.casefold() for path in names.values())
        directories = {str(above) for path in files for above in PurePosixPath(path).parents}
        folded = {name: path.casefold() for name, path in names.items() if name not in hashed}
        clash = {name for name, path in folded.items() if files[path] > 1 or path in directories}
        if not clash:
            return names
        names |= {name: _add_hash(name) for name in clash}
        hashed |= clash


def document_path(name: str) -> str:
    """Return the path of a document id: the id, or an encoded or hashed name if the id is not a portable path."""
    steps = name.split("/")
    if len(name) <= _LONGEST_PATH and all(len(step) <= _LONGEST and _STEP.fullmatch(step) for step in steps):
        return name
    encoded = _percent_encode(name)
    return encoded if len(encoded) <= _LONGEST else _add_hash(name)


def find_document(name: str, paths: Container[str]) -> str | None:
    return next((path for path in (name, document_path(name), _add_hash(name)) if path in paths), None)


def _percent_encode(name: str) -> str:
    def percent(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))

    return _UNSAFE.sub(percent, name)


def _add_hash(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{_percent_encode(name)[:_LONGEST]}-{digest}"
